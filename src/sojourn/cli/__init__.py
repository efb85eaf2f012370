"""The command line: parses, calls, prints; it computes nothing, draws nothing and writes no file itself.

There is a file for each group of commands; `app` has what they share and `parsing` reads their words. The arguments
of a command are its options, so commands alone may have more than seven.
"""

from sojourn.cli import studies, exact, logs, learners, sweeps, report, data, claims  # noqa: F401, I001 - each adds its commands, in this order
from sojourn.cli.app import app, main

__all__ = ["app", "main"]
