"""The paper on Harmonic R-Learning, reproduced and judged: a user of the library like any other.

`robustness` and `bitcoin` are the paper's two studies, `drift`, `observations` and `environments` are Sojourn's own, on
change, on networks and on environments of others, and `claims` has a verdict on each statement of the paper; `study` has what the studies share. Their
commands and sections of the report reach `sojourn` through entry points; the library never imports this package.
"""
