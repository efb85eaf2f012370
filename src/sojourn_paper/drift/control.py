"""What agents earn in worlds that change, as a share of what the best policy at each time would have earned.

The share of a run is its reward divided by the sum of reward and dynamic regret. An agent is measured with the
setting that earned most on the tuning seeds, in that world or over all random worlds.
"""

from __future__ import annotations

import polars as pl

from sojourn.rules.intervals import mean_interval
from sojourn_paper.drift.plan import FIRST_TUNING_SEED, HARMONIC, OPTIONS, RIVAL

TUNED, ONE = "tuned", "one setting"
WORLD, MIRROR = "world", "mirror"
KINDS = ("longest", "mixed", "shortest")
_PLACE = ["world", "number", "mirrored"]  # the columns that identify a world


def shares(results: pl.DataFrame) -> pl.DataFrame:
    """Return the mean share of each agent with each setting in each world, on tuning seeds and on the others."""
    table = results
    for name in ("number", "mirrored", *OPTIONS):
        if name not in table.columns:
            table = table.with_columns(
                pl.lit(None, dtype=pl.String if name == "mirrored" else pl.Float64).alias(name)
            )
    tuning = pl.col("seed") >= FIRST_TUNING_SEED
    share = (pl.col("reward") / (pl.col("reward") + pl.col("dynamic_regret"))).fill_null(0.0)
    return (
        table.with_columns(share=share)
        .group_by(*_PLACE, "agent", *OPTIONS, maintain_order=True)
        .agg(
            tuning=pl.col("share").filter(tuning).mean(),
            share=pl.col("share").filter(~tuning).mean(),
            low=pl.col("share").filter(~tuning).min(),
            high=pl.col("share").filter(~tuning).max(),
            tracking_error=pl.col("tracking_error").filter(~tuning).mean(),
        )
    )


def chosen(table: pl.DataFrame, one: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return each agent in each world with its chosen setting, for both ways of choosing.

    The common setting is chosen over all worlds of the table, unless it is given.
    """
    best = table.sort("tuning", descending=True, maintain_order=True)
    tuned = best.group_by(*_PLACE, "agent", maintain_order=True).first()
    one = one_setting(table) if one is None else one
    same = table.join(one, on=["agent", *OPTIONS], nulls_equal=True)
    columns = [*_PLACE, "agent", "share", "low", "high", "tracking_error", *OPTIONS]
    return pl.concat(
        [tuned.select(*columns, how=pl.lit(TUNED)), same.select(*columns, how=pl.lit(ONE))]
    ).sort(*_PLACE, "how", maintain_order=True)


def one_setting(table: pl.DataFrame) -> pl.DataFrame:
    """Return each agent's setting with the largest mean share over all worlds, on the tuning seeds."""
    means = table.group_by("agent", *OPTIONS, maintain_order=True).agg(mean=pl.col("tuning").mean())
    best = means.sort("mean", descending=True, maintain_order=True)
    return best.group_by("agent", maintain_order=True).first().select("agent", *OPTIONS)


def over_random(table: pl.DataFrame, kinds: pl.DataFrame) -> pl.DataFrame:
    """Return the mean share of each agent over the random worlds of each kind, and over their mirrors, with intervals.

    `kinds` has the kind of each number; `first` counts the worlds in which no other agent earned more.
    """
    side = pl.when(pl.col("mirrored") == "yes").then(pl.lit(MIRROR)).otherwise(pl.lit(WORLD))
    every = table.join(kinds, on="number").with_columns(
        side=side, best=pl.col("share") >= pl.col("share").max().over(*_PLACE, "how")
    )
    rows = []
    for kind in ("all", *KINDS):
        part = every if kind == "all" else every.filter(pl.col("kind") == kind)
        for (agent, how, which), group in part.group_by("agent", "how", "side", maintain_order=True):
            found = group["share"].to_numpy()
            rows.append(
                (
                    kind,
                    agent,
                    how,
                    which,
                    len(found),
                    float(found.mean()),
                    *mean_interval(found),
                    int(group["best"].sum()),
                )
            )
    columns = ["kind", "agent", "how", "side", "worlds", "share", "low", "high", "first"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def bet(table: pl.DataFrame, kinds: pl.DataFrame) -> pl.DataFrame:
    """Return Harmonic R-Learning's lead over Relaxed-SMART, in each kind of world and in the mirrors.

    The two differ only in the mean that turns past rewards and durations into a rate. `first` counts the
    worlds in which Harmonic R-Learning earned more than every other agent.
    """
    tuned = table.filter(pl.col("how") == TUNED).join(kinds, on="number")
    rows = []
    for kind in KINDS:
        for mirrored, side in (("no", WORLD), ("yes", MIRROR)):
            part = tuned.filter((pl.col("mirrored") == mirrored) & (pl.col("kind") == kind))
            wide = part.pivot(on="agent", index="number", values="share")
            if not {HARMONIC, RIVAL} <= set(wide.columns):
                continue
            others = pl.max_horizontal(name for name in wide.columns if name not in ("number", HARMONIC))
            first = wide.select((pl.col(HARMONIC) > others).sum()).item()
            ahead = (wide[HARMONIC] - wide[RIVAL]).to_numpy()
            rows.append((kind, side, len(ahead), first, float(ahead.mean()), *mean_interval(ahead)))
    texts, numbers = ("kind", "side"), ("worlds", "first", "ahead", "low", "high")
    schema = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row").cast({"worlds": pl.Int64, "first": pl.Int64})
