from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sojourn.intervals import holm, share_interval, sign_test


@given(trials=st.integers(1, 200), share=st.floats(0, 1), level=st.floats(0.5, 0.999))
def test_the_interval_is_wilsons(trials: int, share: float, level: float) -> None:
    """SciPy's Wilson interval is the same, and both hold the share that was seen."""
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
    """A corrected value is below a level just when the procedure, run at that level, rejects its test."""
    corrected = holm(p_values)
    for level in (0.01, 0.05, 0.2):
        rejected: set[int] = set()
        for index in sorted(range(len(p_values)), key=lambda index: p_values[index]):
            if (len(p_values) - len(rejected)) * p_values[index] > level:
                break
            rejected.add(index)
        assert {index for index, p in enumerate(corrected) if p <= level} == rejected


def test_impossible_counts_are_refused() -> None:
    """There are at most as many successes as trials, and at least one trial."""
    with pytest.raises(ValueError, match="successes is 3"):
        share_interval(3, 2)
    with pytest.raises(ValueError, match="trials is 0"):
        share_interval(0, 0)
