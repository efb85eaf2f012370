"""Draws from the laws of rewards and durations, in compiled code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sojourn.models.laws import CONSTANT, EXPONENTIAL, FLOORED, GAMMA, UNIFORM
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp, log
from sojourn.rules.random import exponential, normal, normal_quantile, uniform, unit, word, word_at
from sojourn.rules.streams import Stream


@inlined
def sampled(kind: int, a: float, b: float, c: float, rng: Stream) -> float:
    """Draw from the law of this kind with these parameters.

    >>> from sojourn.rules.streams import stream
    >>> sampled(0, 2.5, 0.0, 0.0, stream(0))
    2.5
    """
    if kind == CONSTANT:
        return a
    if kind == EXPONENTIAL:
        return a * exponential(rng)
    if kind == GAMMA:
        return b * _gamma(a, rng)
    if kind == UNIFORM:
        return a + (b - a) * uniform(rng)
    if kind == FLOORED:
        return max(c, a + b * normal(rng))
    return b if uniform(rng) < c else a


@inlined
def _gamma(shape: float, rng: Stream) -> float:
    """Draw from the gamma law of scale 1 (Marsaglia and Tsang, ACM TOMS 26(3), 2000).

    Shapes below 1 use that gamma(k) is gamma(k + 1) times u^(1/k).
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
