"""A mass on a line that noise pushes about: which force to apply, each held for a random time."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from sojourn.data.numbers import positive
from sojourn.rules.arrays import Floats
from sojourn.rules.bridge import inlined
from sojourn.rules.random import Stream, normal, uniform
from sojourn.rules.values import checked
from sojourn.rules.vectors import Bounds, Vector
from sojourn.worlds.protocol import gain, optimal, start, step

FURTHEST = 20.0  # for position, speed and force
_TIMES = ((0.05, 0.4), (0.2, 0.4), (0.6, 0.2))  # how long a force is held, and how likely
_SPEED_COST = _FORCE_COST = 0.1


@checked(noise=positive)
class Hold(NamedTuple):
    """A mass on a line is to be held at 0: which force to apply.

    x1 is its position, x2 its speed: dx1 = x2 dt, dx2 = u dt + noise dW. A force u is held for a time of 0.05, 0.2 or 0.6,
    with probabilities 0.4, 0.4 and 0.2; the time is not known in advance.

    States: (x1, x2), each clipped at -20 and 20.

    Actions: u, a number, clipped at -20 and 20.

    Rewards: minus the integral of x1^2 + 0.1 x2^2 + 0.1 u^2 over the step, averaged over the noise in it.

    Durations: 0.05, 0.2 or 0.6. They do not depend on the action.

    Source: the linear-quadratic regulator with random sampling times. The gain is that without clipping; it is found by
    iterating the Riccati equation, averaged over the durations. The bounds are more than ten standard deviations away.

    >>> world = Hold()
    >>> round(gain(world), 4), optimal(world, (0.0, 0.0)), optimal(world, (1.0, 0.0)) < 0.0
    (-0.5396, 0.0, True)
    """

    noise: float = 1.0

    @property
    def num_states(self) -> int:
        """0, since states cannot be listed."""
        return 0

    @property
    def num_actions(self) -> int:
        """0, since actions are numbers."""
        return 0

    @property
    def controlled(self) -> Bounds:
        """The force."""
        return Bounds((-FURTHEST,), (FURTHEST,))

    @property
    def observed(self) -> Bounds:
        """Position and speed."""
        return Bounds((-FURTHEST,) * 2, (FURTHEST,) * 2)


@start.register
def start_hold(world: Hold, rng: Stream) -> tuple[Hold, Vector]:
    """At rest at 0."""
    return world, (0.0, 0.0)


@step.register
def step_hold(world: Hold, state: Vector, action: float, rng: Stream) -> tuple[Hold, Vector, float, float]:
    """Hold the force for a while."""
    u, x1, x2 = _clipped(action), state[0], state[1]
    t = _held_for(uniform(rng))
    strength = world.noise * world.noise
    place = x1 * x1 * t + x1 * x2 * t * t + (x2 * x2 + x1 * u) * t * t * t / 3.0
    place += x2 * u * t * t * t * t / 4.0 + u * u * t * t * t * t * t / 20.0 + strength * t * t * t * t / 12.0
    speed = x2 * x2 * t + x2 * u * t * t + u * u * t * t * t / 3.0 + strength * t * t / 2.0
    cost = place + _SPEED_COST * speed + _FORCE_COST * u * u * t
    # The noise in speed and position has the covariances t, t^2 / 2 and t^3 / 3.
    push = world.noise * math.sqrt(t) * normal(rng)
    drift = 0.5 * t * push + world.noise * math.sqrt(t * t * t / 12.0) * normal(rng)
    after = (_clipped(x1 + x2 * t + 0.5 * u * t * t + drift), _clipped(x2 + u * t + push))
    return world, after, -cost, t


@inlined
def _held_for(share: float) -> float:
    if share < _TIMES[0][1]:
        return _TIMES[0][0]
    return _TIMES[1][0] if share < _TIMES[0][1] + _TIMES[1][1] else _TIMES[2][0]


@inlined
def _clipped(x: float) -> float:
    return min(max(x, -FURTHEST), FURTHEST)


@gain.register
def gain_hold(world: Hold, clock: float = 0.0) -> float:
    """Minus what the noise costs in a step, over the mean duration."""
    bias = _regulator()[0]
    cost = 0.0
    for t, chance in _TIMES:
        noise = np.array([[t**3 / 3.0, t**2 / 2.0], [t**2 / 2.0, t]])
        own = t**4 / 12.0 + _SPEED_COST * t**2 / 2.0
        cost += chance * world.noise**2 * float(own + (bias * noise).sum())
    return -cost / sum(t * chance for t, chance in _TIMES)


@optimal.register
def optimal_hold(world: Hold, state: Vector) -> float:
    """A force that is linear in position and speed."""
    return float(_clipped(0.0 - float(_regulator()[1] @ np.array(state))))


@functools.cache
def _regulator() -> tuple[Floats, Floats]:
    """Return P of the bias -x'Px and K of the force -K x, from the Riccati equation averaged over the durations.

    With y = (x1, x2, u), a step costs y'Cy and leads to Fy, averaged over the noise. With M = E[C + F'PF], the best u
    gives P = Mxx - Mxu Mux / Muu.
    """
    bias = np.zeros((2, 2))
    for _ in range(10_000):
        total = np.zeros((3, 3))
        for t, chance in _TIMES:
            leads = np.array([[1.0, t, t * t / 2.0], [0.0, 1.0, t]])
            total += chance * (_cost_over(t) + leads.T @ bias @ leads)
        after = total[:2, :2] - np.outer(total[:2, 2], total[2, :2]) / total[2, 2]
        settled = bool(np.abs(after - bias).max() < 1e-14)
        bias = after
        if settled:
            break
    return bias, total[2, :2] / total[2, 2]


def _cost_over(t: float) -> Floats:
    """Return C, where y'Cy is the integral of x1^2 + 0.1 x2^2 + 0.1 u^2 over a time t without noise."""
    place = np.array(
        [
            [t, t**2 / 2.0, t**3 / 6.0],
            [t**2 / 2.0, t**3 / 3.0, t**4 / 8.0],
            [t**3 / 6.0, t**4 / 8.0, t**5 / 20.0],
        ]
    )
    speed = np.array([[0.0, 0.0, 0.0], [0.0, t, t**2 / 2.0], [0.0, t**2 / 2.0, t**3 / 3.0]])
    force = np.diag([0.0, 0.0, t])
    return np.asarray(place + _SPEED_COST * speed + _FORCE_COST * force)
