"""Steps that take no time: their rewards count, with the next step that takes some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.rules.values import with_fields

TRUTH = 11.0 / 4.0


def job_world() -> Any:
    """Action 0 waits: 1 in a time of 1. Action 1 pays 10 in no time; the job that follows pays 1 in a time of 4."""
    transitions = [(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 1, 1.0, 10.0, 1.0), (1, 0, 0, 1.0, 1.0, 4.0)]
    world = sj.worlds.Tabular(sj.models.from_transitions(transitions))
    parameters = world.parameters.copy()
    parameters[1, 3] = 0.0  # the duration of the second pair
    return with_fields(world, parameters=parameters)


EVERY_AGENT: dict[str, Any] = {
    "smart": sj.smart(2, 2, step_size=0.1),
    "relaxed_smart": sj.relaxed_smart(2, 2, step_size=0.1, rate_step_size=0.1),
    "relaxed_smart, gosavi": sj.relaxed_smart(2, 2, step_size=0.1, rate_step_size=0.1, variant="gosavi"),
    "harmonic_r": sj.harmonic_r(2, 2, step_size=0.1, rate_step_size=0.1),
    "weighted_harmonic_r": sj.agents.weighted_harmonic_r(2, 2, step_size=0.1, rate_step_size=0.1),
    "r_learning": sj.r_learning(2, 2, step_size=0.1, rate_step_size=0.03),
    "fixed_rate, centred": sj.agents.fixed_rate(2, 2, step_size=0.1, centring=0.1),
    "smdp_q_learning": sj.agents.smdp_q_learning(2, 2, step_size=0.1, discount_rate=0.1),
    "differential_q": sj.agents.differential_q(
        2, 2, step_size=0.05, rate_step_size=0.02, duration_step_size=0.1
    ),
    "rvi_q": sj.agents.rvi_q(2, 2, step_size=0.1, duration_step_size=0.1),
    "h_learning": sj.agents.h_learning(2, 2),
    "greedy_bandit": sj.agents.greedy_bandit(2, 2),
    "ucb_bandit": sj.agents.ucb_bandit(2, 2),
    "policy_agent": sj.agents.policy_agent([1, 0], 2),
}


@pytest.mark.parametrize("name", EVERY_AGENT)
def test_every_agent_learns_what_is_earned_in_no_time(name: str) -> None:
    """10 in no time and then 1 in a time of 4 are 2.75 per unit time; that action 1 is better is seen too."""
    run = sj.run(job_world(), EVERY_AGENT[name], 3000, seed=0, compiled=False)
    assert run.rate == pytest.approx(TRUTH, rel=0.05)
    assert run.policy[0] == 1


def test_compiled_and_interpreted_are_the_same() -> None:
    """Bit for bit; `check_agent` holds every other agent to it, in a world with such steps."""
    agent = EVERY_AGENT["relaxed_smart"]
    fast, slow = (sj.run(job_world(), agent, 500, seed=1, compiled=compiled) for compiled in (True, False))
    assert np.array_equal(fast.agent.q, slow.agent.q)
    assert (fast.rate, fast.agent.carried) == (slow.rate, slow.agent.carried)


def test_r_learning_as_printed_counts_steps() -> None:
    """It does not know of time: 11 in two steps are 5.5 a step."""
    agent = sj.r_learning(2, 2, step_size=0.1, rate_step_size=0.03, durations="ignored")
    run = sj.run(job_world(), agent, 3000, seed=0, compiled=False)
    assert run.rate == pytest.approx(5.5, rel=0.05)


def test_an_exponential_rate_needs_the_carry() -> None:
    """With a step size of 0.1 it says 2.75 with the carry; without, between 2.4 and 3.1 according to when it is asked."""
    rate, carried, plain = sj.Exponential(0.1), 0.0, sj.Exponential(0.1)
    with_carry, without = [], []
    for step in range(400):
        reward, duration = (10.0, 0.0) if step % 2 == 0 else (1.0, 4.0)
        rate, carried = sj.rates.carry(rate, carried, reward, duration)
        plain = sj.update.bare(plain, reward, duration)
        if step > 200:
            with_carry.append(sj.value(rate))
            without.append(sj.value(plain))
    assert with_carry == pytest.approx([TRUTH] * len(with_carry), rel=1e-12)
    assert max(without) - min(without) > 0.4


@pytest.mark.parametrize(
    "estimator", [sj.Cumulative(), sj.Exponential(0.1), sj.Harmonic(0.1), sj.rates.TimeSmoothed(0.3)]
)
def test_a_meter_carries_as_agents_do(estimator: Any) -> None:
    """Any estimator shows 2.75 in the meter, and what is not yet paid for is still to come."""
    meter = sj.RateMeter(estimator)
    for _ in range(200):
        meter.update(10.0, 0.0)
        assert meter.carried == 10.0
        meter.update(1.0, 4.0)
    assert meter.rate == pytest.approx(TRUTH, rel=1e-9)


def test_a_learner_learns_and_evaluates_it() -> None:
    """A Gymnasium environment with such steps: learned and evaluated at 2.75."""
    env = sj.envs.WorldEnv(job_world())
    assert sj.check_smdp_env(env, steps=200).zero_durations > 0
    learner = sj.Learner(env, sj.smart, step_size=0.1, seed=0)
    learner.train(5000)
    assert learner.rate == pytest.approx(TRUTH, rel=0.02)
    assert learner.evaluate(duration=400.0).rate == pytest.approx(TRUTH, rel=0.02)


@pytest.mark.parametrize("duration", [-1.0, float("nan"), float("inf")])
def test_a_world_that_goes_back_in_time_is_refused(duration: float) -> None:
    """A duration may be 0; what is negative, no number or endless stops a run with a sentence."""
    world = job_world()
    parameters = world.parameters.copy()
    parameters[1, 3] = duration
    world = with_fields(world, parameters=parameters)
    with pytest.raises(
        ValueError, match=r"a duration must be finite and at least 0|parameters has the entry"
    ):
        sj.run(world, sj.agents.policy_agent([1, 0], 2), 10, compiled=False)
