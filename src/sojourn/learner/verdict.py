"""What a policy earns per unit time, with an interval, from one long run.

The rate is estimated by the ratio of all reward to all time. Steps that follow each other are
not independent, so the interval is made by *batch means*: the run is cut into 32 to 63 batches
of equally many consecutive steps, long enough that what happens in one says little about the
next, and the spread between batches tells how far the whole can be trusted. With R and T a
batch's reward and time and rho the ratio, the deviations R - rho T are averaged as in the
ratio estimator of regenerative simulation (Crane and Iglehart, 1975), and the interval is
Student's. What is earned in no time belongs to the batch in which it falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sojourn.envs.protocol import Environment
from sojourn.learner.reading import Reading
from sojourn.rules.numbers import proper_fraction

_MOST = 64


class Evaluation(NamedTuple):
    """A rate with its confidence interval.

    `rate` is all reward over all time, in `steps` steps that took `duration`; it is between `low` and
    `high` with the probability `level`, as judged from so many `batches`.

    >>> means = BatchMeans()
    >>> for _ in range(64):
    ...     means.add(reward=4.0, duration=2.0)
    >>> means.evaluation()
    Evaluation(rate=2.0, low=2.0, high=2.0, level=0.95, steps=64, duration=128.0, batches=32)
    """

    rate: float
    low: float
    high: float
    level: float
    steps: int
    duration: float
    batches: int


class BatchMeans:
    """Reward and time in batches of equally many steps; their number stays below 64.

    >>> means = BatchMeans()
    >>> for reward in [1.0, 3.0] * 500:
    ...     means.add(reward, 2.0)
    >>> result = means.evaluation()
    >>> result.rate, result.steps, result.batches
    (1.0, 1000, 62)
    """

    def __init__(self) -> None:
        self.size = 1  # steps in a batch
        self.steps = 0
        self.reward = self.duration = 0.0
        self._rewards: list[float] = []
        self._durations: list[float] = []
        self._reward = self._duration = 0.0  # of the batch that is not full

    def add(self, reward: float, duration: float) -> None:
        """Add one step."""
        self.steps += 1
        self.reward += reward
        self.duration += duration
        self._reward += reward
        self._duration += duration
        if self.steps % self.size == 0:
            self._rewards.append(self._reward)
            self._durations.append(self._duration)
            self._reward = self._duration = 0.0
            if len(self._rewards) == _MOST:
                self._rewards = _by_twos(self._rewards)
                self._durations = _by_twos(self._durations)
                self.size *= 2

    def evaluation(self, level: float = 0.95) -> Evaluation:
        """Return the rate so far; the interval is unbounded while there are fewer than two batches."""
        level = proper_fraction("level", level)
        if self.steps == 0:
            raise ValueError("nothing was seen; a rate needs at least one step")
        if self.duration == 0.0:
            raise ValueError("no time has passed; a rate needs some")
        rate, count = self.reward / self.duration, len(self._rewards)
        half = math.inf
        if count >= 2:
            errors = [r - rate * t for r, t in zip(self._rewards, self._durations, strict=True)]
            mean = math.fsum(errors) / count
            variance = math.fsum((error - mean) ** 2 for error in errors) / (count - 1)
            quantile = float(stdtrit(count - 1, 0.5 + level / 2.0))
            half = quantile * math.sqrt(variance / count) / (math.fsum(self._durations) / count)
        return Evaluation(rate, rate - half, rate + half, level, self.steps, self.duration, count)


def followed(
    env: Environment,
    reading: Reading,
    choose: Callable[[int, ArrayLike | None], int],
    until: float,
    seed: int,
) -> BatchMeans:
    """Return what a policy earned until so much time had passed; `choose` is its action by state and mask."""
    means, index = BatchMeans(), reading.states.index
    observation, info = env.reset(seed=seed)
    still = 0  # steps since time last passed
    while means.duration < until:
        action = choose(index(observation), reading.mask(info)) + reading.first_action
        observation, reward, terminated, truncated, info = env.step(action)
        taken, earned = reading.duration(observation, action, info), float(reward)
        if not math.isfinite(earned):
            raise ValueError(f"the reward is {earned}; a reward must be finite")
        means.add(earned, taken)
        still = still + 1 if taken == 0.0 else 0
        reading.time_must_pass(still)
        if terminated or truncated:
            observation, info = env.reset()
    return means


def _by_twos(numbers: list[float]) -> list[float]:
    return [a + b for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
