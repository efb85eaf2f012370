"""A machine that wears: the worse it is, the less a job pays and the longer it takes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.optimize import brentq

from sojourn.data.numbers import at_least_zero, positive
from sojourn.rules.random import Stream, exponential
from sojourn.rules.values import checked
from sojourn.rules.vectors import Bounds, Vector
from sojourn.worlds.protocol import gain, optimal, start, step


@checked(loss=positive, mean_wear=positive, price=at_least_zero, replacement=at_least_zero)
class Wear(NamedTuple):
    """A machine that wears: do another job, or replace it.

    With w its wear, a job pays 1 - loss w^2 and takes an exponential time of mean 1 + w; then the wear grows by an
    exponential amount. A new machine has a wear of 0.

    States: (w,), at least 0.

    Actions: 0 does a job, 1 replaces the machine.

    Rewards: 1 - loss w^2 for a job, -price for a replacement.

    Durations: exponential of mean 1 + w for a job, `replacement` for a replacement.

    Source: ours. Between two replacements the jobs are at w = 0 and at the points of a Poisson process. So replacing
    at a threshold x earns R(x) in a time of T(x), both polynomials; the best x has R'/T' = R/T.

    >>> world = Wear()
    >>> round(gain(world), 6), optimal(world, (0.3,)), optimal(world, (0.4,))
    (0.583015, 0, 1)
    """

    loss: float = 1.6
    mean_wear: float = 0.1
    price: float = 1.0
    replacement: float = 0.5

    @property
    def num_states(self) -> int:
        """0, since states cannot be listed."""
        return 0

    @property
    def num_actions(self) -> int:
        """Two: do a job = 0 and replace = 1."""
        return 2

    @property
    def observed(self) -> Bounds:
        """The wear."""
        return Bounds((0.0,), (math.inf,))


@start.register
def start_wear(world: Wear, rng: Stream) -> tuple[Wear, Vector]:
    """A new machine."""
    return world, (0.0,)


@step.register
def step_wear(world: Wear, state: Vector, action: int, rng: Stream) -> tuple[Wear, Vector, float, float]:
    """Do a job, or replace the machine; both draw two numbers, so that the random stream does not depend on actions."""
    wear = state[0]
    duration, growth = (1.0 + wear) * exponential(rng), world.mean_wear * exponential(rng)
    if action == 1:
        return world, (0.0,), -world.price, world.replacement
    return world, (wear + growth,), 1.0 - world.loss * wear * wear, duration


@gain.register
def gain_wear(world: Wear, clock: float = 0.0) -> float:
    """R(x) / T(x) at the best threshold x."""
    threshold = best_threshold(world)
    return _earned(world, threshold) / _time(world, threshold)


@optimal.register
def optimal_wear(world: Wear, state: Vector) -> int:
    """Replace from the threshold on."""
    return int(state[0] >= best_threshold(world))


@functools.cache
def best_threshold(world: Wear) -> float:
    """Return the wear from which to replace the machine.

    >>> round(best_threshold(Wear()), 5)
    0.35985
    """

    def advantage(x: float) -> float:  # of continuing slightly beyond x
        return (1.0 - world.loss * x * x) * _time(world, x) - (1.0 + x) * _earned(world, x)

    return float(brentq(advantage, 0.0, _unprofitable_wear(world, advantage), xtol=1e-15, rtol=1e-15))


def _unprofitable_wear(world: Wear, advantage: Callable[[float], float]) -> float:
    """Return a wear beyond which continuing does not pay."""
    x = 1.0 / math.sqrt(world.loss)
    while advantage(x) > 0.0:
        x *= 2.0
    return x


def _earned(world: Wear, x: float) -> float:
    """Return the reward between two replacements at the threshold x."""
    return 1.0 - world.price + (x - world.loss * x**3 / 3.0) / world.mean_wear


def _time(world: Wear, x: float) -> float:
    """Return the time between two replacements at the threshold x."""
    return 1.0 + world.replacement + (x + x * x / 2.0) / world.mean_wear
