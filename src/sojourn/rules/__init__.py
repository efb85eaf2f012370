"""The language that rules are written in, and the tools that every other room uses.

Values, rules and kernels (only they use Numba), random streams, elementary functions with the
same bits on every machine, checks of numbers, intervals, and files that are written whole. Nothing
here knows what a rate, a model, a world or an agent is.
"""
