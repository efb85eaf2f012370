"""The command line: it parses, calls and prints, but computes nothing, draws nothing and writes no files itself.

Each group of commands has its own file, and `commands` imports them all. `app` has what the commands share, `parsing`
reads what the user typed, and the process begins and ends in `entry`. The arguments of a command are its options, so
only commands may have more than seven arguments.
"""

from sojourn.cli.entry import main

__all__ = ["main"]
