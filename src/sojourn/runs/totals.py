"""The totals of a run: the loop updates them, batches stack them, and tables are made from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import Floats
from sojourn.rules.bridge import inlined


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
    """Return the totals that stand at the beginning of an array, in the order of their fields."""
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
