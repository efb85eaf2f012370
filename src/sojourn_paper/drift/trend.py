"""Extrapolation: predicts which action will be better from the trend of each one's rewards and durations.

A history has the rewards or the durations of one action at the steps where it was taken. Four shapes are fitted to it,

    constant  c        linear  a + b t        exponential  c e^(b t)        power  c (1 + t)^b

with relative errors, those of the logarithm. Each shape is extrapolated to a later step and has the weight e^(-BIC /
2), where BIC is n log(RSS / n) + k log n for k numbers (G. Schwarz, Annals of Statistics 6, 1978; the weights are
those of A. E. Raftery, Sociological Methodology 25, 1995). If the data distinguish the shapes, one of them has all
the weight. The prediction rests on the shapes: beyond the data, nothing else supports it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import Floats

_ROUNDING = 1e-24  # below this mean square of relative errors, a fit counts as exact
_ROUNDS = 30  # Gauss-Newton iterations; a linear shape needs about five
_NOTHING = 1e-12  # smaller weights are ignored
_SMALL = 1e-12  # the smallest value of a linear shape, in units of the mean


class Fit(NamedTuple):
    """A fitted shape: its name, its numbers, and its BIC."""

    shape: str
    numbers: tuple[float, ...]
    bic: float

    def log_at(self, step: float) -> float:
        """Return the logarithm of its value at a step; minus infinity where a line has fallen to 0."""
        if self.shape == "linear":
            value = self.numbers[0] + self.numbers[1] * step
            return math.log(value) if value > 0.0 else -math.inf
        slope = self.numbers[1] if len(self.numbers) > 1 else 0.0
        return self.numbers[0] + slope * (math.log1p(step) if self.shape == "power" else step)


class Trend(NamedTuple):
    """The shapes fitted to a history, best first."""

    fits: tuple[Fit, ...]

    @property
    def best(self) -> Fit:
        """The shape with the lowest BIC."""
        return self.fits[0]

    def log_at(self, step: float) -> float:
        """Return the logarithm of the prediction at a step: the weighted mean of those of the shapes."""
        weights = [math.exp((self.best.bic - fit.bic) / 2.0) for fit in self.fits]
        told = zip(weights, self.fits, strict=True)
        return sum(weight * fit.log_at(step) for weight, fit in told if weight > _NOTHING) / sum(weights)


def fitted(steps: Floats, values: Floats) -> Trend:
    """Return the fits of all shapes; values of 0 or less have no logarithm and are left out.

    >>> steps = np.arange(50.0)
    >>> fitted(steps, 3.0 * 1.02**steps).best.shape, fitted(steps, 5.0 + 2.0 * steps).best.shape
    ('exponential', 'linear')
    >>> round(math.exp(fitted(steps, 5.0 + 2.0 * steps).log_at(1000.0)), 6)
    2005.0
    """
    paid = values > 0.0
    if paid.sum() < 3:
        raise ValueError(f"{int(paid.sum())} values are above 0; a trend needs at least 3")
    t, logs = steps[paid], np.log(values[paid])
    fits = [
        _by_logs("constant", np.empty((len(t), 0)), logs),
        _by_logs("exponential", t[:, None], logs),
        _by_logs("power", np.log1p(t)[:, None], logs),
        _linear(t, logs),
    ]
    return Trend(tuple(sorted(fits, key=lambda fit: fit.bic)))


def _by_logs(shape: str, slopes: Floats, logs: Floats) -> Fit:
    """Fit a shape whose logarithm is linear in its numbers."""
    design = np.column_stack([np.ones(len(logs)), slopes])
    numbers = np.linalg.lstsq(design, logs, rcond=None)[0]
    return Fit(shape, tuple(numbers.tolist()), _bic(logs - design @ numbers, len(numbers)))


def _linear(t: Floats, logs: Floats) -> Fit:
    """Fit log(a + b t) by the Gauss-Newton method, from the weighted line, in units that keep numbers near 1."""
    unit = float(logs.max())
    y = np.exp(logs - unit)
    design = np.column_stack([np.ones(len(t)), t])
    numbers = np.linalg.lstsq(design / y[:, None], np.ones(len(t)), rcond=None)[0]
    least = _SMALL * float(y.mean())
    best, best_rss = numbers, math.inf
    for _ in range(_ROUNDS):
        line = np.maximum(design @ numbers, least)
        off = np.log(y) - np.log(line)
        rss = float(off @ off)
        if rss >= best_rss * (1.0 - 1e-12):
            break
        best, best_rss = numbers, rss
        numbers = numbers + np.linalg.lstsq(design / line[:, None], off, rcond=None)[0]
    off = np.log(y) - np.log(np.maximum(design @ best, least))
    scale = math.exp(unit) if unit < 700.0 else math.inf
    return Fit("linear", tuple((best * scale).tolist()), _bic(off, 2))


def _bic(off: Floats, numbers: int) -> float:
    count = len(off)
    return count * math.log(max(float(off @ off) / count, _ROUNDING)) + numbers * math.log(count)


class History(NamedTuple):
    """When an action was taken, what it earned and how long it took."""

    steps: Floats
    rewards: Floats
    durations: Floats


class Prospect(NamedTuple):
    """The prediction for an action: its reward and its duration, and how long an unpaid way back takes."""

    reward: Trend
    duration: Trend
    back: float = 0.0

    def log_rate(self, step: float, *, by_best: bool = False) -> float:
        """Return the logarithm of its rate at a step, including the way back, by all shapes or by the best ones alone."""
        reward, duration = (
            (each.best if by_best else each).log_at(step) for each in (self.reward, self.duration)
        )
        return reward - (float(np.logaddexp(duration, math.log(self.back))) if self.back > 0.0 else duration)


def prospect(history: History, back: float = 0.0) -> Prospect:
    """Return the prediction from a history.

    >>> t = np.arange(100.0)
    >>> rising, steady = History(t, 1.0 + 0.1 * t, np.ones(100)), History(t, np.full(100, 50.0), np.ones(100))
    >>> [round(math.exp(prospect(one).log_rate(1000.0)), 6) for one in (rising, steady)]
    [101.0, 50.0]
    """
    return Prospect(fitted(history.steps, history.rewards), fitted(history.steps, history.durations), back)
