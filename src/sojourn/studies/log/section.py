"""The part of the page about a log: what it earned, and what would surely be better."""

from __future__ import annotations

from pathlib import Path

from sojourn.report.blocks import Block, Column, Facts, Note, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import counted, number
from sojourn.rules.records import Json, read_record
from sojourn.studies.log import charts
from sojourn.studies.log.answer import FILE, Logged
from sojourn.studies.log.words import caution


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `log.json` in a folder holds."""
    found = read_record(Logged, given)
    blocks: list[Block] = [Prose(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in found.sentences]
    blocks += [Note(f"Left out: {sentence}.") for sentence in found.refused]
    blocks += [Note(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in found.findings]
    blocks += [Note(sentence) for sentence in caution(found) if sentence]
    lead = (
        f"Nothing in the log is surely better than what was done, which earned {number(found.behaviour.rate, 6)}."
        if found.kept
        else f"Another policy would earn {number(found.gain, 6)} per unit time instead of "
        f"{number(found.behaviour.rate, 6)}, and almost surely no less than {number(found.low, 6)}."
    )
    return Section(
        "log of decisions",
        f"From {found.name} to a decision",
        lead,
        charts.rates(found),
        [*blocks, _table(found, budget), _facts(folder, found)],
    )


def _table(found: Logged, budget: Budget) -> Table:
    rows = [
        (
            one.state,
            one.commonest,
            one.commonest_count / one.rows,
            "as before" if found.kept else one.action,
            one.count,
            one.rows,
            one.visits,
        )
        for one in found.advice[: budget.rows]
    ]
    columns = [
        Column("state", numeric=False),
        Column("usual action", numeric=False),
        Column("its share of rows", digits=0, unit="%"),
        Column("advice", numeric=False),
        Column("seen"),
        Column("rows of the state"),
        Column("visits if followed", digits=0, unit="%"),
    ]
    left = len(found.advice) - len(rows)
    note = f"Not shown: {counted(left, 'further state')}; `{FILE}` has all states." if left else ""
    return Table(f"What to do: {found.name}", columns, rows, note, searched=len(rows) > 20)


def _facts(folder: Path, found: Logged) -> Facts:
    return Facts(
        "The log",
        [
            ("file", found.name),
            ("rows", number(found.rows)),
            ("time", number(found.duration, 6)),
            ("states", number(len(found.advice))),
            ("actions", number(found.actions)),
            ("probability of being better", f"{100.0 * found.beats_behaviour:.1f} %"),
            ("assumed", "Markov states, a stationary log, some chance of every action"),
            ("made by", f"Sojourn {found.version}"),
            ("folder", folder.name),
        ],
    )
