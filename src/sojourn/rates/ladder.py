"""The rungs of `AdaptiveRatio`: ratios with memories of about 4, 12, 36, ..., 2916 blocks, and one that forgets nothing.

A block is two transitions; R is the sum of their rewards and T that of their durations. Rung j keeps a sum X of rewards, Y
of durations and N of blocks, and forgets faster as it fills up:

    f = 1 / (1 + N / (4 3^j)^2);    X <- f X + e;    Y <- f Y + T;    N <- f N + 1

So at first its estimate h = X / Y is nearly the plain ratio of all that it has seen, and N approaches about 4 3^j. Here e is
R, clipped if it is far from what the rung expects.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sojourn.rules.bridge import inlined
from sojourn.rules.replace import replaced

FORGETTING = tuple(
    [1.0 / (4.0 * 3.0**j) ** 2 for j in range(6)] + [0.0]
)  # of each rung: f = 1 / (1 + N times this)
_CLIP = 2.0  # standard deviations of what is remembered; a surprise beyond them is clipped
_LEAD = 8.0  # a rung with this lead over the next slower one hands over its memory
_STEEPEST = 0.5  # of the difference between memories of N and 3 N blocks: the slope that makes up for the lag


class Rung(NamedTuple):
    """One memory: sums of rewards, durations and blocks, its weight, and its lead over the next slower rung."""

    weight: float = 0.0
    reward: float = 0.0
    duration: float = 0.0
    blocks: float = 0.0
    lead: float = 0.0


class Ladder(NamedTuple):
    """Seven rungs, the fastest first."""

    first: Rung
    second: Rung
    third: Rung
    fourth: Rung
    fifth: Rung
    sixth: Rung
    last: Rung


class Nine(NamedTuple):
    """A number for each of the nine experts: seven rungs, and the trends through the fourth and the fifth."""

    first: float
    second: float
    third: float
    fourth: float
    fifth: float
    sixth: float
    last: float
    fourth_trend: float
    fifth_trend: float


class Noise(NamedTuple):
    """The noise of blocks; `squares / duration` is the variance of unexpected rewards per unit of time."""

    squares: float = 0.0
    duration: float = 0.0
    blocks: float = 0.0


@inlined
def opinions(ladder: Ladder, reward: float, duration: float) -> Nine:
    """Return the estimate of each expert, including an unfinished block; there must be some evidence."""
    fourth, fifth, sixth = ladder.fourth, ladder.fifth, ladder.sixth
    fourth_says = _says(fourth, reward, duration)
    fifth_says = _says(fifth, reward, duration)
    sixth_says = _says(sixth, reward, duration)
    return Nine(
        _says(ladder.first, reward, duration),
        _says(ladder.second, reward, duration),
        _says(ladder.third, reward, duration),
        fourth_says,
        fifth_says,
        sixth_says,
        _says(ladder.last, reward, duration),
        fourth_says + _slope(fourth, fifth) * (fourth_says - fifth_says),
        fifth_says + _slope(fifth, sixth) * (fifth_says - sixth_says),
    )


@inlined
def _says(rung: Rung, reward: float, duration: float) -> float:
    return (rung.reward + reward) / (rung.duration + duration)


@inlined
def _slope(faster: Rung, slower: Rung) -> float:
    """Return how far the line through two rungs must be extended beyond the faster one to reach the present.

    If the rate moves along a straight line, the ratios lag behind by the ages of their memories, N and 3 N, and extending the
    line by half of their difference makes up for the lag. Two memories of the same blocks have no slope.
    """
    if slower.blocks <= faster.blocks:
        return 0.0
    return min(_STEEPEST, 0.25 * (slower.blocks / faster.blocks - 1.0))


@inlined
def losses(said: Nine, rate: float, surprise: float, duration: float, precision: float) -> Nine:
    """Return by how much each expert's score on a block is worse than the best, in units of noise, at most 2.

    `precision` is one over the variance of the reward per unit of time.
    """
    plain = Nine(
        _loss(said.first - rate, surprise, duration, precision),
        _loss(said.second - rate, surprise, duration, precision),
        _loss(said.third - rate, surprise, duration, precision),
        _loss(said.fourth - rate, surprise, duration, precision),
        _loss(said.fifth - rate, surprise, duration, precision),
        _loss(said.sixth - rate, surprise, duration, precision),
        _loss(said.last - rate, surprise, duration, precision),
        _loss(said.fourth_trend - rate, surprise, duration, precision),
        _loss(said.fifth_trend - rate, surprise, duration, precision),
    )
    least = plain.first
    for loss in plain:
        least = min(least, loss)
    return Nine(
        min(2.0, plain.first - least),
        min(2.0, plain.second - least),
        min(2.0, plain.third - least),
        min(2.0, plain.fourth - least),
        min(2.0, plain.fifth - least),
        min(2.0, plain.sixth - least),
        min(2.0, plain.last - least),
        min(2.0, plain.fourth_trend - least),
        min(2.0, plain.fifth_trend - least),
    )


@inlined
def _loss(off: float, surprise: float, duration: float, precision: float) -> float:
    """Return the score 1/2 T h^2 - R h up to a common constant; `off` is h - rho and `surprise` is R - rho T."""
    return off * (0.5 * duration * off - surprise) * precision


@inlined
def handed_over(rung: Rung, donor: Rung, behind: float) -> tuple[Rung, Rung]:
    """Return a rung after a handover, and the donor for the slower ones.

    A rung that remembers more than the donor takes over the donor's memory. `behind` is how much more the next slower
    rung lost on this block. A rung whose total lead is above 8 becomes the donor.
    """
    after = rung
    if rung.blocks > donor.blocks:
        after = replaced(donor, weight=rung.weight, lead=0.0)
    lead = max(0.0, after.lead + behind)
    if lead > _LEAD:
        after = replaced(after, lead=0.0)
        return after, after
    return replaced(after, lead=lead), donor


@inlined
def clipped(surprise: float, variance: float) -> float:
    """Return a surprise, clipped at two standard deviations of what is remembered, whose variance is given."""
    if surprise * surprise <= _CLIP * _CLIP * variance:
        return surprise  # the usual case, which needs no square root
    return math.copysign(_CLIP * math.sqrt(variance), surprise)


@inlined
def fed(
    rung: Rung, weight: float, forgetting: float, reward: float, duration: float, variance: float
) -> Rung:
    """Return a rung with its new weight after one more block; with a variance of 0 nothing is clipped."""
    keep = 1.0 / (1.0 + rung.blocks * forgetting)
    taken = reward
    if variance > 0.0:
        expected = rung.reward / rung.duration * duration
        taken = expected + clipped(reward - expected, variance * rung.duration)
    return replaced(
        rung,
        weight=weight,
        reward=keep * rung.reward + taken,
        duration=keep * rung.duration + duration,
        blocks=keep * rung.blocks + 1.0,
    )
