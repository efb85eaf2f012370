"""Tables of a sweep's results: by world, agent, option and cell, over the steps, and why runs failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from sojourn.rules.apart import Facts, check_columns, check_parquet, read_apart
from sojourn.rules.records import Json, Options
from sojourn.runs.columns import TRUTHS
from sojourn.runs.results import CURVES, RESULTS, load_results

# Columns of results that are not options; `results.py` describes them.
_FIXED = {
    *("cell", "world", "agent", "steps", "episodes", "seed", "rate", "reward", "duration", "greedy_reward"),
    *("greedy_duration", "greedy_steps", "diverged", "policy", "error", "gain", "regret", "rate_gap"),
    *("policy_gain", "earned", "state", "time", "dynamic_regret", "tracking_error"),
}
_MEASURES = ("rate", "earned", "gain", "policy_gain", "regret", "rate_gap", *TRUTHS)
GROUPS = 60  # an option with more values than this has them grouped


@dataclass(frozen=True)
class Specification:
    """What was asked for, as `sweep.json` has it; results from elsewhere have no such file."""

    name: str = ""
    steps: Json = None
    record: int = 0
    rules_version: int | None = None
    world: tuple[Options, ...] = ()
    agent: tuple[Options, ...] = ()


class Runs(NamedTuple):
    """The runs of a sweep, and which of their columns are options."""

    name: str
    table: pl.DataFrame
    options: list[str]
    varied: list[str]  # the options with several values
    synthetic: bool

    @property
    def good(self) -> pl.DataFrame:
        """The runs that did not fail."""
        return self.table.filter(pl.col("error").is_null())

    @property
    def failed(self) -> pl.DataFrame:
        """The runs that failed."""
        return self.table.filter(pl.col("error").is_not_null())


def load(folder: Path, asked: Specification) -> Runs:
    """Return the runs in a folder, with what they earned per unit time."""
    table = load_results(folder).with_columns(earned=pl.col("reward") / pl.col("duration"))
    options = [column for column in table.columns if column not in _FIXED]
    if isinstance(asked.steps, list) and len(asked.steps) > 1:
        options.append("steps")  # treated as an option
    varied = [option for option in options if table[option].drop_nulls().n_unique() > 1]
    synthetic = "data" in options and "synthetic" in set(table["data"].drop_nulls().cast(pl.String))
    return Runs(asked.name or folder.name, table, options, varied, synthetic)


class ByOption(NamedTuple):
    """Median and middle half of a figure for each world, agent and value of an option."""

    rows: pl.DataFrame
    different: int  # how many values the option has; they are grouped if there are more than GROUPS


def by_option(table: pl.DataFrame, option: str, figure: str) -> ByOption:
    """Return a figure over the values of an option, whatever the other options are."""
    chosen = table.filter(pl.col(option).is_not_null() & pl.col(figure).is_finite())
    different = chosen[option].n_unique()
    numeric = table[option].dtype.is_numeric()
    if numeric and different > GROUPS:
        group = (pl.col(option).rank("dense") - 1) * GROUPS // different
        chosen = chosen.with_columns(pl.col(option).median().over(group))
    rows = _middle(chosen, ["world", "agent", option], figure)
    return ByOption(rows.sort(option) if numeric else rows, different)


def overall(table: pl.DataFrame) -> pl.DataFrame:
    """Return the median and the middle half of what each agent earned in each world, whatever the options are."""
    return _middle(table.filter(pl.col("earned").is_finite()), ["world", "agent"], "earned")


def _middle(table: pl.DataFrame, groups: list[str], figure: str) -> pl.DataFrame:
    return table.group_by(groups, maintain_order=True).agg(
        median=pl.col(figure).median(),
        low=pl.col(figure).quantile(0.25, "linear"),
        high=pl.col(figure).quantile(0.75, "linear"),
    )


def along(folder: Path) -> tuple[pl.DataFrame, bool] | None:
    """Return learned rates and earnings over the steps, and whether curves are means; None if there are no curves."""
    path = folder / CURVES
    if not path.is_file():
        return None
    rows, facts = read_apart(along_here, path)
    return None if rows.is_empty() else (rows, bool(facts["means"]))


def along_here(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Do the same in this process; there may be many curves, and only the result goes to another process."""
    check_parquet(path)
    lines = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    runs = pl.scan_parquet(path.parent / RESULTS, glob=False, hive_partitioning=False)
    means = "rate_mean" in lines.collect_schema().names()
    mean = "_mean" if means else ""
    figures_of = [f"{name}{mean}" for name in ("rate", "reward", "clock")]
    check_columns(path, lines.collect_schema(), ["cell"], ["step", *figures_of])
    check_columns(path.parent / RESULTS, runs.collect_schema(), ["cell", "world", "agent"], [])
    figures = {
        "rate": pl.col(f"rate{mean}"),
        "earned": pl.col(f"reward{mean}") / pl.col(f"clock{mean}"),
    }
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


class Cells(NamedTuple):
    """Means over the seeds of each cell; if there are many cells, only those that earned most."""

    rows: pl.DataFrame
    measures: list[str]
    total: int  # cells in all
    best: int  # how many cells of each world and agent are kept, if some are left out


def cells(runs: Runs, most: int) -> Cells:
    """Return at most `most` cells."""
    measures = [name for name in _MEASURES if _has(runs.table, name)]
    rows = runs.table.group_by("world", "agent", "cell", *runs.options, maintain_order=True).agg(
        runs=pl.len(),
        diverged=pl.col("diverged").sum(),
        **{name: pl.col(name).mean() for name in measures},
        deviation=pl.col("earned").std(),
    )
    total, best = rows.height, rows.height
    if total > most:
        best = max(1, most // rows.select("world", "agent").n_unique())
        place = pl.col("earned").fill_nan(None).rank("ordinal", descending=True).over("world", "agent")
        rows = rows.filter(place <= best).head(most)
    shown = rows.select("world", "agent", *runs.varied, "runs", "diverged", *measures, "deviation")
    return Cells(shown, measures, total, best)


def _has(table: pl.DataFrame, name: str) -> bool:
    return name in table.columns and table[name].null_count() < table.height


def failures(failed: pl.DataFrame) -> pl.DataFrame:
    """Return how many runs of each world and agent failed for each reason, the most frequent first."""
    return failed.group_by("world", "agent", "error").len().sort("len", descending=True)


def spread(values: Iterable[float], ratio: float) -> bool:
    """Return whether values are positive and so far apart that a log axis shows them better."""
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) / min(known) >= ratio
