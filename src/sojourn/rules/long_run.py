"""A confidence interval for the rate of one long run, or how long the run should have been.

The rate is total reward over total time. Successive steps are not independent, and in a slow system, such as a queue
near its capacity, thousands of them carry the same information. So the run is kept as 1,024 to 2,047 *micro-batches*
of equally many steps. At 2,048 they are merged in pairs, so a run of any length needs the same memory. With R and T a
batch's reward and time, and rho the rate, the deviations e = R - rho T of the m batches tell three things:

1. How many independent batches they are worth. With c(k) their autocovariances and s the sum of all c(k), over
   k of both signs, that is m c(0) / s. The sum ends where Geyer's initial monotone sequence does: pairs
   c(2j) + c(2j + 1) of a reversible chain are positive and decrease, and those that do not are noise
   (C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7, 1992).
2. Whether there is an interval. A run worth fewer than 100 independent batches (150 if they depend on each
   other for long) has perhaps not seen the rare long excursions that decide the rate. Neither has one of fewer than
   2,000 steps, nor one whose halves disagree by a two-sample t test of 10 batches each at 1 %. Instead of an
   interval, such a run gets the time that it would have needed.
3. The interval: Student's for the means of 20 batches, widened for the correlation between neighbours, and with
   its two sides corrected for skewness (P. Hall, "On the removal of skewness by transformation", JRSS B 54,
   1992). If such a dependent run is barely long enough, the interval also covers those of 8 and 16 batches and
   the one from the sum s.

No interval can account for what the run has not seen, such as a regime that it never entered.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypedDict

import numpy as np

from sojourn.data.numbers import at_least_zero, finite, proper_fraction, whole
from sojourn.rules.arrays import Floats

MOST = 2048  # the number of micro-batches at which they are merged
_LEAST = 2000  # runs with fewer steps get no interval
_ENOUGH, _ENOUGH_SLOW, _PLENTY = 100.0, 150.0, 250.0  # independent batches that a run must be worth
_SLOW = 4.0  # beyond this s / c(0), batches depend on each other for long
_BATCHES = 20
_ROUNDING = 1e-9  # deviations this small relative to the rewards count as 0


class RateInterval(NamedTuple):
    """The rate of a run and its interval from `low` to `high`; or, if the run is too short, the time `needed`."""

    rate: float
    low: float | None
    high: float | None
    needed: float | None


class BatchState(TypedDict):
    """A run in batches, as JSON; the open batch is the one that is not full."""

    size: int
    steps: int
    reward: float
    duration: float
    rewards: list[float]
    durations: list[float]
    open_reward: float
    open_duration: float


class MicroBatches:
    """The reward and time of a run in batches of equally many steps, fewer than 2,048 of them.

    >>> run = MicroBatches()
    >>> for reward in [1.0, 3.0] * 1500:
    ...     run.add(reward, 2.0)
    >>> run.steps, run.size, len(run.rewards)
    (3000, 2, 1500)
    >>> run.interval()
    RateInterval(rate=1.0, low=1.0, high=1.0, needed=None)
    """

    def __init__(self) -> None:
        self.size = 1  # steps in a batch
        self.steps = 0
        self.reward = self.duration = 0.0
        self.rewards: list[float] = []
        self.durations: list[float] = []
        self._reward = self._duration = 0.0  # of the batch that is not full

    def add(self, reward: float, duration: float) -> None:
        """Add one step; it may take no time."""
        self.steps += 1
        self.reward += reward
        self.duration += duration
        self._reward += reward
        self._duration += duration
        if self.steps % self.size == 0:
            self.rewards.append(self._reward)
            self.durations.append(self._duration)
            self._reward = self._duration = 0.0
            if len(self.rewards) == MOST:
                self.rewards, self.durations = _by_twos(self.rewards), _by_twos(self.durations)
                self.size *= 2

    def state(self) -> BatchState:
        """Return everything that is known of the run, as JSON."""
        return {
            "size": self.size,
            "steps": self.steps,
            "reward": self.reward,
            "duration": self.duration,
            "rewards": list(self.rewards),
            "durations": list(self.durations),
            "open_reward": self._reward,
            "open_duration": self._duration,
        }

    @classmethod
    def restored(cls, state: BatchState) -> MicroBatches:
        """Return the run with this state, or say what is wrong with it."""
        run = cls()
        run.size, run.steps = whole("size", state["size"]), whole("steps", state["steps"], least=0)
        run.reward, run.duration = finite("reward", state["reward"]), finite("duration", state["duration"])
        run.rewards = [finite("a reward", one) for one in state["rewards"]]
        run.durations = [at_least_zero("a duration", one) for one in state["durations"]]
        run._reward = finite("open_reward", state["open_reward"])
        run._duration = at_least_zero("open_duration", state["open_duration"])
        if not len(run.rewards) == len(run.durations) == run.steps // run.size < MOST:
            raise ValueError(f"{len(run.rewards)} batches of {run.size} do not fit {run.steps} steps")
        return run

    def interval(self, level: float = 0.95) -> RateInterval:
        """Return the rate with its interval, or with the time that an interval needs."""
        level = proper_fraction("level", level)
        if not self.duration > 0.0:
            raise ValueError("no time has passed; a rate needs at least one step that takes time")
        unfinished = self.steps % self.size > 0
        rewards = np.array([*self.rewards, self._reward] if unfinished else self.rewards)
        durations = np.array([*self.durations, self._duration] if unfinished else self.durations)
        return rate_interval(rewards, durations, self.steps, level)


def rate_interval(rewards: Floats, durations: Floats, steps: int, level: float = 0.95) -> RateInterval:
    """Return the interval of the rate from the rewards and durations of micro-batches, which have `steps` steps in all.

    >>> rng = np.random.default_rng(1)
    >>> found = rate_interval(rng.normal(6.0, 1.4, 1600), np.full(1600, 4.0), steps=3200)
    >>> round(found.rate, 2), round(found.low, 2), round(found.high, 2)
    (1.49, 1.46, 1.51)
    >>> rate_interval(rng.normal(3.0, 1.0, 64), np.full(64, 2.0), steps=64).needed
    4000.0
    """
    count, clock = len(rewards), float(durations.sum())
    rate = float(rewards.sum()) / clock
    errors = rewards - rate * durations
    scale = float(np.abs(rewards).sum() + abs(rate) * clock) / count
    variance, spread = _spread(np.where(np.abs(errors) <= _ROUNDING * scale, 0.0, errors))
    worth = min(count * variance / spread, count) if spread > 0.0 else count
    slow = spread > _SLOW * variance
    enough = _ENOUGH_SLOW if slow else _ENOUGH
    if steps < _LEAST or worth < enough:
        return RateInterval(rate, None, None, clock * max(1.5 * enough / worth, _LEAST / steps))
    if _halves_disagree(errors):
        return RateInterval(rate, None, None, 4.0 * clock)
    sides = [_by_batches(errors, _BATCHES, level)]
    if slow and worth < _PLENTY:
        from scipy.special import ndtri

        normal = float(ndtri(0.5 + level / 2.0)) * 2.0 / 1.96 * math.sqrt(spread * count)
        sides += [_by_batches(errors, 8, level), _by_batches(errors, 16, level), (-normal, normal)]
    low, high = min(side[0] for side in sides), max(side[1] for side in sides)
    return RateInterval(rate, rate + low / clock, rate + high / clock, None)


def _spread(errors: Floats) -> tuple[float, float]:
    """Return the variance c(0) of deviations, and the sum of their autocovariances by Geyer's monotone sequence."""
    count = len(errors)
    size = 1 << (2 * count - 1).bit_length()
    power = np.abs(np.fft.rfft(errors, size)) ** 2
    covariance = np.fft.irfft(power, size)[:count] / count
    pairs = covariance[: count // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: ends[0] if ends.size else len(pairs)])
    variance = float(covariance[0])
    spread = 2.0 * float(kept.sum()) - variance
    # Deviations sum to zero, so each c(k) is too small by s / m.
    included = 4 * len(kept) - 1
    return variance, max(spread, 0.0) / max(1.0 - included / count, 0.25)


def _halves_disagree(errors: Floats) -> bool:
    """Whether the two halves of a run have different rates, by a t test of 10 batches each at 1 %."""
    edges = np.linspace(0, len(errors), _BATCHES + 1).round().astype(np.int64)[:-1]
    halves = np.add.reduceat(errors, edges).reshape(2, -1)
    error = math.sqrt(float(halves.var(axis=1, ddof=1).sum()) / halves.shape[1])
    from scipy.special import stdtrit

    apart = abs(float(halves[0].mean() - halves[1].mean()))
    return apart > float(stdtrit(_BATCHES - 2, 0.995)) * error


def _by_batches(errors: Floats, count: int, level: float) -> tuple[float, float]:
    """Return how far below and above its estimate the sum of all deviations may lie, judged from `count` batches."""
    edges = np.linspace(0, len(errors), count + 1).round().astype(np.int64)[:-1]
    sums = np.add.reduceat(errors, edges)
    off = sums - sums.mean()
    squares = float(off @ off)
    if squares == 0.0:
        return 0.0, 0.0
    correlation = min(max(float(off[1:] @ off[:-1]) / squares + 1.0 / count, 0.0), 0.9)
    widened = math.sqrt((1.0 + correlation) / (1.0 - correlation))
    deviation = math.sqrt(count * squares / (count - 1)) * widened
    skewness = float((off**3).mean()) / (squares / count) ** 1.5
    bend = _hall_coefficient(skewness / math.sqrt(count))
    from scipy.special import stdtrit

    quantile = float(stdtrit(count - 1, 0.5 + level / 2.0))
    return -deviation * _skewed_quantile(quantile, bend), -deviation * _skewed_quantile(-quantile, bend)


def sum_sides(deviations: Floats, level: float) -> tuple[float, float]:
    """Return how far below and above its estimate a sum of uncorrelated deviations may lie.

    By Student's law, corrected for skewness; if a few large deviations dominate, it has correspondingly few
    degrees of freedom.

    >>> low, high = sum_sides(np.array([1.0, -1.0] * 200), 0.95)
    >>> round(low, 2), round(high, 2)  # 20 times the quantile
    (-39.32, 39.32)
    """
    squares = float(deviations @ deviations)
    if squares == 0.0:
        return 0.0, 0.0
    bend = _hall_coefficient(float((deviations**3).sum()) / squares**1.5)
    from scipy.special import stdtrit

    quantile = float(stdtrit(squares**2 / float((deviations**4).sum()), 0.5 + level / 2.0))
    return -math.sqrt(squares) * _skewed_quantile(quantile, bend), -math.sqrt(squares) * _skewed_quantile(
        -quantile, bend
    )


def _hall_coefficient(skewness: float) -> float:
    """Return the coefficient of Hall's transformation for an estimate of this skewness, within limits."""
    return min(max(skewness / 6.0, -0.2), 0.2)


def _skewed_quantile(quantile: float, bend: float) -> float:
    """Return the quantile of a skewed Student's ratio, by inverting Hall's cubic transformation."""
    if abs(bend) < 1e-6:
        return quantile
    return (float(np.cbrt(1.0 + 6.0 * bend * (quantile - bend))) - 1.0) / (2.0 * bend)


def _by_twos(numbers: list[float]) -> list[float]:
    return [a + b for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
