"""The language that rules are written in, and what everybody counts with.

Values, rules and kernels (the only door to Numba), random streams, elementary functions with the
same bits on every machine, checks of numbers, intervals, and files that are written whole. Nothing
here knows what a rate, a model, a world or an agent is.
"""
