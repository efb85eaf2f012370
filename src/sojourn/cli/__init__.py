"""The command line: parses, calls, prints. A file for each group of commands; `app` begins."""

from sojourn.cli import studies, exact, learners, sweeps, report, data, claims  # noqa: F401, I001 - each adds its commands, in this order
from sojourn.cli.app import app, main

__all__ = ["app", "main"]
