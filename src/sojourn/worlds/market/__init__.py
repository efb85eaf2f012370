"""The market: an instrument's bars, where they come from, and the world in which an agent buys or sells at each of them.

`bar_files` reads the rows of a file, `findings` judges them, and `bars` keeps those that are bars. `synthetic` makes bars
without a file, `segments` finds bars by name and cuts them, and `world` is the world.
"""
