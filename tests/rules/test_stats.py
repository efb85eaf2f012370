"""Statistics over runs and problems, against SciPy, against enumeration, and by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from sojourn.rules import stats

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(NUMBERS)
def test_the_interquartile_mean_is_scipys_trimmed_mean(numbers: list[float]) -> None:
    """It trims a quarter at each end, over the runs of all problems together, as `scipy.stats.trim_mean` does."""
    expected = scipy_stats.trim_mean(numbers, 0.25)
    assert stats.iqm(numbers) == pytest.approx(expected, rel=1e-12, abs=1e-9)
    split = len(numbers) // 2
    if split:
        parts = {"one": numbers[:split], "other": numbers[split:]}
        assert stats.iqm(parts) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("statistic", [np.mean, np.median, stats.iqm])
def test_intervals_are_those_of_scipys_bootstrap(statistic: Any) -> None:
    """Without strata it is the percentile bootstrap of `scipy.stats.bootstrap`, up to sampling noise."""
    numbers = np.random.default_rng(3).gamma(2.0, size=60)
    found = stats.bootstrap(numbers, statistic, samples=4000)
    theirs = scipy_stats.bootstrap(
        (numbers,), statistic, n_resamples=4000, method="percentile", vectorized=False, rng=np.random.default_rng(8)
    ).confidence_interval  # fmt: skip
    width = theirs.high - theirs.low
    assert found.value == statistic(numbers)
    assert found.low == pytest.approx(theirs.low, abs=0.06 * width)
    assert found.high == pytest.approx(theirs.high, abs=0.06 * width)


def test_samples_are_drawn_within_each_problem() -> None:
    """With two runs of each of two problems, the law of the mean is that of all 16 equally likely samples."""
    problems = {"small": [0.0, 1.0], "large": [10.0, 30.0]}
    means = [
        np.mean([*one, *other])
        for one in itertools.product(problems["small"], repeat=2)
        for other in itertools.product(problems["large"], repeat=2)
    ]
    for level in (0.4, 0.7, 0.95):  # whose tails are no sixteenths
        found = stats.bootstrap(problems, np.mean, level=level, samples=4000)
        tail = (1.0 - level) / 2.0
        expected = np.quantile(means, [tail, 1.0 - tail], method="inverted_cdf")
        assert (found.value, found.low, found.high) == (10.25, *expected)
    apart = stats.bootstrap([0.0, 1.0, 10.0, 30.0], np.mean)  # as if they were of one problem
    assert apart.low < min(means)


def test_a_profile_by_hand() -> None:
    """The share of all runs above each threshold; a run at the threshold is not above it."""
    found = stats.profile({"one": [0.0, 0.5], "other": [0.5, 1.0]}, [-1.0, 0.0, 0.5, 1.0], samples=4000)
    assert found.share.tolist() == [1.0, 0.75, 0.25, 0.0]
    # Above 0: the first problem has both, one or none of two runs there, the second always both.
    assert (found.low[1], found.high[1]) == (0.5, 1.0)
    assert (found.low[0], found.high[3]) == (1.0, 0.0)


def test_differences_are_paired() -> None:
    """Noise that agents share by their seeds does not widen the interval of their difference."""
    luck = np.random.default_rng(1).normal(scale=100.0, size=50)
    edge = np.random.default_rng(2).normal(1.0, 0.1, size=50)
    found = stats.difference({"w": luck + edge}, {"w": luck})
    assert 0.9 < found.low < found.value < found.high < 1.1
    assert found.value == pytest.approx(edge.mean())
    theirs = scipy_stats.bootstrap(
        (luck + edge, luck), lambda x, y: np.mean(x - y), paired=True, vectorized=False, n_resamples=2000,
        method="percentile", rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.005)


def test_scores_of_a_table_go_by_seed() -> None:
    """Agents are paired by seed, whatever the order of rows; missing numbers are not dropped silently."""
    table = pl.DataFrame(
        {
            "agent": ["b", "a", "a", "b"],
            "world": ["w"] * 4,
            "seed": [1, 1, 0, 0],
            "earned": [4.0, 3.0, 1.0, 2.0],
        }
    )
    assert {agent: list(found["w"]) for agent, found in stats.scores(table, "earned").items()} == {
        "b": [2.0, 4.0],
        "a": [1.0, 3.0],
    }
    with pytest.raises(ValueError, match="earned has no number in 1 of 4 rows"):
        stats.scores(
            table.with_columns(pl.when(pl.col("earned") < 4.0).then("earned").alias("earned")), "earned"
        )
    with pytest.raises(ValueError, match="b in w has a seed twice"):
        stats.scores(pl.concat([table, table]), "earned")
    with pytest.raises(ValueError, match="no column 'erned'; did you mean 'earned'"):
        stats.scores(table, "erned")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.iqm([]), "it must be a list of numbers"),
        (lambda: stats.iqm(np.ones((2, 3))), "numbers, or a dictionary with such a list for each problem"),
        (lambda: stats.bootstrap({}), "there are no scores"),
        (
            lambda: stats.bootstrap({"w": [1.0, np.nan]}),
            r"the scores of w is array\(\[ 1., nan\]\); it must be",
        ),
        (lambda: stats.bootstrap([1.0], level=1.0), "level is 1.0"),
        (lambda: stats.bootstrap([1.0], samples=0), "samples is 0; it must be at least 1"),
        (lambda: stats.profile([1.0], []), "thresholds is"),
        (lambda: stats.difference([1.0], [1.0, 2.0]), "do not pair"),
    ],
)
def test_wrong_scores_get_one_sentence(call: Any, message: str) -> None:
    """Scores without a defined statistic are refused."""
    with pytest.raises(ValueError, match=message):
        call()
