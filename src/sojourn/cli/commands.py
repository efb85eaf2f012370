"""Imports all commands: each file registers its own, in this order, and installed packages add theirs."""

from importlib.metadata import entry_points

import sojourn.cli.exact
import sojourn.cli.learners
import sojourn.cli.logs
import sojourn.cli.outputs  # noqa: F401
from sojourn.cli.app import app, run, say

__all__ = ["app", "run"]

for point in entry_points(group="sojourn.commands"):
    try:
        point.load()
    except ImportError as error:
        say(f"sojourn: the commands of {point.value} are left out: {error}", err=True)
