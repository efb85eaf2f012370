from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sojourn.rules.intervals import holm, mean_interval, median_interval, share_interval, sign_test


@given(trials=st.integers(1, 200), share=st.floats(0, 1), level=st.floats(0.5, 0.999))
def test_the_interval_is_wilsons(trials: int, share: float, level: float) -> None:
    """The interval equals SciPy's Wilson interval, and contains the observed share."""
    successes = round(share * trials)
    low, high = share_interval(successes, trials, level)
    wanted = stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert 0.0 <= low <= successes / trials <= high <= 1.0


@given(wins=st.integers(0, 60), losses=st.integers(0, 60))
def test_the_sign_test_is_exact(wins: int, losses: int) -> None:
    """SciPy's binomial test at one half gives the same probability."""
    if wins + losses == 0:
        assert sign_test(0, 0) == 1.0
    else:
        assert sign_test(wins, losses) == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values: list[float]) -> None:
    """A corrected p-value is below a level exactly if the step-down procedure at that level rejects its test."""
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.2):
        rejected: set[int] = set()
        for index in sorted(range(len(p_values)), key=lambda index: p_values[index]):
            if (len(p_values) - len(rejected)) * p_values[index] > level:
                break
            rejected.add(index)
        assert {index for index, p in enumerate(corrected) if p <= level} == rejected


def test_impossible_counts_are_refused() -> None:
    """More successes than trials, or no trials, are refused."""
    with pytest.raises(ValueError, match="successes is 3"):
        share_interval(3, 2)
    with pytest.raises(ValueError, match="trials is 0"):
        share_interval(0, 0)


@pytest.mark.parametrize("count", [1, 2, 5, 6, 10, 30, 60, 101])
def test_the_interval_of_a_median_covers_it_as_often_as_it_says(count: int) -> None:
    """By the binomial law the chosen order statistics cover 95 %, and the next inner pair does not."""
    low, high = median_interval(range(1, count + 1))
    assert low + high == count + 1

    def coverage(k: int) -> float:
        return float(1.0 - 2.0 * stats.binom.cdf(k - 1, count, 0.5))

    assert coverage(int(low)) >= 0.95 or low == 1.0
    assert int(low) >= count / 2 or coverage(int(low) + 1) < 0.95
    assert median_interval([1.0, math.inf, math.inf])[1] == math.inf


def test_the_interval_of_a_mean_is_the_bootstrap_one() -> None:
    """It agrees with SciPy's percentile bootstrap, and is degenerate if all numbers are equal."""
    numbers = np.random.default_rng(3).exponential(size=50)
    theirs = stats.bootstrap(
        (numbers,), np.mean, method="percentile", n_resamples=20_000, random_state=1
    ).confidence_interval
    assert mean_interval(numbers) == pytest.approx((theirs.low, theirs.high), rel=0.03)
    assert mean_interval([0.25] * 7) == (0.25, 0.25)
    with pytest.raises(ValueError, match="at least one"):
        mean_interval([])
