"""SAC against exact answers: continuous problems whose best gain and best action are known, with durations and without."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from scipy.linalg import solve_discrete_are

import sojourn as sj
from sojourn.worlds.continuous import UpdateOrWait
from sojourn.worlds.protocol import gain

# The same types as in the tests of network agents, so that nothing has to be compiled again.
QUICK: dict[str, Any] = {"hidden": (16,), "batch": 32, "warm_up": 200, "precision": "double"}
A, B = np.array([[0.8, 0.2], [0.0, 0.6]]), np.array([[0.5, 0.0], [0.3, 1.0]])
STATE_COST, ACTION_COST, NOISE = np.eye(2), np.diag([0.5, 0.2]), 0.3


class Steered(gym.Env[Any, Any]):
    """A linear system with two states and two actions, each with other bounds; it earns minus a quadratic cost."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,))
        self.action_space: Any = spaces.Box(np.array([-1.5, -1.0]), np.array([1.0, 1.5]), dtype=np.float64)
        self.x = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = self.np_random.normal(size=2)
        return self.x.astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        reward = -float(self.x @ STATE_COST @ self.x + action @ ACTION_COST @ action)
        self.x = A @ self.x + B @ action + NOISE * self.np_random.normal(size=2)
        return self.x.astype(np.float32), reward, False, False, {}


class Share(gym.Env[Any, Any]):
    """How much of a job to do: a share a of it pays 2 a and takes 0.5 + a^2 / q; its ease q is 0.5 or 2, by chance.

    At a rate g the best share is min(1, q / g), and g solves the equation of `best_rate`.
    """

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 2.0, (1,))
        self.action_space: Any = spaces.Box(0.0, 1.0, (1,))
        self.q = 1.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._next(), {}

    def _next(self) -> Any:
        self.q = 0.5 if self.np_random.random() < 0.5 else 2.0
        return np.array([self.q], dtype=np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        share = float(action[0])
        info = {"duration": 0.5 + share * share / self.q}
        return self._next(), 2.0 * share, False, False, info


def best_rate() -> float:
    """Bisect for the g at which E max over a of 2 a - g (0.5 + a^2 / q) is 0."""
    low, high = 0.0, 4.0
    for _ in range(60):
        g = (low + high) / 2
        shares = [(q, min(1.0, q / g)) for q in (0.5, 2.0)]
        low, high = (g, high) if sum(2 * a - g * (0.5 + a * a / q) for q, a in shares) > 0.0 else (low, g)
    return low


def test_shares_of_jobs_are_worth_their_time() -> None:
    """After 3,000 decisions, SAC does the best share of hard jobs and all of easy ones, and earns 97 % of the best rate."""
    best = best_rate()
    learner = sj.Learner(Share(), sj.agents.sac, seed=0, **QUICK)
    learner.train(3_000)
    hard, easy = (float(learner.act(np.array([q], dtype=np.float32))[0]) for q in (0.5, 2.0))
    assert hard == pytest.approx(0.5 / best, abs=0.15)
    assert easy > 0.85
    assert learner.evaluate(duration=2_000.0).rate > 0.97 * best


@pytest.mark.evidence
@pytest.mark.parametrize("seed", range(3))
def test_a_linear_system_is_steered_as_the_riccati_equation_says(seed: int) -> None:
    """Two actions with bounds of their own: after 12,000 steps the cost is within 10 % of the least, the actions near the best."""
    cost_to_go = solve_discrete_are(A, B, STATE_COST, ACTION_COST)
    feedback = np.linalg.solve(ACTION_COST + B.T @ cost_to_go @ B, B.T @ cost_to_go @ A)
    best = -(NOISE**2) * np.trace(cost_to_go)
    learner = sj.Learner(Steered(), sj.agents.sac, duration=1.0, seed=seed)
    learner.train(12_000)
    assert 1.1 * best < learner.evaluate(duration=20_000.0).rate < 0.97 * best
    states = 0.4 * np.random.default_rng(1).normal(size=(50, 2))
    errors = [learner.act(x.astype(np.float32)) + feedback @ x for x in states]
    assert np.sqrt(np.mean(np.square(errors))) < 0.15


@pytest.mark.evidence
@pytest.mark.parametrize("seed", range(3))
def test_updates_wait_for_about_as_long_as_they_should(seed: int) -> None:
    """Where the action is a time to wait: within 6 % of the best gain after 20,000 decisions; never waiting earns 9 % less."""
    world = UpdateOrWait()
    learner = sj.Learner(sj.envs.WorldEnv(world), sj.agents.sac, seed=seed)
    learner.train(20_000)
    best = gain(world)
    assert best is not None
    assert learner.evaluate(duration=20_000.0).rate > 1.06 * best
    fresh, stale = (float(learner.act((log_age,))[0]) for log_age in (-3.0, 1.0))
    assert fresh > stale


@pytest.mark.evidence
@pytest.mark.parametrize("seed", range(5))
def test_pendulum_swings_up_within_20_000_steps(seed: int) -> None:
    """On an environment that nobody here wrote, default settings earn at least -0.75 per frame after 20,000 frames."""
    learner = sj.Learner(lambda: gym.make("Pendulum-v1"), sj.agents.sac, duration=1.0, seed=seed)
    learner.train(20_000)
    assert learner.evaluate(duration=20_000.0).rate > -0.75


class Falls(gym.Env[Any, Any]):
    """Risk pays: an action a from 0 to 1 pays a, takes 1 + a, and ends the episode with probability a / 2."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,))
        self.action_space: Any = spaces.Box(0.0, 1.0, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._seen(), {}

    def _seen(self) -> Any:
        return np.array([self.np_random.uniform(-1.0, 1.0)], dtype=np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        a = float(action[0])
        return self._seen(), a, bool(self.np_random.random() < a / 2), False, {"duration": 1.0 + a}


@pytest.mark.evidence
def test_terminations_are_as_rare_as_was_asked_for() -> None:
    """The most risk is taken, a = 1, unless at most 0.1 terminations per unit of time are asked for: then (a / 2) / (1 + a) = 0.1."""
    found = {}
    for most in (None, 0.1):
        learner = sj.Learner(Falls(), sj.agents.sac, seed=0, most_resets=most, **QUICK)
        learner.train(15_000)
        found[most] = np.mean([learner.act(np.array([x], dtype=np.float32))[0] for x in (-0.5, 0.0, 0.5)])
    assert found[None] > 0.85
    assert found[0.1] == pytest.approx(0.25, abs=0.08)
