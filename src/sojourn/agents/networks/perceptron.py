"""A multilayer perceptron: layers of ReLU units, the last one linear, with gradients written by hand.

With x the units of one layer, W and b its weights, the next layer is

    y = x W + b,    and max(0, y) except in the last layer.

With d the gradient of a loss by y, set to 0 where max(0, y) is 0, the gradients of the loss are

    by W  x' d,     by b  the sum of the rows of d,     by x  d W'.

All weights of a network are in one flat array: for each layer W by rows, then b. An agent may append numbers of its
own, which are then learned like weights. All units of a batch are in one flat array, too, layer after layer, each with
room for the same number of rows; a batch may have fewer. So nothing is allocated while a network learns.

Products of matrices are plain loops for float64, and BLAS for float32. Plain loops add in a fixed order, so they give the
same bits on every machine, interpreted or compiled. BLAS is three to four times faster, but does not promise that: it may
add in another order on another processor. The type of a network's numbers alone decides which of the two it uses.

Weights move by Adam (Kingma and Ba, 2015): each by its mean gradient, divided by the root of its mean squared gradient.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sojourn.rules.arrays import MOST_COUNTED, Floats, Ints, infinite, outside
from sojourn.rules.bridge import Function, bridge, compiled_apart
from sojourn.rules.elementary import exp, log1p
from sojourn.rules.random import Stream, normal

# --- Products of matrices -------------------------------------------------------------


Reals: TypeAlias = NDArray[np.floating[Any]]  # of single or double precision
Numba: TypeAlias = Any  # a type of Numba's, which has no annotations


def times(x: Reals, w: Reals, out: Reals) -> None:
    """Write x w into `out`.

    >>> out = np.zeros((1, 1))
    >>> times(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]), out)
    >>> out
    array([[11.]])
    """
    (_times_blas if out.dtype == np.float32 else _times_plain)(x, w, out)


def times_transposed(x: Reals, w: Reals, out: Reals) -> None:
    """Write x w' into `out`, where w' is the transpose of w."""
    (_times_transposed_blas if out.dtype == np.float32 else _times_transposed_plain)(x, w, out)


def transposed_times(x: Reals, w: Reals, out: Reals) -> None:
    """Write x' w into `out`."""
    (_transposed_times_blas if out.dtype == np.float32 else _transposed_times_plain)(x, w, out)


def _times_plain(x: Reals, w: Reals, out: Reals) -> None:
    for i in range(x.shape[0]):
        for j in range(w.shape[1]):
            out[i, j] = 0.0
        for k in range(x.shape[1]):
            factor = x[i, k]
            for j in range(w.shape[1]):
                out[i, j] += factor * w[k, j]


def _times_transposed_plain(x: Reals, w: Reals, out: Reals) -> None:
    for i in range(x.shape[0]):
        for k in range(w.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j] * w[k, j]
            out[i, k] = total


def _transposed_times_plain(x: Reals, w: Reals, out: Reals) -> None:
    for k in range(x.shape[1]):
        for j in range(w.shape[1]):
            out[k, j] = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            factor = x[i, k]
            for j in range(w.shape[1]):
                out[k, j] += factor * w[i, j]


def _times_blas(x: Reals, w: Reals, out: Reals) -> None:
    np.dot(x, w, out)


def _times_transposed_blas(x: Reals, w: Reals, out: Reals) -> None:
    np.dot(x, w.T, out)


def _transposed_times_blas(x: Reals, w: Reals, out: Reals) -> None:
    np.dot(x.T, w, out)


def _by_precision(single: Function, double: Function) -> Function:
    """Return how compiled code chooses a function: by the type of the numbers that are written."""

    def resolve(x: Numba, w: Numba, out: Numba) -> Function:
        return single if str(out.dtype) == "float32" else double

    return resolve


bridge(times, _by_precision(_times_blas, _times_plain), inline=False)
bridge(times_transposed, _by_precision(_times_transposed_blas, _times_transposed_plain), inline=False)
bridge(transposed_times, _by_precision(_transposed_times_blas, _transposed_times_plain), inline=False)


# --- The network ----------------------------------------------------------------------


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

    >>> from sojourn.rules.random import stream
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
    return _first_layer(network, network.units)


@compiled_apart
def input_slopes_in(network: Perceptron) -> Reals:
    """Return the slopes of the inputs, rows by inputs, as a view; `backward_to_inputs` writes them."""
    return _first_layer(network, network.slopes)


@compiled_apart
def _first_layer(network: Perceptron, flat: Reals) -> Reals:
    width = network.widths[0]
    room = room_of(network)
    return flat[: room * width].reshape(room, width)


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
            _pass_back(network, layer, start, before, rows)
        at = before


@compiled_apart
def backward_to_inputs(network: Perceptron, rows: int) -> None:
    """Compute the slopes of the inputs from those of the outputs, and no gradient by weights; call `forward` first."""
    room = room_of(network)
    layers = len(network.widths) - 1
    start = 0
    at = 0
    for layer in range(layers):
        start += network.widths[layer] * network.widths[layer + 1] + network.widths[layer + 1]
        at += room * network.widths[layer]
    for back in range(layers):
        layer = layers - 1 - back
        start -= network.widths[layer] * network.widths[layer + 1] + network.widths[layer + 1]
        at -= room * network.widths[layer]
        _pass_back(network, layer, start, at, rows)


@compiled_apart
def _pass_back(network: Perceptron, layer: int, start: int, before: int, rows: int) -> None:
    """Compute the slopes of a layer from those of the next; its weights begin at `start`, its units at `before`."""
    inputs, outputs = network.widths[layer], network.widths[layer + 1]
    after = before + room_of(network) * inputs
    slopes = network.slopes[after : after + rows * outputs].reshape(rows, outputs)
    ahead = network.slopes[before : before + rows * inputs].reshape(rows, inputs)
    times_transposed(
        slopes, network.weights[start : start + inputs * outputs].reshape(inputs, outputs), ahead
    )
    if layer > 0:  # inputs are not cut off at 0
        x = network.units[before : before + rows * inputs].reshape(rows, inputs)
        nothing = x.dtype.type(0.0)
        for i in range(rows):
            for j in range(inputs):
                ahead[i, j] = nothing if x[i, j] <= nothing else ahead[i, j]


# --- Adam -----------------------------------------------------------------------------


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
