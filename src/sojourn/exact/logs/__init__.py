"""Decisions from a log of past ones: a model of counts, what was earned, and what would very probably be better.

`log_reader` reads a file or a frame, `events` a table of time stamps whose states `bins` makes, `lives` a table of how long units
lived, `sums` what another engine has added up. `closing` finds which rows can be used, and `amounts` has what they count. `fit`
estimates from its rows what a policy earns, `censoring` completes rows whose end was not seen, `cycles` needs no model; `improve`
chooses a better policy, `when` those that begin to act in some state, and `markov` checks what is assumed. `decision_log` has the
class that users work with, and `estimates` the answers that it returns.
"""
