"""Checks of the options that network agents share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.agents.exploration import Decay, Exploration, Linear, exploration_of
from sojourn.agents.networks.perceptron import PRECISIONS
from sojourn.agents.networks.protocol import Spaces
from sojourn.rules.arrays import Floats
from sojourn.rules.numbers import fraction, shown, whole

_WIDEST = 4096
_UNBOUNDED = 1e30  # some environments give the largest number that a float can hold for "no bound"


def checked_hidden(hidden: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of hidden layers, or say what is wrong with them.

    >>> checked_hidden([64, 64])
    (64, 64)
    """
    if isinstance(hidden, str) or not isinstance(hidden, Sequence):
        raise TypeError(f"hidden is {shown(hidden)}; it must be a list of widths, such as (64, 64)")
    return tuple(whole(f"hidden[{i}]", width, most=_WIDEST) for i, width in enumerate(hidden))


def checked_precision(precision: str) -> str:
    """Return the name of a precision, or say which names there are."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}; it must be one of {', '.join(map(repr, PRECISIONS))}")
    return precision


def schedule_of(name: str, given: float | Decay | Linear) -> Exploration:
    """Return a step size that changes with the steps; a number becomes a constant."""
    if isinstance(given, Decay | Linear):
        fraction(f"{name}.start", given.start)
        return exploration_of(given)
    return Decay(start=fraction(name, given), factor=1.0)


def bounds_of(spaces: Spaces) -> tuple[Floats, Floats, Floats]:
    """Return the points of the environment that -1 and 1 of a network stand for, and how far its means may go.

    In each dimension, the points are the bounds of the actions, and means stay between them. Where a bound is infinite,
    the unit is the environment's own, and means may go anywhere.

    >>> low, high, furthest = bounds_of(Spaces(1, low=np.array([0.0, -np.inf]), high=np.array([20.0, np.inf])))
    >>> low.tolist(), high.tolist(), furthest.tolist()
    ([0.0, -1.0], [20.0, 1.0], [1.0, inf])
    """
    low, high = np.asarray(spaces.low, dtype=np.float64), np.asarray(spaces.high, dtype=np.float64)
    bounded = (np.abs(low) < _UNBOUNDED) & (np.abs(high) < _UNBOUNDED)
    return np.where(bounded, low, -1.0), np.where(bounded, high, 1.0), np.where(bounded, 1.0, np.inf)
