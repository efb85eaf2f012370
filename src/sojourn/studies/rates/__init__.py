"""Which estimator of the rate fits a log: a record of it, the words for a terminal, and the part of the page.

`sojourn rates` and the page only read the record that `answer` makes, so nothing is computed twice.
"""
