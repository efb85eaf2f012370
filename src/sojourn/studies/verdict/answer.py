"""A verdict on a learner, as a record that is written to `verdict.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sojourn import __version__
from sojourn.learner.verdict import Verdict
from sojourn.rules.records import as_json, write_json

FILE = "verdict.json"


@dataclass(frozen=True)
class Judged:
    """What a learned policy earns, with an interval if it was followed long enough for one, and what else is known."""

    name: str
    rate: float
    low: float | None
    high: float | None
    level: float
    duration: float
    steps: int
    learned_rate: float
    gain: float | None
    best_gain: float | None
    states: int | None  # seen in training
    tried: float | None  # share of these states' actions
    thin: float | None  # share of the steps in states where some action was hardly tried
    moved: float | None
    sentence: str
    warnings: tuple[str, ...] = ()
    version: str = ""

    def write(self, folder: Path) -> None:
        """Write the record into a folder, which is made if it does not exist."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, as_json(self))


def judged(name: str, found: Verdict) -> Judged:
    """Return a verdict as a record; `name` says what was judged."""
    earned, seen = found.evaluation, found.visited
    return Judged(
        name=name,
        rate=earned.rate,
        low=earned.low,
        high=earned.high,
        level=earned.level,
        duration=earned.duration,
        steps=earned.steps,
        learned_rate=found.learned_rate,
        gain=found.gain,
        best_gain=found.best_gain,
        states=None if seen is None else seen.states,
        tried=None if seen is None else seen.share,
        thin=found.thin,
        moved=found.moved,
        sentence=found.sentence,
        warnings=found.warnings,
        version=__version__,
    )
