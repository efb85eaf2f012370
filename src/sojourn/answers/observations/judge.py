"""The record of the study: what each agent reached on each problem, and how much the rate matters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.envs.worlds import WorldEnv
from sojourn.rules.vectors import Vector
from sojourn.worlds.catalogue import WORLDS
from sojourn.worlds.protocol import gain, optimal


@dataclass(frozen=True)
class Truth:
    """A problem and its best possible gain, which is not exact where a rule's measured rate stands for it."""

    problem: str
    gain: float
    is_exact: bool
    bar: (
        float | None
    )  # what the best agent should reach, relative to the gain; None where agents are only compared


@dataclass(frozen=True)
class Run:
    """The result of one run: the gain of its policy, also relative to the best, its learned rate and its CPU time."""

    problem: str
    agent: str
    variant: str
    seed: int
    steps: int
    gain: float
    relative_gain: float
    learned_rate: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What an agent reached on a problem with one way to get its rate: means over seeds, with an interval."""

    problem: str
    agent: str
    variant: str
    steps: int
    seeds: int
    gain: float
    relative_gain: float
    low: float
    high: float
    learned_rate: float
    seconds: float  # CPU time of a run


@dataclass(frozen=True)
class Observations:
    """The whole study: how much was run, all problems, and both parts."""

    seeds: int
    rate_seeds: int
    length: float
    truths: tuple[Truth, ...]
    first: tuple[Outcome, ...]
    second: tuple[Outcome, ...]
    version: str

    @property
    def is_comparison(self) -> bool:
        """Whether agents are only compared, on chosen problems."""
        return all(one.bar is None for one in self.truths)

    def truth(self, problem: str) -> Truth:
        """Return what is known about a problem."""
        return {one.problem: one for one in self.truths}[problem]

    def best(self, problem: str) -> Outcome:
        """Return what the best agent reached on a problem in the first part."""
        return max((one for one in self.first if one.problem == problem), key=lambda one: one.relative_gain)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The problems and agents of the second part."""
        return list(dict.fromkeys((one.problem, one.agent) for one in self.second))

    def varied(self, problem: str, agent: str) -> list[Outcome]:
        """Return what one pair of the second part reached with each way to get the rate."""
        return [one for one in self.second if (one.problem, one.agent) == (problem, agent)]


_TITLES = {"deep_q": "deep Q", "ppo": "PPO", "tile_q": "tile Q", "tile_sarsa": "tile Sarsa"}


def agent_title(agent: str) -> str:
    """Return an agent's name for readers."""
    return _TITLES.get(agent, agent)


# --- Judging -----------------------------------------------------------------------------

FOLLOWED = 40_000  # steps
_RULE_STEPS = 300_000
_MEND_FROM = 0.55
_FIRST_SEED = 1_000_000  # of the seeds that policies are judged with, one for each seed of a run

Act = Callable[[Any, dict[str, Any]], Any]


def environment(problem: str) -> WorldEnv:
    """Return a problem as an environment."""
    return WorldEnv(WORLDS[problem.replace("-", "_")].make())


def judged(problem: str, act: Act, seed: int) -> float:
    """Return an estimate of a policy's gain, from equally many steps of it and of the best one, with the same noise."""
    noise = _FIRST_SEED + seed
    found = _rate(problem, act, FOLLOWED, noise)
    if problem == "fleet":  # some states draw more random numbers than others
        return found
    return best_gain(problem) - (_rate(problem, _best(problem), FOLLOWED, noise) - found)


@functools.cache
def best_gain(problem: str) -> float:
    """Return the exact gain of a problem; for the fleet, what the best threshold rule earns."""
    exact = gain(environment(problem).world)
    return _rate(problem, _best(problem), _RULE_STEPS, _FIRST_SEED) if exact is None else exact


def _best(problem: str) -> Act:
    if problem == "fleet":
        return _mend_the_worst
    world = environment(problem).world
    return lambda seen, info: optimal(world, _vector(seen))


def _vector(seen: Any) -> Vector:
    return tuple(float(number) for number in seen)


def _mend_the_worst(seen: Any, info: dict[str, Any]) -> int:
    worst = int(np.argmax(seen))
    return 1 + worst if seen[worst] >= _MEND_FROM else 0


def _rate(problem: str, act: Act, steps: int, seed: int) -> float:
    """Return the reward per unit time of a policy over `steps` steps."""
    env = environment(problem)
    seen, info = env.reset(seed=seed)
    reward = duration = 0.0
    for _ in range(steps):
        seen, paid, _, _, info = env.step(act(seen, info))
        reward += paid
        duration += info["duration"]
    return reward / duration
