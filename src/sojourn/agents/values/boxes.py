"""The box in which states that are vectors lie, and which tiles divide; it is known, or set by what has been seen."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.rules.arrays import MOST_COUNTED, Floats
from sojourn.rules.bridge import inlined
from sojourn.rules.compile import rule
from sojourn.rules.replace import replaced
from sojourn.rules.values import Value
from sojourn.rules.vectors import Bounds, State

_SPREAD = 3.0  # standard deviations on each side of the mean


class Box(Value, Protocol):
    """Where states lie; an entry s is (s - low) per_unit of the way through the box."""

    @property
    def low(self) -> Floats:
        """The lower edge of the box."""

    @property
    def per_unit(self) -> Floats:
        """One over the width of the box."""


B = TypeVar("B", bound=Box)


class FixedBox(NamedTuple):
    """A box that is known."""

    low: Floats
    per_unit: Floats


class RunningBox(NamedTuple):
    """A box that is set by what has been seen, within bounds that may be infinite."""

    low: Floats
    per_unit: Floats
    mean: Floats
    squares: Floats  # the sum of squared deviations from the mean
    least: Floats
    most: Floats
    seen: int
    next_change: int


@rule(fallback=True)
def noted(box: B, state: State, known: Floats) -> B:
    """Return the box after one more state was seen; if it changes, known places in it are forgotten.

    `known` has the states whose places are known; it is filled with inf to forget them.
    """
    return box


@noted.register
def noted_running(box: RunningBox, state: State, known: Floats) -> RunningBox:
    """Update mean and deviation (Welford 1962), and set the box again when the number of states has doubled."""
    seen, next_change = box.seen + 1, box.next_change
    _take_in(box, seen, state)
    if seen == next_change:
        next_change = 2 * seen
        _set_edges(box, seen, known)
    return replaced(box, seen=seen, next_change=next_change)


@inlined
def _take_in(box: RunningBox, seen: int, state: State) -> None:
    for i in range(len(box.mean)):
        off = state[i] - box.mean[i]
        box.mean[i] += off / seen
        box.squares[i] += off * (state[i] - box.mean[i])


@inlined
def _set_edges(box: RunningBox, seen: int, known: Floats) -> None:
    for i in range(len(box.mean)):
        low, high = box.least[i], box.most[i]
        if not (abs(low) < np.inf and abs(high) < np.inf):
            spread = _SPREAD * math.sqrt(box.squares[i] / seen)
            low, high = max(low, box.mean[i] - spread), min(high, box.mean[i] + spread)
        box.low[i] = low
        box.per_unit[i] = 1.0 / (high - low) if high > low else 0.0
    for i in range(len(known)):
        known[i] = np.inf


def wrong_box(box: Box) -> str:
    """Return what is wrong with a box that came from elsewhere, or an empty text."""
    if not (box.per_unit >= 0.0).all() or np.isnan(box.low).any():
        return "the box of the states has no edges"
    if isinstance(box, RunningBox):
        fits = 0 <= box.seen < box.next_change <= MOST_COUNTED and (box.squares >= 0.0).all()
        if not fits or np.isnan(box.mean).any() or not (box.least < box.most).all():
            return f"the box has seen {box.seen} states, and their means and squares are not those of so many"
    return ""


def box_of(bounds: Bounds) -> Box:
    """Return the box within bounds.

    >>> box_of(Bounds((0.0,), (2.0,)))
    FixedBox(low=array([0.]), per_unit=array([0.5]))
    >>> box = box_of(Bounds((0.0,), (np.inf,)))
    >>> for wear in (1.0, 3.0):
    ...     box = noted(box, (wear,), np.zeros(2))
    >>> box.low, box.per_unit  # from 0, since 2 - 3 is below it, to 2 + 3
    (array([0.]), array([0.2]))
    """
    low, high = np.array(bounds.low, dtype=np.float64), np.array(bounds.high, dtype=np.float64)
    if np.isfinite(low).all() and np.isfinite(high).all():
        return FixedBox(low, 1.0 / (high - low))
    zeros = np.zeros(len(low))
    return RunningBox(
        low=zeros,
        per_unit=zeros.copy(),
        mean=zeros.copy(),
        squares=zeros.copy(),
        least=low,
        most=high,
        seen=0,
        next_change=1,
    )
