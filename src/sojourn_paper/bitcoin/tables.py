"""The study's tables, computed from the sweep's results and the bars."""

from __future__ import annotations

from typing import NamedTuple, TypedDict, TypeVar

import polars as pl

from sojourn import __version__
from sojourn.rules.intervals import holm, share_interval, sign_test
from sojourn.runs.spec import Sweep
from sojourn_paper.bitcoin.durations import movement
from sojourn_paper.bitcoin.plan import CONTROL, HARMONIC, LEVEL, NAMES, OPPONENTS, RULES, Source
from sojourn_paper.study import Row, Statement, Study

CELL = ("duration_rule", "state_size", "rate_step_size")
PER = 1000.0  # advantages and earnings are in thousandths of all movement


class Tables(NamedTuple):
    """All data behind the text, the figures and the page."""

    curves: pl.DataFrame  # accumulated reward along every segment
    differences: pl.DataFrame  # differences of final values, on every segment
    segments: pl.DataFrame  # statistics of each segment
    finals: pl.DataFrame  # final values
    win_ratios: pl.DataFrame
    advantages: pl.DataFrame  # the differences in thousandths of all movement
    earned: pl.DataFrame  # final values in thousandths of all movement, over segments


_CELL = "segment state_size rate_step_size"
_FILES = {  # the first three are for further work by users
    "curves.parquet": f"duration_rule agent | {_CELL} step mean std",
    "differences.parquet": f"opponent duration_rule | {_CELL} difference error",
    "segments.parquet": "| segment bars total_movement largest_move without_move duration_std q01 q25 q50 q75 q99 "
    "deciding_rate",
    "tables/finals.parquet": f"agent duration_rule | {_CELL} value diverged",
    "tables/win_ratios.parquet": "opponent duration_rule | state_size rate_step_size wins losses segments ratio low "
    "high p p_corrected tests",
    "tables/advantages.parquet": f"opponent duration_rule | {_CELL} share low high",
    "tables/earned.parquet": "duration_rule agent | mean lowest highest",
}
STUDY = Study(Tables, _FILES)


def tabulate(runs: pl.DataFrame, curves: pl.DataFrame, source: Source) -> Tables:
    """Return the tables of runs, which have the study's column names, and of the sweep's curves."""
    segments = movement(source, runs["segment"].unique().sort().to_list())
    finals, pairs = final_values(runs), paired(runs)
    return Tables(
        curves=tidy_curves(curves, runs),
        differences=pairs,
        segments=segments,
        finals=finals,
        win_ratios=win_ratios(pairs),
        advantages=advantages(pairs, segments),
        earned=earned(finals, segments),
    )


def tidy(results: pl.DataFrame) -> pl.DataFrame:
    """Return the runs under the study's column names."""
    return results.select(
        pl.col("cell"),
        pl.col("segment").cast(pl.Int64),
        pl.col("option_duration").str.strip_suffix("-magnitude").alias("duration_rule"),
        pl.col("state_size").cast(pl.Int64),
        "agent",
        "rate_step_size",
        "seed",
        "greedy_reward",
        "reward",
        "duration",
        "rate",
        "steps",
        "greedy_steps",
        "greedy_duration",
        "diverged",
        "error",
    )


def tidy_curves(curves: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return mean and deviation of the accumulated greedy reward along every segment."""
    names = ("segment", "duration_rule", "state_size", "agent", "rate_step_size")
    cells = runs.select("cell", *names).unique(maintain_order=True)
    own = curves.select("cell", "step", "greedy_reward_mean", "greedy_reward_std")
    joined = own.join(cells, on="cell", how="left", maintain_order="left")
    return joined.select(
        *names, "step", pl.col("greedy_reward_mean").alias("mean"), pl.col("greedy_reward_std").alias("std")
    )


def final_values(runs: pl.DataFrame) -> pl.DataFrame:
    """Return every agent's final value on each segment: the mean over seeds."""
    return runs.group_by("agent", "segment", *CELL, maintain_order=True).agg(
        value=pl.col("greedy_reward").mean(), diverged=pl.col("diverged").sum()
    )


def paired(runs: pl.DataFrame) -> pl.DataFrame:
    """Return Harmonic's final value minus the opponent's, for each opponent, cell and segment.

    The standard error is that of the differences seed by seed, since agents share their seeds.
    """
    harmonic = runs.filter(pl.col("agent") == HARMONIC)
    tables = []
    for opponent in OPPONENTS:
        others = runs.filter(pl.col("agent") == opponent)
        keys = ["segment", "duration_rule", "state_size", "seed"]
        if others["rate_step_size"].null_count() == 0:
            keys.append("rate_step_size")
        both = harmonic.join(others, on=keys, suffix="_other", maintain_order="left")
        difference = pl.col("greedy_reward") - pl.col("greedy_reward_other")
        tables.append(
            both.group_by("segment", *CELL, maintain_order=True)
            .agg(difference=difference.mean(), error=difference.std() / difference.count().sqrt())
            .select(pl.lit(opponent).alias("opponent"), "segment", *CELL, "difference", "error")
        )
    return pl.concat(tables)


def win_ratios(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return Harmonic's share of segments won in every cell, with interval and sign test.

    A tie is not a win. The tests are corrected for their number: for each rule of durations, those
    against the paper's two agents together, and those against the control.
    """
    difference = pl.col("difference").fill_nan(0.0)  # NaN counts as a tie
    counts = pairs.group_by("opponent", *CELL, maintain_order=True).agg(
        wins=(difference > 0).sum().cast(pl.Int64),
        losses=(difference < 0).sum().cast(pl.Int64),
        segments=pl.len().cast(pl.Int64),
    )
    rows = []
    for row in counts.iter_rows(named=True):
        low, high = share_interval(row["wins"], row["segments"])
        p_value = sign_test(row["wins"], row["losses"])
        rows.append({**row, "ratio": row["wins"] / row["segments"], "low": low, "high": high, "p": p_value})
    table = pl.DataFrame(rows).with_columns(control=pl.col("opponent") == CONTROL)
    corrected = [
        group.with_columns(p_corrected=pl.Series(holm(group["p"].to_list())), tests=pl.lit(group.height))
        for _, group in table.group_by("control", "duration_rule", maintain_order=True)
    ]
    return pl.concat(corrected).drop("control")


def advantages(pairs: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """Return Harmonic's advantage in thousandths of all movement, and two standard errors to each side.

    On a flat segment, whose price never moves, there is nothing to earn: no agent is ahead, and shares of its
    movement are undefined. It counts as a tie in the win ratios, and is left out here and in `earned`, and so in
    every chart and table of shares.
    """
    table = pairs.join(_moving(segments), on="segment", maintain_order="left")
    total = pl.col("total_movement") / PER
    share, reach = pl.col("difference") / total, 2 * pl.col("error").fill_null(0.0) / total
    return table.select("opponent", "segment", *CELL, share=share, low=share - reach, high=share + reach)


def earned(finals: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """Return what agents earned in thousandths of all movement, over segments and cells."""
    both = finals.join(_moving(segments), on="segment")
    shares = both.with_columns(share=PER * pl.col("value") / pl.col("total_movement"))
    table = shares.group_by("duration_rule", "agent").agg(
        mean=pl.col("share").mean(), lowest=pl.col("share").min(), highest=pl.col("share").max()
    )
    order = pl.DataFrame(
        [(rule, agent) for rule in RULES for agent in NAMES], schema=["duration_rule", "agent"], orient="row"
    )
    return order.join(table, on=["duration_rule", "agent"], how="inner", maintain_order="left")


def _moving(segments: pl.DataFrame) -> pl.DataFrame:
    """Return the segments that are not flat, with their total movement."""
    return segments.filter(pl.col("total_movement") > 0).select("segment", "total_movement")


def late_share(curves: pl.DataFrame) -> float:
    """Return the median share of Harmonic's final advantage or lag that arose after the first tenth of a segment."""
    keys = ["segment", "duration_rule", "state_size"]
    last = curves.group_by(*keys, "agent", "rate_step_size", maintain_order=True).agg(
        early=pl.col("mean").filter(pl.col("step") <= pl.col("step").max() / 10.0).last(),
        final=pl.col("mean").last(),
    )
    harmonic = last.filter(pl.col("agent") == HARMONIC)
    others = last.filter(pl.col("agent") != HARMONIC)
    alike = (pl.col("rate_step_size") == pl.col("rate_step_size_other")) | pl.col(
        "rate_step_size_other"
    ).is_null()
    both = harmonic.join(others, on=keys, suffix="_other").filter(alike)
    final = pl.col("final") - pl.col("final_other")
    early = (pl.col("early") - pl.col("early_other")).fill_null(0.0)
    shares = both.filter(final != 0.0).select(((final - early).abs() / final.abs()).median())
    return float(shares.item() or 0.0)


# --- The study in numbers: `summary.json` ------------------------------------------------

T = TypeVar("T")
Nested = dict[str, dict[str, dict[str, dict[str, T]]]]  # rule > opponent > state size > step size


class Data(TypedDict):
    """Where the bars come from."""

    name: str
    sha256: str
    rows: int
    synthetic: bool
    segments: int


class Settings(TypedDict):
    """What was run."""

    segment_length: int
    segments: list[int]
    shortest_segment: int
    state_sizes: list[int]
    fill: int
    repair: bool


class Verdict(TypedDict):
    """The outcome of a comparison over all its cells."""

    cells: int
    segments: int
    mean: float
    ahead: int
    certain_wins: int
    certain_losses: int
    ties: int
    smallest_p: float
    decidable: bool  # winning all segments would be enough for one cell to be certain


Verdicts = dict[str, dict[str, Verdict]]  # rule > opponent


class Numbers(TypedDict):
    """What was measured."""

    study: str
    version: str
    data: Data
    steps: int
    seconds: float
    seeds: int
    settings: Settings
    names: dict[str, str]
    diverged: dict[str, int]
    scaled_by: str
    win_ratio: Nested[float]
    win_interval: Nested[list[float]]
    sign_test: Nested[float]
    sign_test_corrected: Nested[float]
    verdict: Verdicts
    earned: list[Row]  # earnings, in thousandths of all movement


class Summary(Numbers):
    """The numbers, and the text about them."""

    statements: list[Statement]
    findings: list[str]


def numbers(tables: Tables, source: Source, sweep: Sweep, seconds: float) -> Numbers:
    """Return the study in numbers."""
    bars, ratios, segments = source.bars(), tables.win_ratios, tables.segments
    return {
        "study": "bitcoin",
        "version": __version__,
        "data": {
            "name": bars.name,
            "sha256": bars.sha256,
            "rows": len(bars),
            "synthetic": bars.synthetic,
            "segments": segments.height,
        },
        "steps": sweep.num_steps,
        "seconds": seconds,
        "seeds": len(sweep.seeds),
        "settings": {
            "segment_length": source.segment_length,
            "segments": segments["segment"].to_list(),
            "shortest_segment": min(segments["bars"].to_list()),
            "state_sizes": ratios["state_size"].unique().sort().to_list(),
            "fill": source.fill,
            "repair": source.repair,
        },
        "names": NAMES,
        "diverged": {
            agent: int(tables.finals.filter(pl.col("agent") == agent)["diverged"].sum()) for agent in NAMES
        },
        "scaled_by": "magnitude" if source.by_magnitude else "value",
        "win_ratio": nested(ratios, ratios["ratio"].to_list()),
        "win_interval": nested(ratios, [list(ends) for ends in ratios.select("low", "high").iter_rows()]),
        "sign_test": nested(ratios, ratios["p"].to_list()),
        "sign_test_corrected": nested(ratios, ratios["p_corrected"].to_list()),
        "verdict": {
            rule: {opponent: verdict(ratios, rule, opponent) for opponent in OPPONENTS} for rule in RULES
        },
        "earned": tables.earned.to_dicts(),
    }


def nested(ratios: pl.DataFrame, values: list[T]) -> Nested[T]:
    """Return a nested mapping of win ratios: duration rule > opponent > state size > step size."""
    table: Nested[T] = {rule: {opponent: {} for opponent in OPPONENTS} for rule in RULES}
    rows = ratios.select("duration_rule", "opponent", "state_size", "rate_step_size").iter_rows()
    for (rule, opponent, size, step), value in zip(rows, values, strict=True):
        table[rule][opponent].setdefault(str(size), {})[f"{step:g}"] = value
    return table


def verdict(ratios: pl.DataFrame, rule: str, opponent: str) -> Verdict:
    """Return the outcome of a comparison over all its cells."""
    rows = ratios.filter((pl.col("duration_rule") == rule) & (pl.col("opponent") == opponent))
    certain = pl.col("p_corrected") < LEVEL
    ahead, behind = pl.col("wins") > pl.col("losses"), pl.col("wins") < pl.col("losses")
    number, tests = int(rows["segments"][0]), int(rows["tests"][0])
    return {
        "cells": len(rows),
        "segments": number,
        "mean": float(rows.select(pl.col("ratio").mean()).item()),
        "ahead": rows.filter(ahead).height,
        "certain_wins": rows.filter(certain & ahead).height,
        "certain_losses": rows.filter(certain & behind).height,
        "ties": int((rows["segments"] - rows["wins"] - rows["losses"]).sum()),
        "smallest_p": min(rows["p_corrected"].to_list()),
        "decidable": tests * sign_test(number, 0) < LEVEL,
    }
