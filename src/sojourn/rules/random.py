"""Random numbers: fast, seeded, and the same in Python and in compiled code.

A stream is an array of four 64-bit words, the state of xoshiro256++ (Blackman and Vigna,
"Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021). Drawing from it
changes it in place. Streams come from `numpy.random.SeedSequence`, so streams of
different seeds, and the several streams of one seed, are independent.

Every draw here consumes exactly one word of its stream, whatever its value, so two runs that make the same number of
draws stay in step.

>>> rng = stream(0)
>>> 0.0 < uniform(rng) < 1.0, 0 <= integer(rng, 6) < 6, exponential(rng) > 0.0
(True, True, True)
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from sojourn.data.numbers import whole
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told_inlined
from sojourn.rules.elementary import exp, log
from sojourn.rules.values import Column, Field

__all__ = [
    "Stream", "empirical", "exponential", "gamma", "integer", "lognormal", "normal", "normal_quantile", "stream", "streams",
    "uniform", "unit", "weibull", "word", "word_at",
]  # fmt: skip

_U12, _U17, _U19, _U23, _U27, _U30, _U31, _U41, _U45 = (
    np.uint64(n) for n in (12, 17, 19, 23, 27, 30, 31, 41, 45)
)
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-52

Stream: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]


def stream(seed: int) -> Stream:
    """Return a new stream for `seed`.

    >>> bool((stream(7) == stream(7)).all()), bool((stream(7) == stream(8)).all())
    (True, False)
    """
    return streams(seed, 1)[0]


def streams(seed: int, count: int) -> list[Stream]:
    """Return `count` independent streams of one seed.

    The first ones do not depend on `count`.

    >>> bool((streams(7, 3)[0] == stream(7)).all())
    True
    """
    count = whole("count", count, least=0, most=1_000_000)
    children = np.random.SeedSequence(whole("seed", seed, least=0)).spawn(count)
    return [child.generate_state(4, np.uint64).astype(np.uint64) for child in children]


def check_stream(rng: Field) -> Stream:
    """Return `rng` if it is a stream; otherwise raise an error."""
    if not (isinstance(rng, np.ndarray) and rng.dtype == np.uint64 and rng.shape == (4,) and rng.any()):
        raise TypeError("rng is not a stream: make one with sojourn.stream(seed)")
    return rng


@told_inlined
def word(rng: Stream) -> np.uint64:
    """Return the next 64 random bits."""
    # np.add, because the + of NumPy's scalars warns of overflow, which is intended here.
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    total = np.add(s0, s3)
    result: np.uint64 = np.add((total << _U23) | (total >> _U41), s0)
    s2 ^= s0
    s3 ^= s1
    rng[0] = s0 ^ s3
    rng[1] = s1 ^ s2
    rng[2] = s2 ^ (s1 << _U17)
    rng[3] = (s3 << _U45) | (s3 >> _U19)
    return result


@told_inlined
def word_at(key: int, index: int) -> np.uint64:
    """Return 64 random bits that depend on `key` and `index` alone.

    This is number `index` of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) started at
    `key`, computed without the numbers before it. So this noise is the same whatever else
    has been drawn.
    """
    # Through np.int64, because NumPy refuses negative Python integers, where compiled code wraps around.
    z: np.uint64 = np.add(np.uint64(np.int64(key)), np.multiply(np.uint64(np.int64(index + 1)), _STRIDE))
    z = np.multiply(z ^ (z >> _U30), _MIX_1)
    z = np.multiply(z ^ (z >> _U27), _MIX_2)
    return z ^ (z >> _U31)


@told_inlined
def unit(bits: np.uint64) -> float:
    """Map 64 random bits to a number in the open interval (0, 1)."""
    # 52 bits and not 53: with 53 the largest would round up to 1.
    return float((np.int64(bits >> _U12) + 0.5) * _UNIT)


@told_inlined
def uniform(rng: Stream) -> float:
    """Draw from the uniform law on (0, 1).

    >>> rng = stream(0)
    >>> round(sum(uniform(rng) for _ in range(10_000)) / 10_000, 1)
    0.5
    """
    return unit(word(rng))


@told_inlined
def integer(rng: Stream, count: int) -> int:
    """Draw one of 0, 1, ..., count - 1.

    >>> rng = stream(0)
    >>> sorted({integer(rng, 3) for _ in range(50)})
    [0, 1, 2]
    """
    return int(uniform(rng) * count)


@told_inlined
def exponential(rng: Stream) -> float:
    """Draw from the exponential law with mean 1.

    >>> rng = stream(0)
    >>> round(sum(exponential(rng) for _ in range(10_000)) / 10_000, 1)
    1.0
    """
    return -log(uniform(rng))


@told_inlined
def normal(rng: Stream) -> float:
    """Draw from the normal law with mean 0 and standard deviation 1.

    >>> rng = stream(0)
    >>> round(sum(normal(rng) ** 2 for _ in range(10_000)) / 10_000, 1)
    1.0
    """
    return normal_quantile(uniform(rng))


@told_inlined
def normal_quantile(p: float) -> float:
    """Return the point below which the standard normal law has probability p in (0, 1).

    Wichura's algorithm AS 241 (Applied Statistics 37, 1988), accurate to about 1e-16.
    One uniform number makes one normal number, and a larger one makes a larger one.
    """
    centred = p - 0.5
    if abs(centred) <= 0.425:
        x = 0.180625 - centred * centred
        top = _polynomial(
            x,
            3.387132872796366608,
            133.14166789178437745,
            1971.5909503065514427,
            13731.693765509461125,
            45921.953931549871457,
            67265.770927008700853,
            33430.575583588128105,
            2509.0809287301226727,
        )
        low = _polynomial(
            x,
            1.0,
            42.313330701600911252,
            687.1870074920579083,
            5394.1960214247511077,
            21213.794301586595867,
            39307.89580009271061,
            28729.085735721942674,
            5226.495278852545925,
        )
        return centred * (top / low)
    x = math.sqrt(-log(p if centred < 0.0 else 1.0 - p))
    if x <= 5.0:
        x -= 1.6
        top = _polynomial(
            x,
            1.42343711074968357734,
            4.6303378461565452959,
            5.7694972214606914055,
            3.64784832476320460504,
            1.27045825245236838258,
            0.24178072517745061177,
            0.0227238449892691845833,
            7.7454501427834140764e-4,
        )
        low = _polynomial(
            x,
            1.0,
            2.05319162663775882187,
            1.6763848301838038494,
            0.68976733498510000455,
            0.14810397642748007459,
            0.0151986665636164571966,
            5.475938084995344946e-4,
            1.05075007164441684324e-9,
        )
    else:
        x -= 5.0
        top = _polynomial(
            x,
            6.6579046435011037772,
            5.4637849111641143699,
            1.7848265399172913358,
            0.29656057182850489123,
            0.026532189526576123093,
            0.0012426609473880784386,
            2.71155556874348757815e-5,
            2.01033439929228813265e-7,
        )
        low = _polynomial(
            x,
            1.0,
            0.59983220655588793769,
            0.13692988092273580531,
            0.0148753612908506148525,
            7.868691311456132591e-4,
            1.8463183175100546818e-5,
            1.4215117583164458887e-7,
            2.04426310338993978564e-15,
        )
    return -(top / low) if centred < 0.0 else top / low


@inlined
def _polynomial(  # its coefficients, as the literature lists them
    x: float, c0: float, c1: float, c2: float, c3: float, c4: float, c5: float, c6: float, c7: float
) -> float:
    """Return c0 + c1 x + ... + c7 x^7, in halves, so that a processor can evaluate several terms at once."""
    x2 = x * x
    lower = (c0 + c1 * x) + (c2 + c3 * x) * x2
    upper = (c4 + c5 * x) + (c6 + c7 * x) * x2
    return lower + upper * (x2 * x2)


@told_inlined
def gamma(rng: Stream, shape: float) -> float:
    """Draw from the gamma law of scale 1 (Marsaglia and Tsang, ACM TOMS 26(3), 2000).

    Shapes below 1 use the fact that gamma(k) is gamma(k + 1) times u^(1/k), with u uniform.

    >>> rng = stream(0)
    >>> round(sum(gamma(rng, 9.0) for _ in range(10_000)) / 10_000, 1)
    9.0
    """
    key: Any = np.int64(word(rng) >> np.uint64(1))
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    boost = 1.0 if shape >= 1.0 else exp(log(unit(word_at(key, 0))) / shape)
    index = 1
    cube = -1.0
    while cube <= 0.0:
        x = normal_quantile(unit(word_at(key, index)))
        u = unit(word_at(key, index + 1))
        index += 2
        cube = 1.0 + c * x
        cube = cube * cube * cube
        if cube > 0.0 and log(u) >= 0.5 * x * x + d - d * cube + d * log(cube):
            cube = -1.0
    # A tiny shape can underflow; a duration must not be 0.
    return max(d * cube * boost, 1e-300)


@told_inlined
def weibull(rng: Stream, shape: float) -> float:
    """Draw from the Weibull law of scale 1: an exponential number to the power of 1 / shape.

    >>> rng = stream(0)
    >>> round(sum(weibull(rng, 2.0) ** 2 for _ in range(10_000)) / 10_000, 1)
    1.0
    """
    # As in gamma, a tiny shape can underflow.
    return max(exp(log(exponential(rng)) / shape), 1e-300)


@told_inlined
def lognormal(rng: Stream, sigma: float) -> float:
    """Draw from the lognormal law with median 1: e to the power of a normal number of standard deviation sigma.

    >>> rng = stream(0)
    >>> round(sum(lognormal(rng, 0.5) > 1.0 for _ in range(10_000)) / 10_000, 1)
    0.5
    """
    return exp(sigma * normal(rng))


@told_inlined
def empirical(rng: Stream, values: Column) -> float:
    """Draw one of the numbers in an array, each with the same probability.

    >>> rng = stream(0)
    >>> sorted({empirical(rng, np.array([2.0, 4.5, 9.0])) for _ in range(50)})
    [2.0, 4.5, 9.0]
    """
    return float(values[integer(rng, len(values))])
