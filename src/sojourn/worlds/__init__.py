"""Worlds: what agents act in, compiled, one world to a file.

`protocol` says what a world is, a value with the rules `start` and `step`, and `checks` what one must have before it runs.
A world knows nothing of agents, nor of how runs are counted and recorded.
"""
