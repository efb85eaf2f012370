"""Running means that put observations and rewards into units of their own, so that one setting serves all problems.

Observations are normalised by their running mean and deviation. Rewards are divided by a running root mean square of
r - rho tau, what a step earns beyond the rate; rates stay in the user's units.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.agents.networks.products import Reals
from sojourn.rates.carry import carry
from sojourn.rates.centred import levelled_by, own_value, timed
from sojourn.rates.protocol import Rate, value
from sojourn.rules.arrays import Floats
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.stacks import put, take
from sojourn.rules.values import stacked

_value = value.bare

_LARGEST = 10.0  # of a normalised observation
_SQUARE_STEP = 0.0001  # of the mean square of rewards, at least: about the last ten thousand steps


class Moments(NamedTuple):
    """Means of observations and sums of their squared deviations, over so many of them."""

    means: Floats
    squares: Floats
    seen: Floats


def moments(num_inputs: int) -> Moments:
    """Return the moments of nothing: until two observations were seen, they stay as they are."""
    return Moments(np.zeros(num_inputs), np.zeros(num_inputs), np.zeros(1))


@compiled_apart
def observe(known: Moments, observations: Reals, row: int) -> None:
    """Take in one more observation (Welford's way, which loses no digits)."""
    known.seen[0] += 1.0
    for j in range(len(known.means)):
        distance = observations[row, j] - known.means[j]
        known.means[j] += distance / known.seen[0]
        known.squares[j] += distance * (observations[row, j] - known.means[j])


@compiled_apart
def normalise(known: Moments, observations: Reals, row: int, out: Reals, at: int) -> None:
    """Write one observation in units of its deviation, at most 10 of them from the mean.

    What has never differed from its mean is 0 there, and stays in its own unit when it does.
    """
    for j in range(len(known.means)):
        deviation = math.sqrt(known.squares[j] / known.seen[0]) if known.seen[0] > 1.0 else 1.0
        distance = observations[row, j] - known.means[j]
        if deviation > 0.0:
            distance = distance / deviation
        out[at, j] = min(max(distance, -_LARGEST), _LARGEST)


class Earnings(NamedTuple):
    """What an agent knows of rewards and time: its estimator of the rate, and the scale of the rewards.

    `rate` is a stack of one estimator, `carried` what each place has earned since time last passed there, `square`
    the running mean square of r - rho tau and the steps that it is made of.
    """

    rate: Rate
    carried: Floats
    square: Floats


def earnings(rate: Rate, places: int) -> Earnings:
    """Return the earnings of an agent that has seen nothing, in so many environments at once."""
    return Earnings(stacked([rate]), np.zeros(places), np.zeros(2))


@compiled_apart
def earn(known: Earnings, place: int, reward: float, duration: float, accepted: bool) -> None:
    """Take in one transition; only those that are accepted are evidence for the rate."""
    rate = timed(take(known.rate, 0), duration)
    left = reward - own_value(rate) * duration
    known.square[1] += 1.0
    known.square[0] += max(_SQUARE_STEP, 1.0 / known.square[1]) * (left * left - known.square[0])
    if accepted:
        rate, known.carried[place] = carry(rate, known.carried[place], reward, duration)
    put(known.rate, 0, rate)


@compiled_apart
def scale_of(known: Earnings) -> float:
    """Return the unit of rewards, 1 while there is none."""
    return math.sqrt(known.square[0]) if known.square[0] > 0.0 else 1.0


@compiled_apart
def rate_of(known: Earnings) -> float:
    """Return the rate that values are learned with: the estimate and what centring adds to it."""
    return _value(take(known.rate, 0))


@compiled_apart
def settle(known: Earnings, level: float, share: float) -> None:
    """Move the level of the values, in units of rewards, by a share of the way to this one."""
    put(known.rate, 0, levelled_by(take(known.rate, 0), level, share))
