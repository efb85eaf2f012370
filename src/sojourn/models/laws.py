"""Laws of one number, a reward or a duration: their means and Laplace transforms.

    Constant(value)                       always the same
    Exponential(mean)                     mean m: density exp(-x / m) / m
    Gamma(shape, scale)                   mean shape * scale
    Weibull(shape, scale)                 P(X > x) = exp(-(x / scale)^shape); mean scale * Gamma(1 + 1 / shape)
    Lognormal(median, sigma)              median * exp(sigma Z), Z normal; mean median * exp(sigma^2 / 2)
    Uniform(low, high)                    mean (low + high) / 2
    FlooredNormal(location, scale, floor) max(floor, N(location, scale^2)); with
                                          z = (location - floor) / scale its mean is
                                          floor + scale (z Phi(z) + phi(z))
    TwoPoint(low, high, probability)      high with this probability, else low

A negative mean, scale or median mirrors a law at 0, for costs. Gamma, Weibull, lognormal and uniform laws can be
given by their mean and standard deviation: `Gamma.of(mean=2.0, deviation=0.5)`.

Samples are a law too: `Empirical(values)` gives each of them with the same probability. Rewards and
durations that depend on each other are not laws of one number. They are written as `Outcomes`,
a list of (probability, reward, duration), or as `Outcomes.observed(rewards, durations)` from samples of both. These
become rows of the model, one for each number or outcome, so all exact results hold for them too.

For compiled code a law is flat: a whole number that says which of these laws it is, and three
parameters. `sampled` draws from a flat law. Every draw takes one word of its stream, except that a constant takes none.
A gamma law is drawn by rejection, and takes one word as the key of a stream of its own.

>>> mean(FlooredNormal(location=1.0, scale=0.1, floor=0.001)), mean(Uniform(5.0, 45.0))
(1.0, 25.0)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from sojourn.data.numbers import Number, at_least_zero, finite, positive, probability, several, shown, within
from sojourn.rules.arrays import flat_floats
from sojourn.rules.door import told
from sojourn.rules.values import checked

__all__ = [
    "KINDS", "Constant", "Empirical", "Exponential", "FlatLaws", "FlooredNormal", "Gamma", "Law", "Lognormal", "Outcomes",
    "TwoPoint", "Uniform", "Weibull", "as_law", "constants", "flat", "losses", "mean", "means", "transforms", "variances",
]  # fmt: skip

_REACH = 10.0  # standard deviations: the normal law has a probability of 1e-23 beyond them
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_SHAPES, _LARGEST_SIGMA = (0.01, 1000.0), 30.0  # beyond these, means and draws would overflow or vanish


def _not_zero(name: str, number: Number) -> float:
    if finite(name, number) == 0.0:
        raise ValueError(f"{name} is 0; it must not be 0")
    return float(number)


@checked(value=finite)
class Constant(NamedTuple):
    """A constant number.

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


def _shape(name: str, number: Number) -> float:
    if not _SHAPES[0] <= finite(name, number) <= _SHAPES[1]:
        raise ValueError(f"{name} is {number}; it must be from {_SHAPES[0]:g} to {_SHAPES[1]:g}")
    return float(number)


def _sigma(name: str, number: Number) -> float:
    if not 0.0 < finite(name, number) <= _LARGEST_SIGMA:
        raise ValueError(f"{name} is {number}; it must be greater than 0 and at most {_LARGEST_SIGMA:g}")
    return float(number)


@checked(shape=positive, scale=_not_zero)
class Gamma(NamedTuple):
    """The gamma law; its mean is shape * scale.

    >>> mean(Gamma(shape=2.0, scale=0.5))
    1.0
    """

    shape: float
    scale: float

    @classmethod
    def of(cls, mean: float, deviation: float) -> Gamma:
        """Return the gamma law with this mean and standard deviation.

        >>> Gamma.of(mean=6.0, deviation=3.0)
        Gamma(shape=4.0, scale=1.5)
        """
        mean, deviation = _moments(mean, deviation)
        return cls((mean / deviation) ** 2, deviation * (deviation / mean))


@checked(shape=_shape, scale=_not_zero)
class Weibull(NamedTuple):
    """The Weibull law, often used for lifetimes: with a shape above 1 things wear out, below 1 they fail early.

    >>> round(mean(Weibull(shape=2.0, scale=10.0)), 6)  # 10 sqrt(pi) / 2
    8.862269
    """

    shape: float
    scale: float

    @classmethod
    def of(cls, mean: float, deviation: float) -> Weibull:
        """Return the Weibull law with this mean and standard deviation.

        >>> round(Weibull.of(mean=3.0, deviation=3.0).shape, 9)  # an exponential law
        1.0
        """
        mean, deviation = _moments(mean, deviation)
        shape = _weibull_shape(math.log1p((deviation / mean) ** 2))
        return cls(shape, mean / math.gamma(1.0 + 1.0 / shape))


@checked(median=_not_zero, sigma=_sigma)
class Lognormal(NamedTuple):
    """The lognormal law: its logarithm is normal, with the standard deviation `sigma`.

    >>> round(mean(Lognormal(median=1.0, sigma=1.0)), 6)  # sqrt(e)
    1.648721
    """

    median: float
    sigma: float

    @classmethod
    def of(cls, mean: float, deviation: float) -> Lognormal:
        """Return the lognormal law with this mean and standard deviation.

        >>> round(Lognormal.of(mean=2.0, deviation=2.0).median, 9)  # 2 / sqrt(2)
        1.414213562
        """
        mean, deviation = _moments(mean, deviation)
        ratio = deviation / mean
        return cls(mean / math.hypot(1.0, ratio), math.sqrt(math.log1p(ratio * ratio)))


@checked(low=finite, high=finite)
class Uniform(NamedTuple):
    """The uniform law between two numbers.

    >>> mean(Uniform(5.0, 45.0))
    25.0
    """

    low: float
    high: float

    @classmethod
    def of(cls, mean: float, deviation: float) -> Uniform:
        """Return the uniform law with this mean and standard deviation.

        >>> round(Uniform.of(mean=2.0, deviation=3**0.5).low, 9)
        -1.0
        """
        half = math.sqrt(3.0) * positive("deviation", deviation)
        return cls(finite("mean", mean) - half, mean + half)


@checked(location=finite, scale=positive, floor=finite)
class FlooredNormal(NamedTuple):
    """The larger of `floor` and a normal random number; its mean is above `location`.

    >>> round(mean(FlooredNormal(location=0.0, scale=1.0, floor=0.0)), 6)  # 1 / sqrt(2 pi)
    0.398942
    """

    location: float
    scale: float
    floor: float


@checked(low=finite, high=finite, probability=probability)
class TwoPoint(NamedTuple):
    """One of two numbers: `high` with the given probability, otherwise `low`.

    >>> mean(TwoPoint(low=1.0, high=9.0, probability=0.25))
    3.0
    """

    low: float
    high: float
    probability: float


class Empirical(NamedTuple):
    """The law of samples, which gives each of the numbers with the same probability.

    >>> Empirical([1.0, 4.0, 4.0]).mean
    3.0
    """

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean of the samples."""
        return math.fsum(share * value for share, value in self.shares("a law"))

    def shares(self, name: str) -> list[tuple[float, float]]:
        """Return each different number with its probability; `name` is what error messages call the law.

        >>> Empirical([1.0, 4.0, 1.0, 2.0]).shares("the reward")
        [(0.5, 1.0), (0.25, 4.0), (0.25, 2.0)]
        """
        numbers = [
            finite(f"a sample of {name}", value) for value in several(f"the samples of {name}", self.values)
        ]
        return [(count / len(numbers), value) for value, count in Counter(numbers).items()]


class Outcomes(NamedTuple):
    """A joint law of reward and duration: a list of (probability, reward, duration).

    >>> Outcomes([(0.5, 1.0, 1.0), (0.5, -1.0, 2.0)]).outcomes[1]
    (0.5, -1.0, 2.0)
    """

    outcomes: Sequence[tuple[float, float, float]]

    @classmethod
    def observed(cls, rewards: Sequence[float], durations: Sequence[float]) -> Outcomes:
        """Return the joint law of rewards and durations that were observed together.

        >>> Outcomes.observed([5.0, 1.0, 5.0, 5.0], [2.0, 9.0, 2.0, 3.0]).outcomes
        [(0.5, 5.0, 2.0), (0.25, 1.0, 9.0), (0.25, 5.0, 3.0)]
        """
        rewards, durations = several("rewards", rewards), several("durations", durations)
        if len(rewards) != len(durations):
            raise ValueError(
                f"the number of rewards is {len(rewards)} and that of durations is {len(durations)}; give as many of each"
            )
        together = zip(
            (finite("a reward", reward) for reward in rewards),
            (at_least_zero("a duration", duration) for duration in durations),
            strict=True,
        )
        return cls([(count / len(rewards), *pair) for pair, count in Counter(together).items()])


Law: TypeAlias = Constant | Exponential | Gamma | Uniform | FlooredNormal | TwoPoint | Weibull | Lognormal
KINDS: tuple[type[Law], ...] = (
    Constant, Exponential, Gamma, Uniform, FlooredNormal, TwoPoint, Weibull, Lognormal,
)  # fmt: skip
CONSTANT, EXPONENTIAL, GAMMA, UNIFORM, FLOORED, TWO_POINT, WEIBULL, LOGNORMAL = range(8)
BY_MOMENTS = (Gamma, Weibull, Lognormal, Uniform)  # laws that a mean and a standard deviation determine


class FlatLaws(NamedTuple):
    """Many laws as compiled code reads them: an index into `KINDS` and three parameters for each."""

    kind: npt.NDArray[np.int8]
    parameters: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.kind)

    def law(self, place: int) -> Law:
        """Return the law at one place."""
        place = within("place", place, len(self))
        kind = KINDS[self.kind[place]]
        numbers: list[float] = self.parameters[place, : len(kind._fields)].tolist()
        law: Law = kind(*numbers)
        return law


def as_law(name: str, law: Law | Empirical | float) -> Law:
    """Return a law; a number becomes a constant law."""
    if isinstance(law, Law):
        return law
    if isinstance(law, int | float | np.integer | np.floating):
        return Constant(finite(name, law))
    if isinstance(law, Empirical):
        raise TypeError(
            f"{name} is {shown(law)}; samples become rows of a model, so give them to from_transitions"
        )
    raise TypeError(f"{name} is {shown(law)}; it must be a number or a law of sojourn.models.laws")


@told
def flat(laws: Sequence[Law | float]) -> FlatLaws:
    """Return laws and numbers as compiled code reads them.

    >>> flat([2.0, Uniform(0.0, 1.0)])
    FlatLaws(kind=array([0, 3], dtype=int8), parameters=array([[2., 0., 0.],
           [0., 1., 0.]]))
    """
    known = [as_law(f"the law at place {place}", given) for place, given in enumerate(laws)]
    number = {kind: place for place, kind in enumerate(KINDS)}
    padded = [(*law, 0.0, 0.0)[:3] for law in known]
    return FlatLaws(
        np.array([number[type(law)] for law in known], dtype=np.int8),
        np.array(padded, dtype=np.float64).reshape(len(known), 3),
    )


@told
def constants(numbers: npt.NDArray[np.float64]) -> FlatLaws:
    """Return the laws of constant numbers."""
    numbers = flat_floats("numbers", numbers)
    parameters = np.zeros((len(numbers), 3))
    parameters[:, 0] = numbers
    return FlatLaws(np.zeros(len(numbers), dtype=np.int8), parameters)


def exponentials(means: npt.NDArray[np.float64]) -> FlatLaws:
    """Return the exponential laws with these means."""
    laws = constants(means)
    return FlatLaws(np.full_like(laws.kind, KINDS.index(Exponential)), laws.parameters)


def mean(law: Law | Empirical | float) -> float:
    """Return the mean of a law, or of a number.

    >>> mean(Gamma(shape=2.0, scale=3.0)), mean(TwoPoint(low=0.0, high=10.0, probability=0.2))
    (6.0, 2.0)
    """
    if isinstance(law, Empirical):
        return law.mean
    return float(means(flat([law]))[0])


@told
def means(laws: FlatLaws) -> npt.NDArray[np.float64]:
    """Return the mean of every law."""
    kind, (a, b, c) = laws.kind, laws.parameters.T
    result: npt.NDArray[np.float64] = a.copy()
    for place in np.flatnonzero(kind == FLOORED):
        result[place] = _floored_mean(a[place], b[place], c[place])
    for place in np.flatnonzero(kind == WEIBULL):
        result[place] = b[place] * math.gamma(1.0 + 1.0 / a[place])
    for place in np.flatnonzero(kind == LOGNORMAL):
        result[place] = a[place] * math.exp(b[place] * b[place] / 2.0)
    result = np.where(kind == GAMMA, a * b, result)
    result = np.where(kind == UNIFORM, (a + b) / 2.0, result)
    return np.asarray(np.where(kind == TWO_POINT, a + c * (b - a), result))


@told
def transforms(laws: FlatLaws, discount: float) -> npt.NDArray[np.float64]:
    """Return E[exp(-discount X)] of every law of a duration: what 1 is worth that is paid at its end.

    Weibull and lognormal laws have no formula; sums over equal steps of the logarithm come as near as floats do.

    >>> transforms(flat([Constant(2.0), Exponential(2.0), Gamma(2.0, 1.0)]), discount=0.5)
    array([0.36787944, 0.5       , 0.44444444])
    """
    kind, (a, b, c) = laws.kind, laws.parameters.T
    result: npt.NDArray[np.float64] = np.exp(-discount * np.where(kind == CONSTANT, a, 0.0))
    at = kind == EXPONENTIAL
    result[at] = 1.0 / (1.0 + discount * a[at])
    at = kind == GAMMA
    result[at] = np.exp(-a[at] * np.log1p(discount * b[at]))
    at = kind == TWO_POINT
    result[at] = (1.0 - c[at]) * np.exp(-discount * a[at]) + c[at] * np.exp(-discount * b[at])
    at = kind == UNIFORM
    low, width = np.minimum(a[at], b[at]), discount * np.abs(b[at] - a[at])
    result[at] = np.exp(-discount * low) * special.exprel(-width)
    at = kind == FLOORED
    z, move = (c[at] - a[at]) / b[at], discount * b[at]
    far = special.erfcx(np.maximum(z + move, 0.0) / math.sqrt(2.0)) * np.exp(-z * z / 2.0) / 2.0
    near = special.ndtr(-z - move) * np.exp(np.minimum(move * (z + move / 2.0), 0.0))
    result[at] = np.exp(-discount * c[at]) * (special.ndtr(z) + np.where(z + move > 0.0, far, near))
    for at in np.flatnonzero((kind == WEIBULL) | (kind == LOGNORMAL)):
        result[at] = _summed(int(kind[at]), a[at], b[at], discount)[0]
    return result


@told
def losses(laws: FlatLaws, discount: float) -> npt.NDArray[np.float64]:
    """Return E[1 - exp(-discount X)] of every law of a duration, with nearly all its digits however small it is.

    >>> losses(flat([Constant(2e-12), Exponential(2e-12)]), discount=0.5)
    array([1.e-12, 1.e-12])
    """
    result = 1.0 - transforms(laws, discount)
    small = result < 0.5
    kind, (a, b, c) = laws.kind, discount * laws.parameters.T
    result = np.where(small & (kind == CONSTANT), -np.expm1(-a), result)
    at = np.flatnonzero(small & (kind == EXPONENTIAL))
    result[at] = a[at] / (1.0 + a[at])
    at = np.flatnonzero(small & (kind == GAMMA))
    result[at] = -np.expm1(-laws.parameters[at, 0] * np.log1p(b[at]))
    at = np.flatnonzero(small & (kind == TWO_POINT))
    result[at] = np.expm1(-a[at]) * (laws.parameters[at, 2] - 1.0) - np.expm1(-b[at]) * laws.parameters[at, 2]
    at = np.flatnonzero(small & (kind == UNIFORM))
    low, width = np.minimum(a[at], b[at]), np.abs(b[at] - a[at])
    result[at] = np.exp(-low) * _mean_loss(width) - np.expm1(-low)
    at = np.flatnonzero(small & (kind == FLOORED) & (b < 1.0))
    z = np.maximum((laws.parameters[at, 2] - laws.parameters[at, 0]) / laws.parameters[at, 1], -_REACH)
    half = np.maximum(_REACH - z, 0.0) / 2.0
    points = (z + half)[:, None] + half[:, None] * _NODES
    weight = half[:, None] * _WEIGHTS * np.exp(-points * points / 2.0) / math.sqrt(2.0 * math.pi)
    above = (weight * -np.expm1(-np.maximum(a[at, None] + b[at, None] * points, c[at, None]))).sum(axis=1)
    result[at] = above - special.ndtr(z) * np.expm1(-c[at])
    for place in np.flatnonzero(small & ((kind == WEIBULL) | (kind == LOGNORMAL))):
        result[place] = _summed(
            int(kind[place]), laws.parameters[place, 0], laws.parameters[place, 1], discount
        )[1]
    return result


def _mean_loss(width: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean of 1 - exp(-x) for x from 0 to `width`."""
    total, term = np.zeros_like(width), np.ones_like(width)
    near = np.minimum(width, 1.0)
    for k in range(1, 20):
        term = term * near / (k + 1.0) * (1.0 if k == 1 else -1.0)
        total += term
    return np.where(width < 1.0, total, 1.0 - special.exprel(-width))


def _summed(kind: int, a: float, b: float, discount: float) -> tuple[float, float]:
    """Return the transform of a Weibull or lognormal law, and its loss, by the trapezoidal rule.

    Its error falls exponentially; the steps are so small that these functions, which are analytic in a strip around the real
    line, are off by less than e^-37.
    """
    if kind == WEIBULL:  # X = scale T^(1/shape), T exponential, log T = u
        step = 0.2 * min(a, 1.0)
        u = np.arange(-40.0, 4.0 + math.log1p(1.0 / a), step)
        size, weight = u / a + math.log(b), np.exp(u - np.exp(u))
    else:
        step = min(0.5, 0.2 / b)
        u = np.arange(-9.0, 9.0 + b, step)
        size, weight = math.log(a) + b * u, np.exp(-u * u / 2.0)
    scaled = discount * np.exp(np.minimum(size, 700.0))
    total = weight.sum()
    return float((weight @ np.exp(-scaled)) / total), float((weight @ -np.expm1(-scaled)) / total)


@told
def variances(laws: FlatLaws) -> npt.NDArray[np.float64]:
    """Return the variance of every law; infinite if floats cannot hold it.

    >>> variances(flat([5.0, Exponential(2.0), Uniform(0.0, 6.0), TwoPoint(0.0, 10.0, 0.2)]))
    array([ 0.,  4.,  3., 16.])
    """
    kind, (a, b, c) = laws.kind, laws.parameters.T
    with np.errstate(over="ignore", invalid="ignore"):
        result = np.where(kind == EXPONENTIAL, a * a, 0.0)
        result = np.where(kind == GAMMA, a * b * b, result)
        result = np.where(kind == UNIFORM, (b - a) ** 2 / 12.0, result)
        result = np.where(kind == TWO_POINT, c * (1.0 - c) * (b - a) ** 2, result)
        at = kind == WEIBULL  # the gamma function at 1 + 2/shape is above that at 1 + 1/shape squared
        gap = special.gammaln(1.0 + 2.0 / a[at]) - 2.0 * special.gammaln(1.0 + 1.0 / a[at])
        result[at] = (b[at] * special.gamma(1.0 + 1.0 / a[at])) ** 2 * np.expm1(gap)
        at = kind == LOGNORMAL
        result[at] = (a[at] * np.exp(b[at] ** 2 / 2.0)) ** 2 * np.expm1(b[at] ** 2)
        at = kind == FLOORED
        z, scale = (a[at] - c[at]) / b[at], b[at]
        share, density = special.ndtr(z), np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
        # Of max(0, z + Z): its mean m is z plus a rest, and far above the floor nothing is lost by cancelling.
        m, rest = z * share + density, density - z * special.ndtr(-z)
        below = (1.0 + z * z) * share + z * density - m * m
        result[at] = scale**2 * np.where(z > 0.0, share - rest * m, np.maximum(below, 0.0))
    return np.asarray(result)


def sizes(laws: FlatLaws) -> npt.NDArray[np.float64]:
    """Return how large the numbers are that make up the mean of every law, which may itself be near 0."""
    kind, (a, b, c) = laws.kind, np.abs(laws.parameters.T)
    result = np.where((kind == UNIFORM) | (kind == TWO_POINT), a + b, np.abs(means(laws)))
    return np.asarray(np.where(kind == FLOORED, a + b + c, result))


def _moments(mean: float, deviation: float) -> tuple[float, float]:
    mean, deviation = _not_zero("mean", mean), positive("deviation", deviation)
    if not 1e-100 < deviation / abs(mean) < 1e100:
        raise ValueError(
            f"deviation is {deviation:g} and mean is {mean:g}; they are too different in size to compute with"
        )
    return mean, deviation


def _weibull_shape(spread: float) -> float:
    """Return the shape at which log E[X^2] - 2 log E[X] equals `spread`, by bisection; it falls as the shape grows."""
    low, high = map(math.log, _SHAPES)
    for _ in range(100):
        middle = (low + high) / 2.0
        inverse = math.exp(-middle)
        if math.lgamma(1.0 + 2.0 * inverse) - 2.0 * math.lgamma(1.0 + inverse) > spread:
            low = middle
        else:
            high = middle
    shape = math.exp(low)
    if not 1.001 * _SHAPES[0] < shape < 0.999 * _SHAPES[1]:
        raise ValueError(
            f"no Weibull law of a shape from {_SHAPES[0]:g} to {_SHAPES[1]:g} has a standard deviation of "
            f"{math.sqrt(math.expm1(min(spread, 700.0))):.3g} times its mean; use another law"
        )
    return shape


def _floored_mean(location: float, scale: float, floor: float) -> float:
    z = (location - floor) / scale
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    return float(floor + scale * (z * math.erfc(-z / math.sqrt(2.0)) / 2.0 + density))


def not_below_zero(laws: FlatLaws) -> npt.NDArray[np.bool_]:
    """Whether each law gives no number below 0, as durations must."""
    kind, (a, b, c) = laws.kind, laws.parameters.T
    result: npt.NDArray[np.bool_] = a >= 0.0
    result = np.where((kind == GAMMA) | (kind == WEIBULL), b > 0.0, result)
    result = np.where(kind == FLOORED, c >= 0.0, result)
    return np.where((kind == UNIFORM) | (kind == TWO_POINT), (a >= 0.0) & (b >= 0.0), result)


def can_be_zero(laws: FlatLaws) -> npt.NDArray[np.bool_]:
    """Whether each law of a duration gives 0 with a probability above 0."""
    kind, (a, b, c) = laws.kind, laws.parameters.T
    at_low, at_high = (a == 0.0) & (c < 1.0), (b == 0.0) & (c > 0.0)
    result = np.where(kind == CONSTANT, a == 0.0, (kind == FLOORED) & (c == 0.0))
    result = np.where(kind == UNIFORM, (a == 0.0) & (b == 0.0), result)
    return np.asarray(np.where(kind == TWO_POINT, at_low | at_high, result))
