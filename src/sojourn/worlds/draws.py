"""Draws from the laws of rewards and durations, in compiled code."""

from __future__ import annotations

from sojourn.models.laws import CONSTANT, EXPONENTIAL, FLOORED, GAMMA, TWO_POINT, UNIFORM, WEIBULL
from sojourn.rules.bridge import inlined
from sojourn.rules.random import exponential, gamma, lognormal, normal, uniform, weibull
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
    if kind == TWO_POINT:
        return b if uniform(rng) < c else a
    if kind == WEIBULL:
        return b * weibull(rng, a)
    return a * lognormal(rng, b)
