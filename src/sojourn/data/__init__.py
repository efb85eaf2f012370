"""Files, records, options, names and numbers: what every other room uses and what knows nothing of learning.

Data that comes from outside is checked here: against type hints, for finite numbers, in files that are written whole.
Nothing here imports Numba.
"""
