"""The market: an instrument's bars, where they come from, and the world in which an agent buys or sells at each of them.

`bar_files` reads the rows of a file, and `bars` judges them and keeps those that are bars. `instruments` makes bars
without a file, finds bars by name and cuts them into segments; `world` is the world.
"""
