"""NumPy's masked arrays are refused everywhere, so that masked entries are neither used nor dropped silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sojourn as sj
from small_envs import Scripted, sentence
from sojourn.agents.values.protocol import Table
from sojourn.data.numbers import finite, several, unmasked, whole
from sojourn.envs.states import tabulate
from sojourn.exact.policy_iteration import policy_iteration
from sojourn.rules.intervals import mean_interval, median_interval
from sojourn.rules.stats import profile

MASKED: Any = np.ma.masked
NUMBER: Any = np.ma.array(3, mask=True)
HALF = [[[0.5, 0.5]], [[1.0, 0.0]]]  # probabilities: two states with one action each
LOG: dict[str, Any] = {
    "state": [0, 1, 0, 1],
    "action": [0, 0, 0, 0],
    "reward": [1.0] * 4,
    "duration": [1.0] * 4,
}


def hidden(numbers: Any) -> Any:
    """Return numbers as a masked array that hides the last one."""
    array = np.ma.array(numbers)
    array[(-1,) * array.ndim] = np.ma.masked
    return array


def model(**changes: Any) -> sj.SMDP:
    parts: dict[str, Any] = {
        "pair_offsets": [0, 1, 2], "row_offsets": [0, 1, 2], "successor": [1, 0], "probability": [1.0, 1.0],
        "reward": [1.0, 2.0], "duration": [1.0, 1.0],
    }  # fmt: skip
    return sj.SMDP(**parts | changes)


class Told(gym.Env[Any, Any]):
    """Shows given observations."""

    def __init__(self, observation: Any, info: Any = None, reward: Any = 1.0, first: Any = None) -> None:
        self.observation_space: Any = spaces.Box(0.0, 1.0, (2,), np.float64)
        self.action_space: Any = spaces.Discrete(2)
        self.told = observation, reward, False, False, {"duration": 1.0} | (info or {})
        self.first = np.zeros(2) if first is None else first

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.first, {}

    def step(self, action: Any) -> Any:
        return self.told


def trained(agent: Any = sj.deep_q, **told: Any) -> Callable[[], object]:
    """Return a function that trains an agent in an environment with these observations."""
    options: dict[str, Any] = {"hidden": (4,), "compiled": False} if agent is sj.deep_q else {"bins": 2}
    given = {"observation": np.zeros(2)} | told
    return lambda: sj.Learner(Told(**given), agent, **options).train(5)


def in_vector(place: int, thing: Any) -> Callable[[], object]:
    """Return the training in a vector of two that returns this in one place, or as info's duration."""

    class Vector(gym.vector.SyncVectorEnv):
        def step(self, actions: Any) -> Any:
            parts = list(super().step(actions))
            parts[place] = parts[place] | thing if place == 4 else thing
            return tuple(parts)

    return lambda: sj.Learner(
        Vector([lambda: Told(np.zeros(2))] * 2), sj.deep_q, hidden=(4,), compiled=False
    ).train(5)


TWO = sj.problems.long_return()
DOORS: dict[str, Callable[[], object]] = {
    "from_arrays": lambda: sj.models.from_arrays(hidden(HALF), 1.0),
    "from_arrays, rewards": lambda: sj.models.from_arrays(HALF, hidden([[1.0], [2.0]])),
    "from_arrays, durations": lambda: sj.models.from_arrays(HALF, 1.0, hidden([[1.0], [2.0]])),
    "from_arrays, available": lambda: sj.models.from_arrays(HALF, 1.0, available=hidden([[True], [True]])),
    "from_arrays, a list": lambda: sj.models.from_arrays([hidden([[0.5, 0.5]]), [[1.0, 0.0]]], 1.0),
    "from_matrices": lambda: sj.models.from_matrices([hidden([[0.5, 0.5], [1.0, 0.0]])], 1.0),
    "from_matrices, one array": lambda: sj.models.from_matrices(hidden([[[0.5, 0.5], [1.0, 0.0]]]), 1.0),
    "from_rates": lambda: sj.models.from_rates([(0, 0, 1, hidden([1.0])[0]), (1, 0, 0, 1.0)]),
    "from_transitions": lambda: sj.models.from_transitions([(0, 0, 0, hidden([1.0])[0], 1.0, 1.0)]),
    "from_table": lambda: sj.models.from_table({0: {0: [(1.0, 0, 0.0, True)]}}, hidden([1.0]), start=0),
    "from_table, start": lambda: sj.models.from_table({0: {0: [(1.0, 0, 0.0, True)]}}, start=hidden([1.0])),
    "SMDP": lambda: model(probability=hidden([1.0, 1.0])),
    "SMDP, whole numbers": lambda: model(successor=hidden([1, 0])),
    "with_counts": lambda: model().with_counts(hidden([3, 4])),
    "Empirical": lambda: sj.models.from_transitions([(0, 0, 0, 1.0, sj.laws.Empirical(hidden([1.0, 2.0])), 1.0)]),
    "Outcomes.observed": lambda: sj.laws.Outcomes.observed(hidden([1.0, 2.0]), [1.0, 1.0]),
    "Switching": lambda: sj.worlds.Switching([TWO] * 2, hidden([1.0])),
    "an option": lambda: sj.models.from_options(TWO, [sj.models.Option(hidden([0, 0]), 1.0)]),
    "an option's end": lambda: sj.models.from_options(TWO, [sj.models.Option([0, 0], hidden([1.0, 1.0]))]),
    "tijms_maintenance": lambda: sj.problems.tijms_maintenance(deterioration=hidden([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])),
    "evaluate": lambda: sj.evaluate(TWO, hidden([0, 0])),
    "evaluate, by name": lambda: sj.evaluate(TWO, {"choice": MASKED, "return": "A"}),
    "policy_iteration": lambda: policy_iteration(TWO, start=hidden([0, 0])),
    "audit": lambda: sj.audit(TWO, hidden([0, 0])),
    "policy_agent": lambda: sj.agents.policy_agent(hidden([0, 0]), 2),
    "initial": lambda: sj.smart(2, 2, initial=hidden([[0.0, 1.0], [2.0, 3.0]])),
    "an agent's table": lambda: sj.run(sj.worlds.Tabular(TWO), sj.smart(2, 2)._replace(values=Table(hidden(np.zeros((2, 2))))), 5),
    "a world's field": lambda: sj.envs.WorldEnv(sj.worlds.Tabular(TWO)._replace(share=hidden(np.ones(5)))),
    "record": lambda: sj.run(sj.worlds.Tabular(TWO), sj.smart(2, 2), 10, record=hidden([1, 5])),
    "Market": lambda: sj.worlds.Market(hidden([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]),
    "Market, close": lambda: sj.worlds.Market([1.0, 2.0, 3.0], hidden([1.0, 2.0, 3.0])),
    "read_log": lambda: sj.read_log(LOG | {"reward": hidden([1.0] * 4)}),
    "read_log, states": lambda: sj.read_log(LOG | {"state": hidden([0, 1, 0, 1])}),
    "harmonic_mean": lambda: sj.rates.harmonic_mean(hidden([1.0, 2.0])),
    "harmonic_mean, a list": lambda: sj.rates.harmonic_mean([1.0, MASKED]),
    "rate_score": lambda: sj.rates.rate_score(sj.Cumulative(), hidden([1.0, 2.0]), [1.0, 1.0]),
    "choose_rate": lambda: sj.rates.choose_rate([1.0, 2.0] * 100, hidden([1.0] * 200), [sj.Cumulative()]),
    "Bars": lambda: sj.worlds.Bars("mine", "", np.arange(2), open=hidden([1.0, 2.0]), close=np.ones(2)),
    "profile": lambda: profile({"one": hidden([0.5, 1.0])}, [0.5]),
    "profile, thresholds": lambda: profile({"one": [0.5, 1.0]}, hidden([0.5, 0.7])),
    "RateMeter": lambda: sj.RateMeter(sj.Cumulative()).update(hidden([1.0])[0], 1.0),
    "RateMeter, duration": lambda: sj.RateMeter(sj.Cumulative()).update(1.0, NUMBER),
    "an estimator's field": lambda: sj.RateMeter(sj.Exponential(NUMBER)),
    "mean_interval": lambda: mean_interval(hidden([1.0, 2.0, 3.0])),
    "median_interval": lambda: median_interval(hidden([1.0, 2.0, 3.0])),
    "finite": lambda: finite("x", MASKED),
    "whole": lambda: whole("x", NUMBER),
    "several": lambda: several("x", hidden([1.0, 2.0])),
    "bins": lambda: sj.Learner(Told(np.zeros(2)), sj.smart, bins=[hidden([0.0, 0.5, 1.0]), 2]),
    "an observation, deep Q": trained(observation=hidden([0.5, 0.5])),
    "an observation, table": trained(sj.smart, observation=hidden([0.5, 0.5])),
    "a first observation": trained(first=hidden([0.5, 0.5])),
    "an action mask": trained(info={"action_mask": hidden([1, 1])}),
    "an action mask, table": trained(sj.smart, info={"action_mask": hidden([1, 1])}),
    "a reward": trained(sj.smart, reward=MASKED),
    "a reward, deep Q": trained(reward=np.ma.array([1.0], mask=[True])),
    "a duration": trained(info={"duration": MASKED}),
    "a vector's observations": in_vector(0, hidden(np.zeros((2, 2)))),
    "a vector's rewards": in_vector(1, hidden([1.0, 1.0])),
    "a vector's durations": in_vector(4, {"duration": hidden([1.0, 1.0])}),
    "a numeric action": lambda: gym.make("sojourn/Hold-v0", compiled=False).unwrapped.step(hidden([0.5])),
    "act": lambda: sj.Learner(Told(np.zeros(2)), sj.smart, bins=2).act(hidden([0.5, 0.5])),
    "act, mask": lambda: sj.Learner(Told(np.zeros(2)), sj.smart, bins=2).act(np.zeros(2), hidden([1, 1])),
    "a baseline": lambda: sj.Learner(Scripted(), sj.smart).verdict(duration=5.0, baseline=hidden([0, 0])),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_masked_arrays_are_refused_at_every_door(door: str) -> None:
    """One sentence says that there is a masked array, and what to do with its masked entries."""
    assert "is or holds a masked array; fill what it hides" in sentence(DOORS[door])


def test_masked_labels_are_refused() -> None:
    """A masked state number, or a masked reward where a law is allowed, is refused."""
    for call in (
        lambda: tabulate(spaces.Discrete(3))(NUMBER),
        lambda: sj.models.from_transitions([(0, 0, 0, 1.0, MASKED, 1.0)]),
        lambda: sj.models.from_rates([(0, 0, MASKED, 1.0)]),
        lambda: sj.models.from_transitions([(MASKED, 0, 0, 1.0, 1.0, 1.0)]),
    ):
        assert "masked" in sentence(call)


def test_only_masked_arrays_are_refused() -> None:
    """Plain arrays (also in lists, tuples and dictionaries), frames and numbers pass unchanged."""
    for thing in (1.0, [np.ones(2), (1, 2.5)], {"a": np.zeros(2)}, np.float64(2.0), None, "text"):
        assert unmasked("thing", thing) is thing
