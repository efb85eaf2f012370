"""The paper's Bitcoin study: buy or sell at every minute, and wait a random or a scaled time.

Minute bars are cut into consecutive segments. On each, every agent starts anew and runs through
once, with 30 seeds, for all lengths of the remembered directions (`state_size`) and step sizes
of the rate. An agent's *final value* is the reward that its accepted (greedy) steps accumulated
over the segment, in the mean over seeds. Harmonic R-Learning *wins* a segment against another
agent if its final value is larger; SMART and the control `fixed_rate`, which takes the rate to
be 0, have no step size of the rate and are compared with all of Harmonic's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sojourn.rules.compile import kernel
from sojourn.rules.intervals import holm, share_interval, sign_test
from sojourn.rules.random import Stream, stream
from sojourn.runs.grids import Entry
from sojourn.runs.spec import Sweep
from sojourn.worlds.market.bars import Bars, segments
from sojourn.worlds.market.segments import SYNTHETIC, instrument, market_segment
from sojourn.worlds.market.world import Market, MarketWorld
from sojourn.worlds.protocol import start, step

_step = step.bare

STATE_SIZES = (3, 6, 9, 12)
RATE_STEP_SIZES = (0.01, 0.05, 0.1)
STEP_SIZE = 0.001
EXPLORATION = {"start": 0.2, "factor": 0.999}
RULES = ("random", "scaled")  # of durations
POINTS = 1000  # of a curve
LEVEL = 0.05  # of tests

HARMONIC = "harmonic_r"
OPPONENTS = {"smart": "SMART", "relaxed_smart": "Relaxed-SMART", "fixed_rate": "rate fixed at 0"}
NAMES = {HARMONIC: "Harmonic R-Learning", **OPPONENTS}
CELL = ("duration_rule", "state_size", "rate_step_size")


class Source(NamedTuple):
    """Where the bars come from, and how they are cut."""

    data: str = SYNTHETIC
    segment_length: int = 350_000
    fill: int = 0
    repair: bool = False
    by_magnitude: bool = False  # the other reading of the scaled durations

    def bars(self) -> Bars:
        """Return the bars, which must be minutes."""
        bars = instrument(self.data, self.fill, self.repair)
        if bars.interval != 60:
            raise ValueError(f"the bars of {bars.name} are {bars.interval} s apart; this study takes minutes")
        return bars

    def options(self) -> dict[str, Any]:
        """Return the options of a market on these bars."""
        options: dict[str, Any] = {"data": self.data, "segment_length": float(self.segment_length)}
        if self.fill:
            options["fill"] = float(self.fill)
        return options | ({"repair": "yes"} if self.repair else {})

    @property
    def scaled(self) -> str:
        """The rule of the scaled durations."""
        return "scaled-magnitude" if self.by_magnitude else "scaled"


def specification(
    source: Source,
    seeds: int,
    state_sizes: tuple[int, ...] = STATE_SIZES,
    chosen: tuple[int, ...] | None = None,
) -> Sweep:
    """Return the study of some segments, or all, as a sweep."""
    count = len(segments(len(source.bars()), source.segment_length))
    chosen = tuple(range(count)) if chosen is None else chosen
    outside = [number for number in chosen if number >= count]
    if outside:
        raise ValueError(f"there is no segment {outside[0]}; the data has the segments 0 to {count - 1}")
    one: dict[str, Any] = {"step_size": STEP_SIZE, "exploration": EXPLORATION}
    two = {**one, "rate_step_size": list(RATE_STEP_SIZES)}
    market = {
        **source.options(),
        "state_size": [float(size) for size in state_sizes],
        "duration": ["random", source.scaled],
        "segment": [float(number) for number in chosen],
    }
    return Sweep(
        name="bitcoin",
        worlds=[Entry("market", market)],
        agents=[
            Entry("smart", one),
            Entry("relaxed_smart", two),
            Entry("harmonic_r", two),
            Entry("fixed_rate", one),
        ],
        seeds=list(range(seeds)),
        record=POINTS,
        spacing="even",
        curves="mean",
        policies=False,
    )


# --- Tables -------------------------------------------------------------------------


def tidy(results: pl.DataFrame) -> pl.DataFrame:
    """Return the runs under the names of the study."""
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
    joined = curves.join(cells, on="cell", how="left", maintain_order="left")
    return joined.select(
        *names, "step", pl.col("greedy_reward_mean").alias("mean"), pl.col("greedy_reward_std").alias("std")
    )


def final_values(runs: pl.DataFrame) -> pl.DataFrame:
    """Return every agent's final value on each segment, the mean over its seeds."""
    return runs.group_by("agent", "segment", *CELL, maintain_order=True).agg(
        value=pl.col("greedy_reward").mean(), diverged=pl.col("diverged").sum()
    )


def paired(runs: pl.DataFrame) -> pl.DataFrame:
    """Return, for each opponent, cell and segment, Harmonic's final value less the opponent's.

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

    A tie is no win. The tests are corrected for their number: for each rule of durations, those
    against the paper's two agents together, and those against the control.
    """
    difference = pl.col("difference").fill_nan(0.0)  # what is no number is nobody's win
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
    table = pl.DataFrame(rows).with_columns(control=pl.col("opponent") == "fixed_rate")
    corrected = [
        group.with_columns(p_corrected=pl.Series(holm(group["p"].to_list())), tests=pl.lit(group.height))
        for _, group in table.group_by("control", "duration_rule", maintain_order=True)
    ]
    return pl.concat(corrected).drop("control")


def movement(source: Source, chosen: list[int]) -> pl.DataFrame:
    """Return what is special about each segment: its moves, scaled durations, and the rate that would matter."""
    rows = []
    for segment in chosen:
        world = market_segment(**source.options(), segment=segment, duration=source.scaled)
        moves = world.moves
        tau = scaled_durations(world)
        quantiles = np.quantile(tau, [0.01, 0.25, 0.5, 0.75, 0.99])
        rows.append(
            {
                "segment": segment,
                "bars": len(moves),
                "total_movement": float(np.abs(moves).sum()),
                "largest_move": float(np.abs(moves).max()),
                "without_move": float((moves == 0.0).mean()),
                "duration_std": float(tau.std()),
                **dict(zip(("q01", "q25", "q50", "q75", "q99"), map(float, quantiles), strict=True)),
                "deciding_rate": deciding_rate(world),
            }
        )
    return pl.DataFrame(rows)


def scaled_durations(world: MarketWorld) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the durations of always buying, in a market whose durations are scaled."""
    rng = stream(0)  # which scaled durations never draw from
    world, state = start(world, rng)
    durations = np.empty(world.num_steps)
    _always_buy(world, state, durations, rng)
    return durations


@kernel
def _always_buy(world: MarketWorld, state: int, durations: Any, rng: Stream) -> None:
    for t in range(len(durations)):
        world, state, _, durations[t] = _step(world, state, 0, rng)


def deciding_rate(world: MarketWorld) -> float:
    """Return the rate from which on it would turn the preference between buying and selling around.

    With x the move of a bar and X the largest, buying takes 25 + 20 x/X seconds, selling
    25 - 20 x/X. Buying earns x (2 - 50/60) more than selling and takes 40 x/X longer, so in
    every state the advantage of buying is

        E[x] (2 - 50/60 - 40 rho / X)

    and its sign is that of E[x] for every rho below X (2 - 50/60)/40, with the paper's numbers.
    """
    return float(
        world.highest
        * (2.0 - (world.shortest + world.longest) / world.interval)
        / (world.longest - world.shortest)
    )


def largest_rate() -> float:
    """Return the largest r/tau that any action can earn where durations are scaled, as a part of `deciding_rate`.

    No mean of rates, nor any ratio of sums of r to sums of tau, is above its largest member.

    >>> round(largest_rate(), 3)
    0.215
    """
    # A market of all moves from none to the largest, here 1; a loss earns a negative rate.
    world = Market(np.zeros(10_001), np.linspace(0.0, 1.0, 10_001), duration="scaled")
    durations = scaled_durations(world)
    rates = world.moves * (1.0 - durations / world.interval) / durations
    return float(rates.max() / deciding_rate(world))


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
    shares = both.filter(final != 0.0).select(((final - early).abs() / final.abs()).alias("share"))
    return float(shares["share"].median() or 0.0)  # type: ignore[arg-type]


# --- Judgement ----------------------------------------------------------------------


def nested(ratios: pl.DataFrame, column: str) -> dict[str, Any]:
    """Return a column of the win ratios as duration rule > opponent > state size > step size."""
    table: dict[str, Any] = {rule: {opponent: {} for opponent in OPPONENTS} for rule in RULES}
    for row in ratios.iter_rows(named=True):
        sizes = table[row["duration_rule"]][row["opponent"]].setdefault(str(row["state_size"]), {})
        sizes[f"{row['rate_step_size']:g}"] = row[column]
    return table


def verdict(ratios: pl.DataFrame, rule: str, opponent: str) -> dict[str, Any]:
    """Return how a comparison came out over all its cells."""
    rows = ratios.filter((pl.col("duration_rule") == rule) & (pl.col("opponent") == opponent))
    certain = pl.col("p_corrected") < LEVEL
    ahead, behind = pl.col("wins") > pl.col("losses"), pl.col("wins") < pl.col("losses")
    number, tests = int(rows["segments"][0]), int(rows["tests"][0])
    return {
        "cells": len(rows),
        "segments": number,
        "mean": float(rows["ratio"].mean()),  # type: ignore[arg-type]
        "ahead": rows.filter(ahead).height,
        "certain_wins": rows.filter(certain & ahead).height,
        "certain_losses": rows.filter(certain & behind).height,
        "ties": int((rows["segments"] - rows["wins"] - rows["losses"]).sum()),
        "smallest_p": float(rows["p_corrected"].min()),  # type: ignore[arg-type]
        # Whether winning all segments would be enough for one cell to be certain.
        "decidable": tests * sign_test(number, 0) < LEVEL,
    }
