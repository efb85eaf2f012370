"""Elementary functions that give the same bits on every machine.

The usual implementations of exp, log, sin and cos differ in the last bit from one system to the next, and a learner
can turn that bit into a different policy. The functions here use only operations whose rounding IEEE 754 fixes: + - *
/ and exact powers of two. They are within 2 units in the last place of the true value (expm1 and log1p within 4).
They take a few nanoseconds more than C's.

Each function reduces its argument to a small one and sums a power series there, in halves, so that a processor can
evaluate several terms at once. They are meant for finite arguments; for NaN, the exponential and trigonometric
functions return NaN, so that no NaN becomes an index into a table.
"""

from __future__ import annotations

import math

import numpy as np

from sojourn.rules.bridge import inlined

# Constants in parts: an integer times any part but the last is exact.
_LN2 = (0.6931471803691238, 1.9082149292705877e-10)
_LOG10_2 = (0.3010299955494702, 1.1451100898021838e-10)
_HALF_PI = (1.570796012878418, 3.139164164167596e-07, 6.223371969669989e-14, 2.0222662487959506e-21)
_LN10, _PER_LN2, _PER_LOG10_2, _PER_HALF_PI = (
    2.302585092994046,
    1.4426950408889634,
    3.321928094887362,
    0.6366197723675814,
)
_SQRT_HALF = 0.7071067811865476

_POWERS = np.ldexp(1.0, np.arange(-540, 541))  # the product of two of them is any power of two


@inlined
def exp(x: float) -> float:
    """Return e^x.

    >>> exp(0.0), exp(1000.0), exp(-1000.0)
    (1.0, inf, 0.0)
    """
    if not x <= 709.79:
        return x * math.inf  # which keeps NaN
    if x < -746.0:
        return 0.0
    n = math.floor(x * _PER_LN2 + 0.5)
    return _times_power(1.0 + small_expm1((x - n * _LN2[0]) - n * _LN2[1]), n)


@inlined
def exp10(x: float) -> float:
    """Return 10^x.

    >>> exp10(2.0), exp10(0.0), exp10(400.0)
    (100.0, 1.0, inf)
    """
    if not x <= 308.26:
        return x * math.inf
    if x < -324.0:
        return 0.0
    n = math.floor(x * _PER_LOG10_2 + 0.5)
    return _times_power(1.0 + small_expm1(((x - n * _LOG10_2[0]) - n * _LOG10_2[1]) * _LN10), n)


@inlined
def expm1(x: float) -> float:
    """Return e^x - 1, accurate for small x."""
    return small_expm1(x) if abs(x) < 0.35 else exp(x) - 1.0


@inlined
def log(x: float) -> float:
    """Return the natural logarithm of x > 0."""
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa *= 2.0
        exponent -= 1
    return exponent * _LN2[0] + (_twice_atanh((mantissa - 1.0) / (mantissa + 1.0)) + exponent * _LN2[1])


@inlined
def log1p(x: float) -> float:
    """Return log(1 + x) for x > -1, accurate for small x."""
    return _twice_atanh(x / (2.0 + x)) if abs(x) < 0.25 else log(1.0 + x)


@inlined
def sin(x: float) -> float:
    """Return the sine of x; beyond 2^31, the C library computes it."""
    if not abs(x) < 2147483648.0:
        return math.sin(x)
    quadrant = math.floor(x * _PER_HALF_PI + 0.5)
    return _sin_or_cos(x, quadrant, quadrant)


@inlined
def cos(x: float) -> float:
    """Return the cosine of x; beyond 2^31, the C library computes it."""
    if not abs(x) < 2147483648.0:
        return math.cos(x)
    quadrant = math.floor(x * _PER_HALF_PI + 0.5)
    return _sin_or_cos(x, quadrant, quadrant + 1)


@inlined
def _sin_or_cos(x: float, quadrant: int, turn: int) -> float:
    r = (
        ((x - quadrant * _HALF_PI[0]) - quadrant * _HALF_PI[1]) - quadrant * _HALF_PI[2]
    ) - quadrant * _HALF_PI[3]
    y = r * r
    y2 = y * y
    y4 = y2 * y2
    if turn & 1:
        series = (1 / 24 - y * (1 / 720)) + y2 * (1 / 40320 - y * (1 / 3628800))
        series += y4 * ((1 / 479001600 - y * (1 / 87178291200)) + y2 * (1 / 20922789888000))
        result = 1.0 - (0.5 * y - y2 * series)
    else:
        series = (-1 / 6 + y * (1 / 120)) + y2 * (-1 / 5040 + y * (1 / 362880))
        series += y4 * ((-1 / 39916800 + y * (1 / 6227020800)) + y2 * (-1 / 1307674368000))
        result = r + r * y * series
    return -result if turn & 2 else result


@inlined
def small_expm1(x: float) -> float:
    """Return e^x - 1 for |x| < 0.35: x + x^2/2! + ... + x^14/14!."""
    x2 = x * x
    x4 = x2 * x2
    low = (1 / 2 + x * (1 / 6)) + x2 * (1 / 24 + x * (1 / 120))
    middle = (1 / 720 + x * (1 / 5040)) + x2 * (1 / 40320 + x * (1 / 362880))
    high = (1 / 3628800 + x * (1 / 39916800)) + x2 * (1 / 479001600 + x * (1 / 6227020800))
    return x + x2 * (low + x4 * (middle + x4 * high))


@inlined
def _twice_atanh(s: float) -> float:
    """Return 2 artanh(s) for |s| < 0.18: 2 (s + s^3/3 + ... + s^23/23)."""
    y = s * s
    y2 = y * y
    y4 = y2 * y2
    low = (2 / 3 + y * (2 / 5)) + y2 * (2 / 7 + y * (2 / 9))
    middle = (2 / 11 + y * (2 / 13)) + y2 * (2 / 15 + y * (2 / 17))
    high = (2 / 19 + y * (2 / 21)) + y2 * (2 / 23)
    return 2.0 * s + s * y * (low + y4 * (middle + y4 * high))


@inlined
def _times_power(x: float, n: int) -> float:
    """Return x 2^n for -1080 <= n <= 1080."""
    half = n >> 1
    return float(x * _POWERS[half + 540] * _POWERS[n - half + 540])
