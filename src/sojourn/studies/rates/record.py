"""The record of which estimators fit a log."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scored:
    """One candidate: its score, and how far it is above the best, between `low` and `high`; None means infinite."""

    estimator: str
    label: str
    step_size: float | None
    score: float | None
    difference: float | None
    low: float | None
    high: float | None

    @property
    def total(self) -> float:
        """The score, infinite if the estimates grew without bound."""
        return math.inf if self.score is None else self.score


@dataclass(frozen=True)
class Course:
    """An estimate over time."""

    label: str
    clock: tuple[float, ...]
    rate: tuple[float, ...]


@dataclass(frozen=True)
class Rated:
    """Which estimators fit a log."""

    name: str
    rows: int
    duration: float
    rate: float  # total reward over total time
    level: float
    candidates: tuple[Scored, ...]
    best: str
    courses: tuple[Course, ...]  # of the best of each kind, the best first
    refused: tuple[str, ...] = ()
    version: str = ""
    now: float | None = None  # the best candidate's estimate at the end of the log

    @property
    def by_score(self) -> list[Scored]:
        """The candidates, the best first."""
        return sorted(self.candidates, key=lambda one: one.total)
