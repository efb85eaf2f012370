"""Plots on a user's axes show the numbers of the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy import stats as scipy_stats

import sojourn as sj

RATES = {0: [1.0, 2.0], 1: [3.0, 5.0], 2: [5.0, 5.0]}
CURVES = pl.DataFrame(
    [
        {"cell": "c", "world": "w", "agent": agent, "seed": seed, "step": step, "rate": rate + shift, "reward": 4.0 * step,
         "clock": 2.0 * step}
        for agent, shift in (("smart", 0.0), ("mine:rvi", 10.0))
        for seed, rates in RATES.items()
        for step, rate in zip((1, 100), rates, strict=True)
    ]
)  # fmt: skip


@pytest.fixture
def ax() -> Any:
    return Figure().subplots()


def test_curves_are_means_with_students_intervals(ax: Any) -> None:
    """The line is the mean over seeds, the shading SciPy's interval for it; agents have their own looks."""
    sj.plot.curves(CURVES, ax)
    ax.legend()
    lines = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert list(lines) == ["SMART", "mine:rvi"]
    assert lines["SMART"].get_ydata().tolist() == [3.0, 4.0]
    assert lines["mine:rvi"].get_ydata().tolist() == [13.0, 14.0]
    assert to_hex(lines["SMART"].get_color()) == "#d55e00"
    band = ax.collections[0].get_paths()[0].vertices
    for step, column in ((1.0, [1.0, 3.0, 5.0]), (100.0, [2.0, 5.0, 5.0])):
        expected = scipy_stats.t.interval(0.95, 2, loc=np.mean(column), scale=scipy_stats.sem(column))
        found = band[np.isclose(band[:, 0], step)][:, 1]
        assert (found.min(), found.max()) == pytest.approx(expected)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("steps", "learned rate", "log")


def test_curves_that_are_means_already_keep_their_intervals(ax: Any) -> None:
    """From a table of means, the columns are drawn unchanged; earned is the ratio of the means."""
    parts = {f"{name}_{part}": [number] for name in ("rate", "reward", "clock") for part, number in
             (("mean", 6.0), ("low", 5.0), ("high", 8.0))}  # fmt: skip
    table = pl.DataFrame({"cell": ["c"], "world": ["w"], "agent": ["smart"], "step": [7], **parts})
    sj.plot.curves(table, ax, "reward")
    assert ax.get_lines()[-1].get_ydata().tolist() == [6.0]
    sj.plot.curves(table, ax, "earned")
    assert ax.get_lines()[-1].get_ydata().tolist() == [1.0]


def test_what_was_earned_is_reward_over_time(ax: Any) -> None:
    """Earned is the reward per unit time so far, computed run by run."""
    sj.plot.curves(CURVES.filter(agent="smart"), ax, "earned")
    assert ax.get_lines()[-1].get_ydata().tolist() == [2.0, 2.0]


def test_profiles_and_heatmaps(ax: Any) -> None:
    """A profile is drawn unchanged; a heatmap has the mean of each pair, and gaps where there is none."""
    found = sj.stats.profile([0.0, 0.5, 1.0], [0.0, 0.25, 0.75])
    sj.plot.profiles({"smart": found}, ax)
    assert ax.get_lines()[-1].get_ydata().tolist() == found.share.tolist()
    table = pl.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "x", "x", "y"], "earned": [1.0, 2.0, 5.0, 7.0]})
    fresh: Any = Figure().subplots()
    sj.plot.heatmap(table, fresh, "a", "b")
    np.testing.assert_array_equal(fresh.images[0].get_array().filled(np.nan), [[1.5, 5.0], [np.nan, 7.0]])
    assert [text.get_text() for text in fresh.texts if text.get_text()] == ["1.5", "5", "7"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ax: sj.plot.curves(CURVES, None), "ax is None; it must be the axes of a matplotlib figure"),
        (lambda ax: sj.plot.curves(CURVES.drop("agent"), ax), "the table has no column 'agent'"),
        (lambda ax: sj.plot.curves(CURVES, ax, "rat"), "there is no figure 'rat'; did you mean 'rate'"),
        (lambda ax: sj.plot.curves(pl.concat([CURVES, CURVES.with_columns(cell=pl.lit("d"))]), ax), "has several cells"),
        (lambda ax: sj.plot.curves(CURVES.clear(), ax), "the table has no rows"),
        (lambda ax: sj.plot.heatmap(CURVES, ax, "a", "step"), "the table has no column 'a'"),
        (lambda ax: sj.plot.heatmap(CURVES.clear(), ax, "step", "seed", "rate"), "no row with step, seed and rate"),
    ],
)  # fmt: skip
def test_wrong_tables_get_one_sentence(call: Any, message: str, ax: Any) -> None:
    """Tables that cannot be drawn are refused in one sentence."""
    with pytest.raises((TypeError, ValueError), match=message):
        call(ax)
