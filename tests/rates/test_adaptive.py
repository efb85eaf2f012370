"""Estimators of a rate that changes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import naive_adaptive
import sojourn as sj
from sojourn.rates.protocol import update
from sojourn.rates.score import rates_before, rates_over
from sojourn_paper.drift.streams import rare_events

Stream = list[tuple[float, float]]


def stream(seed: int, count: int = 1200) -> Stream:
    """Jobs of random size whose pay jumps, falls, turns and stands still; unless it jumps, with an outlier now and then."""
    rng = random.Random(seed)
    pays: list[Callable[[int], float]] = [
        lambda k: 1.0 if k < 400 else 5.0 if k < 800 else -2.0,
        lambda k: 10.0 * math.exp(-k / 300),
        lambda _: 1.0,
    ]
    pay = pays[seed % 3]
    found = []
    for k in range(count):
        size = rng.lognormvariate(0.0, 0.5)
        reward = pay(k) * size * rng.gauss(1.0, 0.4) * (100.0 if rng.random() < 0.006 and seed % 3 else 1.0)
        found.append((reward, size * rng.uniform(0.5, 1.5)))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_adaptive_ratio_is_the_oracles(seed: int) -> None:
    """`AdaptiveRatio` says what an implementation with lists says, after every transition; memories are handed over."""
    rate, oracle, shortest = sj.rates.AdaptiveRatio(), naive_adaptive.AdaptiveRatio(), math.inf
    for k, (reward, duration) in enumerate(stream(seed)):
        rate = update.bare(rate, reward, duration)
        oracle.update(reward, duration)
        assert sj.value(rate) == pytest.approx(oracle.value(), rel=1e-7, abs=1e-9), k
        if k > 400:
            shortest = min(shortest, rate.ladder.last.blocks)
    assert (shortest < 100) == (
        seed % 3 == 0
    )  # the long memory was replaced where the pay jumped, and only there


@pytest.mark.parametrize("step_size", [0.05, 0.3])
@pytest.mark.parametrize("seed", [1, 2])
def test_clipped_exponential_is_the_oracles(seed: int, step_size: float) -> None:
    """`ClippedExponential` is the discounted ratio of rewards that were cut, after every transition."""
    rate, oracle, plain = (
        sj.rates.ClippedExponential(step_size),
        naive_adaptive.ClippedExponential(step_size),
        sj.Exponential(step_size),
    )
    apart = 0.0
    for reward, duration in stream(seed, count=500):
        rate, plain = update.bare(rate, reward, duration), update.bare(plain, reward, duration)
        oracle.update(reward, duration)
        assert sj.value(rate) == pytest.approx(oracle.value(), rel=1e-9)
        apart = max(apart, abs(sj.value(plain) - sj.value(rate)))
    assert apart > 0.1  # something was cut


@pytest.mark.parametrize(
    "rate",
    [sj.rates.AdaptiveRatio(), sj.rates.ClippedExponential(0.05)],
    ids=lambda rate: type(rate).__name__,
)
def test_a_stream_without_noise_is_followed_when_it_changes(rate: Any) -> None:
    """Where nothing was random so far, so that every surprise is enormous, a change is followed all the same."""
    for _ in range(300):
        rate = update.bare(rate, 3.0, 2.0)
    assert sj.value(rate) == pytest.approx(1.5, rel=1e-12)
    for _ in range(300):
        rate = update.bare(rate, -7.0, 2.0)
    assert sj.value(rate) == pytest.approx(-3.5, rel=1e-3)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_adaptive_ratio_of_any_magnitude(size: float) -> None:
    """Rewards whose squares are no numbers are averaged all the same."""
    rate = sj.rates.AdaptiveRatio()
    rng = random.Random(0)
    for _ in range(500):
        rate = update.bare(rate, size * rng.uniform(0.5, 1.5), 2.0)
    assert sj.value(rate) == pytest.approx(size / 2, rel=0.1)


def test_interpreted_is_compiled_through_changes() -> None:
    """Bit for bit, over handovers, cut rewards and weights that have moved."""
    for rate in (sj.rates.AdaptiveRatio(), sj.rates.ClippedExponential(0.01), sj.rates.TimeForgetting(0.01)):
        for seed in range(3):
            rewards, durations = (np.array(column) for column in zip(*stream(seed), strict=True))
            fast, slow = np.empty(len(rewards)), np.empty(len(rewards))
            rates_before(rate, rewards, durations, fast)
            rates_before.python(rate, rewards, durations, slow)
            assert fast.tobytes() == slow.tobytes()


@pytest.mark.parametrize("event", ["jackpot", "disaster", "long"])
@pytest.mark.parametrize("chance", [0.1, 0.01, 0.001])
def test_rare_events_are_not_taken_for_changes(event: str, chance: float) -> None:
    """After 200 events or more, where it used to be wrong by .1 to 1,000, the estimate is that of all data but for its noise."""
    for seed in range(3):
        given = rare_events(np.random.default_rng([1903, seed]), event, chance, 200_000)
        found = rates_over(sj.rates.AdaptiveRatio(), given.rewards, given.durations)[-50_000:]
        weights = given.durations[-50_000:] / given.durations[-50_000:].sum()
        assert (found * weights).sum() == pytest.approx(given.truth[0], abs=0.35 if chance < 0.01 else 0.1)


def test_without_noise_the_estimate_comes_to_rest() -> None:
    """Of a cycle that repeats for ever; it was 10 and 10.64 in turn while the weights waited for noise."""
    rate = sj.rates.AdaptiveRatio()
    found = []
    for k in range(2000):
        rate = update.bare(rate, 24.0 if k % 2 == 0 else 0.0, 1.0 + k % 2)
        found.append(sj.value(rate))
    assert found[-100:] == pytest.approx([8.0] * 100, rel=1e-12)
    assert rate.ladder.last.weight > 0.5


def test_false_alarms_become_rarer() -> None:
    """On a steady stream of half a million steps, the longest memory is hardly ever replaced after the first tenth."""
    rng = np.random.default_rng(1904)
    rewards, ones = rng.normal(1.0, 3.0, 500_000), np.ones(500_000)
    found = rates_over(sj.rates.AdaptiveRatio(), rewards, ones)
    assert np.abs(found[50_000:] - 1.0).max() < 0.1


def test_clipping_depends_on_the_step_size() -> None:
    """Jackpots of 1000 in one of 1000 steps are clipped for good by a short memory, and count in a long one."""
    given = rare_events(np.random.default_rng(1905), "jackpot", 0.001, 400_000)
    short, long = (
        rates_over(sj.rates.ClippedExponential(size), given.rewards, given.durations)[-100_000:].mean()
        for size in (0.01, 0.0001)
    )
    assert short < 1e-6
    assert long == pytest.approx(1.0, abs=0.25)
