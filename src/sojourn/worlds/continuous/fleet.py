"""Four machines that wear, and one crew to mend them."""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import positive
from sojourn.rules.bridge import inlined
from sojourn.rules.random import Stream, exponential, gamma
from sojourn.rules.values import checked
from sojourn.rules.vectors import Bounds, Vector
from sojourn.worlds.protocol import start, step

MACHINES = 4


@checked(wear=positive, price=positive, failure_price=positive)
class Fleet(NamedTuple):
    """Four machines wear, and one crew mends them: which one next, or none for a while.

    A machine fails at a wear of 1. In a time t, each machine that runs wears by a gamma amount of shape t and scale
    `wear`, evenly over the step. Mending a machine brings its wear to 0, and takes longer and costs more once it has
    failed; the others go on meanwhile.

    States: the wear of each machine, in [0, 1].

    Actions: 0 lets all run for a while; i mends machine i.

    Rewards: 1 per unit of time for each machine that runs, until it fails; -price for mending one, -failure_price for
    mending one that has failed.

    Durations: exponential of mean 1 for action 0; gamma of shape 4 for mending, of mean 0.5, or 3 if it has failed.

    Source: ours. Its exact gain is not known. The best rule of the form "mend the most worn machine if its wear is
    at least x" has x = 0.55 and earns 2.635, give or take 0.003 (measured in 2,000,000 steps each, with x in steps of
    0.05, 95 % confidence); tiles learn policies that earn 2.69.

    >>> from sojourn.worlds.protocol import gain
    >>> print(gain(Fleet()))
    None
    """

    wear: float = 0.08
    price: float = 2.0
    failure_price: float = 12.0

    @property
    def num_states(self) -> int:
        """0, since states cannot be listed."""
        return 0

    @property
    def num_actions(self) -> int:
        """Mend nothing = 0, and one for each machine."""
        return MACHINES + 1

    @property
    def observed(self) -> Bounds:
        """The wear of each machine."""
        return Bounds((0.0,) * MACHINES, (1.0,) * MACHINES)


@start.register
def start_fleet(world: Fleet, rng: Stream) -> tuple[Fleet, Vector]:
    """All are new."""
    return world, (0.0, 0.0, 0.0, 0.0)


@step.register
def step_fleet(world: Fleet, state: Vector, action: int, rng: Stream) -> tuple[Fleet, Vector, float, float]:
    """Mend one or none; the others run."""
    reward, duration = _mending(world, action, state[max(action - 1, 0)], rng)
    w1, earned1 = _running(world, action == 1, state[0], duration, rng)
    w2, earned2 = _running(world, action == 2, state[1], duration, rng)
    w3, earned3 = _running(world, action == 3, state[2], duration, rng)
    w4, earned4 = _running(world, action == 4, state[3], duration, rng)
    return world, (w1, w2, w3, w4), reward + earned1 + earned2 + earned3 + earned4, duration


@inlined
def _mending(world: Fleet, action: int, wear: float, rng: Stream) -> tuple[float, float]:
    """Return what the action itself pays, and how long it takes."""
    if action == 0:
        return 0.0, exponential(rng)
    if wear >= 1.0:
        return -world.failure_price, 0.75 * gamma(rng, 4.0)
    return -world.price, 0.125 * gamma(rng, 4.0)


@inlined
def _running(world: Fleet, mended: bool, wear: float, duration: float, rng: Stream) -> tuple[float, float]:
    """Return the wear of a machine after a time, and what it earns meanwhile."""
    grown = world.wear * gamma(rng, duration)
    if mended:
        return 0.0, 0.0
    if wear >= 1.0:
        return 1.0, 0.0
    if wear + grown < 1.0:
        return wear + grown, duration
    return 1.0, duration * (1.0 - wear) / grown
