"""The part of the page about a sweep: what was run, and the results by world, agent, option and cell."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sojourn.report.blocks import Block, Charts, Column, Facts, Heading, Note, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.charts import Lines, Whiskers
from sojourn.report.looks import title
from sojourn.report.words import counted, number, setting, several
from sojourn.rules.records import Json, Options, read_record
from sojourn.runs.results import RESULTS, summarise
from sojourn.studies.sweep import charts, tables
from sojourn.studies.sweep.tables import Runs, Specification

OPTIONS_SHOWN = 6
WORLDS_SHOWN = 6
_FIGURES = {"rate": "Learned rate", "earned": "Earned"}
_WORDS = {"rate": "learned rate", "earned": "earned per unit time"}
_SHORT = {"rate": "learned rate", "rate_gap": "rate minus gain"}


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return the section on the sweep in a folder, with what `sweep.json` says about it if there is such a file."""
    asked = read_record(Specification, given)
    runs = tables.load(folder, asked)
    table, failed = runs.table, runs.failed
    blocks: list[Block] = []
    if runs.synthetic:
        blocks.append(Note("**Some of the data is synthetic**: a market made by Sojourn, not a real one."))
    if failed.height:
        blocks.append(
            Note(f"{counted(failed.height, 'run')} of {table.height:,} failed; the reasons are below.")
        )
    called = f"{runs.name}, synthetic data" if runs.synthetic else runs.name
    blocks += [_summary(table), *_by_option(runs, called), *_along(folder, called, budget)]
    blocks += [Heading("By cell"), _cells(runs, budget)]
    if failed.height:
        blocks += [Heading("Runs that failed"), _failures(failed, budget)]
    return Section(
        "sweep",
        f"Sweep: {runs.name}" + (" (synthetic data)" if runs.synthetic else ""),
        f"{counted(table['cell'].n_unique(), 'cell')}, {counted(table.height, 'run')}, "
        f"{counted(int((table['steps'] * table['episodes']).sum()), 'step')}.",
        charts.whiskers(runs.good, None, f"Earned: {called}") if runs.good.height else None,
        [*blocks, _facts(folder, asked, table)],
        synthetic=runs.synthetic,
    )


def _summary(table: pl.DataFrame) -> Table:
    summary = summarise(table)
    columns = [
        Column(_WORDS.get(name, name.replace("_", " ")), dtype.is_numeric())
        for name, dtype in summary.schema.items()
    ]
    rows = [(world, title(agent), *rest) for world, agent, *rest in summary.iter_rows()]
    return Table("By world and agent", columns, rows, "Rates and earnings are medians over the runs.")


def _by_option(runs: Runs, called: str) -> list[Block]:
    """Return what was earned, and the rates learned, for each value of each option that varies."""
    good = runs.good
    shown: list[Lines | Whiskers] = []
    for option in [one for one in runs.varied if one not in ("data", "segment")][:OPTIONS_SHOWN]:
        words = f"by {charts.option_words(option)}: {called}"
        if good[option].dtype.is_numeric():
            shown += [
                charts.lines(good, option, figure, f"{_FIGURES[figure]} {words}")
                for figure in ("earned", "rate")
            ]
        else:
            shown.append(charts.whiskers(good, option, f"Earned {words}"))
    if not shown:
        return []
    left = len(runs.varied) - OPTIONS_SHOWN
    text = "Medians over all runs with that value of the option, whatever their other options; the middle half is shaded."
    if left > 0:
        text += f" {counted(left, 'further option')} varied too."
    return [Heading("By option"), Prose(text), Charts(shown)]


def _along(folder: Path, called: str, budget: Budget) -> list[Block]:
    """Return, for each world, the learned rate and what was earned so far; nothing if there are no curves."""
    found = tables.along(folder)
    if found is None:
        return []
    rows, means = found
    worlds = rows["world"].unique(maintain_order=True).to_list()
    shown = worlds[:WORLDS_SHOWN]
    points = max(20, budget.points // (6 * len(shown) * rows["agent"].n_unique()))
    drawn = [
        charts.along(rows.filter(pl.col("world") == world), figure, f"{words}: {world}, {called}", points)
        for world in shown
        for figure, words in (("rate", "Learned rate"), ("earned", "Earned so far"))
    ]
    what = "cells, each the mean over its seeds" if means else "runs"
    text = f"Medians over all {what}, whatever their options; the middle half is shaded."
    if len(worlds) > len(shown):
        text += f" Not shown: {counted(len(worlds) - len(shown), 'further world')}."
    return [Heading("Along the steps"), Prose(text), Charts(drawn)]


def _cells(runs: Runs, budget: Budget) -> Table:
    found = tables.cells(runs, budget.rows)
    note, left = "", found.total - found.rows.height
    if left:
        note = (
            f"{left:,} of {found.total:,} cells are left out: for each world and agent, only the {found.best} that earned "
            f"most are shown. `{RESULTS}` has them all."
        )
    columns = [
        Column("world", numeric=False),
        Column("agent", numeric=False),
        *(Column(charts.option_words(name), runs.table[name].dtype.is_numeric()) for name in runs.varied),
        Column("runs"),
        Column("diverged"),
        *(Column(_SHORT.get(name, name)) for name in found.measures),
        Column("deviation of earned"),
    ]
    rows = [
        (world, title(agent), *(setting(x) if isinstance(x, list | dict) else x for x in rest))
        for world, agent, *rest in found.rows.iter_rows()
    ]
    return Table("Means over the seeds of each cell", columns, rows, note)


def _failures(failed: pl.DataFrame, budget: Budget) -> Table:
    columns = [Column(name, numeric=False) for name in ("world", "agent", "reason")]
    return Table(
        "Why runs failed", [*columns, Column("runs")], tables.failures(failed).head(budget.rows).rows()
    )


def _facts(folder: Path, asked: Specification, table: pl.DataFrame) -> Facts:
    items = [
        ("seeds", several(table["seed"].unique().sort().to_list())),
        ("steps in an episode", several(table["steps"].unique().sort().to_list())),
        ("episodes", several(table["episodes"].unique().sort().to_list())),
        *(_entry("world", entry) for entry in asked.world),
        *(_entry("agent", entry) for entry in asked.agent),
    ]
    if asked.record:
        items.append(("points of a curve", number(asked.record)))
    if asked.rules_version is not None:
        items.append(("version of the rules", str(asked.rules_version)))
    return Facts("Settings", [*items, ("folder", folder.name)])


def _entry(kind: str, entry: Options) -> tuple[str, str]:
    """Return a world or an agent of the sweep, with its options in words."""
    options = "; ".join(
        f"{charts.option_words(key)} {setting(value)}"
        for key, value in entry.items()
        if key not in ("kind", "label")
    )
    return f"{kind} {entry.get('label') or entry['kind']}", options or "default options"
