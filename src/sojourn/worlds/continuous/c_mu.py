"""Six kinds of customers and one server: whom to serve next."""

from __future__ import annotations

import math
from typing import NamedTuple

from sojourn.data.numbers import positive
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp
from sojourn.rules.random import Stream, exponential, integer, uniform
from sojourn.rules.values import checked
from sojourn.rules.vectors import Bounds, Vector
from sojourn.worlds.protocol import gain, optimal, start, step

KINDS = 6
_MEANS = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
_COSTS = (3.0, 2.5, 2.0, 1.5, 1.0, 0.5)


def _arrivals(name: str, number: float) -> float:
    if positive(name, number) * sum(_MEANS) >= 1.0:
        raise ValueError(
            f"{name} is {number}; it must be below {1.0 / sum(_MEANS):.3f}, or the server cannot keep up"
        )
    return number


@checked(arrivals=_arrivals)
class CMu(NamedTuple):
    """Six kinds of customers wait for one server: whom to serve next.

    Customers of each kind come at the rate `arrivals`. Service times are exponential, with means of 0.6, 0.8, 1, 1.2,
    1.4 and 1.6; a customer in the system costs 3, 2.5, 2, 1.5, 1 and 0.5 per unit of time.

    States: (n1, ..., n6), the number of customers of each kind, followed by a 1 for each kind that is present, else a 0.

    Actions: the kind to serve, counted from 0. Kinds without customers are masked.

    Rewards: minus the cost of all customers during the service time T, averaged over the customers who come meanwhile:
    -(C T + c arrivals T^2 / 2), where C is the cost per unit of time of the customers present and c the sum of the six costs.

    Durations: T; if nobody is left, also the time until somebody comes, which costs nothing.

    Source: Cobham (Operations Research 2, 1954) for the mean waiting times in an order of priority; the best order is
    by cost divided by mean service time.

    >>> world = CMu()
    >>> round(gain(world), 5), optimal(world, (0.0, 2.0, 0.0, 0.0, 1.0, 0.0))
    (-3.92319, 1)
    """

    arrivals: float = 0.12

    @property
    def num_states(self) -> int:
        """0, since states cannot be listed."""
        return 0

    @property
    def num_actions(self) -> int:
        """One for each kind."""
        return KINDS

    @property
    def observed(self) -> Bounds:
        """The number of customers of each kind."""
        return Bounds((0.0,) * KINDS, (math.inf,) * KINDS)


@start.register
def start_c_mu(world: CMu, rng: Stream) -> tuple[CMu, Vector]:
    """One customer of each kind."""
    return world, _as_state(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


@step.register
def step_c_mu(world: CMu, state: Vector, action: int, rng: Stream) -> tuple[CMu, Vector, float, float]:
    """Serve one customer; if nobody is left, wait for the next."""
    service = _MEANS[action] * exponential(rng)
    cost, costs = 0.0, 0.0
    for kind in range(KINDS):
        cost += _COSTS[kind] * state[kind]
        costs += _COSTS[kind]
    reward = -service * (cost + 0.5 * costs * world.arrivals * service)
    came = world.arrivals * service
    n0 = state[0] + _poisson(rng, came) - _one_if(action == 0)
    n1 = state[1] + _poisson(rng, came) - _one_if(action == 1)
    n2 = state[2] + _poisson(rng, came) - _one_if(action == 2)
    n3 = state[3] + _poisson(rng, came) - _one_if(action == 3)
    n4 = state[4] + _poisson(rng, came) - _one_if(action == 4)
    n5 = state[5] + _poisson(rng, came) - _one_if(action == 5)
    idle, kind = exponential(rng) / (KINDS * world.arrivals), integer(rng, KINDS)
    if n0 + n1 + n2 + n3 + n4 + n5 > 0.0:
        return world, _as_state(n0, n1, n2, n3, n4, n5), reward, service
    return world, _first_of(kind), reward, service + idle


@inlined
def _first_of(kind: int) -> Vector:
    return _as_state(
        _one_if(kind == 0),
        _one_if(kind == 1),
        _one_if(kind == 2),
        _one_if(kind == 3),
        _one_if(kind == 4),
        _one_if(kind == 5),
    )


@inlined
def _as_state(n0: float, n1: float, n2: float, n3: float, n4: float, n5: float) -> Vector:
    """The numbers of customers, and which kinds are present."""
    return (
        n0, n1, n2, n3, n4, n5,
        _one_if(n0 > 0.0), _one_if(n1 > 0.0), _one_if(n2 > 0.0), _one_if(n3 > 0.0), _one_if(n4 > 0.0), _one_if(n5 > 0.0),
    )  # fmt: skip


@inlined
def _one_if(condition: bool) -> float:
    return 1.0 if condition else 0.0


@inlined
def _poisson(rng: Stream, mean: float) -> float:
    """Draw from the Poisson law, for means up to a few dozen: count up until the distribution reaches u."""
    u, count = uniform(rng), 0.0
    chance = exp(-mean)
    u -= chance
    while u > 0.0 and chance > 1e-300:
        count += 1.0
        chance *= mean / count
        u -= chance
    return count


@gain.register
def gain_c_mu(world: CMu, clock: float = 0.0) -> float:
    """Minus the cost of the mean numbers of customers, by Cobham's formula."""
    rate = world.arrivals
    residual = sum(rate * mean * mean for mean in _MEANS)  # of the service under way: sum of rate E[T^2] / 2
    cost, busy_before = 0.0, 0.0
    for kind in _order():
        busy = busy_before + rate * _MEANS[kind]
        waiting = residual / ((1.0 - busy_before) * (1.0 - busy))
        cost += _COSTS[kind] * rate * (waiting + _MEANS[kind])
        busy_before = busy
    return -cost


@optimal.register
def optimal_c_mu(world: CMu, state: Vector) -> int:
    """Serve the kind that costs most per unit of service time."""
    return next(kind for kind in _order() if state[kind] > 0.0)


def _order() -> list[int]:
    return sorted(range(KINDS), key=lambda kind: -_COSTS[kind] / _MEANS[kind])
