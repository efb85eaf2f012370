"""The audit of a model by name: a record of it, the words for a terminal, its charts, and its part of the page.

The exact limits are computed in `sojourn.exact.audit`; here they are recorded, put into words and shown.
"""
