"""The public names, by the file that defines them."""

from sojourn.runs.batch import Grid, Runs, grid, run_many
from sojourn.runs.check import RateReport, check_agent, check_rate, check_world
from sojourn.runs.loop import Curve, Run, run
from sojourn.runs.recording import evenly_spaced, log_spaced
from sojourn.runs.results import load_curves, load_results
from sojourn.runs.spec import Entry, Sweep, load_sweep, parse_sweep
from sojourn.runs.store import run_sweep

__all__ = [
    "Curve",
    "Entry",
    "Grid",
    "RateReport",
    "Run",
    "Runs",
    "Sweep",
    "check_agent",
    "check_rate",
    "check_world",
    "evenly_spaced",
    "grid",
    "load_curves",
    "load_results",
    "load_sweep",
    "log_spaced",
    "parse_sweep",
    "run",
    "run_many",
    "run_sweep",
]
