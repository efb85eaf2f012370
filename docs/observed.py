"""What the page about networks shows of the study of observations, whose record is in data/observations.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sojourn.rules.records import load_json, read_record
from sojourn.studies.observations import words
from sojourn.studies.observations.record import Observations

DATA = Path(__file__).resolve().parent / "data" / "observations.json"


def places() -> dict[str, Callable[[], str]]:
    """The places in the page, and what makes each."""
    return {
        "<!-- observations: gains -->": lambda: words.gains_table(read()),
        "<!-- observations: rates -->": lambda: words.rates_table(read()),
        "<!-- observations: findings -->": lambda: "\n".join(f"- {one}" for one in words.findings(read())),
    }


def read() -> Observations:
    """Return what was measured last."""
    return read_record(Observations, load_json(DATA))
