"""Batch means of rates: the paper's modified harmonic mean and what it is compared with.

For a multiset X of n numbers, with X+ and X- its positive and negative members:

    harmonic mean             H(X) = n / sum(1/x)
    modified harmonic mean    M(X) = (|X+| H(X+) + |X-| H(X-)) / n
    ratio of means            Q(r, tau) = sum(r) / sum(tau)
    coupling                  C(r, tau) = mean(tau) - mean(r) mean(tau/r) = cov(r, tau/r)

With X the rates r/tau of rewards of one sign, H(X) = mean(r) / (mean(tau) - C): the
harmonic mean is the ratio of means exactly when the coupling is 0.

M is internal, idempotent, symmetric, homogeneous, equal to H on numbers of one sign, and
monotone as long as no number changes its sign. It is not monotone across zero, not
continuous at zero, and not associative.

Sums are exact up to one rounding (`math.fsum`), whatever the magnitudes of their terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import unmasked
from sojourn.rules.arrays import Flags
from sojourn.rules.door import told

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Exponents: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int32]]

_BAND = 512


def harmonic_mean(values: ArrayLike) -> float:
    """Return n / sum(1/x).

    If the numbers have different signs, it can lie outside their range; `modified_harmonic_mean` cannot.

    >>> round(harmonic_mean([20, 40]), 3)
    26.667
    >>> harmonic_mean([-20, 40])
    -80.0
    """
    x = numbers("values", values)
    zeros = np.flatnonzero(x == 0.0)
    if zeros.size:
        raise ValueError(
            f"values[{zeros[0]}] is 0, which has no reciprocal; leave it out, or use modified_harmonic_mean"
        )
    reciprocals = _sum_of_ratios(np.ones_like(x), x)
    if reciprocals == 0:
        raise ValueError(
            "the reciprocals of values sum to 0, so they have no harmonic mean; use modified_harmonic_mean"
        )
    return _rounded(x.size / reciprocals)


@told
def modified_harmonic_mean(values: ArrayLike) -> float:
    """Return the modified harmonic mean, defined for zeros and mixed signs too.

    >>> modified_harmonic_mean([1, 1, -1, -4])
    -0.3
    >>> modified_harmonic_mean([1, 0, 0, -4])
    -0.75
    """
    x = numbers("values", values)
    ones = np.ones_like(x)
    return _combine(x, ones, ones)


def weighted_harmonic_mean(
    values: ArrayLike, weights: ArrayLike, durations: ArrayLike | None = None
) -> float:
    """Return the modified harmonic mean with weights inside each sign.

    Each sign's mean is sum(w) / sum(w/x). The two means are then weighted by how many numbers each
    sign has or, if `durations` are given, by how much time they took. For rates r/tau with
    weights |r| and durations tau, the second form is the ratio of means.

    >>> weighted_harmonic_mean([2.0, 1.0, -1.0, 0.0], weights=[4, 1, 1, 0])
    0.5833333333333334
    >>> weighted_harmonic_mean([2.0, 1.0, -1.0, 0.0], weights=[4, 1, 1, 0], durations=[2, 1, 1, 1])
    0.8
    """
    x, w = numbers("values", values), numbers("weights", weights)
    same_length("values", x, "weights", w)
    if (w < 0.0).any():
        raise ValueError(f"weights[{first_of(w < 0.0)}] is {w[w < 0.0][0]}; a weight must not be negative")
    for sign, name in ((1.0, "positive"), (-1.0, "negative")):
        block = x * sign > 0.0
        if block.any() and not w[block].any():
            raise ValueError(
                f"the weights of all {name} values are 0, so these have no mean; give at least one a weight above 0"
            )
    if durations is None:
        return _combine(x, w, np.ones_like(x))
    shares = _durations(durations)
    same_length("values", x, "durations", shares)
    return _combine(x, w, shares)


def ratio_of_means(rewards: ArrayLike, durations: ArrayLike) -> float:
    """Return sum(r) / sum(tau), the rate that was realised.

    >>> ratio_of_means([3, 1], [1, 1])
    2.0
    """
    r, tau = _pair(rewards, durations)
    return _rounded(_sum(r) / _sum(tau))


@told
def coupling(rewards: ArrayLike, durations: ArrayLike) -> float:
    """Return cov(r, tau/r), which is 0 exactly when the harmonic mean and the ratio of means agree.

    The rewards must all have one sign.

    >>> coupling([2, 2, 2], [1, 5, 3])
    0.0
    >>> coupling([1, 2], [1, 1])
    -0.125
    """
    r, tau = _pair(rewards, durations)
    odd = np.sign(r) * np.sign(r[0]) <= 0.0
    if odd.any():
        position = first_of(odd)
        raise ValueError(f"rewards[{position}] is {r[position]}; coupling needs rewards of one sign, none 0")
    # Centred products stay precise even if C is small; powers of two keep them in range.
    pace, pace_exponents = _ratios(tau, r)
    pace_exponent, reward_exponent = int(pace_exponents.max()), int(np.frexp(r)[1].max())
    pace, r = np.ldexp(pace, pace_exponents - pace_exponent), np.ldexp(r, -reward_exponent)
    mean_reward, mean_pace = math.fsum(r.tolist()) / r.size, math.fsum(pace.tolist()) / r.size
    products = (r - mean_reward) * (pace - mean_pace)
    return _rounded(_sum(products) / r.size * Fraction(2) ** (reward_exponent + pace_exponent))


# --- Sums: exact up to one rounding, combined as fractions, rounded once at the end --


def _combine(x: Numbers, weights: Numbers, shares: Numbers) -> float:
    """Combine the weighted harmonic means of both signs, each by its part of `shares`."""
    total = sum(
        (
            _sum(shares[block]) * _sum(weights[block]) / _sum_of_ratios(weights[block], x[block])
            for block in (x > 0.0, x < 0.0)
            if block.any()
        ),
        Fraction(0),
    )
    return _rounded(total / _sum(shares))


def _sum(x: Numbers) -> Fraction:
    """Return sum(x), scaled if it could overflow."""
    exponent = x.size.bit_length() if np.abs(x).max() > 2.0 ** (1020 - x.size.bit_length()) else 0
    return Fraction(math.fsum(np.ldexp(x, -exponent).tolist())) * Fraction(2) ** exponent


def _sum_of_ratios(top: Numbers, low: Numbers) -> Fraction:
    """Return sum(top/low), summed in bands of similar magnitude so that no ratio overflows or vanishes."""
    ratios, exponents = _ratios(top, low)
    bands = exponents // _BAND
    return sum(
        (
            Fraction(math.fsum(np.ldexp(ratios[here], exponents[here] - _BAND * band).tolist()))
            * Fraction(2) ** (_BAND * band)
            for band in np.unique(bands).tolist()
            for here in [bands == band]
        ),
        Fraction(0),
    )


def _ratios(top: Numbers, low: Numbers) -> tuple[Numbers, Exponents]:
    """Return top/low as x and e with top/low = x 2^e, for ratios beyond the range of floats."""
    top_mantissa, top_exponent = np.frexp(top)
    low_mantissa, low_exponent = np.frexp(low)
    return top_mantissa / low_mantissa, top_exponent - low_exponent


def _rounded(result: Fraction) -> float:
    try:
        return float(result)
    except OverflowError:
        raise ValueError("the result is too large for a float; scale the numbers down") from None


# --- Input --------------------------------------------------------------------------


def numbers(name: str, data: ArrayLike) -> Numbers:
    """Return `data` as a one-dimensional array of at least one finite float."""
    listed = list(data) if isinstance(data, Iterable) and not hasattr(data, "__len__") else data
    unmasked(name, listed)
    try:
        raw = np.asarray(listed)
        x = raw.astype(np.float64) if raw.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        x = None
    if x is None:
        raise ValueError(f"{name} must be a sequence of numbers, without text or imaginary parts")
    if x.ndim != 1:
        raise ValueError(f"{name} has {x.ndim} dimensions; it must be a flat sequence of numbers")
    if x.size == 0:
        raise ValueError(f"{name} is empty; a mean needs at least one number")
    bad = ~np.isfinite(x)
    if bad.any():
        raise ValueError(f"{name}[{first_of(bad)}] is {x[bad][0]}; it must be a finite number")
    return x


def _durations(data: ArrayLike) -> Numbers:
    tau = numbers("durations", data)
    bad = tau <= 0.0
    if bad.any():
        raise ValueError(f"durations[{first_of(bad)}] is {tau[bad][0]}; a duration must be greater than 0")
    return tau


def _pair(rewards: ArrayLike, durations: ArrayLike) -> tuple[Numbers, Numbers]:
    r, tau = numbers("rewards", rewards), _durations(durations)
    same_length("rewards", r, "durations", tau)
    return r, tau


def same_length(name: str, x: Numbers, other_name: str, other: Numbers) -> None:
    """Refuse two sequences that are not equally long."""
    if x.size != other.size:
        raise ValueError(
            f"{name} has {x.size} number{'' if x.size == 1 else 's'} but {other_name} has {other.size}; give as many of each"
        )


def first_of(where: Flags) -> int:
    """Return the first place where a flag is set."""
    return int(np.flatnonzero(where)[0])
