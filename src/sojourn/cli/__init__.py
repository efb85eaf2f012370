"""The command line: it parses, calls and prints; it computes nothing, draws nothing and writes no files itself.

Each group of commands has its own file, and `commands` imports them all. `app` has what commands share, `parsing`
parses the values of options, and the process starts and ends in `entry`. A command's parameters are its options, so
only commands may have more than seven.
"""

from sojourn.cli.entry import main

__all__ = ["main"]
