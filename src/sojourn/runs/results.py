"""Results as tidy Parquet tables: one row for each run.

`results.parquet` has these columns, in this order; the schema's version is SCHEMA_VERSION:

    cell             text     id of the cell: the same id means the same numbers
    world, agent     text     kind of the world; label of the agent
    ...              number   a column for each option that is given; null where it does not apply
    steps, episodes  integer  steps of an episode; number of episodes
    time             number   only if the sweep sets times: when the run was to end; `steps` is then how many it took
    seed             integer
    rate, reward, duration, greedy_reward, greedy_duration    number
    greedy_steps     integer
    diverged         boolean  whether a number of the agent is no longer finite
    gain             number   the exact optimal gain of the world; null if it is not known
    regret           number   gain * duration - reward: how much more an optimal policy would have earned; null if the
                              gain is not known
    rate_gap         number   rate - gain: the error of the learned rate; null if the gain is not known
    policy_gain      number   the exact gain of the final policy; null if it is not known, if policies are not kept, or
                              if the run diverged
    earned           number   reward / duration: what the run earned per unit time
    dynamic_regret   number   in a world that changes and knows its gain at every time: how much more the best policy of
                              each time would have earned; otherwise null
    tracking_error   number   in such a world: the mean over time of the squared error of the learned rate, without the
                              first 100 steps; otherwise null
    state            integer  the last state; null where states are vectors
    policy           list     the final greedy action of each state; only if the sweep keeps policies
    error            text     why the run failed; null if it did not

`curves.parquet` exists if curves were recorded. It has the columns from cell to seed as above, and step, reward,
greedy_reward, clock and rate. If curves are means over the seeds, it has no seed, and four columns for each of the last
four: the mean, the standard deviation (of the sample, so null for one seed) and the two ends of the 95 % interval of
the mean by Student's t, such as reward_mean, reward_std, reward_low and reward_high.
`timings.parquet` has cell, seed and seconds, the only numbers that differ when a sweep is run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from sojourn.data.child import check_columns, is_number, read_table
from sojourn.data.files import is_leftover, write_whole
from sojourn.data.moved import moved_names
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told
from sojourn.rules.intervals import mean_reach
from sojourn.runs.batch import TRUTHS, Batch, Column
from sojourn.runs.loop import PARTS
from sojourn.runs.recording import Points

__getattr__ = moved_names(__name__)

# 4: the actions of policies have 32 bits; with 16, action 70,000 became 4,464. 5: new columns for the gain of the final
# policy, what was earned and the last state, and in curves for what they belong to. 6: dynamic regret, tracking error.
SCHEMA_VERSION = 6
_LARGEST_ACTION = 2**32 - 1
RESULTS, CURVES, TIMINGS = "results.parquet", "curves.parquet", "timings.parquet"
TEXTS = ("cell", "world", "agent", "error")
NUMBERS = ("steps", "episodes", "seed", "rate", "reward", "duration")  # required columns


def results_frame(
    specification: dict[str, pl.Series],
    batch: Batch,
    gains: Floats,
    policy_gains: Floats,
    seconds: float,
    *,
    policies: bool,
) -> pl.DataFrame:
    """Return rows of the results, with a column `seconds` that `merge` moves to its own table.

    The exact gains are those of each run's world and of its final policy; NaN where one is not known.
    """
    count = len(batch.errors)
    columns = dict(specification)
    failed = batch.errors != ""
    for name, figures in {**batch.figures(), "state": batch.states}.items():
        if name not in ("steps", *TRUTHS):  # steps are part of the specification
            columns[name] = _sound(name, figures, failed)
    gain = pl.Series("gain", gains).fill_nan(None)
    columns["gain"] = gain
    columns["regret"] = gain * columns["duration"] - columns["reward"]
    columns["rate_gap"] = columns["rate"] - gain
    columns["policy_gain"] = pl.Series("policy_gain", policy_gains).fill_nan(None)
    columns["earned"] = (columns["reward"] / columns["duration"]).fill_nan(None)
    for name, figures in zip(TRUTHS, (batch.dynamic_regrets, batch.tracking_errors), strict=True):
        columns[name] = _sound(name, figures, failed).fill_nan(None)
    state = columns.pop("state")
    columns["state"] = state.set(state < 0, None)  # a vector has no number
    if policies:
        columns["policy"] = policy_column(batch.policies)
    columns["error"] = pl.Series("error", [error or None for error in batch.errors], dtype=pl.String)
    columns["seconds"] = pl.Series("seconds", np.full(count, seconds / count))
    return pl.DataFrame(columns)


def _sound(name: str, figures: Column, failed: Column) -> pl.Series:
    """Return a column of figures, null where the run failed."""
    series = pl.Series(name, figures)
    return series.set(pl.Series(failed), None) if failed.any() else series


def policy_column(policies: Ints) -> pl.Series:
    """Return policies, one per row, as a column.

    >>> policy_column(np.array([[0, 70_000]])).to_list()
    [[0, 70000]]
    """
    if policies.size and not 0 <= policies.min() <= policies.max() <= _LARGEST_ACTION:
        raise ValueError(
            f"a policy has the action {policies.max():,}; tables hold those up to {_LARGEST_ACTION:,}"
        )
    return pl.Series("policy", policies.astype(np.uint32)).arr.to_list()


def curves_frame(specification: Mapping[str, pl.Series], points: Points, curves: Floats) -> pl.DataFrame:
    """Return rows of the curves: one for each point of each run, which is given by its specification."""
    columns = _at_points(specification, points, len(curves))
    for part, name in enumerate(PARTS):
        columns[name] = pl.Series(curves[:, part, :].ravel())
    return pl.DataFrame(columns)


def mean_curves_frame(
    specification: Mapping[str, pl.Series], points: Points, means: Floats, deviations: Floats, seeds: int
) -> pl.DataFrame:
    """Return rows of the mean curves over `seeds` seeds: one for each point of each cell."""
    columns = _at_points(specification, points, len(means))
    reach = mean_reach(seeds)
    for part, name in enumerate(PARTS):
        mean, deviation = means[:, part, :].ravel(), deviations[:, part, :].ravel()
        columns[f"{name}_mean"] = pl.Series(mean)
        columns[f"{name}_std"] = pl.Series(deviation).fill_nan(None)
        columns[f"{name}_low"] = pl.Series(mean - reach * deviation).fill_nan(None)
        columns[f"{name}_high"] = pl.Series(mean + reach * deviation).fill_nan(None)
    return pl.DataFrame(columns)


def _at_points(specification: Mapping[str, pl.Series], points: Points, count: int) -> dict[str, pl.Series]:
    """Return the specification of each of `count` curves at each point, and the point."""
    places = np.repeat(np.arange(count), len(points))
    columns = {name: column.gather(places) for name, column in specification.items()}
    return {**columns, "step": pl.Series(np.tile(points, count))}


# --- Files --------------------------------------------------------------------------


def claim_folder(folder: Path, mark: str = "sweep") -> None:
    """Raise an error if a folder holds anything but an earlier run, so that nothing else is overwritten."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; choose a folder for the results")
    if not folder.is_dir() or (folder / mark).exists():
        return
    if not all(is_leftover(entry) for entry in folder.iterdir()):
        raise ValueError(
            f"{folder} is not empty and holds no earlier run of this command; choose another folder"
        )


def merge(parts: list[Path], folder: Path, curve_parts: list[Path]) -> None:
    """Merge the parts into the final tables, in order and in constant memory."""
    rows = pl.scan_parquet(parts)
    if curve_parts:
        write_whole(folder / CURVES, lambda path: pl.scan_parquet(curve_parts).sink_parquet(path))
    timings = rows.select("cell", "seed", "seconds")
    write_whole(folder / TIMINGS, timings.sink_parquet)
    # Written last: its presence means that everything is done.
    write_whole(folder / RESULTS, lambda path: rows.drop("seconds").sink_parquet(path))


@told
def load_results(folder: str | Path) -> pl.DataFrame:
    """Return the table of results in a folder: a `polars.DataFrame` with a row for each run.

    >>> load_results("no-such-folder")
    Traceback (most recent call last):
    ValueError: no-such-folder/results.parquet does not exist: the folder holds no sweep

    `sojourn.run_sweep` shows how such a folder is made.
    """
    path = Path(folder) / RESULTS
    if not path.is_file():
        unfinished = Path(folder).joinpath("parts").is_dir()
        hint = (
            "the sweep is not finished; run it again to go on" if unfinished else "the folder holds no sweep"
        )
        raise ValueError(f"{path} does not exist: {hint}")
    table = read_table(path)
    _check(path, table.schema)
    return table


@told
def load_curves(folder: str | Path) -> pl.DataFrame:
    """Return the table of curves in a folder: a `polars.DataFrame` with a row for each run, or cell, and point.

    >>> load_curves("no-such-folder")
    Traceback (most recent call last):
    ValueError: no-such-folder/curves.parquet does not exist: the sweep is not finished, or records no curves

    A sweep records them with `record = 50` or any other number of points.
    """
    path = Path(folder) / CURVES
    if not path.is_file():
        raise ValueError(f"{path} does not exist: the sweep is not finished, or records no curves")
    table = read_table(path)
    check_columns(path, table.schema, ["cell"], ["step"])
    return table


def _check(path: Path, schema: pl.Schema) -> None:
    """Raise an error if the columns of a table are not those of results; options may be texts, numbers and bools."""
    check_columns(path, schema, TEXTS, NUMBERS)
    for name, kind in {"diverged": pl.Null(), **schema}.items():
        is_policy = name == "policy" and isinstance(kind, pl.List) and is_number(kind.inner)
        fits = (
            kind == pl.Boolean if name == "diverged" else kind in (pl.String, pl.Boolean) or is_number(kind)
        )
        if not (fits or is_policy):
            raise ValueError(
                f"{path} is damaged or of another version: its column {name!r} is of type {kind}, which no results have"
            )


def export_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV; a policy is written as its actions, separated by spaces."""
    if "policy" in table.columns:
        table = table.with_columns(pl.col("policy").cast(pl.List(pl.String)).list.join(" "))
    write_whole(path, table.write_csv)


def summarise(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each world and agent: the number of runs, of failures, and what they earned."""
    earned = pl.col("reward") / pl.col("duration")
    return table.group_by("world", "agent", maintain_order=True).agg(
        pl.col("cell").n_unique().alias("cells"),
        pl.len().alias("runs"),
        pl.col("error").count().alias("failed"),
        pl.col("diverged").sum().alias("diverged"),
        pl.col("rate").median().alias("rate"),
        earned.median().alias("earned"),
    )
