"""The exact solution of a model by name: its record, the words for a terminal, and its part of the page.

`sojourn solve` and the page read only the record in `answer`; nothing here is computed twice.
"""
