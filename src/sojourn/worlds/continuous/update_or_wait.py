"""The age of information: how long to wait before the next update is sent."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.stats import norm

from sojourn.data.numbers import positive
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp
from sojourn.rules.random import Stream, normal
from sojourn.rules.values import checked
from sojourn.rules.vectors import Bounds, Vector
from sojourn.worlds.protocol import gain, optimal, start, step

LONGEST = 20.0  # the longest wait


@checked(spread=positive)
class UpdateOrWait(NamedTuple):
    """Updates travel for a random time: how long to wait before the next one is sent.

    The age of the information grows by one per unit of time. When an update arrives, the age falls to y, the time that
    the update has travelled. The next update is sent after a wait and travels for y', lognormal of mean 1. Waiting can
    pay, because an update brings little news while the last one is still fresh.

    States: (log y,).

    Actions: the wait, a number, clipped at 0 and 20.

    Rewards: minus the age, integrated over the step: -(y D + D^2 / 2), where D is the duration.

    Durations: D = wait + y'.

    Source: Sun, Uysal-Biyikoglu, Yates, Koksal and Shroff (IEEE Transactions on Information Theory 63(11), 2017). With
    a gain of -c, the best wait is max(0, c - 1 - y); c is found by bisection.

    >>> world = UpdateOrWait()
    >>> round(gain(world), 5), optimal(world, (5.0,)), round(optimal(world, (math.log(0.16053),)), 4)
    (-2.16053, 0.0, 1.0)
    """

    spread: float = 1.0

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
        """The wait."""
        return Bounds((0.0,), (LONGEST,))

    @property
    def observed(self) -> Bounds:
        """The logarithm of the time that the last update travelled."""
        return Bounds((-math.inf,), (math.inf,))


@inlined
def _log_time(world: UpdateOrWait, rng: Stream) -> float:
    """Draw the logarithm of a lognormal time of mean 1."""
    return world.spread * normal(rng) - 0.5 * world.spread * world.spread


@start.register
def start_update_or_wait(world: UpdateOrWait, rng: Stream) -> tuple[UpdateOrWait, Vector]:
    """An update has just arrived."""
    return world, (_log_time(world, rng),)


@step.register
def step_update_or_wait(
    world: UpdateOrWait, state: Vector, action: float, rng: Stream
) -> tuple[UpdateOrWait, Vector, float, float]:
    """Wait, then send the next update."""
    log_time = _log_time(world, rng)
    duration = min(max(action, 0.0), LONGEST) + exp(log_time)
    return world, (log_time,), -(exp(state[0]) * duration + 0.5 * duration * duration), duration


@gain.register
def gain_update_or_wait(world: UpdateOrWait, clock: float = 0.0) -> float:
    """Minus the best mean age."""
    return -_best_age(world.spread)


@optimal.register
def optimal_update_or_wait(world: UpdateOrWait, state: Vector) -> float:
    """Wait until the age is large enough."""
    return min(max(0.0, _best_age(world.spread) - 1.0 - math.exp(state[0])), LONGEST)


@functools.cache
def _best_age(spread: float) -> float:
    """Return the c at which E[y D + D^2 / 2 - c D] is 0 with the best waits.

    For y < c - 1 the best wait is above 0, and the mean of the bracket over y' is (v - (c - y)^2) / 2, where v is the
    variance of y'; for other y it is y - c + (v + 1) / 2.
    """
    variance = math.expm1(spread * spread)

    def surplus(c: float) -> float:
        def part(k: int) -> float:  # E[y^k; y < c - 1]
            mean = math.exp(0.5 * (k * k - k) * spread * spread)
            if c <= 1.0:
                return 0.0
            return float(mean * norm.cdf((math.log(c - 1.0) + (0.5 - k) * spread * spread) / spread))

        waits = 0.5 * ((variance - c * c) * part(0) + 2.0 * c * part(1) - part(2))
        sends = (1.0 - part(1)) + (0.5 * (variance + 1.0) - c) * (1.0 - part(0))
        return waits + sends

    most = 1.5 + 0.5 * variance  # the mean age without any wait
    return float(brentq(surplus, 0.0, most, xtol=1e-15, rtol=1e-15))
