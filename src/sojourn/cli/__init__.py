"""The command line: parses, calls, prints; it computes nothing, draws nothing and writes no file itself.

There is a file for each group of commands, and `commands` has them all; `app` has what they share, `parsing` reads
their words, `entry` is where the process begins and ends. The arguments of a command are its options, so commands alone
may have more than seven.
"""

from sojourn.cli.entry import main

__all__ = ["main"]
