"""Agents that divide by mean durations: a rare long duration must not make the mean of ratios out of the ratio of means."""

from __future__ import annotations

from typing import Any

import pytest

import sojourn as sj
from sojourn.models import from_transitions


def world(mean_rate: float, long: float, chance: float) -> Any:
    """Action 0 earns 1 per unit time; action 1 less, in a time of `long` or, nearly always, of 0.01."""
    reward = mean_rate * (chance * long + (1.0 - chance) * 0.01)
    rows = [(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, chance, reward, long), (0, 1, 0, 1.0 - chance, reward, 0.01)]
    return sj.worlds.Tabular(from_transitions(rows))


MAKERS: dict[str, Any] = {
    "rvi_q": lambda **options: sj.agents.rvi_q(1, 2, step_size=0.001, exploration=0.1, **options),
    "differential_q": lambda **options: sj.agents.differential_q(
        1, 2, step_size=0.0003, rate_step_size=0.0003, exploration=0.1, **options
    ),
}
WORLDS = {"rvi_q": (0.6, 1000.0, 0.001), "differential_q": (0.6, 100.0, 0.01)}


@pytest.mark.parametrize("name", MAKERS)
def test_rare_long_durations_do_not_mislead(name: str) -> None:
    """By default the better action is greedy in all runs; means with a step size of 0.01 lose it in most of them."""
    make, where = MAKERS[name], world(*WORLDS[name])
    steps = 1_000_000 if name == "rvi_q" else 2_000_000
    for options, least, most in (({}, 5, 5), ({"duration_step_size": 0.01}, 0, 2)):
        runs = [sj.run(where, make(**options), steps, seed=seed) for seed in range(5)]
        assert least <= sum(int(run.policy[0]) == 0 for run in runs) <= most


@pytest.mark.parametrize("name", MAKERS)
def test_mean_durations_are_plain_means(name: str) -> None:
    """After visits of 2, 4 and 9 the mean duration is 5, whatever it began with, and the first error is in units of 2."""
    agent = MAKERS[name]()
    for duration in (2.0, 4.0, 9.0):
        agent = sj.learn(agent, 0, 1, 6.0, duration, 0)
    assert agent.method.mean_duration.q.tolist() == [[1.0, pytest.approx(5.0)]]
    assert agent.method.duration_step_size.visits.q.tolist() == [[0.0, 3.0]]


@pytest.mark.parametrize("name", MAKERS)
def test_a_first_step_in_no_time_is_learned(name: str) -> None:
    """While no time has passed, errors are divided by 1."""
    agent = sj.learn(MAKERS[name](), 0, 1, 6.0, 0.0, 0)
    assert agent.q[0, 1] == pytest.approx(6.0 * agent.step_size.size)
