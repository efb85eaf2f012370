"""Decisions from a log of past ones: a model of counts, what was earned, and what would surely be better.

`table` reads a file or a frame, `fit` says what its rows show about a policy, `improve` chooses a better policy, `weighted`
uses the probabilities of the actions in place of a model, `answers` has the results that these return, and `log` has the
class that users work with.
"""
