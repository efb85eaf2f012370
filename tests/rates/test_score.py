"""The score that ranks estimators without knowing the truth, and the choice by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn.rates.protocol import Rate
from strategies import magnitudes, signed

steps = st.lists(st.tuples(signed, st.one_of(st.just(0.0), magnitudes)), min_size=1, max_size=30)


@given(
    steps, st.sampled_from([sj.Cumulative(), sj.Exponential(0.2), sj.Harmonic(0.2), sj.rates.AdaptiveRatio()])
)
def test_score_by_a_meter(stream: list[tuple[float, float]], rate: Any) -> None:
    """The total is what a meter that is read before every transition gives, steps in no time included."""
    if not any(duration for _, duration in stream):
        stream = [*stream, (1.0, 1.0)]
    meter, terms = sj.RateMeter(rate), []
    for reward, duration in stream:
        rho = meter.rate
        terms += [0.5 * duration * rho * rho, -reward * rho]
        meter.update(reward, duration)
    rewards, durations = zip(*stream, strict=True)
    scale = math.fsum(map(abs, terms))
    assert sj.rates.rate_score(rate, rewards, durations) == pytest.approx(math.fsum(terms), abs=1e-12 * scale)


def test_the_score_aims_at_the_rate_and_the_squared_error_does_not() -> None:
    """1 in a time of 1, or 1 in a time of 3: the rate is 1/2; the score is least there, the squared error at 2/5."""
    rewards, durations = np.ones(200), np.array([1.0, 3.0] * 100)
    tried = np.linspace(0.3, 0.7, 41)
    scores = [sj.rates.rate_score(sj.rates.Fixed(rho), rewards, durations) for rho in tried]
    squares = [((rewards - rho * durations) ** 2).sum() for rho in tried]
    assert tried[np.argmin(scores)] == pytest.approx(0.5)
    assert tried[np.argmin(squares)] == pytest.approx(0.4)  # E[r tau] / E[tau^2] = 2/5


def test_the_theorem() -> None:
    """Where E[r] = rho* E[tau] for each transition, the mean score is 1/2 tau ((rho - rho*)^2 - rho*^2) on the average.

    Rates that move, jobs whose size makes reward and duration dependent, and estimates that follow them: the
    difference is a sum of terms with mean 0, so that it is within four standard errors.
    """
    rng = np.random.default_rng(7)
    truth = 2.0 + np.sin(np.arange(8_000) / 500.0)
    size = rng.lognormal(0.0, 1.0, len(truth))
    rewards = truth * size * rng.exponential(1.0, len(truth))
    durations = size * rng.uniform(0.5, 1.5, len(truth))
    for rate in (sj.Exponential(0.01), sj.Harmonic(0.01), sj.Cumulative()):
        meter, estimates = sj.RateMeter(rate), []
        for reward, duration in zip(rewards.tolist(), durations.tolist(), strict=True):
            estimates.append(meter.rate)
            meter.update(reward, duration)
        rho = np.array(estimates)
        wanted = 0.5 * durations * ((rho - truth) ** 2 - truth**2)
        off = (0.5 * durations * rho - rewards) * rho - wanted
        assert sj.rates.rate_score(rate, rewards, durations) == pytest.approx(
            wanted.sum() + off.sum(), rel=1e-9
        )
        assert abs(off.mean()) < 4.0 * off.std() / math.sqrt(len(off))
        assert off.std() / math.sqrt(len(off)) < 0.1 * abs(wanted.mean())  # so that the claim could fail


def test_choice_is_the_sum_of_scores() -> None:
    """Differences are differences of `rate_score`; the best has none, and is the one with the least."""
    rng = np.random.default_rng(3)
    rewards, durations = rng.normal(2.0, 1.0, 500), rng.uniform(0.0, 2.0, 500)
    candidates: dict[str, Rate] = {
        "slow": sj.Exponential(0.01),
        "fast": sj.Exponential(0.5),
        "none": sj.rates.Fixed(0.0),
    }
    found = sj.rates.choose_rate(rewards, durations, candidates)
    totals = {label: sj.rates.rate_score(rate, rewards, durations) for label, rate in candidates.items()}
    assert [one.label for one in found.scores] == list(candidates)
    assert found.winner.label == min(totals, key=totals.__getitem__) == "slow"
    assert found.best is candidates["slow"]
    for one in found.scores:
        assert one.score == totals[one.label]
        assert one.difference == pytest.approx(totals[one.label] - totals["slow"], abs=1e-9)
        assert one.low <= one.difference <= one.high
    assert found.winner[3:] == (0.0, 0.0, 0.0)


def test_intervals_cover() -> None:
    """The interval of a difference holds its expected value in about 95 of 100 streams: 88 to 99 in 150."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(150):
        size = rng.exponential(1.0, 400)
        found = sj.rates.choose_rate(
            size * rng.normal(1.0, 0.5, 400), size, [sj.rates.Fixed(0.7), sj.rates.Fixed(1.1)]
        )
        off = 400 * (0.5 * (0.7**2 - 1.1**2) - (0.7 - 1.1))  # E[r] = E[tau] = 1
        worse = max(found.scores, key=lambda one: one.score)
        expected = off if worse.label == "Fixed(0.7)" else -off
        held += worse.low <= expected <= worse.high
    assert 0.88 <= held / 150 <= 0.99


def test_an_estimator_that_leaves_all_bounds_is_never_chosen() -> None:
    """Its score is infinite; where all are, that is said."""
    rewards, durations = np.ones(2000), np.full(2000, 5.0)
    wild = sj.rates.Incremental(0.9)
    found = sj.rates.choose_rate(rewards, durations, [wild, sj.Exponential(0.1)])
    assert (found.scores[0].score, found.scores[0].low) == (math.inf, math.inf)
    assert found.best == sj.Exponential(0.1)
    with pytest.raises(ValueError, match="no candidate stayed finite"):
        sj.rates.choose_rate(rewards, durations, [wild])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sj.rates.rate_score(sj.Cumulative(), [], []), "rewards is empty"),
        (lambda: sj.rates.rate_score(sj.Cumulative(), [1.0, math.nan], [1.0, 1.0]), r"rewards\[1\] is nan"),
        (
            lambda: sj.rates.rate_score(sj.Cumulative(), [1.0], [1.0, 2.0]),
            "rewards has 1 number but durations has 2; give as many of each",
        ),
        (lambda: sj.rates.rate_score(sj.Cumulative(), [1.0, 1.0], [1.0, -2.0]), r"durations\[1\] is -2.0"),
        (lambda: sj.rates.rate_score(sj.Cumulative(), [1.0], [0.0]), "all durations are 0"),
        (lambda: sj.rates.choose_rate([1.0] * 99, [1.0] * 99, [sj.Cumulative()]), "at least 100 are needed"),
        (lambda: sj.rates.choose_rate([1.0] * 100, [1.0] * 100, []), "candidates is empty"),
        (
            lambda: sj.rates.choose_rate(
                [1.0] * 100, [1.0] * 100, [sj.rates.Fixed(1.0), sj.rates.Fixed(2.0)], level=1.0
            ),
            "level is 1.0",
        ),
        (
            lambda: sj.rates.choose_rate(
                [1.0] * 100, [1.0] * 100, [sj.rates.Fixed(1.0), sj.rates.Fixed(1.0)]
            ),
            r"two candidates are called Fixed\(1\)",
        ),
    ],
)
def test_wrong_numbers_get_one_sentence(call: Any, message: str) -> None:
    """What is wrong is named with its place."""
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("candidates", [sj.Cumulative(), [3.0], "Cumulative"])
def test_what_is_no_candidate(candidates: Any) -> None:
    """An estimator by itself, a number and a text are refused with a sentence."""
    with pytest.raises(TypeError):
        sj.rates.choose_rate([1.0] * 100, [1.0] * 100, candidates)
