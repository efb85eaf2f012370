"""A sweep's section of the page: tables by world, agent, option and cell; charts over options and steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from sojourn.data.child import check_columns, check_parquet, read_apart
from sojourn.data.files import Json, JsonObject
from sojourn.data.hints import read_record
from sojourn.report import blocks
from sojourn.report.charts import Axis, Lines, Whisker, Whiskers, series_of
from sojourn.report.looks import looks, plain, title
from sojourn.report.words import counted, number, setting, several
from sojourn.runs.batch import TRUTHS
from sojourn.runs.results import CURVES, RESULTS, load_results, summarise

# Columns of results that are not options; `results.py` describes them.
_FIXED = {
    *("cell", "world", "agent", "steps", "episodes", "seed", "rate", "reward", "duration", "greedy_reward"),
    *("greedy_duration", "greedy_steps", "diverged", "policy", "error", "gain", "regret", "rate_gap"),
    *("policy_gain", "earned", "state", "time", "dynamic_regret", "tracking_error"),
}
_MEASURES = ("rate", "earned", "gain", "policy_gain", "regret", "rate_gap", *TRUTHS)
GROUPS = 60  # more values of an option than this are grouped


@dataclass(frozen=True)
class Specification:
    """The specification in `sweep.json`; results from elsewhere have no such file."""

    name: str = ""
    steps: Json = None
    record: int = 0
    rules_version: int | None = None
    world: tuple[JsonObject, ...] = ()
    agent: tuple[JsonObject, ...] = ()


class SweptRuns(NamedTuple):
    """The runs of a sweep, and their option columns."""

    name: str
    table: pl.DataFrame
    options: list[str]
    varied: list[str]  # options with several values
    synthetic: bool

    @property
    def good(self) -> pl.DataFrame:
        """The successful runs."""
        return self.table.filter(pl.col("error").is_null())

    @property
    def failed(self) -> pl.DataFrame:
        """The failed runs."""
        return self.table.filter(pl.col("error").is_not_null())


def load(folder: Path, asked: Specification) -> SweptRuns:
    """Load the runs in a folder, with what they earned per unit time."""
    table = load_results(folder).with_columns(earned=pl.col("reward") / pl.col("duration"))
    options = [column for column in table.columns if column not in _FIXED]
    if isinstance(asked.steps, list) and len(asked.steps) > 1:
        options.append("steps")  # treated as an option
    varied = [option for option in options if table[option].drop_nulls().n_unique() > 1]
    synthetic = "data" in options and "synthetic" in set(table["data"].drop_nulls().cast(pl.String))
    return SweptRuns(asked.name or folder.name, table, options, varied, synthetic)


def by_option(table: pl.DataFrame, option: str, figure: str) -> tuple[pl.DataFrame, int]:
    """Return the median and the middle half of a figure for each world, agent and value of an option.

    Also return the number of values; more than GROUPS are grouped.
    """
    chosen = table.filter(pl.col(option).is_not_null() & pl.col(figure).is_finite())
    different = chosen[option].n_unique()
    numeric = table[option].dtype.is_numeric()
    if numeric and different > GROUPS:
        group = (pl.col(option).rank("dense") - 1) * GROUPS // different
        chosen = chosen.with_columns(pl.col(option).median().over(group))
    rows = _middle(chosen, ["world", "agent", option], figure)
    return rows.sort(option) if numeric else rows, different


def _middle(table: pl.DataFrame, groups: list[str], figure: str) -> pl.DataFrame:
    return table.group_by(groups, maintain_order=True).agg(
        median=pl.col(figure).median(),
        low=pl.col(figure).quantile(0.25, "linear"),
        high=pl.col(figure).quantile(0.75, "linear"),
    )


def read_along(folder: Path) -> tuple[pl.DataFrame, bool] | None:
    """Return learned rates and earnings over the steps, and whether curves are means; None if there are no curves."""
    path = folder / CURVES
    if not path.is_file():
        return None
    rows, facts = read_apart(along_here, path)
    return None if rows.is_empty() else (rows, bool(facts["means"]))


def along_here(path: Path) -> tuple[pl.DataFrame, dict[str, bool]]:
    """Do the same in this process; only the result is sent to the parent, since there may be many curves."""
    check_parquet(path)
    lines = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    runs = pl.scan_parquet(path.parent / RESULTS, glob=False, hive_partitioning=False)
    means = "rate_mean" in lines.collect_schema().names()
    mean = "_mean" if means else ""
    figures_of = [f"{name}{mean}" for name in ("rate", "reward", "clock")]
    check_columns(path, lines.collect_schema(), ["cell"], ["step", *figures_of])
    check_columns(path.parent / RESULTS, runs.collect_schema(), ["cell", "world", "agent"], [])
    figures = {"rate": pl.col(f"rate{mean}"), "earned": pl.col(f"reward{mean}") / pl.col(f"clock{mean}")}
    aggregates = []
    for name, figure in figures.items():
        finite = figure.filter(figure.is_finite())
        aggregates += [
            finite.median().alias(name),
            finite.quantile(0.25, "linear").alias(f"{name}_low"),
            finite.quantile(0.75, "linear").alias(f"{name}_high"),
        ]
    rows = (
        lines.select("cell", "step", *figures_of)
        .join(runs.select("cell", "world", "agent").unique(), on="cell")
        .group_by("world", "agent", "step")
        .agg(aggregates)
        .sort("world", "agent", "step")
        .collect()
    )
    return rows, {"means": means}


def spread(values: Iterable[float], ratio: float) -> bool:
    """Whether values are positive and span enough for a log axis."""
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) / min(known) >= ratio


# --- Charts ------------------------------------------------------------------------------

LINES_SHOWN = 12  # lines in one chart
_REWARD = "reward per unit time"


def option_words(option: str) -> str:
    """Return an option's display name, without the prefix `option_`."""
    return option.removeprefix("option_").replace("_", " ")


def lines(table: pl.DataFrame, option: str, figure: str, heading: str) -> Lines:
    """Return the chart of a figure's median and middle half over the values of an option, for each world and agent."""
    rows, different = by_option(table, option, figure)
    one_world = table["world"].n_unique() == 1
    pairs = rows.select("world", "agent").unique(maintain_order=True).sort("world", "agent").rows()
    styles = looks(dict.fromkeys(agent for _, agent in pairs))
    series = []
    for place, (world, agent) in enumerate(pairs[:LINES_SHOWN]):
        line = rows.filter((pl.col("world") == world) & (pl.col("agent") == agent))
        name = title(agent) if one_world else f"{title(agent)}, {world}"
        look = styles[agent] if one_world else plain(place)
        series.append(series_of(name, look, line, option, "median", "low", "high"))
    ends = [end for name in ("median", "low", "high") for end in rows[name].drop_nulls()]
    left = len(pairs) - len(series)
    note = f"Not shown: {counted(left, 'further pair')} of agent and world." if left > 0 else ""
    if different > GROUPS:
        note = f"Its {different:,} values are shown in {GROUPS} groups. {note}".strip()
    return Lines(
        heading,
        Axis(option_words(option), log=spread(rows[option].drop_nulls(), 30.0)),
        Axis(_REWARD, log=spread(ends, 1e4)),
        series,
        note=note,
        height=300,
    )


def whiskers(table: pl.DataFrame, option: str | None, heading: str) -> Whiskers:
    """Return the chart of the median and middle half of each agent's earnings, for each word that an option takes."""
    if option is None:
        rows = _middle(table.filter(pl.col("earned").is_finite()), ["world", "agent"], "earned")
    else:
        rows, _ = by_option(table, option, "earned")
    several = rows["world"].n_unique() > 1
    styles = looks(dict.fromkeys(rows["agent"]))
    shown = []
    for world, agent, *choice, median, low, high in rows.head(3 * LINES_SHOWN).iter_rows():
        name = ", ".join([title(agent), *map(setting, choice), *([world] if several else [])])
        shown.append(Whisker(name, styles[agent], median, low, high))
    left = rows.height - len(shown)
    return Whiskers(
        heading,
        Axis("earned per unit time", short="earned"),
        shown,
        interval="middle half",
        note=f"Not shown: {counted(left, 'further row')}." if left > 0 else "",
    )


def along(rows: pl.DataFrame, figure: str, heading: str, points: int) -> Lines:
    """Return the chart of a figure over the steps, with at most `points` points for each agent."""
    series = []
    for agent, style in looks(dict.fromkeys(rows["agent"])).items():
        line = rows.filter(pl.col("agent") == agent)
        every = max(1, -(-line.height // points))
        line = line.gather_every(every, offset=(line.height - 1) % every)  # always including the last point
        series.append(series_of(title(agent), style, line, "step", figure, f"{figure}_low", f"{figure}_high"))
    first, last = rows["step"].to_numpy().min(), rows["step"].to_numpy().max()
    wide = bool(first > 0 and last / first > 50)
    return Lines(heading, Axis("steps", log=wide), Axis(_REWARD), series, height=320)


# --- Section of the page -----------------------------------------------------------------

OPTIONS_SHOWN = 6
WORLDS_SHOWN = 6
_FIGURES = {"rate": "Learned rate", "earned": "Earned"}
_WORDS = {"rate": "learned rate", "earned": "earned per unit time"}
_SHORT = {"rate": "learned rate", "rate_gap": "rate minus gain"}


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the sweep in a folder, with the content of `sweep.json` if it exists."""
    asked = read_record(Specification, given)
    runs = load(folder, asked)
    table, failed = runs.table, runs.failed
    parts: list[blocks.Block] = []
    if runs.synthetic:
        parts.append(
            blocks.Note("**Some of the data is synthetic**: a market made by Sojourn, not a real one.")
        )
    if failed.height:
        parts.append(
            blocks.Note(f"{counted(failed.height, 'run')} of {table.height:,} failed; the reasons are below.")
        )
    called = f"{runs.name}, synthetic data" if runs.synthetic else runs.name
    parts += [summary(table), *_by_option(runs, called), *_along(folder, called, budget)]
    parts += [blocks.Heading("By cell"), _cells(runs, budget)]
    if failed.height:
        parts += [blocks.Heading("Runs that failed"), _failures(failed, budget)]
    return blocks.Section(
        "sweep",
        f"Sweep: {runs.name}" + (" (synthetic data)" if runs.synthetic else ""),
        f"{counted(table['cell'].n_unique(), 'cell')}, {counted(table.height, 'run')}, "
        f"{counted(int((table['steps'] * table['episodes']).sum()), 'step')}.",
        whiskers(runs.good, None, f"Earned: {called}") if runs.good.height else None,
        [*parts, _facts(folder, asked, table)],
        synthetic=runs.synthetic,
    )


def summary(table: pl.DataFrame) -> blocks.DataTable:
    """Return the table of runs by world and agent: how many, how many failed, and what they earned."""
    found = summarise(table)
    columns = [
        blocks.Column(_WORDS.get(name, name.replace("_", " ")), dtype.is_numeric())
        for name, dtype in found.schema.items()
    ]
    rows = [(world, title(agent), *rest) for world, agent, *rest in found.iter_rows()]
    return blocks.DataTable(
        "By world and agent", columns, rows, "Rates and earnings are medians over the runs."
    )


def _by_option(runs: SweptRuns, called: str) -> list[blocks.Block]:
    """Return the charts of earnings and learned rates for each value of each option that varies."""
    good = runs.good
    shown: list[Lines | Whiskers] = []
    for option in [one for one in runs.varied if one not in ("data", "segment")][:OPTIONS_SHOWN]:
        words = f"by {option_words(option)}: {called}"
        if good[option].dtype.is_numeric():
            shown += [
                lines(good, option, figure, f"{_FIGURES[figure]} {words}") for figure in ("earned", "rate")
            ]
        else:
            shown.append(whiskers(good, option, f"Earned {words}"))
    if not shown:
        return []
    left = len(runs.varied) - OPTIONS_SHOWN
    text = "Medians over all runs with that value of the option, whatever their other options; the middle half is shaded."
    if left > 0:
        text += f" {counted(left, 'further option')} varied too."
    return [blocks.Heading("By option"), blocks.Prose(text), blocks.Charts(shown)]


def _along(folder: Path, called: str, budget: blocks.Budget) -> list[blocks.Block]:
    """Return the charts of the learned rate and the earnings so far in each world; nothing without curves."""
    found = read_along(folder)
    if found is None:
        return []
    rows, means = found
    worlds = rows["world"].unique(maintain_order=True).to_list()
    shown = worlds[:WORLDS_SHOWN]
    points = max(20, budget.points // (6 * len(shown) * rows["agent"].n_unique()))
    drawn = [
        along(rows.filter(pl.col("world") == world), figure, f"{words}: {world}, {called}", points)
        for world in shown
        for figure, words in (("rate", "Learned rate"), ("earned", "Earned so far"))
    ]
    what = "cells, each the mean over its seeds" if means else "runs"
    text = f"Medians over all {what}, whatever their options; the middle half is shaded."
    if len(worlds) > len(shown):
        text += f" Not shown: {counted(len(worlds) - len(shown), 'further world')}."
    return [blocks.Heading("Along the steps"), blocks.Prose(text), blocks.Charts(drawn)]


def _cells(runs: SweptRuns, budget: blocks.Budget) -> blocks.DataTable:
    """Return the table of each cell's means over seeds; of many cells, only those that earned most."""
    table, most = runs.table, budget.rows
    measures = [
        name for name in _MEASURES if name in table.columns and table[name].null_count() < table.height
    ]
    rows = table.group_by("world", "agent", "cell", *runs.options, maintain_order=True).agg(
        runs=pl.len(),
        diverged=pl.col("diverged").sum(),
        **{name: pl.col(name).mean() for name in measures},
        deviation=pl.col("earned").std(),
    )
    note, total = "", rows.height
    if total > most:
        best = max(1, most // rows.select("world", "agent").n_unique())
        place = pl.col("earned").fill_nan(None).rank("ordinal", descending=True).over("world", "agent")
        rows = rows.filter(place <= best).head(most)
        note = (
            f"{total - rows.height:,} of {total:,} cells are left out: for each world and agent, only the {best} that earned "
            f"most are shown. `{RESULTS}` has them all."
        )
    shown = rows.select("world", "agent", *runs.varied, "runs", "diverged", *measures, "deviation")
    columns = [
        *blocks.texts("world", "agent"),
        *(blocks.Column(option_words(name), table[name].dtype.is_numeric()) for name in runs.varied),
        *blocks.numbers(
            "runs", "diverged", *(_SHORT.get(name, name) for name in measures), "deviation of earned"
        ),
    ]
    entries = [
        (world, title(agent), *(setting(x) if isinstance(x, list | dict) else x for x in rest))
        for world, agent, *rest in shown.iter_rows()
    ]
    return blocks.DataTable("Means over the seeds of each cell", columns, entries, note)


def _failures(failed: pl.DataFrame, budget: blocks.Budget) -> blocks.DataTable:
    """Return the table of failed runs by world, agent and reason, most frequent first."""
    reasons = failed.group_by("world", "agent", "error").len().sort("len", descending=True)
    columns = [*blocks.texts("world", "agent", "reason"), blocks.Column("runs")]
    return blocks.DataTable("Why runs failed", columns, reasons.head(budget.rows).rows())


def _facts(folder: Path, asked: Specification, table: pl.DataFrame) -> blocks.Facts:
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
    return blocks.Facts("Settings", [*items, ("folder", folder.name)])


def _entry(kind: str, entry: JsonObject) -> tuple[str, str]:
    """Describe a world or an agent of the sweep with its options."""
    options = "; ".join(
        f"{option_words(key)} {setting(value)}"
        for key, value in entry.items()
        if key not in ("kind", "label")
    )
    return f"{kind} {entry.get('label') or entry['kind']}", options or "default options"
