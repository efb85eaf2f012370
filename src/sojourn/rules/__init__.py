"""The language that rules are written in, and the numerical tools shared by every other room.

Values, rules and kernels, random streams, elementary functions with the same bits on every machine, intervals. Only
`jit` knows Numba. Nothing here knows what a rate, a model, a world or an agent is.
"""
