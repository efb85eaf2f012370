"""The part of the page about the study of change. It shows the study's charts and tables, and computes nothing."""

from __future__ import annotations

from pathlib import Path

from sojourn.report.blocks import Block, Charts, Column, Facts, Heading, Note, Points, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.rules.records import Json, read_record
from sojourn.studies.drift import charts, tables
from sojourn.studies.drift.control import MIRROR, ONE, TUNED, WORLD
from sojourn.studies.drift.summary import Summary
from sojourn.studies.drift.tracking import HOWS
from sojourn.studies.drift.words import ASSUMED, in_one_sentence


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return the section on the study of change, given its summary as it is in the file."""
    summary = read_record(Summary, given)
    found = tables.read(folder)
    blocks: list[Block] = [
        Points(summary.findings),
        Heading("Measuring a rate"),
        Prose(
            "The *tracking error* is the mean over time of the squared difference between an estimate and the true rate, relative to the best "
            "`Exponential` for that stream in hindsight."
        ),
        charts.tracking(found, HOWS[2]),
        _tracking(summary, budget),
        _streams(summary),
        Heading("Control under change"),
        Prose(
            "The charts show the share of what the best policy of each time would have earned. In a *mirror* the rates of the actions are "
            "exchanged, so an agent that simply prefers long actions gains in one as much as it loses in the other."
        ),
        Charts([charts.control(found, how, side) for how in (TUNED, ONE) for side in (WORLD, MIRROR)]),
        _control(summary),
        *([charts.bet(found)] if found.bet.height else []),
        _named(summary),
        Heading("The paper's own question"),
        Charts([charts.earned(found), charts.foretold(found)]),
        Note(ASSUMED),
        _facts(folder, summary),
    ]
    return Section(
        "study",
        "Drift: when rewards and durations change",
        in_one_sentence(summary),
        charts.tracking(found, HOWS[0]),
        blocks,
    )


def _tracking(summary: Summary, budget: Budget) -> Table:
    rows = [
        (row.group, row.estimator, row.how, row.mean, row.high, row.worst)
        for row in summary.tracking[: budget.rows]
    ]
    return Table(
        "Tracking errors relative to the best Exponential",
        [
            Column("streams", numeric=False),
            Column("estimator", numeric=False),
            Column("step size", numeric=False),
            Column("geometric mean", digits=3),
            Column("90 %", digits=3),
            Column("worst", digits=3),
        ],
        rows,
        "One setting: one step size for all streams. By truth, by score: chosen for each stream on other seeds, with or without the truth.",
    )


def _control(summary: Summary) -> Table:
    rows = [
        (row.name, how, "worlds" if side == WORLD else "mirrors", row.share, row.low, row.high, row.first)
        for how in (TUNED, ONE)
        for side in (WORLD, MIRROR)
        for row in summary.over("all", how, side)
    ]
    return Table(
        "Share of the frozen optimum in random worlds",
        [
            Column("agent", numeric=False),
            Column("setting", numeric=False),
            Column("where", numeric=False),
            Column("share", digits=3),
            Column("low", digits=3),
            Column("high", digits=3),
            Column("first in", digits=0),
        ],
        rows,
        "Low and high are the ends of the 95 % interval over worlds. First: no other agent earned more.",
    )


def _streams(summary: Summary) -> Table:
    known = {(row.stream, row.estimator, row.how): row.relative for row in summary.streams}
    names = list(dict.fromkeys(row.stream for row in summary.streams))
    columns = [column for column in charts.COLUMNS if (names[0], *column) in known]
    return Table(
        "Named streams: error relative to the best Exponential",
        [Column("stream", numeric=False), *(Column(f"{who}, {how}", digits=3) for who, how in columns)],
        [(name, *(known[name, *column] for column in columns)) for name in names],
        "On bursty, one policy stays in rich states and then in poor ones for a long time: no estimator that sees only rewards and "
        "durations can tell this from a change.",
    )


def _named(summary: Summary) -> Table:
    rows = {(row.world, row.agent): row.share for row in summary.named if row.how == TUNED}
    agents = {row.agent: row.name for row in summary.named}
    worlds = list(dict.fromkeys(row.world for row in summary.named))
    return Table(
        "Named worlds: share of the frozen optimum, tuned",
        [Column("world", numeric=False), *(Column(name, digits=3) for name in agents.values())],
        [(world.replace("_", " "), *(rows.get((world, agent)) for agent in agents)) for world in worlds],
        "Empty: not run there.",
    )


def _facts(folder: Path, summary: Summary) -> Facts:
    size = summary.size
    return Facts(
        "Settings",
        [
            ("random streams", f"{size.streams:,} of {size.steps:,} steps"),
            ("random worlds", f"{size.worlds:,} and their mirrors, until a time of {size.time:,.0f}"),
            ("seeds", f"{size.seeds}, and 3 others for tuning"),
            ("data", "none: streams and worlds are made from seeds"),
            ("made by", f"Sojourn {summary.version} in {summary.seconds:.0f} s"),
            ("folder", folder.name),
        ],
    )
