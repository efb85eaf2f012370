"""The part of the page about the estimators that fit a log."""

from __future__ import annotations

from pathlib import Path

from sojourn.report.blocks import Block, Column, Facts, Note, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import number
from sojourn.rules.records import Json, read_record
from sojourn.studies.rates import charts
from sojourn.studies.rates.record import Rated
from sojourn.studies.rates.words import ASSUMED, now, step_sizes, verdict


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `rates.json` in a folder holds."""
    found = read_record(Rated, given)
    blocks: list[Block] = [Note(f"Left out: {sentence}.") for sentence in found.refused]
    blocks += [Prose(sentence[0].upper() + sentence[1:]) for sentence in step_sizes(found)]
    return Section(
        "estimators on a log",
        f"Which estimator fits {found.name}",
        " ".join((f"{verdict(found)}.", *now(found))),
        charts.rates(found),
        [
            *blocks,
            charts.scores(found),
            _table(found, budget),
            Note(ASSUMED),
            _facts(folder, found),
        ],
    )


def _table(found: Rated, budget: Budget) -> Table:
    rows = [
        (one.label, one.score, one.difference, one.low, one.high) for one in found.by_score[: budget.rows]
    ]
    return Table(
        f"Scores: {found.name}",
        [
            Column("estimator", numeric=False),
            Column("score", digits=6),
            Column("above the best"),
            Column("at least"),
            Column("at most"),
        ],
        rows,
        "The lower the score, the closer the estimates were to the true rate, which need not be known.",
    )


def _facts(folder: Path, found: Rated) -> Facts:
    return Facts(
        "The log",
        [
            ("file", found.name),
            ("rows", number(found.rows)),
            ("time", number(found.duration, 6)),
            ("reward per unit time", number(found.rate, 6)),
            ("intervals", f"{100.0 * found.level:g} %, by 50 blocks of consecutive rows"),
            ("made by", f"Sojourn {found.version}"),
            ("folder", folder.name),
        ],
    )
