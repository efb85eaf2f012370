"""Units of observations and rewards, which let the same settings work on all problems.

Observations are normalised by the mean and deviation of about the last ten thousand of them. Rewards are divided by
the root mean square, over as many steps, of r - rho tau, which is what a step earns beyond the rate. Rates stay in the
user's units.

As an agent gets better, its observations and rewards change by factors of ten and more, so units must follow. They do
so from time to time. Whenever they change, the weights of the first and the last layer change, too, so that what a
network says in the user's units stays as it was (van Hasselt et al. 2016 for the last layer).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.agents.networks.perceptron import Perceptron
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
_SQUARE_STEP = 0.0001  # of means, at least: about the last ten thousand steps
_NARROWEST = 0.01  # unit, relative to the widest so far: inputs that hardly move any more are not magnified


class Moments(NamedTuple):
    """Running means and variances of observations, how many were seen, and the units in which networks see them."""

    means: Floats
    squares: Floats
    seen: Floats
    centres: Floats
    units: Floats
    widest: Floats  # deviations so far


def moments(num_inputs: int) -> Moments:
    """Return moments before any observation, with units in which observations stay as they are."""
    zeros = [np.zeros(num_inputs) for _ in range(4)]
    return Moments(zeros[0], zeros[1], np.zeros(1), zeros[2], np.ones(num_inputs), zeros[3])


@compiled_apart
def observe(known: Moments, observations: Reals, row: int) -> None:
    """Take in one more observation; the units stay as they are."""
    known.seen[0] += 1.0
    share = max(_SQUARE_STEP, 1.0 / known.seen[0])
    for j in range(len(known.means)):
        distance = observations[row, j] - known.means[j]
        known.means[j] += share * distance
        known.squares[j] += share * (distance * (observations[row, j] - known.means[j]) - known.squares[j])


@compiled_apart
def normalise(known: Moments, observations: Reals, row: int, out: Reals, at: int) -> None:
    """Write one observation in the units of the network, at most 10 of them from the centre."""
    for j in range(len(known.means)):
        distance = (observations[row, j] - known.centres[j]) / known.units[j]
        out[at, j] = min(max(distance, -_LARGEST), _LARGEST)


@compiled_apart
def _next_unit(known: Moments, j: int) -> float:
    """Return the next unit of an input, by what is known now; an input that has never changed has a unit of 1."""
    deviation = math.sqrt(known.squares[j])
    widest = max(known.widest[j], deviation)
    return max(deviation, _NARROWEST * widest) if widest > 0.0 else 1.0


@compiled_apart
def refit_inputs(known: Moments, network: Perceptron, weights: Reals) -> None:
    """Change weights so that the network says the same about observations in the next units as it says now."""
    inputs, outputs = network.widths[0], network.widths[1]
    for i in range(inputs):
        shift = (known.means[i] - known.centres[i]) / known.units[i]
        stretch = _next_unit(known, i) / known.units[i]
        for j in range(outputs):
            weight = weights[i * outputs + j]
            weights[inputs * outputs + j] += weight * shift
            weights[i * outputs + j] = weight * stretch


@compiled_apart
def renew_units(known: Moments) -> None:
    """Change to the next units of observations."""
    for j in range(len(known.means)):
        known.units[j] = _next_unit(known, j)
        known.centres[j] = known.means[j]
        known.widest[j] = max(known.widest[j], math.sqrt(known.squares[j]))


class Earnings(NamedTuple):
    """What an agent knows about rewards and time: its estimator of the rate, and the scale of the rewards.

    `rate` is a stack of one estimator. `carried` is what each place has earned since time last passed there. `square`
    has the running mean square of r - rho tau, and the number of steps in it. `unit` has one number, the unit of
    rewards.
    """

    rate: Rate
    carried: Floats
    square: Floats
    unit: Floats


def earnings(rate: Rate, places: int) -> Earnings:
    """Return the earnings of an agent that has seen nothing, in `places` environments at once."""
    return Earnings(stacked([rate]), np.zeros(places), np.zeros(2), np.ones(1))


@compiled_apart
def earn(known: Earnings, place: int, reward: float, duration: float, accepted: bool) -> None:
    """Take in one transition, which is evidence for the rate only if it is accepted."""
    rate = timed(take(known.rate, 0), duration)
    left = reward - own_value(rate) * duration
    known.square[1] += 1.0
    known.square[0] += max(_SQUARE_STEP, 1.0 / known.square[1]) * (left * left - known.square[0])
    if accepted:
        rate, known.carried[place] = carry(rate, known.carried[place], reward, duration)
    put(known.rate, 0, rate)


@compiled_apart
def _next_scale(known: Earnings) -> float:
    return math.sqrt(known.square[0]) if known.square[0] > 0.0 else 1.0


@compiled_apart
def refit_outputs(known: Earnings, network: Perceptron, weights: Reals) -> None:
    """Change weights so that the network says the same in the next unit of rewards as it says now."""
    layers = len(network.widths) - 1
    last = 0  # the first weight of the last layer
    for layer in range(layers - 1):
        last += (network.widths[layer] + 1) * network.widths[layer + 1]
    stretch = known.unit[0] / _next_scale(known)
    for i in range(last, last + (network.widths[layers - 1] + 1) * network.widths[layers]):
        weights[i] *= stretch


@compiled_apart
def renew_scale(known: Earnings) -> None:
    """Change to the next unit of rewards; it is 1 until there is one."""
    known.unit[0] = _next_scale(known)


@compiled_apart
def scale_of(known: Earnings) -> float:
    """Return the unit of rewards."""
    return float(known.unit[0])


@compiled_apart
def rate_of(known: Earnings) -> float:
    """Return the rate that values are learned with: the estimate and what centring adds to it."""
    return _value(take(known.rate, 0))


@compiled_apart
def settle(known: Earnings, level: float, share: float) -> None:
    """Move the level of the values, in units of rewards, a share of the way to this level."""
    put(known.rate, 0, levelled_by(take(known.rate, 0), level, share))
