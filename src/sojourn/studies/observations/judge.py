"""How a policy is judged.

The policy is followed for a while, and so is the best policy, in a second copy of the world that draws the same random
numbers. Chance affects the difference between their rates far less than either rate. The best policy's exact gain minus
this difference is the estimate of the policy's gain. The gain of `fleet` is not known: there the best rule of the form
"mend the most worn machine if its wear is at least 0.55" stands for the best policy, and its rate, measured once in a
long run, stands for the gain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn.envs.worlds import WorldEnv
from sojourn.rules.vectors import Vector
from sojourn.worlds.named import WORLDS
from sojourn.worlds.protocol import gain, optimal

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
