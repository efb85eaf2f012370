"""Runs come to what the audit says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.exact.audit.audit import audit
from sojourn.models.problems import PROBLEMS, long_shot
from sojourn.rates.catalogue import ESTIMATORS

STEP_SIZE, STEPS, SEEDS = 1e-4, 200_000, 12


def estimators(mean_duration: float) -> dict[str, Any]:
    """Every estimator with a memory of 1 / STEP_SIZE steps; those that forget by time have it in time."""
    by_time = STEP_SIZE / mean_duration
    return {
        name: entry.make(by_time if name in ("TimeSmoothed", "TimeForgetting", "Incremental") else STEP_SIZE)
        for name, entry in ESTIMATORS.items()
    }


def keeping_to(policy: Any, num_actions: int, rate: Any) -> Any:
    """A learner that never leaves a policy, since its values begin far ahead: `runs/test_loop` compiles the same ones."""
    ahead = np.zeros((len(policy), num_actions))
    ahead[np.arange(len(policy)), policy] = 1e9
    return sj.smart(
        len(policy), num_actions, step_size=1e-6, exploration=0.0, initial=ahead.tolist(), rate=rate
    )


@pytest.mark.parametrize(
    "name", ["gosavi", "long-shot", "long-return", "jobs", "tijms-maintenance", "replacement"]
)
def test_learned_rates_come_to_their_limits(name: str) -> None:
    """Under the optimal policy every estimator ends where the audit says, within five standard errors of twelve runs.

    A constant step size b leaves a bias of the order of b, from the curvature of the ratio and from where in its
    cycle the run stops, for which 3 b is allowed: the largest seen is 0.5 b, in long-return, where nothing is
    random. The start from 0 is forgotten by e^(-20). Twelve runs know their standard error to a fifth, and the
    seeds are fixed.
    """
    model = PROBLEMS[name]()
    found = audit(model)
    rates = estimators(sj.evaluate(model, found.policy).mean_duration)
    assert set(rates) == {limit.estimator for limit in found}
    world = sj.worlds.Tabular(model)
    for estimator, rate in rates.items():
        agent = keeping_to(found.policy.astype(int), model.num_actions, rate)
        ends = np.array([sj.run(world, agent, steps=STEPS, seed=seed).rate for seed in range(SEEDS)])
        error = ends.std(ddof=1) / np.sqrt(SEEDS)
        limit = found[estimator].rate
        if limit is None:  # not known
            assert estimator in ("AdaptiveRatio", "ClippedExponential")
            continue
        if math.isinf(limit):  # the mean of rates in exponential times has no limit to come to
            assert estimator == "MeanOfRates"
            continue
        assert ends.mean() == pytest.approx(limit, abs=5.0 * error + 3.0 * STEP_SIZE * abs(limit)), estimator
        # The test tells apart what differs: in these problems by a twentieth at least, of the gain.
        assert 5.0 * error < 0.05 * abs(found.gain), estimator


@pytest.mark.parametrize(("make", "expected"), [(sj.harmonic_r, 1), (sj.smart, 0), (sj.agents.fixed_rate, 1)])
def test_learners_of_long_shot_end_where_the_audit_says(make: Any, expected: int) -> None:
    """Learning the harmonic rate, or none, one ends with the long action B, worth 3; with the ratio of sums, with A, 5.

    That is with much exploration; see the next test.
    """
    world = sj.worlds.Tabular(long_shot())
    ends = [
        int(sj.run(world, make(1, 2, step_size=0.01, exploration=0.9), steps=50_000, seed=seed).policy[0])
        for seed in range(15)
    ]
    assert ends.count(expected) >= 13
    estimator = {sj.harmonic_r: "Harmonic", sj.smart: "Cumulative", sj.agents.fixed_rate: "Fixed"}[make]
    assert audit(long_shot())[estimator].settled_gain == (5.0, 3.0)[expected]


@pytest.mark.parametrize(("exploration", "expected"), [(0.1, 0), (0.5, 0), (0.7, 0), (0.9, 1), (1.0, 1)])
def test_values_that_grow_keep_what_is_greedy(exploration: float, expected: int) -> None:
    """With a rate that is too low, a learner that explores little stays with the action that was ahead.

    Let a step be worth g = r - rate d: 3.2 with A and 4.8 with B at a rate of 1.8. While A is greedy, its value
    grows by step_size g(A) in a share 1 - e/2 of the steps; that of B moves, in a share e/2, by step_size times
    g(B) + (the distance between them). They keep pace at the distance g(A) (2 - e) / e - g(B), which is above 0,
    so that A stays greedy, for e below 0.8.
    """
    assert (3.2 * (2.0 - exploration) / exploration > 4.8) == (expected == 0)
    agent = sj.agents.fixed_rate(1, 2, rate=1.8, step_size=0.001, exploration=exploration)
    agent = agent._replace(values=sj.agents.Table(np.array([[50.0, 0.0]])))
    run = sj.run(sj.worlds.Tabular(long_shot()), agent, steps=200_000, seed=3)
    assert run.policy.tolist() == [expected]
    ahead, behind = run.agent.q[0, expected], run.agent.q[0, 1 - expected]
    worth = (3.2, 4.8)
    distance = worth[expected] * (2.0 - exploration) / exploration - worth[1 - expected]
    # Both fluctuate by about the square root of step_size / 2 times the deviation of a reward, 8: a fifth.
    assert ahead - behind == pytest.approx(distance, rel=0.1, abs=0.6)
