"""The length of a run, and what is recorded: its totals, its curve, and the arrays of all runs in a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from sojourn.agents.values.protocol import is_sound
from sojourn.data.numbers import unmasked, whole
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.door import told

if TYPE_CHECKING:
    from sojourn.agents.protocol import Agent
    from sojourn.worlds.truth import Truth

Points: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

NEVER = int(np.iinfo(np.int64).max)
MOST_SEEDS = 1_000_000  # of one agent or of a sweep
MOST_POINTS = 10_000_000  # of a curve

_value = value.bare


# --- How long a run is --------------------------------------------------------------


class Length(NamedTuple):
    """The length of a run: episodes of `steps` steps each, or until the clock reaches `time`, if that is earlier.

    >>> Length(steps=1000, episodes=4).total
    4000
    """

    steps: int
    episodes: int = 1
    time: float = math.inf

    @property
    def total(self) -> int:
        """The total number of steps."""
        return self.steps * self.episodes


class Course(NamedTuple):
    """Where a walk ends: its last step or time, the steps of an episode, and the size of the world."""

    until: int
    episode: int
    num_states: int
    num_actions: int
    time: float = np.inf


# --- The points of a curve ----------------------------------------------------------


@told
def log_spaced(total: int, count: int) -> Points:
    """Return at most `count` different step counts from 1 to `total`, evenly spaced in the logarithm.

    >>> log_spaced(1000, 4)
    array([   1,   10,  100, 1000])
    """
    total, count = whole("total", total, most=NEVER), whole("count", count, least=0, most=MOST_POINTS)
    return np.unique(np.rint(np.geomspace(1, total, count)).astype(np.int64))


def evenly_spaced(total: int, count: int) -> Points:
    """Return at most `count` different step counts up to `total`, evenly spaced.

    >>> evenly_spaced(1000, 4)
    array([ 250,  500,  750, 1000])
    """
    total, count = whole("total", total, most=NEVER), whole("count", count, least=0, most=MOST_POINTS)
    count = min(count, total)
    return np.arange(1, count + 1, dtype=np.int64) * total // max(count, 1)


def record_points(record: int | Sequence[int] | Points, total: int) -> Points:
    """Return the step counts that `record` asks for in a run of `total` steps."""
    points = np.asarray(unmasked("record", record))
    if isinstance(record, int) or points.ndim == 0:
        return log_spaced(total, points.item())
    if points.ndim != 1 or points.dtype.kind not in "iu":
        raise TypeError("record must be a whole number or a flat sequence of step counts")
    if points.size and not (points[0] >= 1 and points[-1] <= total and (np.diff(points) > 0).all()):
        raise ValueError(
            f"the step counts in record must ascend, from at least 1 to at most the {total} steps of the run"
        )
    return points.astype(np.int64)


# --- Totals -------------------------------------------------------------------------


class Totals(NamedTuple):
    """Totals over all steps, and over the accepted ones: those that took the greedy action.

    >>> counted(Totals(), reward=6.0, duration=2.0, accepted=False)
    Totals(steps=1, reward=6.0, duration=2.0, greedy_steps=0, greedy_reward=0.0, greedy_duration=0.0)
    """

    steps: int = 0
    reward: float = 0.0
    duration: float = 0.0
    greedy_steps: int = 0
    greedy_reward: float = 0.0
    greedy_duration: float = 0.0


@inlined
def counted(totals: Totals, reward: float, duration: float, accepted: bool) -> Totals:
    """Return the totals with one more step counted."""
    if accepted:
        return Totals(
            steps=totals.steps + 1,
            reward=totals.reward + reward,
            duration=totals.duration + duration,
            greedy_steps=totals.greedy_steps + 1,
            greedy_reward=totals.greedy_reward + reward,
            greedy_duration=totals.greedy_duration + duration,
        )
    return Totals(
        steps=totals.steps + 1,
        reward=totals.reward + reward,
        duration=totals.duration + duration,
        greedy_steps=totals.greedy_steps,
        greedy_reward=totals.greedy_reward,
        greedy_duration=totals.greedy_duration,
    )


def no_totals(count: int) -> Totals:
    """Return a stack of `count` totals, all zero.

    >>> no_totals(2).steps, no_totals(2).reward
    (array([0, 0]), array([0., 0.]))
    """
    return Totals._make(np.zeros(count, dtype=type(zero)) for zero in Totals())


@inlined
def totals_in(numbers: Floats) -> Totals:
    """Return the totals stored at the beginning of an array, in the order of their fields."""
    return Totals(
        steps=int(numbers[0]),
        reward=numbers[1],
        duration=numbers[2],
        greedy_steps=int(numbers[3]),
        greedy_reward=numbers[4],
        greedy_duration=numbers[5],
    )


@inlined
def write_totals(numbers: Floats, totals: Totals) -> None:
    """Write totals to the beginning of an array, in the order of their fields."""
    numbers[0] = totals.steps
    numbers[1] = totals.reward
    numbers[2] = totals.duration
    numbers[3] = totals.greedy_steps
    numbers[4] = totals.greedy_reward
    numbers[5] = totals.greedy_duration


# --- What is recorded of a batch ----------------------------------------------------


class Recording(NamedTuple):
    """What is recorded of a batch's runs besides their totals.

    Each `group` of consecutive runs shares a curve: their mean, with their standard deviation.
    """

    points: Points
    group: int = 1
    policies: bool = True


class RunRows(NamedTuple):
    """What is recorded of each run, a row per run."""

    which: Ints  # the runs to make
    totals: Totals  # a stack of them
    rates: Floats
    diverged: Flags
    states: Ints
    policies: Ints
    faults: Floats
    truths: Truth  # a stack of them


class Curves(NamedTuple):
    """What is recorded of each group of runs: the mean and deviation of their curves, [group, part, point]."""

    points: Points
    group: int
    means: Floats
    spreads: Floats


@compiled_apart
def fold(curves: Curves, run: int, curve: Floats) -> None:
    """Add the curve of a run to its group's mean and sum of squared deviations; runs must be added in order."""
    mean, spread = curves.means[run // curves.group], curves.spreads[run // curves.group]
    count = run % curves.group + 1
    for part in range(curve.shape[0]):
        for point in range(curve.shape[1]):
            off = curve[part, point] - mean[part, point]
            mean[part, point] += off / count
            spread[part, point] += off * (curve[part, point] - mean[part, point])


@inlined
def has_diverged(agent: Agent, missing: int) -> bool:
    """Whether the rate or a value is no longer finite; `missing` values were -inf from the beginning."""
    return not (abs(_value(agent.rate)) < np.inf and is_sound(agent.values, missing))
