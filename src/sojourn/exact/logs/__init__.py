"""Decisions from a log of past ones: a model of counts, what was earned, and what would very probably be better.

`log_reader` reads a file or a frame, `fit` estimates from its rows what a policy earns, `improve` chooses a better policy, and
`decision_log` has the class that users work with and the answers that it returns.
"""
