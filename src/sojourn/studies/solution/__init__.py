"""The exact solution of a model by name: a record of it, the words for a terminal, and the part of the page.

`sojourn solve` and the page only read the record in `answer`, so nothing is computed twice.
"""
