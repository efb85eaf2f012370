"""The market study segment by segment: who was ahead, along the way and in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from sojourn.report.blocks import Block, Chart, Column, Heading, Table
from sojourn.report.budget import Budget
from sojourn.report.words import looks, number
from sojourn.runs.results import CURVES

RULES = ("random", "scaled")  # of durations
OPPONENTS = ("smart", "relaxed_smart", "fixed_rate")
DIFFERENCES, SEGMENTS = "differences.parquet", "segments.parquet"


def differences(folder: Path, names: dict[str, str], called: str) -> list[Block]:
    """Return Harmonic's advantage on every segment, in thousandths of all the movement there was."""
    if not (folder / DIFFERENCES).is_file() or not (folder / SEGMENTS).is_file():
        return []
    moves = pl.read_parquet(folder / SEGMENTS).select("segment", "total_movement")
    total = pl.col("total_movement") / 1000.0
    table = (
        pl.read_parquet(folder / DIFFERENCES).join(moves, on="segment").filter(pl.col("total_movement") > 0)
    )
    table = table.with_columns(
        share=pl.col("difference") / total, error=2 * pl.col("error").fill_null(0.0) / total
    )
    steps = table["rate_step_size"].unique().sort().to_list()
    sizes = table["state_size"].unique().sort().to_list()
    variants: dict[str, Any] = {}
    for r, rule in enumerate(RULES):
        for o, opponent in enumerate(OPPONENTS):
            for s, step in enumerate(steps):
                cells = table.filter(
                    (pl.col("duration_rule") == rule)
                    & (pl.col("opponent") == opponent)
                    & (pl.col("rate_step_size") == step)
                )
                variants[f"{r}|{o}|{s}"] = {"series": _by_size(cells, sizes)}
    spec = {
        "type": "lines",
        "x": {"label": "segment", "whole": True},
        "y": {"label": "Harmonic's advantage, thousandths of all movement"},
        "series": variants["0|0|0"]["series"],
        "choices": [
            {"label": "durations", "values": list(RULES), "start": 1},
            {"label": "against", "values": [names[opponent] for opponent in OPPONENTS]},
            _step_choice(steps),
        ],
        "variants": variants,
    }
    return [
        Heading("Segment by segment"),
        Chart(
            f"Harmonic's final value less the other's on each segment ({called})",
            spec,
            "Mean over seeds and two standard errors to each side. All movement is the sum of |close - open|.",
        ),
    ]


def _by_size(cells: pl.DataFrame, sizes: list[int]) -> list[dict[str, Any]]:
    series = []
    for place, size in enumerate(sizes):
        rows = cells.filter(pl.col("state_size") == size).sort("segment")
        share, error = rows["share"], rows["error"]
        series.append(
            {
                "name": f"last {size} directions",
                "x": rows["segment"].to_list(),
                "y": share.to_list(),
                "low": (share - error).to_list(),
                "high": (share + error).to_list(),
                "points": True,
                "shift": 7 * (place - (len(sizes) - 1) / 2),
                "colour": place % 8,
                "dash": 0,
                "marker": place % 7,
            }
        )
    return series


def _step_choice(steps: list[float]) -> dict[str, Any]:
    return {
        "label": "step size of the rate",
        "values": [number(step) for step in steps],
        "start": len(steps) // 2,
    }


def accumulated(folder: Path, names: dict[str, str], called: str, budget: Budget) -> list[Block]:
    """Return the accumulated reward along any segment, thinned out to what the page has room for."""
    if not (folder / CURVES).is_file():
        return []
    table = pl.read_parquet(folder / CURVES)
    segments, sizes = (table[name].unique().sort().to_list() for name in ("segment", "state_size"))
    steps = table["rate_step_size"].drop_nulls().unique().sort().to_list()
    agents = [agent for agent in names if agent in set(table["agent"])]
    lines = table.select("agent", "rate_step_size").unique().height * len(RULES) * len(sizes)
    shown = segments[: max(1, budget.points // (lines * 20))]
    points = max(20, min(200, budget.points // (lines * len(shown))))
    pool = _pool(table.filter(pl.col("segment").is_in(shown)), names, looks(agents), points)
    # A choice picks lines from the pool, so that one without a step size of the rate is there once.
    variants = {
        f"{shown.index(segment)}|{RULES.index(rule)}|{sizes.index(size)}|{s}": {
            "use": [
                key
                for agent in agents
                for key in (f"{segment} {rule} {size} {agent} {one}" for one in (step, None))
                if key in pool
            ]
        }
        for segment in shown
        for rule in RULES
        for size in sizes
        for s, step in enumerate(steps)
    }
    spec = {
        "type": "lines",
        "x": {"label": "minutes"},
        "y": {"label": "reward of greedy steps, accumulated"},
        "pool": pool,
        "choices": [
            {"label": "segment", "values": [str(segment) for segment in shown]},
            {"label": "durations", "values": list(RULES)},
            {"label": "directions", "values": [str(size) for size in sizes]},
            _step_choice(steps),
        ],
        "variants": variants,
        "height": 400,
    }
    left = len(segments) - len(shown)
    note = "Mean over seeds, and one standard deviation to each side."
    if left:
        note += f" {left} further segments are left out; `{CURVES}` has all."
    return [Chart(f"Accumulated reward along a segment ({called})", spec, note)]


def _pool(
    table: pl.DataFrame, names: dict[str, str], styles: dict[str, dict[str, int]], points: int
) -> dict[str, Any]:
    """Return all lines by what they are of."""
    pool = {}
    for keys, rows in table.group_by(
        "segment", "duration_rule", "state_size", "agent", "rate_step_size", maintain_order=True
    ):
        every = max(1, -(-rows.height // points))
        line = rows.sort("step").gather_every(every, offset=(rows.height - 1) % every)  # with the last one
        agent = str(keys[3])
        pool[" ".join(map(str, keys))] = {
            "name": names[agent],
            "x": line["step"].to_list(),
            "y": _short(line["mean"]),
            "spread": _short(line["std"].fill_null(0.0)),
            **styles[agent],
        }
    return pool


def _short(values: pl.Series) -> list[float]:
    """Return numbers with no more digits than a chart shows."""
    return [float(f"{value:.5g}") for value in values]


def segments(folder: Path, called: str, budget: Budget) -> list[Block]:
    """Return how scaled durations spread on each segment, and what else is special about it."""
    if not (folder / SEGMENTS).is_file():
        return []
    table = pl.read_parquet(folder / SEGMENTS).sort("segment")
    x = table["segment"].to_list()
    median = table["q50"].to_list()
    wide = {"points": True, "bar": True, "marker": None, "dash": 0}
    series = [
        {
            "name": "middle 98 % of the minutes",
            "x": x,
            "y": median,
            "low": table["q01"].to_list(),
            "high": table["q99"].to_list(),
            "colour": 7,
            **wide,
        },
        {
            "name": "middle half",
            "x": x,
            "y": median,
            "low": table["q25"].to_list(),
            "high": table["q75"].to_list(),
            "colour": 2,
            **wide,
        },
        {"name": "median", "x": x, "y": median, "points": True, "colour": 0, "dash": 0, "marker": 0},
    ]
    spec = {
        "type": "lines",
        "x": {"label": "segment", "whole": True},
        "y": {"label": "scaled duration, s", "unit": "s"},
        "series": series,
        "height": 280,
    }
    columns = [
        Column("segment"),
        Column("bars"),
        Column("all movement"),
        Column("largest move"),
        Column("bars that do not move", digits=1, unit="%"),
        Column("median duration, s"),
        Column("its standard deviation, s"),
    ]
    rows = table.select(
        "segment", "bars", "total_movement", "largest_move", "without_move", "q50", "duration_std"
    ).rows()
    left = len(rows) - budget.rows
    note = f"{left:,} further segments are left out; `{SEGMENTS}` has all." if left > 0 else ""
    return [
        Heading("The segments"),
        Chart(
            f"How scaled durations spread ({called})",
            spec,
            "Durations are scaled to 5 to 45 s by the largest move.",
        ),
        Table(f"What is special about each segment ({called})", columns, rows[: budget.rows], note),
    ]
