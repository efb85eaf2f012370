"""The study in numbers, for machines: the content of `summary.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import polars as pl

from sojourn import __version__
from sojourn.runs.spec import Sweep
from sojourn.studies.robustness.plan import EXPLORATION, LOG_SCALES, NAMES, STEP_SIZES

if TYPE_CHECKING:
    from sojourn.studies.robustness.tables import Tables


class Settings(TypedDict):
    """What was run."""

    steps: int
    episodes: int
    exploration: float
    step_sizes: list[float]
    runs: int


class Earned(TypedDict):
    """What always taking one action earned per unit time, at each log-scale."""

    always_a: list[float]
    always_b: list[float]


class Statement(TypedDict):
    """A statement of the paper, and what was found about it."""

    statement: str
    verdict: str


class Changed(TypedDict):
    """A share of success with one thing changed."""

    what: str
    setting: str
    agent: str
    log_scale: float
    share: float


class Numbers(TypedDict):
    """What was measured, by agent and log-scale; `steps` and `seconds` are those of the whole study."""

    study: str
    version: str
    steps: int
    seconds: float
    seeds: int
    settings: Settings
    names: dict[str, str]
    log_scales: list[float]
    success: dict[str, list[float]]
    success_median: dict[str, list[float]]
    success_range: dict[str, list[list[float]]]
    earned: Earned
    diverged: dict[str, float]
    sensitivity: list[Changed]


class Summary(Numbers):
    """The numbers, and what they say in words."""

    findings: list[str]
    statements: list[Statement]


def numbers(tables: Tables, sweep: Sweep, steps: int, seconds: float) -> Numbers:
    """Return the study in numbers; `steps` is the length of an episode."""
    by_agent = {name: tables.success.filter(pl.col("agent") == name) for name in NAMES}
    diverged = {
        name: float(tables.shares.filter(pl.col("agent") == name).select(pl.col("diverged").mean()).item())
        for name in NAMES
    }
    return {
        "study": "robustness",
        "version": __version__,
        "steps": sweep.num_steps,
        "seconds": seconds,
        "seeds": len(sweep.seeds),
        "settings": {
            "steps": steps,
            "episodes": sweep.episodes,
            "exploration": EXPLORATION,
            "step_sizes": STEP_SIZES,
            "runs": sweep.num_runs,
        },
        "names": NAMES,
        "log_scales": LOG_SCALES,
        "success": {name: rows["mean"].to_list() for name, rows in by_agent.items()},
        "success_median": {name: rows["median"].to_list() for name, rows in by_agent.items()},
        "success_range": {
            name: [list(pair) for pair in rows.select("low", "high").iter_rows()]
            for name, rows in by_agent.items()
        },
        "earned": {
            "always_a": tables.earned["always_a"].to_list(),
            "always_b": tables.earned["always_b"].to_list(),
        },
        "diverged": diverged,
        "sensitivity": [
            {"what": what, "setting": setting, "agent": agent, "log_scale": log_scale, "share": share}
            for what, setting, agent, log_scale, share in tables.sensitivity.iter_rows()
        ],
    }
