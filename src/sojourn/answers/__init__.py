"""Answers: what a command computes, how it is worded and shown, and the page made from all that commands left in folders.

Each answer has its record or its tables, its charts and its section of the page. Nothing here draws figures or parses
commands. Other packages add answers of their own through the entry points `sojourn.answers`.
"""
