"""The parts of a law above and below zero: share, mean and mean reciprocal.

For a reward x and either sign, the harmonic means need

    share     P(x > 0)
    mean      E[x; x > 0], the mean of x over all draws, with those of at most 0 counted as 0
    inverse   E[1/x; x > 0]

and the same below zero. The inverse is infinite if the density of a law does not vanish at zero. This is so for the
exponential law, for the gamma and Weibull laws with a shape of at most 1, and for every uniform or normal law
that covers zero; the harmonic mean of such rewards is 0. A normal law whose mean is more than nine
standard deviations away from zero is taken never to reach it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.models.laws import (
    Constant,
    Exponential,
    FlatLaws,
    FlooredNormal,
    Gamma,
    Law,
    Lognormal,
    TwoPoint,
    Uniform,
    Weibull,
)
from sojourn.rules.arrays import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_REACH = 12.0  # standard deviations: the normal law has a probability of 1e-33 beyond them
_NEVER = 9.0  # and of 1e-19 beyond these, which no run will see
_ROOT = math.sqrt(2.0 * math.pi)


class Part(NamedTuple):
    """The part of a law on one side of zero."""

    share: float
    mean: float
    inverse: float


NOTHING = Part(0.0, 0.0, 0.0)


def parts(laws: FlatLaws) -> tuple[Floats, Floats]:
    """Return [law, 3] above zero and [law, 3] below it: share, mean and inverse of every law."""
    keys = np.column_stack([laws.kind, laws.parameters])
    different, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    above, below = np.empty((len(different), 3)), np.empty((len(different), 3))
    for row, at in enumerate(first):
        law = laws.law(int(at))
        above[row], below[row] = part_above(law), part_below(law)
    return above[place.ravel()], below[place.ravel()]


def part_above(law: Law) -> Part:
    """Return the part of a law above zero.

    >>> part_above(TwoPoint(low=-1.0, high=4.0, probability=0.5))
    Part(share=0.5, mean=2.0, inverse=0.125)
    >>> part_above(Gamma(shape=3.0, scale=2.0))
    Part(share=1.0, mean=6.0, inverse=0.25)
    """
    match law:
        case Constant(value):
            return Part(1.0, value, 1.0 / value) if value > 0.0 else NOTHING
        case TwoPoint(low, high, probability):
            one, other = part_above(Constant(low)), part_above(Constant(high))
            return Part(
                *(a + probability * (b - a) for a, b in zip(one, other, strict=True)),
            )
        case Exponential(mean):
            return Part(1.0, mean, math.inf) if mean > 0.0 else NOTHING
        case Gamma(shape, scale):
            inverse = 1.0 / (scale * (shape - 1.0)) if shape > 1.0 else math.inf
            return Part(1.0, shape * scale, inverse) if scale > 0.0 else NOTHING
        case Weibull(shape, scale):
            inverse = math.gamma(1.0 - 1.0 / shape) / scale if shape > 1.0 else math.inf
            return Part(1.0, scale * math.gamma(1.0 + 1.0 / shape), inverse) if scale > 0.0 else NOTHING
        case Lognormal(median, sigma):
            factor = math.exp(sigma * sigma / 2.0)
            return Part(1.0, median * factor, factor / median) if median > 0.0 else NOTHING
        case Uniform(low, high):
            return _uniform(min(low, high), max(low, high))
        case FlooredNormal(location, scale, floor):
            return _floored(location, scale, floor)


def part_below(law: Law) -> Part:
    """Return the part of a law below zero; its mean and inverse are negative.

    >>> part_below(TwoPoint(low=-1.0, high=4.0, probability=0.5))
    Part(share=0.5, mean=-0.5, inverse=-0.5)
    """
    match law:
        case FlooredNormal(location, scale, floor):
            return _floored_below(location, scale, floor)
        case Constant(value):
            mirrored: Law = Constant(-value)
        case TwoPoint(low, high, probability):
            mirrored = TwoPoint(-low, -high, probability)
        case Exponential(mean):
            mirrored = Exponential(-mean)
        case Gamma(shape, scale):
            mirrored = Gamma(shape, -scale)
        case Weibull(shape, scale):
            mirrored = Weibull(shape, -scale)
        case Lognormal(median, sigma):
            mirrored = Lognormal(-median, sigma)
        case Uniform(low, high):
            mirrored = Uniform(-high, -low)
    share, mean, inverse = part_above(mirrored)
    return Part(share, 0.0 - mean, 0.0 - inverse)


def _uniform(low: float, high: float) -> Part:
    if low == high or high <= 0.0:
        return part_above(Constant(low)) if low == high else NOTHING
    begin = max(low, 0.0)
    share = (high - begin) / (high - low)
    inverse = math.log1p((high - low) / low) / (high - low) if low > 0.0 else math.inf
    return Part(share, share * (begin + high) / 2.0, inverse)


def _floored(location: float, scale: float, floor: float) -> Part:
    begin = max(floor, 0.0)
    z = (begin - location) / scale
    tail = _normal_tail(z)
    mean = location * tail + scale * _normal_density(z)
    if floor <= 0.0:
        return Part(tail, mean, _inverse_from_zero(location, scale, math.inf) if tail > 0.0 else 0.0)
    at_floor = _normal_tail(-z)
    inverse = at_floor / floor + _inverse_between(location, scale, floor, math.inf)
    return Part(1.0, mean + floor * at_floor, inverse)


def _floored_below(location: float, scale: float, floor: float) -> Part:
    if floor >= 0.0:
        return NOTHING
    at, zero = (floor - location) / scale, -location / scale
    at_floor, share = _normal_tail(-at), _normal_tail(-zero)
    between = location * (share - at_floor) - scale * (_normal_density(zero) - _normal_density(at))
    inverse = at_floor / floor - _inverse_from_zero(-location, scale, -floor) if share > 0.0 else 0.0
    return Part(share, floor * at_floor + between, inverse)


def _inverse_between(location: float, scale: float, begin: float, end: float) -> float:
    """Return the integral, between two positive numbers, of the normal density at x divided by x."""
    low, high = max((begin - location) / scale, -_REACH), min((end - location) / scale, _REACH)
    if low >= high:
        return 0.0
    if location > _REACH * scale:
        z = low + (high - low) * (_NODES + 1.0) / 2.0
        return float(_WEIGHTS @ (np.exp(-z * z / 2.0) / (location + scale * z))) * (high - low) / 2.0 / _ROOT
    # With x = e^u this is the integral of the density alone over u, which is smooth however small x is. One piece
    # for each power of e keeps the nodes close together even if the floor is tiny.
    first, last = math.log(begin), math.log(location + scale * high)
    ends = np.linspace(first, last, 1 + math.ceil(last - first))
    width = (last - first) / (len(ends) - 1)
    x = np.exp(ends[:-1, None] + width * (_NODES + 1.0) / 2.0)
    density = np.exp(-(((x - location) / scale) ** 2) / 2.0) / scale
    return float((density @ _WEIGHTS).sum()) * width / 2.0 / _ROOT


def _inverse_from_zero(location: float, scale: float, end: float) -> float:
    """Return the same integral from 0 on; it is infinite unless the law stays away from 0."""
    if abs(location) < _NEVER * scale:
        return math.inf
    return _inverse_between(location, scale, location / 10.0, end) if location > 0.0 else 0.0


def _normal_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2.0)) / 2.0


def _normal_density(z: float) -> float:
    return math.exp(-z * z / 2.0) / _ROOT
