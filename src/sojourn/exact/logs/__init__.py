"""Decisions from a log of past ones: a model of counts, what was earned, and what would very probably be better.

`log_reader` reads a file or a frame, `events` a table of time stamps whose states `bins` makes, `sums` what another engine has
added up; `markov` checks what is assumed, `fit` estimates from its rows what a policy earns, `improve` chooses a better policy, and
`decision_log` has the class that users work with and the answers that it returns.
"""
