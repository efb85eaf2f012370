"""A queue with one server, seen when a job arrives: admit it, or turn it away."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from sojourn.data.numbers import positive
from sojourn.rules.arrays import Floats
from sojourn.rules.random import Stream, exponential
from sojourn.rules.values import checked
from sojourn.rules.vectors import Bounds, Vector
from sojourn.worlds.protocol import gain, optimal, start, step

_SPAN = 40.0  # the end of the grid: there is never more work than that
_INTERVALS = 8_000
_TOLERANCE = 1e-11
_MOST_SWEEPS = 20_000  # a few seconds; 100 arrivals per unit of time need 5,000


@checked(arrivals=positive, waiting_cost=positive)
class Workload(NamedTuple):
    """Jobs arrive at a server: admit this one, or turn it away.

    V is the work that waits for the server, S the work of the job that has just come, exponential of mean 1. The
    server does one unit of work per unit of time; jobs come at the rate `arrivals`.

    States: (V, S), both at least 0.

    Actions: 0 turns the job away, 1 admits it.

    Rewards: S - waiting_cost V for a job that is admitted, else 0.

    Durations: the time to the next arrival, exponential. It does not depend on the action.

    Source: ours; in the literature it is an M/G/1 queue with admission control. The gain is computed by value
    iteration on a grid. For any function h, the least and the largest value of Th - h bound the gain, where T is
    the operator of the optimality equation; the iteration ends when they agree to ten digits. It is done on two
    grids, so that the error of the grid, which falls with the square of its width, can be removed.

    >>> world = Workload()
    >>> round(gain(world), 5), optimal(world, (1.0, 2.0)), optimal(world, (2.0, 1.0))
    (0.73246, 1, 0)
    """

    arrivals: float = 1.5
    waiting_cost: float = 0.5

    @property
    def num_states(self) -> int:
        """0, since states cannot be listed."""
        return 0

    @property
    def num_actions(self) -> int:
        """Two: turn away = 0 and admit = 1."""
        return 2

    @property
    def observed(self) -> Bounds:
        """The work that waits for the server, and that of the job."""
        return Bounds((0.0, 0.0), (math.inf, math.inf))


@start.register
def start_workload(world: Workload, rng: Stream) -> tuple[Workload, Vector]:
    """A job comes to an empty server."""
    return world, (0.0, exponential(rng))


@step.register
def step_workload(
    world: Workload, state: Vector, action: int, rng: Stream
) -> tuple[Workload, Vector, float, float]:
    """Admit the job or not, and work until the next one comes."""
    duration = exponential(rng) / world.arrivals
    reward, work = 0.0, state[0]
    if action == 1:
        reward, work = state[1] - world.waiting_cost * state[0], work + state[1]
    return world, (max(work - duration, 0.0), exponential(rng)), reward, duration


@gain.register
def gain_workload(world: Workload, clock: float = 0.0) -> float:
    """By value iteration, with the error of the grid removed."""
    coarse, fine = (_solved(world, count)[0] for count in (_INTERVALS // 2, _INTERVALS))
    return fine + (fine - coarse) / 3.0


@optimal.register
def optimal_workload(world: Workload, state: Vector) -> int:
    """Admit a job if it is large enough for the work that waits."""
    _, width, work = _solved(world, _INTERVALS)
    grid = width * np.arange(len(work))
    now, then = np.interp([state[0], state[0] + state[1]], grid, work)
    return int(state[1] - world.waiting_cost * state[0] + then > now)


@functools.cache
def _solved(world: Workload, intervals: int) -> tuple[float, float, Floats]:
    """Return the gain on a grid of `intervals` intervals, the width of the grid, and W on it.

    With h(V) the bias before the job is seen and W(x) = E h((x - A)^+), where A is the time to the next arrival,

        h(V) + g / arrivals = E max(S - waiting_cost V + W(V + S), W(V)).

    A job is admitted if V + S is beyond the x at which x + W(x) = (1 + waiting_cost) V + W(V), since the left side
    grows with x. In the mean, such jobs add e^-(x - V) (x + 1 - V - waiting_cost V + B(x) - W(V)) to W(V), where
    B(x) = E W(x + S). Between the points of the grid, h and W are taken to be linear.
    """
    width = _SPAN / intervals
    grid = width * np.arange(intervals + 1)
    bias = np.zeros(intervals + 1)
    for _ in range(_MOST_SWEEPS):
        work = _averaged(bias, world.arrivals * width)
        # Beyond the grid everything is turned away, and work costs what the gain would earn meanwhile.
        slope = (work[-1] - work[-2]) / width
        beyond = _averaged(work[::-1], width, first=work[-1] + slope)[::-1]
        edge = np.interp((1.0 + world.waiting_cost) * grid + work, grid + work, grid)
        admitted = edge + 1.0 - (1.0 + world.waiting_cost) * grid + np.interp(edge, grid, beyond) - work
        after = work + np.exp(grid - edge) * np.maximum(admitted, 0.0)
        change = after - bias
        # The far half of the grid is left out: it is inexact, and never reached.
        low, high = change[: intervals // 2].min(), change[: intervals // 2].max()
        bias = after - after[0]
        if high - low < _TOLERANCE:
            return float(world.arrivals * (low + high) / 2.0), width, work
    raise ValueError(f"value iteration does not converge for {world}; its numbers are too far apart")


def _averaged(values: Floats, width: float, first: float | None = None) -> Floats:
    """Return E f(x - A) at points `width` apart, where A is exponential of mean 1 and f is `first` before all points.

    For f linear between points, this obeys y[i] = e^-width y[i-1] + a f[i-1] + b f[i].
    """
    kept = math.exp(-width)
    b = 1.0 - (1.0 - kept) / width
    a = 1.0 - kept - b
    head = values[0] if first is None else first
    inputs = a * values[:-1] + b * values[1:]
    rest = lfilter([1.0], [1.0, -kept], inputs, zi=[kept * head])[0]
    return np.concatenate([[head], rest])
