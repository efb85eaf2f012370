"""Laws of one number, a reward or a duration: their means, and draws from them.

    Constant(value)                       always the same
    Exponential(mean)                     mean m: density exp(-x / m) / m
    Gamma(shape, scale)                   mean shape * scale
    Uniform(low, high)                    mean (low + high) / 2
    FlooredNormal(location, scale, floor) max(floor, N(location, scale^2)); with
                                          z = (location - floor) / scale its mean is
                                          floor + scale (z Phi(z) + phi(z))
    TwoPoint(low, high, probability)      high with this probability, else low

A negative mean or scale turns an exponential or gamma law around, for costs. Rewards and
durations that depend on each other are no law of one number: they are written as `Outcomes`,
a list of (probability, reward, duration), which becomes one row of the model for each.

For compiled code a law is flat: a whole number that says which of these it is, and three
parameters. `sampled` draws from a flat law. Every draw takes one word of its stream (that
of a constant none); a gamma law, drawn by rejection, takes one word as the key of a stream of
its own.

>>> mean(FlooredNormal(location=1.0, scale=0.1, floor=0.001)), mean(Uniform(5.0, 45.0))
(1.0, 25.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.rules.numbers import Number, finite, positive, probability, shown
from sojourn.rules.values import checked


def _not_zero(name: str, number: Number) -> float:
    if finite(name, number) == 0.0:
        raise ValueError(f"{name} is 0; it must not be")
    return float(number)


@checked(value=finite)
class Constant(NamedTuple):
    """Always the same number.

    >>> mean(Constant(2.5))
    2.5
    """

    value: float


@checked(mean=_not_zero)
class Exponential(NamedTuple):
    """The exponential law with this mean.

    >>> mean(Exponential(2.5))
    2.5
    """

    mean: float


@checked(shape=positive, scale=_not_zero)
class Gamma(NamedTuple):
    """The gamma law; its mean is shape * scale.

    >>> mean(Gamma(shape=2.0, scale=0.5))
    1.0
    """

    shape: float
    scale: float


@checked(low=finite, high=finite)
class Uniform(NamedTuple):
    """The uniform law between two numbers.

    >>> mean(Uniform(5.0, 45.0))
    25.0
    """

    low: float
    high: float


@checked(location=finite, scale=positive, floor=finite)
class FlooredNormal(NamedTuple):
    """The larger of `floor` and a normal number; its mean is above `location`.

    >>> round(mean(FlooredNormal(location=0.0, scale=1.0, floor=0.0)), 6)  # 1 / sqrt(2 pi)
    0.398942
    """

    location: float
    scale: float
    floor: float


@checked(low=finite, high=finite, probability=probability)
class TwoPoint(NamedTuple):
    """One of two numbers: `high` with this probability.

    >>> mean(TwoPoint(low=1.0, high=9.0, probability=0.25))
    3.0
    """

    low: float
    high: float
    probability: float


Law: TypeAlias = Constant | Exponential | Gamma | Uniform | FlooredNormal | TwoPoint
KINDS: tuple[type[Law], ...] = (Constant, Exponential, Gamma, Uniform, FlooredNormal, TwoPoint)
CONSTANT, EXPONENTIAL, GAMMA, UNIFORM, FLOORED, _TWO_POINT = range(6)


class Outcomes(NamedTuple):
    """A joint law of reward and duration: a list of (probability, reward, duration).

    >>> Outcomes([(0.5, 1.0, 1.0), (0.5, -1.0, 2.0)]).outcomes[1]
    (0.5, -1.0, 2.0)
    """

    outcomes: Sequence[tuple[float, float, float]]


class FlatLaws(NamedTuple):
    """Many laws as compiled code reads them: index into `KINDS`, and three parameters each."""

    kind: npt.NDArray[np.int8]
    parameters: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.kind)

    def law(self, place: int) -> Law:
        """Return the law at one place."""
        kind = KINDS[self.kind[place]]
        numbers: list[float] = self.parameters[place, : len(kind._fields)].tolist()
        law: Law = kind(*numbers)
        return law


def as_law(name: str, law: Law | float) -> Law:
    """Return a law; a number is a constant one."""
    if isinstance(law, Law):
        return law
    if isinstance(law, int | float | np.integer | np.floating):
        return Constant(finite(name, law))
    raise TypeError(f"{name} is {shown(law)}; it must be a number or a law of sojourn.models.laws")


def flat(laws: Sequence[Law | float]) -> FlatLaws:
    """Return laws and numbers as compiled code reads them.

    >>> flat([2.0, Uniform(0.0, 1.0)])
    FlatLaws(kind=array([0, 3], dtype=int8), parameters=array([[2., 0., 0.],
           [0., 1., 0.]]))
    """
    kind = np.zeros(len(laws), dtype=np.int8)
    parameters = np.zeros((len(laws), 3))
    for place, given in enumerate(laws):
        law = as_law(f"the law at place {place}", given)
        kind[place] = KINDS.index(type(law))
        parameters[place, : len(law)] = law
    return FlatLaws(kind, parameters)


def constants(numbers: npt.NDArray[np.float64]) -> FlatLaws:
    """Return the laws of constant numbers."""
    parameters = np.zeros((len(numbers), 3))
    parameters[:, 0] = numbers
    return FlatLaws(np.zeros(len(numbers), dtype=np.int8), parameters)


def mean(law: Law | float) -> float:
    """Return the mean of a law, or of a number.

    >>> mean(Gamma(shape=2.0, scale=3.0)), mean(TwoPoint(low=0.0, high=10.0, probability=0.2))
    (6.0, 2.0)
    """
    return float(means(flat([law]))[0])


def means(laws: FlatLaws) -> npt.NDArray[np.float64]:
    """Return the mean of every law."""
    kind, (a, b, c) = laws.kind, laws.parameters.T
    result: npt.NDArray[np.float64] = a.copy()
    for place in np.flatnonzero(kind == FLOORED):
        result[place] = _floored_mean(a[place], b[place], c[place])
    result = np.where(kind == GAMMA, a * b, result)
    result = np.where(kind == UNIFORM, (a + b) / 2.0, result)
    return np.asarray(np.where(kind == _TWO_POINT, a + c * (b - a), result))


def _floored_mean(location: float, scale: float, floor: float) -> float:
    z = (location - floor) / scale
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    return float(floor + scale * (z * math.erfc(-z / math.sqrt(2.0)) / 2.0 + density))


def not_below_zero(laws: FlatLaws) -> npt.NDArray[np.bool_]:
    """Whether each law gives no number below 0, as a duration's must."""
    kind, (a, b, c) = laws.kind, laws.parameters.T
    result: npt.NDArray[np.bool_] = a >= 0.0
    result = np.where(kind == GAMMA, b > 0.0, result)
    result = np.where(kind == FLOORED, c >= 0.0, result)
    return np.where((kind == UNIFORM) | (kind == _TWO_POINT), (a >= 0.0) & (b >= 0.0), result)


def can_be_zero(laws: FlatLaws) -> npt.NDArray[np.bool_]:
    """Whether each law of a duration gives 0 with a probability above 0."""
    kind, (a, b, c) = laws.kind, laws.parameters.T
    at_low, at_high = (a == 0.0) & (c < 1.0), (b == 0.0) & (c > 0.0)
    result = np.where(kind == CONSTANT, a == 0.0, (kind == FLOORED) & (c == 0.0))
    return np.asarray(np.where(kind == _TWO_POINT, at_low | at_high, result))


# --- Draws --------------------------------------------------------------------------
