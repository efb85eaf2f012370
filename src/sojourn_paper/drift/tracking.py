"""How closely estimators track the true rate of streams that change.

The tracking error is the mean over time of (estimate - truth)^2, without the first 100 steps, averaged over seeds
before ratios are taken. Ratios are to the best `Exponential` in hindsight: of 31 step sizes, the one with the
smallest error on the very streams that are measured.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import polars as pl

from sojourn import __version__
from sojourn.data.child import read_table
from sojourn.data.files import own_folder, write_whole
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.protocol import Rate
from sojourn.rates.score import rates_over
from sojourn.rules.arrays import Floats
from sojourn.runs.progress import Advance, no_progress
from sojourn_paper.drift.plan import REFERENCE, TUNING_SEEDS, Size, step_sizes
from sojourn_paper.drift.streams import NAMED, Stream, named_stream, random_stream, scenario

WARM_UP = 100
_SEED = 190_026  # not used in designing the study
_CHUNK = 8  # streams per file
HOWS = ("one setting", "by truth", "by score")


def kinds(size: Size) -> list[str]:
    """Return the names of all streams; those of the random ones are numbers."""
    return [*NAMED, *(str(number) for number in range(size.streams))]


def num_steps(size: Size) -> int:
    """Return the total number of steps of all estimators on all streams."""
    settings = sum(len(step_sizes(name)) for name in size.estimators)
    return len(kinds(size)) * settings * (size.seeds + TUNING_SEEDS) * size.steps


def measure(folder: Path, size: Size, pool: Executor, progress: Advance = no_progress) -> pl.DataFrame:
    """Return the errors and scores of all estimators on all streams; those in the folder are reused."""
    own_folder(folder)
    names = kinds(size)
    chunks = [names[first : first + _CHUNK] for first in range(0, len(names), _CHUNK)]
    each = num_steps(size) / len(names)
    tables = []
    for table, chunk, earlier in pool.map(lambda chunk: _kept(folder, size, chunk), chunks):
        tables.append(table)
        progress(each * len(chunk), earlier=earlier)
    return pl.concat(tables)


def _kept(folder: Path, size: Size, chunk: list[str]) -> tuple[pl.DataFrame, list[str], bool]:
    """Return the rows of some streams, the names of these streams, and whether the rows already existed."""
    said = json.dumps([__version__, size.estimators, size.seeds, size.steps, chunk])
    file = folder / f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.parquet"
    if file.is_file():
        return read_table(file), chunk, True
    table = pl.DataFrame([row for name in chunk for row in _rows(name, size)], schema=_SCHEMA, orient="row")
    write_whole(file, table.write_parquet)
    return table, chunk, False


_SCHEMA = {
    "stream": pl.String,
    "estimator": pl.String,
    "step_size": pl.Float64,
    "error": pl.Float64,  # on the evaluation seeds
    "tuning_error": pl.Float64,
    "tuning_score": pl.Float64,
}
Row = tuple[str, str, float | None, float, float, float]


def _rows(name: str, size: Size) -> Iterator[Row]:
    """Yield the mean errors and scores of every estimator with every step size on one kind of stream."""
    streams = [make(name, seed, size.steps) for seed in range(size.seeds + TUNING_SEEDS)]
    for estimator in size.estimators:
        for step_size in step_sizes(estimator):
            rate = ESTIMATORS[estimator].make(*([] if step_size is None else [step_size]))
            found = np.array([errors(rate, stream) for stream in streams])
            measured, tuning = found[: size.seeds, 0], found[size.seeds :]
            yield name, estimator, step_size, _mean(measured), _mean(tuning[:, 0]), _mean(tuning[:, 1])


def _mean(numbers: Floats) -> float:
    """Return a mean, which is infinite for an estimator that diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(numbers.mean())
    return mean if math.isfinite(mean) else math.inf


def make(name: str, seed: int, steps: int) -> Stream:
    """Return one stream of a kind."""
    if name in NAMED:
        return named_stream(np.random.default_rng([_SEED, NAMED.index(name), seed]), name, steps)
    number = int(name)
    kind = scenario(np.random.default_rng([_SEED + 1, number]), number)
    return random_stream(np.random.default_rng([_SEED + 2, number, seed]), kind, steps)


def errors(rate: Rate, stream: Stream) -> tuple[float, float]:
    """Return the tracking error of an estimator, and its mean score, for choosing without the truth."""
    estimates = rates_over(rate, stream.rewards, stream.durations)
    late = estimates[WARM_UP:]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = stream.lasted[WARM_UP:] * (late - stream.truth[WARM_UP:]) ** 2
        scores = (0.5 * stream.durations * estimates - stream.rewards) * estimates
        return float(squares.sum() / stream.lasted[WARM_UP:].sum()), float(scores.mean())


# --- What is chosen -----------------------------------------------------------------


def relative(table: pl.DataFrame) -> pl.DataFrame:
    """Return the error of each estimator on each stream, chosen in each way, relative to the best `Exponential`."""
    best = table.filter(pl.col("estimator") == REFERENCE).group_by("stream").agg(best=pl.col("error").min())
    chosen = [_one_setting(table).with_columns(how=pl.lit(HOWS[0]))]
    tuned = table.filter(pl.col("step_size").is_not_null())
    for how, column in zip(HOWS[1:], ("tuning_error", "tuning_score"), strict=True):
        least = (
            tuned.sort(column, maintain_order=True)
            .group_by("stream", "estimator", maintain_order=True)
            .first()
        )
        chosen.append(least.with_columns(how=pl.lit(how)))
    columns = ("stream", "estimator", "how", "step_size", "error")
    return (
        pl.concat([one.select(columns) for one in chosen])
        .join(best, on="stream")
        .select("stream", "estimator", "how", "step_size", relative=pl.col("error") / pl.col("best"))
        .sort("stream", "estimator", "how")
    )


def _one_setting(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows for each estimator's best step size over all random streams, on the tuning seeds."""
    drawn = table.filter(~pl.col("stream").is_in(NAMED))
    drawn = drawn if drawn.height else table
    reference = (
        drawn.filter(pl.col("estimator") == REFERENCE)
        .group_by("stream")
        .agg(least=pl.col("tuning_error").min())
    )
    means = (
        drawn.join(reference, on="stream")
        .group_by("estimator", "step_size", maintain_order=True)
        .agg(mean=(pl.col("tuning_error") / pl.col("least")).log().mean())
        .sort("mean", "step_size", nulls_last=True, maintain_order=True)
        .group_by("estimator", maintain_order=True)
        .first()
    )
    return table.join(means.select("estimator", "step_size"), on=["estimator", "step_size"], nulls_equal=True)


def overview(relatives: pl.DataFrame) -> pl.DataFrame:
    """Return the mean, 10 %, 90 % and worst error of each estimator, over random and over named streams."""
    group = pl.when(pl.col("stream").is_in(NAMED)).then(pl.lit("named")).otherwise(pl.lit("random"))
    return (
        relatives.with_columns(group=group)
        .group_by("group", "estimator", "how", maintain_order=True)
        .agg(
            mean=pl.col("relative").log().mean().exp(),
            low=pl.col("relative").quantile(0.1, "linear"),
            high=pl.col("relative").quantile(0.9, "linear"),
            worst=pl.col("relative").max(),
        )
        .sort("group", "how", "mean")
    )
