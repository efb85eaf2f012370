"""Job offers, each with a pay and a length: take this one, or search on."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from sojourn.data.numbers import positive
from sojourn.rules.arrays import owned
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import cos, exp
from sojourn.rules.random import Stream, exponential, normal
from sojourn.rules.values import checked
from sojourn.rules.vectors import Bounds, Vector
from sojourn.worlds.protocol import gain, optimal, start, step

_NUM_SEEN = 16  # numbers that Offers16 shows
_HALF_TURN = 3.141592653589793


@checked(search=positive)
class Offers(NamedTuple):
    """Jobs are offered one by one: take this one, or search on.

    z1 and z2 are independent standard normal numbers. The job takes a time of S = e^z1 and pays R = e^((z1 + z2) / 2).

    States: (z1, z2).

    Actions: 0 passes, 1 takes the job.

    Rewards: R for a job that is taken, else 0.

    Durations: S for a job that is taken; every step also contains the search for the next offer, exponential of mean
    `search`.

    Source: ours. A job is worth taking if R > g S. The gain g solves g search = E max(R - g S, 0), where the right side is
    an expression in normal distribution functions.

    >>> world = Offers()
    >>> round(gain(world), 6), optimal(world, (0.0, 0.0)), optimal(world, (0.0, -1.0))
    (0.74776, 1, 0)
    """

    search: float = 0.5

    @property
    def num_states(self) -> int:
        """0, since states cannot be listed."""
        return 0

    @property
    def num_actions(self) -> int:
        """Two: pass = 0 and take = 1."""
        return 2

    @property
    def observed(self) -> Bounds:
        """Both numbers."""
        return Bounds((-math.inf,) * 2, (math.inf,) * 2)


@checked(search=positive)
class Offers16(NamedTuple):
    """Jobs are offered one by one, as in Offers, but their numbers are seen mixed with noise.

    z is a vector of sixteen independent standard normal numbers; the first two make the job, as in `Offers`.

    States: M z, sixteen numbers, where M is the orthonormal discrete cosine transform (DCT-II).

    Actions: 0 passes, 1 takes the job.

    Rewards: R for a job that is taken, else 0.

    Durations: S for a job that is taken; every step also contains the search for the next offer, exponential of mean
    `search`.

    Source: ours. M loses no information, so the gain is that of `Offers`.

    >>> gain(Offers16()) == gain(Offers())
    True
    """

    search: float = 0.5

    @property
    def num_states(self) -> int:
        """0, since states cannot be listed."""
        return 0

    @property
    def num_actions(self) -> int:
        """Two: pass = 0 and take = 1."""
        return 2

    @property
    def observed(self) -> Bounds:
        """All sixteen numbers."""
        return Bounds((-math.inf,) * _NUM_SEEN, (math.inf,) * _NUM_SEEN)


@inlined
def _offer(rng: Stream) -> Vector:
    return (normal(rng), normal(rng))


@start.register
def start_offers(world: Offers, rng: Stream) -> tuple[Offers, Vector]:
    """The first offer."""
    return world, _offer(rng)


@step.register
def step_offers(
    world: Offers, state: Vector, action: int, rng: Stream
) -> tuple[Offers, Vector, float, float]:
    """Take the job or not, then search."""
    reward, duration = _taken(action, state[0], state[1])
    return world, _offer(rng), reward, duration + world.search * exponential(rng)


@inlined
def _taken(action: int, z1: float, z2: float) -> tuple[float, float]:
    """Return what the action earns, and the time it takes without the search."""
    if action == 0:
        return 0.0, 0.0
    return exp(0.5 * (z1 + z2)), exp(z1)


# --- Sixteen numbers ------------------------------------------------------------------


def _cosines() -> list[list[float]]:
    """Return the matrix M of the orthonormal DCT-II."""
    count = _NUM_SEEN
    return [
        [
            math.sqrt((1.0 if k == 0 else 2.0) / count) * cos(_HALF_TURN * (2 * j + 1) * k / (2 * count))
            for j in range(count)
        ]
        for k in range(count)
    ]


_MIXED = owned(np.array(_cosines()))


@inlined
def _row(k: int, z: Vector) -> float:
    total = 0.0
    for j in range(_NUM_SEEN):
        total += _MIXED[k, j] * z[j]
    return total


@inlined
def _hidden(j: int, seen: Vector) -> float:
    """Return entry j of z: M is orthonormal, so its transpose undoes it."""
    total = 0.0
    for k in range(_NUM_SEEN):
        total += _MIXED[k, j] * seen[k]
    return total


@inlined
def _mixed_offer(rng: Stream) -> Vector:
    # Unrolled by hand, since compiled code cannot build a tuple in a loop.
    z = (
        normal(rng), normal(rng), normal(rng), normal(rng), normal(rng), normal(rng), normal(rng), normal(rng),
        normal(rng), normal(rng), normal(rng), normal(rng), normal(rng), normal(rng), normal(rng), normal(rng),
    )  # fmt: skip
    return (
        _row(0, z), _row(1, z), _row(2, z), _row(3, z), _row(4, z), _row(5, z), _row(6, z), _row(7, z),
        _row(8, z), _row(9, z), _row(10, z), _row(11, z), _row(12, z), _row(13, z), _row(14, z), _row(15, z),
    )  # fmt: skip


@start.register
def start_offers_16(world: Offers16, rng: Stream) -> tuple[Offers16, Vector]:
    """The first offer."""
    return world, _mixed_offer(rng)


@step.register
def step_offers_16(
    world: Offers16, state: Vector, action: int, rng: Stream
) -> tuple[Offers16, Vector, float, float]:
    """Take the job or not, then search."""
    reward, duration = _taken(action, _hidden(0, state), _hidden(1, state))
    return world, _mixed_offer(rng), reward, duration + world.search * exponential(rng)


# --- The truth -------------------------------------------------------------------------


@gain.register(Offers, Offers16)
def gain_offers(world: Offers | Offers16, clock: float = 0.0) -> float:
    """The g of g search = E max(R - g S, 0)."""
    return _gain(world.search)


@functools.cache
def _gain(search: float) -> float:
    def surplus(g: float) -> float:
        # R > g S where z2 - z1 > c; a factor e^(a z) in an expectation moves the mean of z by a.
        c = 2.0 * math.log(g)
        pay = math.exp(0.25) * norm.cdf(-c / math.sqrt(2.0))
        time = math.exp(0.5) * norm.cdf(-(c + 1.0) / math.sqrt(2.0))
        return float(pay - g * time - g * search)

    largest = math.exp(0.25) / search  # what all jobs would pay if they took no time
    return float(brentq(surplus, 1e-300, largest, xtol=1e-15, rtol=1e-15))


@optimal.register
def optimal_offers(world: Offers, state: Vector) -> int:
    """Take a job that pays more than the gain for its time."""
    return _worth_taking(world.search, state[0], state[1])


@optimal.register
def optimal_offers_16(world: Offers16, state: Vector) -> int:
    """Take a job that pays more than the gain for its time."""
    return _worth_taking(world.search, _hidden(0, state), _hidden(1, state))


def _worth_taking(search: float, z1: float, z2: float) -> int:
    reward, time = _taken(1, z1, z2)
    return int(reward > _gain(search) * time)
