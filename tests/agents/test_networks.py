"""The network itself: its gradients against two independent computations, its bits, and how its weights move."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from sojourn.agents.networks.perceptron import (
    Adam,
    Perceptron,
    adam,
    approach,
    backward,
    descend,
    forward,
    inputs_in,
    outputs_in,
    perceptron,
    times,
    times_transposed,
    transposed_times,
    units_of,
)
from sojourn.rules.kernel import kernel
from sojourn.rules.random import stream

WIDTHS, ROWS = (3, 5, 4, 2), 6


@kernel
def _gradient(network: Perceptron, goals: Any, rows: int) -> None:
    """The gradient of half the squared distance to the goals, by the weights."""
    forward(network, network.weights, rows)
    outputs, slopes = outputs_in(network, network.units), outputs_in(network, network.slopes)
    for i in range(rows):
        for j in range(outputs.shape[1]):
            slopes[i, j] = outputs[i, j] - goals[i, j]
    backward(network, rows)


@kernel
def _fit(network: Perceptron, means: Adam, goals: Any, steps: int) -> None:
    for _ in range(steps):
        forward(network, network.weights, goals.shape[0])
        outputs, slopes = outputs_in(network, network.units), outputs_in(network, network.slopes)
        for i in range(goals.shape[0]):
            for j in range(outputs.shape[1]):
                slopes[i, j] = outputs[i, j] - goals[i, j]
        backward(network, goals.shape[0])
        descend(network.weights, network.gradient, means, 0.01, 1.0)


def made(precision: str, rows: int = ROWS) -> tuple[Perceptron, np.ndarray[Any, Any]]:
    """Return a network of the given precision with inputs in it, and goals; biases are not 0 either."""
    network = perceptron(WIDTHS, rows, stream(3), precision=precision)
    draws = np.random.default_rng(0)
    network.weights[:] += 0.1 * draws.normal(size=network.weights.size)
    inputs_in(network)[:] = draws.normal(size=(rows, WIDTHS[0]))
    return network, draws.normal(size=(rows, WIDTHS[-1]))


def loss(weights: list[Any], inputs: Any, goals: Any, rectified: Callable[[Any], Any]) -> Any:
    """Half the squared distance of a network's outputs to the goals, number by number, for numbers of any kind."""
    total: Any = 0.0
    for row, goal in zip(inputs.tolist(), goals.tolist(), strict=True):
        units: list[Any] = row
        at = 0
        for layer, outputs in enumerate(WIDTHS[1:]):
            sums = [
                sum((units[k] * weights[at + k * outputs + j] for k in range(len(units))), 0.0 * weights[0])
                + weights[at + len(units) * outputs + j]
                for j in range(outputs)
            ]
            at += (len(units) + 1) * outputs
            units = sums if layer == len(WIDTHS) - 2 else [rectified(one) for one in sums]
        for unit, wanted in zip(units, goal, strict=True):
            total = total + (unit - wanted) * (unit - wanted) * 0.5
    return total


class Scalar:
    """A number that remembers what it was computed from: reverse-mode differentiation in its simplest form."""

    def __init__(self, number: float, parents: tuple[tuple[Scalar, float], ...] = ()) -> None:
        self.number, self.parents, self.slope = number, parents, 0.0

    def __add__(self, other: Any) -> Scalar:
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.number + other.number, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: Any) -> Scalar:
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.number * other.number, ((self, other.number), (other, self.number)))

    def __sub__(self, other: Any) -> Scalar:
        return self.__add__(other * -1.0)

    __radd__, __rmul__ = __add__, __mul__

    def rectified(self) -> Scalar:
        return Scalar(max(self.number, 0.0), ((self, 1.0 if self.number > 0.0 else 0.0),))

    def spread(self) -> None:
        """Give every number that this one came from its share of the slope."""
        order: list[Scalar] = []
        seen: set[int] = set()
        waiting: list[tuple[Scalar, bool]] = [(self, False)]
        while waiting:
            node, done = waiting.pop()
            if done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                waiting.append((node, True))
                waiting += [(parent, False) for parent, _ in node.parents]
        self.slope = 1.0
        for node in reversed(order):
            for parent, share in node.parents:
                parent.slope += share * node.slope


def test_gradients_agree_with_differences_in_fifty_digits() -> None:
    """Every entry of the gradient is the difference quotient of the loss, to 1e-7 of the largest and of itself."""
    network, goals = made("double")
    _gradient.python(network, goals, ROWS)
    with mpmath.workdps(50):
        weights = [mpmath.mpf(float(weight)) for weight in network.weights]
        small = mpmath.mpf(10) ** -20
        inputs = units_of(network, 0)

        def at(index: int, step: Any) -> Any:
            moved = [*weights[:index], weights[index] + step, *weights[index + 1 :]]
            return loss(moved, inputs, goals, lambda x: max(x, mpmath.mpf(0)))

        quotients = [float((at(i, small) - at(i, -small)) / (2 * small)) for i in range(len(weights))]
    assert np.count_nonzero(quotients) > len(quotients) / 2
    assert network.gradient.tolist() == pytest.approx(quotients, rel=1e-7, abs=1e-12)


def test_gradients_agree_with_automatic_differentiation() -> None:
    """A tiny reverse-mode differentiation, written for this test, comes to the same gradient."""
    network, goals = made("double")
    _gradient.python(network, goals, ROWS)
    weights = [Scalar(float(weight)) for weight in network.weights]
    loss(weights, units_of(network, 0), goals, Scalar.rectified).spread()
    assert network.gradient.tolist() == pytest.approx([one.slope for one in weights], rel=1e-12, abs=1e-14)


def test_single_precision_has_the_same_gradient_to_seven_digits() -> None:
    """BLAS in float32 computes the same as plain loops in float64, compiled and interpreted."""
    (double, goals), (single, _), (compiled, _) = made("double"), made("single"), made("single")
    _gradient.python(double, goals, ROWS)
    _gradient.python(single, goals, ROWS)
    _gradient(compiled, goals, ROWS)
    for other in (single, compiled):
        assert other.gradient.dtype == np.float32
        assert other.gradient == pytest.approx(double.gradient, rel=1e-4, abs=1e-5)


def test_plain_loops_give_the_same_bits_interpreted_and_compiled() -> None:
    """After thirty steps of Adam every weight is the same to the last bit."""
    fitted = []
    for run in (_fit, _fit.python):
        network, goals = made("double")
        run(network, adam(network.weights), goals, 30)
        fitted.append(network.weights.tobytes())
    assert fitted[0] == fitted[1]
    assert fitted[0] != made("double")[0].weights.tobytes()


def test_fewer_rows_than_there_is_room_for() -> None:
    """A batch of two in a network with room for six has the outputs and gradient of a network with room for two."""
    small, goals = made("double", rows=2)
    large, _ = made("double")
    inputs_in(large)[:2] = inputs_in(small)
    inputs_in(large)[2:] = np.nan  # nobody looks there
    _gradient.python(small, goals, 2)
    _gradient.python(large, goals, 2)
    assert np.array_equal(outputs_in(large, large.units)[:2], outputs_in(small, small.units))
    assert np.array_equal(large.gradient, small.gradient)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products(kind: Any) -> None:
    """Each of the three products is NumPy's, in both precisions."""
    draws = np.random.default_rng(1)
    x, w = draws.normal(size=(3, 4)).astype(kind), draws.normal(size=(4, 2)).astype(kind)
    y = (x @ w).astype(kind)
    out, back, down = np.zeros((3, 2), kind), np.zeros((3, 4), kind), np.zeros((4, 2), kind)
    times(x, w, out)
    times_transposed(y, w, back)
    transposed_times(x, y, down)
    assert out == pytest.approx(x @ w, rel=1e-5)
    assert back == pytest.approx(y @ w.T, rel=1e-5)
    assert down == pytest.approx(x.T @ y, rel=1e-5)


def test_adam_moves_as_its_paper_says() -> None:
    """Three steps with a gradient that is cut at length 1, by the formulas of Kingma and Ba."""
    weights, gradients = np.array([1.0, -2.0]), ([3.0, 4.0], [0.3, -0.4], [0.0, 0.1])
    means = adam(weights)
    expected, m, v = [1.0, -2.0], [0.0, 0.0], [0.0, 0.0]
    for t, gradient in enumerate(gradients, start=1):
        descend(weights, np.array(gradient), means, 0.1, 1.0)
        size = max(1.0, math.hypot(*gradient))
        for i in range(2):
            g = gradient[i] / size
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            expected[i] -= 0.1 * (m[i] / (1 - 0.9**t)) / (math.sqrt(v[i] / (1 - 0.999**t)) + 1e-8)
        assert weights.tolist() == pytest.approx(expected, rel=1e-12)


def test_weights_are_drawn_with_the_variance_of_he() -> None:
    """Variance 2 / inputs in a hidden layer, `last`^2 / inputs in the last one, biases 0."""
    network = perceptron((50, 200, 100), 1, stream(0), precision="double", last=0.1)
    hidden, biases = network.weights[: 50 * 200], network.weights[50 * 200 : 51 * 200]
    last = network.weights[51 * 200 : 51 * 200 + 200 * 100]
    assert hidden.var() == pytest.approx(2 / 50, rel=0.05)
    assert last.var() == pytest.approx(0.01 / 200, rel=0.05)
    assert not biases.any()


def test_a_soft_target_approaches() -> None:
    """A quarter of the way from 0 to 8 is 2."""
    weights = np.array([0.0, 4.0])
    approach(weights, np.array([8.0, 4.0]), 0.25)
    assert weights.tolist() == [2.0, 4.0]
