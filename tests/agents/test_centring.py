"""Centring: whatever the estimate, the rate that an agent learns by comes to the gain, and its policy to the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.agents.protocol import Agent
from sojourn.rates.centred import MeanDuration, PastMeans, timed
from sojourn.rates.protocol import Rate

PROBLEMS = ("gosavi", "long-shot", "long-return", "early-pay", "rare-delay")
AGENTS: dict[str, Callable[..., Agent]] = {
    "harmonic_r": sj.harmonic_r,
    "fixed_rate at 0": sj.agents.fixed_rate,
    "fixed_rate at 4.3": lambda *sizes, **options: sj.agents.fixed_rate(*sizes, rate=4.3, **options),
    "fixed_rate at 10": lambda *sizes, **options: sj.agents.fixed_rate(*sizes, rate=10.0, **options),
    "smart": sj.smart,
    "relaxed_smart": sj.relaxed_smart,
}
# One setting for all agents and problems; a rate step size, where there is one, is 0.01.
SETTING: dict[str, Any] = {"step_size": sj.rates.Visits(1.0, 0.65), "exploration": 0.1, "centring": 1.0}


def optimal_runs(name: str, problem: str, seeds: int, steps: int, **changed: Any) -> tuple[int, float]:
    """How many of the runs, with both numberings of the actions, end optimal; and the mean rate they learned by."""
    count, rates = 0, []
    given = sj.problems.PROBLEMS[problem]()
    for model in (given, given.with_actions_reversed()):
        gain = sj.solve(model).gain
        agent = AGENTS[name](model.num_states, model.num_actions, **SETTING | changed)
        runs = sj.run_many(sj.worlds.Tabular(model), agent, seeds=seeds, steps=steps)
        count += sum(sj.evaluate(model, policy).gain == pytest.approx(gain) for policy in runs.policy)
        rates += (runs["rate"] / gain).tolist()
    return count, float(np.mean(rates))


@pytest.mark.evidence
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", AGENTS)
def test_with_centring_any_rate_finds_the_optimum(name: str, problem: str) -> None:
    """In at least 38 of 40 runs of 2 million steps the policy is optimal, and the mean rate within 2 % of the gain."""
    count, rate = optimal_runs(name, problem, seeds=20, steps=2_000_000)
    assert count >= 38
    assert rate == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", ["harmonic_r", "fixed_rate at 4.3"])
def test_a_few_runs_find_the_optimum(name: str, problem: str) -> None:
    """The short form: all of 4 runs of 2 million steps are optimal."""
    count, rate = optimal_runs(name, problem, seeds=2, steps=2_000_000)
    assert count == 4
    assert rate == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("problem", ["gosavi", "long-shot", "long-return"])
def test_without_centring_harmonic_r_learning_fails(problem: str) -> None:
    """Where its estimate is not the gain, some of 6 runs are not optimal."""
    count, _ = optimal_runs("harmonic_r", problem, seeds=3, steps=300_000, centring=0.0)
    assert count < 6


def test_a_moving_unit_of_time_does_not_find_the_optimum() -> None:
    """As version 0.2 did it, with the same setting, most of 8 runs on early-pay end with the wrong policy."""
    model = sj.problems.early_pay()
    rate = sj.rates.Centred(sj.rates.Fixed(4.3), 1.0, durations=MeanDuration())
    agent = sj.smart(model.num_states, model.num_actions, **SETTING | {"centring": 0.0}, rate=rate)
    runs = sj.run_many(sj.worlds.Tabular(model), agent, seeds=8, steps=1_000_000)
    assert sum(policy[0] == 0 for policy in runs.policy) <= 3


def test_centring_does_not_explore() -> None:
    """In river-swim the far bank is not seen: the rate is right for what is, the 5 of the near bank, and so is the policy."""
    count, rate = optimal_runs("harmonic_r", "river-swim", seeds=2, steps=1_000_000)
    assert count == 0
    assert rate == pytest.approx(5.0 / sj.solve(sj.problems.river_swim()).gain, rel=0.1)


def test_a_rare_long_step_is_charged_in_full() -> None:
    """Steps of 0.01, each thousandth of 1000: the mean charge over the mean duration is the mean rate; not so in version 0.2."""
    shares = []
    for rate in (
        sj.rates.Centred(sj.rates.Fixed(0.0), 1.0, level=1.0),
        sj.rates.Centred(sj.rates.Fixed(0.0), 1.0, level=1.0, durations=MeanDuration()),
    ):
        charges, charged = [], rate
        for step in range(12_000):
            duration = 1000.0 if step % 1000 == 500 else 0.01
            charged = timed(charged, duration)
            if step >= 4000:
                charges.append((sj.value(charged), sj.value(charged) * duration, duration))
        mean = np.mean(charges, axis=0)
        shares.append(mean[1] / mean[2] / mean[0])
    assert shares[0] == pytest.approx(1.0, abs=0.15)
    assert shares[1] < 0.8


def test_the_effective_rate_is_the_gain_whatever_the_estimate() -> None:
    """One pair, 6 in a time of 2: with a fixed rate of -5, 0 or 20, Q settles where the rate it learns by is 3."""
    for guess in (-5.0, 0.0, 20.0):
        agent = sj.agents.fixed_rate(1, 1, step_size=0.1, rate=guess, centring=0.5)
        for _ in range(4000):
            agent = sj.learn(agent, 0, 0, 6.0, 2.0, 0)
        assert sj.value(agent.rate) == pytest.approx(3.0, rel=1e-6)
        # kappa m / T = 3 - guess, and m is Q itself
        assert agent.q[0, 0] == pytest.approx((3.0 - guess) * 2.0 / 0.5, rel=1e-6)


@pytest.mark.parametrize("estimator", [sj.Cumulative(), sj.Exponential(0.5), sj.Harmonic(0.5)])
def test_the_rate_knows_nothing_of_the_step_that_is_learned_from(estimator: Rate) -> None:
    """Up to a step, two agents have seen the same; there its duration and reward differ, but not the rate in their errors."""
    begun = sj.smart(
        2, 1, step_size=0.5, exploration=0.0, greedy="every", rate=sj.rates.Centred(estimator, 0.5)
    )
    for reward, duration in ((3.0, 1.0), (1.0, 5.0), (4.0, 2.0)):
        begun = sj.learn(begun, 0, 0, reward, duration, 1)
        begun = sj.learn(begun, 1, 0, reward, duration, 0)
    rates = []
    for reward, duration in ((1.0, 0.5), (7.0, 800.0)):
        after = sj.learn(begun, 0, 0, reward, duration, 1)
        error = (after.q[0, 0] - begun.q[0, 0]) / 0.5
        rates.append((reward + begun.q[1, 0] - begun.q[0, 0] - error) / duration)
    assert rates[0] == pytest.approx(rates[1], rel=1e-12)
    assert rates[0] != pytest.approx(sj.value(estimator))


def test_guess_and_unit_move_ever_more_slowly() -> None:
    """After n steps, a step of any duration and an estimate of any size move them by 1 / n of their distance."""
    rate = sj.rates.Centred(sj.rates.Fixed(1.0), 0.1, level=2.0)
    for _ in range(1000):
        rate = timed(rate, 4.0)
    moved = timed(timed(rate, 1004.0), 4.0).durations
    assert moved.mean == pytest.approx(4.0 + 1000.0 / 1001.0)
    moved = timed(rate._replace(estimator=sj.rates.Fixed(1001.0)), 4.0).durations
    assert isinstance(moved, PastMeans)
    assert moved.guess == pytest.approx(1.0 + 1000.0 / 1000.0)


def ring(states: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Transitions and durations of a ring that takes a time of 1 a step, nearly all of it in the last state."""
    duration = np.full(states, 0.01)
    duration[-1] = states - duration[:-1].sum()
    return np.roll(np.eye(states), 1, axis=1), duration


def fastest(drift: np.ndarray[Any, Any]) -> float:
    """The rate at which the fastest growing (or the last decaying) mode of dQ/dt = drift Q grows."""
    return float(np.linalg.eigvals(drift).real.max())


@pytest.mark.parametrize(("states", "stable"), [(20, True), (25, False)])
def test_a_level_read_in_one_state_needs_a_small_strength(states: int, stable: bool) -> None:
    """The page's ring: with kappa = 0.1 values blow up from 25 states on, unless errors are divided by durations.

    A level that is a mean over the states as they are visited, as agents have it, is stable.
    """
    follow, duration = ring(states)
    still, one = follow - np.eye(states), np.eye(states)[0]
    assert (fastest(still - 0.1 * np.outer(duration, one)) < 0.0) == stable
    assert fastest(still / duration[:, None] - 0.1 * np.outer(np.ones(states), one)) < -0.05
    assert fastest(still - 0.1 * np.outer(duration, np.full(states, 1.0 / states))) < 0.0


def test_centring_belongs_to_the_estimator() -> None:
    """`centring=` and a `Centred` estimator are one thing; its limit is the gain, its step size that of its estimator."""
    one = sj.harmonic_r(2, 2, rate_step_size=0.05, centring=0.1)
    other = sj.smart(2, 2, rate=sj.rates.Centred(sj.Harmonic(0.05), 0.1))
    assert one.rate == other.rate
    scheduled = sj.harmonic_r(2, 2, rate_step_size=sj.rates.Visits(1.0, 0.7), centring=0.1).rate
    assert isinstance(scheduled, sj.rates.Centred)
    assert isinstance(scheduled.estimator, sj.rates.Scheduled)
    assert sj.runs.check_rate(sj.rates.Centred(sj.Harmonic(0.05), 0.1)).constant_at_once
