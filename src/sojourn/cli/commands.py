"""All commands; each of these files adds its own, in this order."""

import sojourn.cli.studies  # noqa: I001 - in this order
import sojourn.cli.exact
import sojourn.cli.logs
import sojourn.cli.learners
import sojourn.cli.sweeps
import sojourn.cli.report
import sojourn.cli.data
import sojourn.cli.claims  # noqa: F401 - each adds its commands
from sojourn.cli.app import app, run

__all__ = ["app", "run"]
