"""Checks of what a caller gave: each returns it cleaned, or says in one sentence what is wrong with it."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable, Sequence
from typing import SupportsFloat, SupportsIndex, TypeAlias, TypeVar

T = TypeVar("T")
Number: TypeAlias = SupportsFloat | SupportsIndex | str  # what may be given as one; words are refused


def finite(name: str, number: Number) -> float:
    """Return `number` as a finite float, or say in one sentence why it is none."""
    result = _as_float(name, number)
    if not math.isfinite(result):
        raise ValueError(f"{name} is {result}; it must be a finite number")
    return result


def positive(name: str, number: Number) -> float:
    """Return `number` as a finite float greater than zero."""
    result = _as_float(name, number)
    if not 0.0 < result < math.inf:
        raise ValueError(f"{name} is {result}; it must be finite and greater than 0")
    return result


def at_least_zero(name: str, number: Number) -> float:
    """Return `number` as a finite float that is not negative, as a duration is."""
    result = _as_float(name, number)
    if not 0.0 <= result < math.inf:
        raise ValueError(f"{name} is {result}; it must be finite and at least 0")
    return result


def fraction(name: str, number: Number) -> float:
    """Return `number` as a float in (0, 1], as a step size is."""
    result = _as_float(name, number)
    if not 0.0 < result <= 1.0:
        raise ValueError(f"{name} is {result}; it must be greater than 0 and at most 1")
    return result


def proper_fraction(name: str, number: Number) -> float:
    """Return `number` as a float in (0, 1)."""
    result = _as_float(name, number)
    if not 0.0 < result < 1.0:
        raise ValueError(f"{name} is {result}; it must be greater than 0 and less than 1")
    return result


def probability(name: str, number: Number) -> float:
    """Return `number` as a float in [0, 1]."""
    result = _as_float(name, number)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"{name} is {result}; it must be at least 0 and at most 1")
    return result


def whole(name: str, number: Number, least: int = 1) -> int:
    """Return `number` as an int that is not below `least`."""
    try:
        result = operator.index(number)  # type: ignore[arg-type] # what has no index is refused below
    except TypeError:
        raise TypeError(f"{name} is {number!r}; it must be a whole number") from None
    if result < least:
        raise ValueError(f"{name} is {result}; it must be at least {least}")
    return int(result)


def several(name: str, things: Sequence[T]) -> list[T]:
    """Return a sequence as a list that is not empty, or say in one sentence why it is none."""
    if isinstance(things, str) or not hasattr(things, "__len__"):
        raise TypeError(f"{name} is {shown(things)}; it must be a list")
    if not len(things):
        raise ValueError(f"{name} is empty; give at least one")
    return list(things)


def within(name: str, number: Number, size: int) -> int:
    """Return `number` as an index of something that has `size` places."""
    result = whole(name, number, least=0)
    if result >= size:
        raise ValueError(f"{name} is {result}; it must be one of 0 to {size - 1}")
    return result


def _as_float(name: str, number: Number) -> float:
    if isinstance(number, str | bytes):
        raise TypeError(f"{name} is {number!r}; it must be a number")
    try:
        return float(number)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {number!r}; it must be a number") from None
    except OverflowError:
        raise ValueError(f"{name} is too large for a float") from None


def shown(thing: object) -> str:
    """Return what `thing` looks like, on one line and not too long, for a sentence.

    >>> import numpy as np
    >>> shown(np.zeros((2, 2)))
    'array([[0., 0.], [0., 0.]])'
    """
    text = " ".join(repr(thing).split())
    return text if len(text) <= 80 else text[:77] + "..."


def nearest(word: str, words: Iterable[str]) -> str:
    """Return a hint at the word that was perhaps meant."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(words)}"
