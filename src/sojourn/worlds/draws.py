"""Draws from the laws of rewards and durations, in compiled code."""

from __future__ import annotations

from sojourn.models.laws import CONSTANT, EXPONENTIAL, FLOORED, GAMMA, UNIFORM
from sojourn.rules.bridge import inlined
from sojourn.rules.random import exponential, gamma, normal, uniform
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
        return b * gamma(rng, a)
    if kind == UNIFORM:
        return a + (b - a) * uniform(rng)
    if kind == FLOORED:
        return max(c, a + b * normal(rng))
    return b if uniform(rng) < c else a
