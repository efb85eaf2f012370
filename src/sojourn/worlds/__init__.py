"""Worlds, in which agents act: they run compiled, and each has a file of its own.

`protocol` says what a world is: a value with the rules `start` and `step`. It also checks a world before it runs.
A world knows nothing about agents, or about how runs are counted and recorded.
"""
