"""The truth about a world that changes: its gain at each time, and how far a run falls short of it.

The law of a step is fixed when the step begins; the *frozen gain* at that time is the optimal gain of a world in
which that law holds for ever: `gain(world, clock)`. A world that knows it keeps a `Truth`, and has two more rules:

    watched(world, rate) -> world         the world, informed of the agent's estimate of the rate
    truth_of(world) -> Truth              what it has recorded

Worlds without these rules are left alone. The loop calls `watched` before every step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.rules.bridge import inlined
from sojourn.rules.rule import rule
from sojourn.rules.values import replaced
from sojourn.worlds.protocol import W, World

WARM_UP = 100.0  # the first steps, which do not count towards the tracking error


class Truth(NamedTuple):
    """What a run is measured against: true times, rewards and rates.

    `owed` is the sum of duration times frozen gain, and `earned` the sum of the rewards. `squares` is the sum of
    duration times the squared error of the agent's rate, and `duration` the sum of the durations, both without the
    first 100 steps.

    >>> truth = counted_in(believing(Truth(), 1.0), gain=3.0, reward=5.0, duration=2.0)
    >>> truth.clock, truth.dynamic_regret  # 2 times 3, less 5
    (2.0, 1.0)
    """

    clock: float = 0.0  # of the episode
    rate: float = 0.0  # the agent's estimate
    owed: float = 0.0
    earned: float = 0.0
    squares: float = 0.0
    duration: float = 0.0
    steps: float = 0.0

    @property
    def dynamic_regret(self) -> float:
        """What the best policy of each time would have earned, less what was earned."""
        return self.owed - self.earned

    @property
    def tracking_error(self) -> float:
        """The mean over time of the squared error of the agent's rate; NaN for a run of 100 steps or fewer."""
        return self.squares / self.duration if self.duration > 0.0 else math.nan


@inlined
def believing(truth: Truth, rate: float) -> Truth:
    """Return the truth with the agent's estimate of the rate."""
    return replaced(truth, rate=rate)


@inlined
def begun_again(truth: Truth) -> Truth:
    """Return the truth at the start of an episode: the clock begins at 0 again, and the sums go on."""
    return replaced(truth, clock=0.0)


@inlined
def counted_in(truth: Truth, gain: float, reward: float, duration: float) -> Truth:
    """Return the truth after a step under a law of this gain."""
    weight = duration if truth.steps >= WARM_UP else 0.0
    off = truth.rate - gain
    return Truth(
        clock=truth.clock + duration,
        rate=truth.rate,
        owed=truth.owed + gain * duration,
        earned=truth.earned + reward,
        squares=truth.squares + weight * off * off,
        duration=truth.duration + weight,
        steps=truth.steps + 1.0,
    )


@rule(fallback=True)
def watched(world: W, rate: float) -> W:
    """Return the world, informed of the agent's estimate of the rate."""
    return world


@rule(fallback=True)
def truth_of(world: World) -> Truth:
    """Return the truth that a world has recorded; all zeros if it records none."""
    return Truth(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@rule(compiled=False, fallback=True)
def knows_truth(world: World) -> bool:
    """Whether a world records its truth."""
    return truth_of.knows(type(world))


def truths(count: int) -> Truth:
    """Return a stack of `count` empty truths."""
    return Truth._make(np.zeros(count) for _ in Truth._fields)
