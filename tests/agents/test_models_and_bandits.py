"""Agents that learn a model, bandits and the oracle: against plain Python, and against exact answers."""

from __future__ import annotations

import math
import random as python_random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naive
import sojourn as sj
from sojourn.agents.h_learning import no_counts, wrong_counts


@pytest.mark.parametrize(
    ("make", "oracle_of"), [(sj.agents.h_learning, naive.HLearner), (sj.agents.greedy_bandit, naive.Bandit)]
)
def test_of_any_transitions_they_learn_what_the_oracle_learns(make: Any, oracle_of: Any) -> None:
    """Values, rate and accepted steps after each of 400 transitions, a third of them in no time."""
    agent, oracle = make(3, 4), oracle_of(naive.Settings(3, 4, 0.0, naive.Exploration(0.1), ties="random"))
    rng = python_random.Random(2)
    for _ in range(400):
        state, action, after = rng.randrange(3), rng.randrange(4), rng.randrange(3)
        reward, duration = rng.uniform(-2.0, 5.0), rng.choice([0.0, 0.5, 3.0])
        agent = sj.learn(agent, state, action, reward, duration, after)
        oracle.learn(state, action, reward, duration, after, False)
        assert agent.accepted == oracle.accepted
        assert_allclose(agent.q, list(oracle.q.values()), rtol=1e-9, atol=1e-9)
        assert_allclose(sj.value(agent.rate), oracle.rate.value(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("problem", ["gosavi", "two-choice"])
def test_h_learning_finds_the_optimum(problem: str) -> None:
    """In 50,000 steps its policy is optimal, and its rate within a few percent of the gain."""
    model = sj.problems.PROBLEMS[problem]()
    solution = sj.solve(model)
    agent = sj.agents.h_learning(
        model.num_states, model.num_actions, exploration=sj.agents.Linear(1.0, 0.1, 5000)
    )
    run = sj.run(sj.worlds.Tabular(model), agent, 50_000, seed=1)
    assert sj.evaluate(model, run.policy).gain == pytest.approx(solution.gain)
    assert run.rate == pytest.approx(solution.gain, rel=0.05)


def test_h_learning_counts_every_successor() -> None:
    """The pool of successors holds each of them once, with how often it followed."""
    agent: Any = sj.agents.h_learning(5, 2)
    seen: dict[tuple[int, int, int], int] = {}
    rng = python_random.Random(3)
    for _ in range(300):
        state, action, after = rng.randrange(5), rng.randrange(2), rng.randrange(5)
        agent = sj.learn(agent, state, action, 1.0, 1.0, after)
        seen[state, action, after] = seen.get((state, action, after), 0) + 1
    counts: Any = agent.counts
    found: dict[tuple[int, int, int], float] = {}
    for state, action in np.ndindex(5, 2):
        cell = counts.head[state, action]
        while cell:
            found[state, action, int(counts.successor[cell - 1])] = counts.times_led[cell - 1]
            cell = counts.link[cell - 1]
    assert found == seen
    assert counts.used == len(seen)


def test_counts_that_would_lead_compiled_code_astray_are_refused() -> None:
    """A list that ends nowhere, or a state that there is not, is found before a run."""
    counts: Any = sj.learn(sj.agents.h_learning(2, 2), 0, 0, 1.0, 1.0, 1).counts
    assert wrong_counts(counts, (2, 2)) == ""
    assert "shape" in wrong_counts(counts, (3, 2))
    for name, array, at in (
        ("head", counts.head, (0, 0)),
        ("successor", counts.successor, 0),
        ("link", counts.link, 0),
    ):
        damaged = array.copy()
        damaged[at] = 7 if name != "link" else 1
        assert "pool of successors has links or states out of range" in wrong_counts(
            counts._replace(**{name: damaged}), (2, 2)
        )
    agent = sj.agents.h_learning(2, 2)
    with pytest.raises(ValueError, match=r"visits has the shape \(1, 1\)"):
        sj.run(sj.worlds.TwoState(1e-3), agent._replace(counts=no_counts(1, 1)), 10)


def test_a_bandit_by_upper_confidence_bounds() -> None:
    """It tries each action once, then the one whose rate plus bound is the largest, computed by hand."""
    agent: Any = sj.agents.ucb_bandit(1, 3, confidence=2.0)
    rng = sj.stream(0)
    rewards, visits = [0.0] * 3, [0] * 3
    for step in range(200):
        action = sj.agents.act(agent, 0, rng)
        if step < 3:
            assert visits[action] == 0
        else:
            bounds = [
                r / n + 2.0 * math.sqrt(math.log(step) / n) for r, n in zip(rewards, visits, strict=True)
            ]
            assert bounds[action] == pytest.approx(max(bounds))
        reward = float(action)
        agent = sj.learn(agent, 0, action, reward, 1.0, 0)
        rewards[action] += reward
        visits[action] += 1
    assert visits[2] > visits[1] > visits[0] >= 1


def test_a_bandit_does_not_look_ahead() -> None:
    """On long-return the action with the better rate of its own is the worse one: the bandits take it."""
    model = sj.problems.long_return()
    assert sj.solve(model).policy[0] == 0
    for make in (sj.agents.greedy_bandit, sj.agents.ucb_bandit):
        run = sj.run(sj.worlds.Tabular(model), make(2, 2), 2000, seed=0, compiled=False)
        own = [30.0 / 2.0, 770.0 / 100.0]
        assert run.policy[0] == int(np.argmax(own))


def test_the_oracle_earns_the_gain() -> None:
    """It follows the optimal policy of a model, of a problem by name too; another size is refused."""
    model = sj.problems.gosavi()
    agent = sj.agents.oracle(2, 2, model="gosavi")
    assert agent.actions.tolist() == sj.solve(model).policy.tolist()
    run = sj.run(sj.worlds.Tabular(model), agent, 20_000, seed=0)
    assert run.reward / run.duration == pytest.approx(sj.solve(model).gain, rel=0.03)
    with pytest.raises(ValueError, match="the model has 2 states and 2 actions, but the world has 3 and 2"):
        sj.agents.oracle(3, 2, model=model)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sj.agents.ucb_bandit(2, 2, confidence=-1.0),
        lambda: sj.agents.greedy_bandit(2, 2, exploration=2.0),
        lambda: sj.agents.h_learning(2, 2, ties="first"),
        lambda: sj.agents.oracle(2, 2, model="gosavy"),
    ],
)
def test_wrong_options_get_one_sentence(call: Any) -> None:
    """What is out of bounds or unknown is named."""
    with pytest.raises(ValueError) as error:  # noqa: PT011 - any sentence will do, if it is one
        call()
    assert "\n" not in str(error.value)
