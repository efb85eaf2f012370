"""Decimal numbers of any length, for what floats cannot hold: tiny leaks, wide spreads, cancelled sums.

Every float is exactly a decimal. Exponents are practically unlimited here, so nothing overflows and nothing vanishes. Only
digits beyond the number asked for are lost, and rounding can be directed down or up, which is how bounds are proven.
"""

from __future__ import annotations

import decimal
import math
from contextlib import AbstractContextManager
from decimal import Decimal

import numpy as np

from sojourn.models.elimination import Numbers
from sojourn.rules.arrays import Floats


def digits(count: int, rounding: str = decimal.ROUND_HALF_EVEN) -> AbstractContextManager[decimal.Context]:
    """Return a context in which decimals have this many digits, rounded to the nearest, down or up."""
    return decimal.localcontext(
        decimal.Context(prec=count, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    )


def exact(floats: Floats) -> Numbers:
    """Return floats as decimals, exactly.

    >>> exact(np.array([0.5, 2.0**-20]))
    array([Decimal('0.5'), Decimal('9.5367431640625E-7')], dtype=object)
    """
    return np.array([Decimal(x) for x in floats.ravel().tolist()], dtype=object).reshape(floats.shape)


def nearest(numbers: Numbers) -> Floats:
    """Return decimals as the nearest floats."""
    return np.array([float(number) for number in numbers.ravel()], dtype=np.float64).reshape(numbers.shape)


def below(number: Decimal) -> float:
    """Return the largest float that is not above a decimal.

    >>> below(Decimal("0.1")), below(Decimal("1e-400")), below(Decimal("-1e-400"))
    (0.09999999999999999, 0.0, -5e-324)
    """
    found = float(number)
    return math.nextafter(found, -math.inf) if Decimal(found) > number else found


def above(number: Decimal) -> float:
    """Return the smallest float that is not below a decimal."""
    return -below(number.copy_negate())
