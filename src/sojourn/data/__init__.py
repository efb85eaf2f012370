"""Files, records, options, names and numbers: used by every other room, and independent of learning.

External data is checked here, against type hints and for finite numbers, and files are written atomically.
Nothing here imports Numba.
"""
