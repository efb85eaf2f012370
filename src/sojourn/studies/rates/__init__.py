"""Which estimator of the rate fits a log: its record, the words for a terminal, and its part of the page.

`sojourn rates` and the page read only the record in `answer`; nothing here is computed twice.
"""
