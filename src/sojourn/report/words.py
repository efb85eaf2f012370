"""Numbers and settings as text for readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

EMPTY = "\u2013"  # an en dash for a missing number


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as text with this many significant digits.

    >>> number(1234567), number(0.000012345), number(-0.5), number(12345.678)
    ('1,234,567', '1.234e-5', '-0.5', '12,346')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return EMPTY
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size != 0.0 and (size < 1e-4 or size >= 1e7):
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}e{int(exponent)}"
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def several(values: Sequence[Any], shown: int = 8) -> str:
    """Return values on one line or, if there are many, their count and range.

    >>> several([0.1, 0.2]), several(list(range(100)))
    ('0.1, 0.2', '100 values from 0 to 99')
    """
    if len(values) <= shown:
        return ", ".join(setting(one) for one in values)
    return f"{len(values):,} values from {setting(values[0])} to {setting(values[-1])}"


def setting(value: Any) -> str:
    """Return the value of a setting as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{str(key).replace('_', ' ')} {setting(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return several(value)
    return "none" if value is None else str(value)


def sentences(given: Any) -> list[str]:
    """Return a list of sentences read from a file; anything else is an error."""
    if not isinstance(given, list):
        raise TypeError(f"a list of sentences is {type(given).__name__}")
    return [str(one) for one in given]


def counted(count: int, thing: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")
