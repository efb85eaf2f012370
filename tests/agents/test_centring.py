"""Centring: whatever the estimate, the rate that an agent learns by comes to the gain, and its policy to the best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sojourn as sj

PROBLEMS = ("gosavi", "long-shot", "long-return")
AGENTS: dict[str, tuple[Any, dict[str, float]]] = {
    "harmonic_r": (sj.harmonic_r, {"rate_step_size": 0.01}),
    "fixed_rate": (sj.agents.fixed_rate, {}),
    "smart": (sj.smart, {}),
    "relaxed_smart": (sj.relaxed_smart, {"rate_step_size": 0.01}),
}


def optimal_runs(name: str, problem: str, centring: float, seeds: int) -> tuple[int, float]:
    """How many of the runs, with both numberings of the actions, end optimal; and the mean rate they learned by."""
    make, options = AGENTS[name]
    count, rates = 0, []
    given = sj.problems.PROBLEMS[problem]()
    for model in (given, given.with_actions_reversed()):
        gain = sj.solve(model).gain
        agent = make(
            model.num_states, model.num_actions, step_size=0.01, exploration=0.1, centring=centring, **options
        )
        runs = sj.run_many(sj.worlds.Tabular(model), agent, seeds=seeds, steps=100_000)
        count += sum(sj.evaluate(model, policy).gain == pytest.approx(gain) for policy in runs.policy)
        rates += runs["rate"].tolist()
    return count, float(np.mean(rates))


@pytest.mark.evidence
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", AGENTS)
def test_with_centring_any_rate_finds_the_optimum(name: str, problem: str) -> None:
    """In at least 39 of 40 runs of 100,000 steps the policy is optimal, and the rate near the gain."""
    count, rate = optimal_runs(name, problem, 0.1, seeds=20)
    assert count >= 39
    assert rate == pytest.approx(sj.solve(sj.problems.PROBLEMS[problem]()).gain, rel=0.05)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_centring_repairs_harmonic_r_learning(problem: str) -> None:
    """The short form: all of 6 runs are optimal with centring; without it, some are not."""
    count, rate = optimal_runs("harmonic_r", problem, 0.1, seeds=3)
    assert count == 6
    assert rate == pytest.approx(sj.solve(sj.problems.PROBLEMS[problem]()).gain, rel=0.1)
    count, _ = optimal_runs("harmonic_r", problem, 0.0, seeds=3)
    assert count < 6


def test_the_effective_rate_is_the_gain_whatever_the_estimate() -> None:
    """One pair, 6 in a time of 2: with a fixed rate of -5, 0 or 20, Q settles where the rate it learns by is 3."""
    for guess in (-5.0, 0.0, 20.0):
        agent = sj.agents.fixed_rate(1, 1, step_size=0.1, rate=guess, centring=0.5)
        for _ in range(4000):
            agent = sj.learn(agent, 0, 0, 6.0, 2.0, 0)
        assert sj.value(agent.rate) == pytest.approx(3.0, rel=1e-6)
        # kappa m / tau = 3 - guess, and m is Q itself
        assert agent.q[0, 0] == pytest.approx((3.0 - guess) * 2.0 / 0.5, rel=1e-6)


def test_centring_belongs_to_the_estimator() -> None:
    """`centring=` and a `Centred` estimator are one thing; its limit is the gain, its step size that of its estimator."""
    one = sj.harmonic_r(2, 2, rate_step_size=0.05, centring=0.1)
    other = sj.smart(2, 2, rate=sj.rates.Centred(sj.Harmonic(0.05), 0.1))
    assert one.rate == other.rate
    scheduled = sj.harmonic_r(2, 2, rate_step_size=sj.rates.Visits(1.0, 0.7), centring=0.1).rate
    assert isinstance(scheduled, sj.rates.Centred)
    assert isinstance(scheduled.estimator, sj.rates.Scheduled)
    assert sj.runs.check_rate(sj.rates.Centred(sj.Harmonic(0.05), 0.1)).constant_at_once
