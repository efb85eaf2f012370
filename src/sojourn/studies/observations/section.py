"""The part of the page about networks on problems whose observations cannot be listed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sojourn.report.blocks import Block, Charts, Column, Facts, Heading, Points, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import counted, number
from sojourn.rules.records import Json, read_record
from sojourn.studies.observations import charts
from sojourn.studies.observations.record import Observations, Outcome
from sojourn.studies.observations.words import HOW_JUDGED, SETTINGS, agent_title, findings, who

_COLUMNS = [
    Column("problem", numeric=False),
    Column("agent", numeric=False),
    Column("rate", numeric=False),
    Column("steps"),
    Column("seeds"),
    Column("best gain", digits=5),
    Column("gain", digits=5),
    Column("relative gain"),
    Column("low"),
    Column("high"),
    Column("learned rate"),
    Column("CPU s", digits=3),
]


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `observations.json` in a folder holds."""
    found = read_record(Observations, given)
    blocks: list[Block] = [
        Points(findings(found)),
        Heading("What the policies are worth"),
        Prose(f"{SETTINGS} {HOW_JUDGED}"),
        _table("Policies after learning", found.first, found),
    ]
    if found.second:
        blocks += [
            Heading("Other rates, and no durations"),
            Charts([charts.rates(found, problem, agent) for problem, agent in found.pairs], small=True),
            _table("One thing changed at a time, in shorter runs", found.second, found),
        ]
    return Section(
        "study of networks",
        "Observations that cannot be listed",
        f"{who(found)} on {counted(len(found.truths), 'problem')} with continuous observations, compared with the best possible gain.",
        charts.gains(found),
        [*blocks, _facts(folder, found)],
    )


def _table(caption: str, outcomes: Sequence[Outcome], found: Observations) -> Table:
    rows = [
        (
            one.problem,
            agent_title(one.agent),
            one.variant,
            one.steps,
            one.seeds,
            found.truth(one.problem).gain,
            one.gain,
            one.relative_gain,
            one.low,
            one.high,
            one.learned_rate,
            one.seconds,
        )
        for one in outcomes
    ]
    return Table(caption, _COLUMNS, rows, "Means over seeds, with the 95 % interval of the mean.")


def _facts(folder: Path, found: Observations) -> Facts:
    study = [
        ("seeds", f"{found.seeds}, and {found.rate_seeds} in the second part"),
        ("length of runs", f"{number(found.length)} times the usual one"),
    ]
    return Facts(
        "Settings",
        [
            *([("seeds", str(found.seeds))] if found.is_comparison else study),
            ("made by", f"Sojourn {found.version}"),
            ("folder", folder.name),
        ],
    )
