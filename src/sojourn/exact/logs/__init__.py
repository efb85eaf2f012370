"""Decisions from a log of past ones: a model of counts, what was earned, and what would surely be better.

`table` reads a file or a frame, `fit` says what its rows tell of a policy, `improve` chooses a better one, `weighted` needs
no model but the probabilities of the actions, `answers` are what they return, and `log` is what users hold.
"""
