"""The audit of a model by name: its record, the words for a terminal, its charts, and its part of the page.

The exact limits are computed in `sojourn.exact.audit`; here they are kept, told and shown.
"""
