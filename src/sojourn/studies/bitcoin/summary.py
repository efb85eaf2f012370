"""The study in numbers, for machines: the content of `summary.json`."""

from __future__ import annotations

from typing import TypedDict, TypeVar

import polars as pl

from sojourn import __version__
from sojourn.rules.intervals import sign_test
from sojourn.runs.spec import Sweep
from sojourn.studies.bitcoin.plan import LEVEL, NAMES, OPPONENTS, RULES, Source
from sojourn.studies.bitcoin.tables import Tables

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


class Earned(TypedDict):
    """What an agent earned, in thousandths of all movement."""

    duration_rule: str
    agent: str
    mean: float
    lowest: float
    highest: float


class Statement(TypedDict):
    """A statement of the paper, and what was found about it."""

    statement: str
    verdict: str


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
    earned: list[Earned]


class Summary(Numbers):
    """The numbers, and what they say in words."""

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
        "earned": [
            {"duration_rule": rule, "agent": agent, "mean": mean, "lowest": lowest, "highest": highest}
            for rule, agent, mean, lowest, highest in tables.earned.iter_rows()
        ],
    }


def nested(ratios: pl.DataFrame, values: list[T]) -> Nested[T]:
    """Return a value for each win ratio, as duration rule > opponent > state size > step size."""
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
