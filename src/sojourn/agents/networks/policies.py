"""Policies that a network gives: a probability for each numbered action, or a normal law for continuous actions.

For each there is the logarithm of the probability of an action, and its slopes by the network's outputs. In units of
the network, a continuous action z goes from -1 to 1 between its bounds; the logarithms of its deviations are the last
weights of the network.
"""

from __future__ import annotations

import math

from sojourn.agents.networks.perceptron import Perceptron
from sojourn.agents.networks.products import Reals
from sojourn.agents.networks.protocol import Masks
from sojourn.rules.arrays import Floats
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.elementary import exp, log
from sojourn.rules.random import uniform
from sojourn.rules.streams import Stream

_HALF_LOG_TWO_PI = 0.9189385332046727


@compiled_apart
def chances(outputs: Reals, row: int, allowed: Masks, mask: int, out: Floats) -> None:
    """Write the probability of each action: proportional to the exponential of its output, 0 if not allowed."""
    highest = -math.inf
    for action in range(len(out)):
        if allowed[mask, action]:
            highest = max(highest, float(outputs[row, action]))
    total = 0.0
    for action in range(len(out)):
        out[action] = exp(float(outputs[row, action]) - highest) if allowed[mask, action] else 0.0
        total += out[action]
    for action in range(len(out)):
        out[action] /= total


@compiled_apart
def drawn_action(probabilities: Floats, rng: Stream) -> int:
    """Draw an action; one with a probability of 0 is never drawn."""
    left = uniform(rng)
    last = 0
    for action in range(len(probabilities)):
        if probabilities[action] > 0.0:
            last = action
            left -= probabilities[action]
            if left < 0.0:
                return action
    return last  # if rounding has left something over


@compiled_apart
def likeliest(probabilities: Floats) -> int:
    """Return the first of the actions with the largest probability."""
    best = 0
    for action in range(1, len(probabilities)):
        if probabilities[action] > probabilities[best]:
            best = action
    return best


@compiled_apart
def log_chance(probabilities: Floats, action: int) -> float:
    """Return the logarithm of an action's probability."""
    return log(max(probabilities[action], 1e-300))


@compiled_apart
def choice_slopes(
    probabilities: Floats, action: int, push: float, spread: float, slopes: Reals, row: int
) -> None:
    """Write the slopes of push log p(action) + spread H(p) by the outputs, where H is the entropy."""
    entropy = 0.0
    for j in range(len(probabilities)):
        if spread != 0.0 and probabilities[j] > 0.0:
            entropy -= probabilities[j] * log(probabilities[j])
    for j in range(len(probabilities)):
        p = probabilities[j]
        taken = 1.0 if j == action else 0.0
        slope = push * (taken - p)
        if spread != 0.0 and p > 0.0:
            slope -= spread * p * (log(p) + entropy)
        slopes[row, j] = slope


@compiled_apart
def log_deviation(network: Perceptron, dimension: int, dimensions: int) -> float:
    """Return the logarithm of the deviation of one dimension of an action."""
    return float(network.weights[len(network.weights) - dimensions + dimension])


@compiled_apart
def held_mean(outputs: Reals, row: int, dimension: int, furthest: Floats) -> float:
    """Return the mean of one dimension of an action: the output, or the bound if the output is beyond it."""
    end = float(furthest[dimension])
    return min(max(float(outputs[row, dimension]), -end), end)


@compiled_apart
def log_density(
    network: Perceptron, outputs: Reals, row: int, furthest: Floats, points: Floats, at: int
) -> float:
    """Return the logarithm of the density of an action."""
    total = 0.0
    dimensions = points.shape[1]
    for j in range(dimensions):
        deviation = log_deviation(network, j, dimensions)
        z = (points[at, j] - held_mean(outputs, row, j, furthest)) * exp(-deviation)
        total -= 0.5 * z * z + deviation + _HALF_LOG_TWO_PI
    return total


@compiled_apart
def point_slopes(
    network: Perceptron,
    outputs: Reals,
    row: int,
    furthest: Floats,
    points: Floats,
    at: int,
    push: float,
    slopes: Reals,
) -> None:
    """Write the slopes of push log p(action) by the means, and add those by the logarithms of the deviations.

    An output beyond a bound is never pushed farther out, since it might not come back.
    """
    dimensions = points.shape[1]
    for j in range(dimensions):
        narrow = exp(-log_deviation(network, j, dimensions))
        mean = held_mean(outputs, row, j, furthest)
        z = (points[at, j] - mean) * narrow
        slope = push * z * narrow
        slopes[row, j] = slope if slope * (mean - float(outputs[row, j])) <= 0.0 else 0.0
        network.gradient[len(network.gradient) - dimensions + j] += push * (z * z - 1.0)
