"""The market: an instrument's bars, their sources, and the world in which an agent buys or sells at each bar.

`bar_files` reads the rows of a file; `bars` validates them. `instruments` makes synthetic bars, looks up bars by name
and cuts them into segments; `world` is the world.
"""
