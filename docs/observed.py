"""What the page about networks shows of the study of observations, whose record is in data/observations.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sojourn.answers.comparison.observed import Observations, gains
from sojourn.data.files import load_json
from sojourn.data.hints import read_record
from sojourn.report.markdown import table_text
from sojourn_paper.observations import findings, rates

DATA = Path(__file__).resolve().parent / "data" / "observations.json"


def places() -> dict[str, Callable[[], str]]:
    """The places in the page, and what makes each."""
    return {
        "<!-- observations: gains -->": lambda: table_text(gains(read())),
        "<!-- observations: rates -->": lambda: table_text(rates(read())),
        "<!-- observations: findings -->": lambda: "\n".join(f"- {one}" for one in findings(read())),
    }


def read() -> Observations:
    """Return what was measured last."""
    return read_record(Observations, load_json(DATA))
