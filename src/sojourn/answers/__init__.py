"""Answers: what each command computes, how it is presented, and the report page made from commands' output folders.

Each answer has its record or its tables, its charts and its section of the page. Nothing here draws figures or parses
commands. Other packages add answers through the entry points `sojourn.answers`.
"""
