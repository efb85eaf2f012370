"""Argument checks: each returns its argument converted, or raises an error that says what is wrong with it."""

from __future__ import annotations

import difflib
import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsFloat, SupportsIndex, TypeAlias, TypeVar

T = TypeVar("T")
_PLAIN = {float, int, bool, str}
Number: TypeAlias = SupportsFloat | SupportsIndex | str  # what may be given as a number; strings are refused


def finite(name: str, number: Number) -> float:
    """Return `number` as a finite float."""
    result = as_float(name, number)
    if not math.isfinite(result):
        raise ValueError(f"{name} is {result}; it must be a finite number")
    return result


def positive(name: str, number: Number) -> float:
    """Return `number` as a finite float greater than zero."""
    result = as_float(name, number)
    if not 0.0 < result < math.inf:
        raise ValueError(f"{name} is {result}; it must be finite and greater than 0")
    return result


def at_least_zero(name: str, number: Number) -> float:
    """Return `number` as a finite non-negative float, such as a duration."""
    result = as_float(name, number)
    if not 0.0 <= result < math.inf:
        raise ValueError(f"{name} is {result}; it must be finite and at least 0")
    return result


def fraction(name: str, number: Number) -> float:
    """Return `number` as a float in (0, 1], such as a step size."""
    result = as_float(name, number)
    if not 0.0 < result <= 1.0:
        raise ValueError(f"{name} is {result}; it must be greater than 0 and at most 1")
    return result


def proper_fraction(name: str, number: Number) -> float:
    """Return `number` as a float in (0, 1)."""
    result = as_float(name, number)
    if not 0.0 < result < 1.0:
        raise ValueError(f"{name} is {result}; it must be greater than 0 and less than 1")
    return result


def probability(name: str, number: Number) -> float:
    """Return `number` as a float in [0, 1]."""
    result = as_float(name, number)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"{name} is {result}; it must be at least 0 and at most 1")
    return result


def whole(name: str, number: Number, least: int = 1, most: int | None = None) -> int:
    """Return `number` as an int from `least` to `most`.

    >>> whole("capacity", 10**30, most=1000)
    Traceback (most recent call last):
    ValueError: capacity is 1000000000000000000000000000000; it must be at most 1,000
    """
    if type(number) is not int:
        unmasked(name, number)
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{name} is {shown(number)}; it must be a whole number")
    try:
        result = operator.index(number)  # type: ignore[arg-type] # checked above
    except TypeError:  # an array converts only if it holds a single whole number
        raise TypeError(f"{name} is {shown(number)}; it must be a whole number") from None
    if result < least:
        raise ValueError(f"{name} is {shown(result)}; it must be at least {least}")
    if most is not None and result > most:
        raise ValueError(f"{name} is {shown(result)}; it must be at most {most:,}")
    return int(result)


def several(name: str, things: Sequence[T]) -> list[T]:
    """Return a sequence as a non-empty list."""
    unmasked(name, things)
    if isinstance(things, str) or not hasattr(things, "__len__"):
        raise TypeError(f"{name} is {shown(things)}; it must be a list")
    if not len(things):
        raise ValueError(f"{name} is empty; give at least one")
    return list(things)


def within(name: str, number: Number, size: int) -> int:
    """Return `number` as an index into `size` entries."""
    result = whole(name, number, least=0)
    if result >= size:
        raise ValueError(f"{name} is {shown(result)}; it must be one of 0 to {size - 1}")
    return result


def as_float(name: str, number: Number) -> float:
    """Return `number` as a float, which may be infinite or NaN."""
    if isinstance(number, str | bytes):
        raise TypeError(f"{name} is {shown(number)}; it must be a number")
    if type(number) not in _PLAIN:
        unmasked(name, number)
    try:
        return float(number)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(number)}; it must be a number") from None
    except OverflowError:
        raise ValueError(f"{name} is too large for a float") from None


def unmasked(name: str, given: T) -> T:
    """Return the argument, unless it is or contains a NumPy masked array, whose masked entries would be used or lost.

    >>> import numpy as np
    >>> unmasked("rewards", np.ma.array([1.0, 2.0], mask=[False, True]))
    Traceback (most recent call last):
    TypeError: rewards is or holds a masked array; fill what it hides, with .filled(...), or leave it out, with .compressed()
    """
    if _holds_mask(given):
        raise TypeError(
            f"{name} is or holds a masked array; fill what it hides, with .filled(...), or leave it out, with .compressed()"
        )
    return given


def _holds_mask(thing: object) -> bool:
    if isinstance(thing, list | tuple):
        return any(_holds_mask(each) for each in thing if type(each) not in _PLAIN)
    if isinstance(thing, Mapping):
        return any(map(_holds_mask, thing.values()))
    return hasattr(thing, "mask") and hasattr(thing, "filled")  # only NumPy's masked arrays have both


def shown(thing: object) -> str:
    """Return a short one-line repr of `thing` for a message.

    >>> import numpy as np
    >>> shown(np.zeros((2, 2)))
    'array([[0., 0.], [0., 0.]])'
    """
    try:
        text = " ".join(repr(thing).split())
    except ValueError:  # Python refuses to print integers of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def nearest(word: object, words: Iterable[str]) -> str:
    """Return a "did you mean" hint for a misspelt word.

    >>> nearest("rivr", ["river", "lake"]), nearest("x", ["river", "lake"])
    ("; did you mean 'river'?", '; there are river, lake')
    """
    known = list(itertools.islice(words, 1000))
    close = difflib.get_close_matches(str(word)[:100], known, n=1, cutoff=0.5)
    return f"; did you mean {shown(close[0])}?" if close else f"; there are {listed(known)}"


def listed(words: Sequence[str]) -> str:
    r"""Return up to a dozen words for a message, escaped so that none breaks the line.

    >>> listed(["up", "down\n"])
    "up, 'down\\n'"
    """
    shown_words = [word if word.isprintable() and len(word) <= 40 else shown(word) for word in words[:12]]
    return ", ".join(shown_words) + (", ..." if len(words) > 12 else "")
