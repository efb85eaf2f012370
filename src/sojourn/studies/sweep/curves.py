"""Curves that a sweep recorded: how rates and earnings moved along the steps."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sojourn.report.blocks import Block, Chart, Charts, Heading, Prose
from sojourn.report.budget import Budget
from sojourn.report.words import agent_name, counted, looks
from sojourn.runs.results import CURVES

WORLDS_SHOWN = 6


def curves(folder: Path, table: pl.DataFrame, called: str, budget: Budget) -> list[Block]:
    """Return, for each world, the learned rate and what was earned so far; nothing if none was recorded."""
    path = folder / CURVES
    if not path.is_file():
        return []
    lines = pl.scan_parquet(path)
    mean = "_mean" if "rate_mean" in lines.collect_schema().names() else ""
    cells = table.lazy().select("cell", "world", "agent").unique()
    values = {
        "rate": pl.col(f"rate{mean}"),
        "earned": pl.col(f"reward{mean}") / pl.col(f"clock{mean}"),
    }
    aggregates = []
    for name, value in values.items():
        finite = value.filter(value.is_finite())
        aggregates += [
            finite.median().alias(name),
            finite.quantile(0.25, "linear").alias(f"{name}_low"),
            finite.quantile(0.75, "linear").alias(f"{name}_high"),
        ]
    rows = (
        lines.join(cells, on="cell")
        .group_by("world", "agent", "step")
        .agg(aggregates)
        .sort("world", "agent", "step")
        .collect()
    )
    if rows.is_empty():
        return []
    worlds = rows["world"].unique(maintain_order=True).to_list()
    shown = worlds[:WORLDS_SHOWN]
    points = max(20, budget.points // (6 * len(shown) * rows["agent"].n_unique()))
    charts = [
        _chart(rows.filter(pl.col("world") == world), name, f"{words}: {world}, {called}", points)
        for world in shown
        for name, words in (("rate", "Learned rate"), ("earned", "Earned so far"))
    ]
    what = "cells, each the mean over its seeds" if mean else "runs"
    text = f"Median over all {what}, whatever their options; shaded is the middle half."
    if len(worlds) > len(shown):
        text += f" {counted(len(worlds) - len(shown), 'further world')} are left out."
    return [Heading("Along the steps"), Prose(text), Charts(charts)]


def _chart(rows: pl.DataFrame, name: str, title: str, points: int) -> Chart:
    styles = looks(dict.fromkeys(rows["agent"]))
    series = []
    for agent, style in styles.items():
        line = rows.filter(pl.col("agent") == agent)
        every = max(1, -(-line.height // points))
        line = line.gather_every(every, offset=(line.height - 1) % every)  # with the last one
        series.append(
            {
                "name": agent_name(agent),
                "x": line["step"].to_list(),
                "y": line[name].to_list(),
                "low": line[f"{name}_low"].to_list(),
                "high": line[f"{name}_high"].to_list(),
                **style,
            }
        )
    first, last = int(rows["step"].min()), int(rows["step"].max())  # type: ignore[arg-type]
    spec = {
        "type": "lines",
        "x": {"label": "steps", "log": first > 0 and last / first > 50},
        "y": {"label": "reward per unit time"},
        "series": series,
        "height": 320,
    }
    return Chart(title, spec)
