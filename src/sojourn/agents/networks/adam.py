"""Adam (Kingma and Ba, 2015): a weight moves by its mean gradient, divided by the root of its mean squared gradient."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.agents.networks.products import Reals
from sojourn.rules.arrays import MOST_COUNTED, Floats, infinite, outside
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.elementary import exp, log1p

_FIRST, _SECOND = 0.9, 0.999  # the shares of the means that are kept
_SMALL = 1e-8


class Adam(NamedTuple):
    """The moving means of a gradient and of its square, and how often they moved."""

    first: Reals
    second: Reals
    moves: Floats


def adam(weights: Reals) -> Adam:
    """Return means of 0 for weights like these."""
    return Adam(np.zeros_like(weights), np.zeros_like(weights), np.zeros(1))


def wrong_adam(name: str, means: Adam) -> str:
    """Return what is wrong with means that came from elsewhere, or an empty text."""
    return (
        infinite(f"{name}.first", means.first)
        or outside(f"{name}.second", means.second, 0.0, math.inf)
        or outside(f"{name}.moves", means.moves, 0.0, MOST_COUNTED)
    )


@compiled_apart
def descend(weights: Reals, gradient: Reals, means: Adam, step_size: float, longest: float) -> None:
    """Move weights against a gradient, which is shortened if it is longer than `longest`."""
    kind = weights.dtype.type
    means.moves[0] += 1.0
    moves = means.moves[0]
    # exp and log1p are Sojourn's own, which give the same bits everywhere.
    first_share = 1.0 - exp(moves * log1p(_FIRST - 1.0))
    second_share = 1.0 - exp(moves * log1p(_SECOND - 1.0))
    shorter = kind(1.0 / max(1.0, length(gradient) / longest))
    step = kind(step_size / first_share)
    root = kind(1.0 / math.sqrt(second_share))
    old_first, new_first = kind(_FIRST), kind(1.0 - _FIRST)
    old_second, new_second = kind(_SECOND), kind(1.0 - _SECOND)
    small = kind(_SMALL)
    firsts, seconds = means.first, means.second
    # Nothing that was written is read again, so the compiler moves several weights at a time.
    for i in range(len(weights)):
        slope = shorter * gradient[i]
        first = old_first * firsts[i] + new_first * slope
        second = old_second * seconds[i] + new_second * (slope * slope)
        firsts[i], seconds[i] = first, second
        weights[i] -= step * first / (root * kind(math.sqrt(second)) + small)


@compiled_apart
def length(gradient: Reals) -> float:
    """Return the length of a gradient, from four sums in a fixed order, which a processor adds at the same time."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = len(gradient) - len(gradient) % 4
    for i in range(0, whole, 4):
        a += gradient[i] * gradient[i]
        b += gradient[i + 1] * gradient[i + 1]
        c += gradient[i + 2] * gradient[i + 2]
        d += gradient[i + 3] * gradient[i + 3]
    for i in range(whole, len(gradient)):
        a += gradient[i] * gradient[i]
    return math.sqrt((a + b) + (c + d))


@compiled_apart
def approach(weights: Reals, goal: Reals, share: float) -> None:
    """Move weights a share of the way to a goal."""
    part = weights.dtype.type(share)
    for i in range(len(weights)):
        weights[i] += part * (goal[i] - weights[i])
