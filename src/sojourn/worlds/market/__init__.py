"""The market: an instrument's bars, where they come from, and the world in which one buys or sells at each of them.

`bar_files` reads the rows of a file, `findings` judges them, `bars` has what remains, `synthetic` makes bars without a file,
`segments` finds bars by name and cuts them, and `world` moves.
"""
