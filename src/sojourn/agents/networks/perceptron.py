"""A multilayer perceptron: layers of ReLU units, the last one linear, with gradients written by hand.

With x the units of one layer, W and b its weights, the next layer is

    y = x W + b,    and max(0, y) except in the last layer.

With d the gradient of a loss by y, set to 0 where max(0, y) is 0, the gradients of the loss are

    by W  x' d,     by b  the sum of the rows of d,     by x  d W'.

All weights of a network are in one flat array: for each layer W by rows, then b. An agent may append numbers of its
own, which are then learned like weights. All units of a batch are in one flat array, too, layer after layer, each with
room for the same number of rows; a batch may have fewer. So nothing is allocated while a network learns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from sojourn.agents.networks.products import Reals, times, times_transposed, transposed_times
from sojourn.rules.arrays import Ints, infinite
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.random import normal
from sojourn.rules.streams import Stream

Kind: TypeAlias = type[np.float32] | type[np.float64]

PRECISIONS: dict[str, Kind] = {"single": np.float32, "double": np.float64}


class Perceptron(NamedTuple):
    """A network, and the room that a batch needs for its units and for gradients by units and by weights.

    `widths` are the numbers of units: inputs, hidden layers, outputs.
    """

    widths: Ints
    weights: Reals
    units: Reals
    slopes: Reals
    gradient: Reals


def perceptron(
    widths: Sequence[int],
    rows: int,
    rng: Stream,
    *,
    precision: str = "single",
    last: float = 1.0,
    further: Sequence[float] = (),
) -> Perceptron:
    """Return a network with room for `rows` rows, with weights drawn as He et al. (2015) do.

    Each weight is normal with variance 2 / inputs of its layer, and biases are 0; weights of the last layer, which has
    no ReLU, are multiplied by `last` / sqrt(2). `further` are numbers that an agent appends to the weights.

    >>> from sojourn.rules.streams import stream
    >>> perceptron((2, 3, 1), 4, stream(0)).weights.shape  # 2 * 3 + 3 and 3 * 1 + 1
    (13,)
    """
    kind = PRECISIONS[precision]
    numbers: list[float] = []
    for layer in range(len(widths) - 1):
        inputs, outputs = widths[layer], widths[layer + 1]
        spread = math.sqrt(2.0 / inputs) * (last / math.sqrt(2.0) if layer == len(widths) - 2 else 1.0)
        numbers += [spread * normal(rng) for _ in range(inputs * outputs)] + [0.0] * outputs
    weights: Reals = np.array([*numbers, *further], dtype=kind)
    room = rows * sum(widths)
    return Perceptron(
        np.array(widths, dtype=np.int64),
        weights,
        np.zeros(room, dtype=kind),
        np.zeros(room, dtype=kind),
        np.zeros_like(weights),
    )


def wrong_network(name: str, network: Perceptron, rows: int, inputs: int, outputs: int, further: int) -> str:
    """Return what is wrong with a network that came from elsewhere, or an empty text; compiled code does not check it.

    It must have room for `rows`, and `further` numbers after its weights.
    """
    widths = network.widths.tolist()
    if len(widths) < 2 or min(widths) < 1 or (widths[0], widths[-1]) != (inputs, outputs):
        return f"{name} has layers of {widths} units, which do not lead from {inputs} inputs to {outputs} outputs"
    count = sum((before + 1) * after for before, after in itertools.pairwise(widths)) + further
    if not len(network.weights) == len(network.gradient) == count or not (
        len(network.units) == len(network.slopes) >= rows * sum(widths)
    ):
        return f"{name} has layers of {widths} units, which do not fit its {len(network.weights)} weights"
    return infinite(f"{name}.weights", network.weights)


def units_of(network: Perceptron, layer: int) -> Reals:
    """Return the units of a layer, rows by units, as a view."""
    width = int(network.widths[layer])
    rows = len(network.units) // int(network.widths.sum())
    start = rows * int(network.widths[:layer].sum())
    return network.units[start : start + rows * width].reshape(rows, width)


@compiled_apart
def room_of(network: Perceptron) -> int:
    """Return how many rows there is room for."""
    total = 0
    for width in network.widths:
        total += width
    return len(network.units) // total


@compiled_apart
def outputs_in(network: Perceptron, flat: Reals) -> Reals:
    """Return the last layer in a flat array of units or slopes, rows by outputs, as a view."""
    width = network.widths[len(network.widths) - 1]
    room = room_of(network)
    return flat[len(flat) - room * width :].reshape(room, width)


@compiled_apart
def inputs_in(network: Perceptron) -> Reals:
    """Return the first layer, rows by inputs, as a view; fill it before you call `forward`."""
    width = network.widths[0]
    room = room_of(network)
    return network.units[: room * width].reshape(room, width)


@compiled_apart
def forward(network: Perceptron, weights: Reals, rows: int) -> None:
    """Compute all units of the first rows from their inputs, with these weights."""
    room = room_of(network)
    start = 0
    at = 0
    last = len(network.widths) - 2
    for layer in range(last + 1):
        inputs, outputs = network.widths[layer], network.widths[layer + 1]
        after = at + room * inputs
        x = network.units[at : at + rows * inputs].reshape(rows, inputs)
        y = network.units[after : after + rows * outputs].reshape(rows, outputs)
        biases = start + inputs * outputs
        times(x, weights[start:biases].reshape(inputs, outputs), y)
        bias = weights[biases : biases + outputs]
        if layer < last:
            for i in range(rows):
                for j in range(outputs):
                    y[i, j] = max(y[i, j] + bias[j], y.dtype.type(0.0))
        else:
            for i in range(rows):
                for j in range(outputs):
                    y[i, j] += bias[j]
        start = biases + outputs
        at = after


@compiled_apart
def backward(network: Perceptron, rows: int) -> None:
    """Compute the gradient by the weights from the slopes of the outputs; call `forward` first.

    The gradient by numbers that an agent appended to the weights stays as it is.
    """
    room = room_of(network)
    layers = len(network.widths) - 1
    start = 0
    at = 0
    for layer in range(layers):
        start += network.widths[layer] * network.widths[layer + 1] + network.widths[layer + 1]
        at += room * network.widths[layer]
    for back in range(layers):
        layer = layers - 1 - back
        inputs, outputs = network.widths[layer], network.widths[layer + 1]
        before = at - room * inputs
        start -= inputs * outputs + outputs
        biases = start + inputs * outputs
        x = network.units[before : before + rows * inputs].reshape(rows, inputs)
        slopes = network.slopes[at : at + rows * outputs].reshape(rows, outputs)
        transposed_times(x, slopes, network.gradient[start:biases].reshape(inputs, outputs))
        by_bias = network.gradient[biases : biases + outputs]
        for j in range(outputs):
            by_bias[j] = 0.0
        for i in range(rows):
            for j in range(outputs):
                by_bias[j] += slopes[i, j]
        if layer > 0:
            ahead = network.slopes[before : before + rows * inputs].reshape(rows, inputs)
            times_transposed(slopes, network.weights[start:biases].reshape(inputs, outputs), ahead)
            nothing = x.dtype.type(0.0)
            for i in range(rows):
                for j in range(inputs):
                    ahead[i, j] = nothing if x[i, j] <= nothing else ahead[i, j]
        at = before
