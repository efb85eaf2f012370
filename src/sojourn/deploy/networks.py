"""Policies that are networks: an observation goes through layers of ReLU units, and the *head* turns the outputs into an action.

    values      an output for each numbered action: the largest is the best
    chances     an output for each numbered action, the logarithm of its probability up to a constant
    normal      the means of a point, which is normal; the logarithms of its deviations follow the weights
    squashed    the means of a point, then the logarithms of its deviations; the point is the hyperbolic tangent of what is
                drawn, where it has bounds

A point goes from -1 to 1 between the bounds `low` and `high` of the actions. The weights are those of
`sojourn.agents.networks.perceptron`: for each layer its matrix by rows, then its biases. To make a new network agent
deployable, register `sojourn.agents.acting.actor` for what it has learned; nothing else knows of agents here.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.data.files import JsonObject
from sojourn.data.hints import check_kind
from sojourn.data.numbers import shown
from sojourn.deploy.exports import write_module, write_onnx
from sojourn.deploy.interface import (
    VERSION,
    About,
    PackedArray,
    Policy,
    WithAbout,
    check_format,
    checked_mask,
    packed,
    unpacked,
)
from sojourn.deploy.spaces import ActionForm, Actions, Flattener, Form
from sojourn.rules.arrays import Floats, infinite

FORMAT = "sojourn network policy"
LARGEST = 10.0  # of a normalised input, on both sides
QUIETEST, LOUDEST = -10.0, 2.0  # the logarithms of a squashed point's deviations

Head: TypeAlias = Literal["values", "chances", "normal", "squashed"]
Reals: TypeAlias = NDArray[np.floating[Any]]


class Network(NamedTuple):
    """A network with its head: what it takes to choose actions, and nothing of how it learns.

    Inputs are seen from `centres`, in `units`. `low` and `high` are what -1 and 1 of a point stand for, and `furthest` is how far
    from 0 the mean of a normal point may be, and infinite where a squashed one has no bounds; for numbered actions they are empty.
    """

    head: Head
    widths: list[int]
    weights: Reals
    centres: Floats
    units: Floats
    low: Floats = np.zeros(0)
    high: Floats = np.zeros(0)
    furthest: Floats = np.zeros(0)


class NetworkData(TypedDict):
    """A network as JSON."""

    head: Head
    widths: list[int]
    weights: PackedArray
    centres: PackedArray
    units: PackedArray
    low: PackedArray
    high: PackedArray
    furthest: PackedArray


class NetworkFile(WithAbout):
    """The content of the file of a network's policy."""

    format: str
    version: int
    observations: Form
    actions: Actions
    network: NetworkData


class NetworkPolicy(Policy):
    """A policy that is a network.

    The value of the first action is the input, that of the second is always 1:

    >>> net = Network("values", [1, 2], np.array([1.0, 0.0, 0.0, 1.0]), np.zeros(1), np.ones(1))
    >>> policy = NetworkPolicy(
    ...     net, {"kind": "numbers", "shape": [1]}, {"kind": "numbered", "count": 2, "first": 5})
    >>> policy.act([3.0]), policy.act([-3.0]), policy.act([3.0], action_mask=[0, 1])
    (5, 6, 6)
    """

    largest = LARGEST

    def __init__(
        self,
        network: Network,
        observations: Form,
        actions: Actions,
        about: About | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(about, seed)
        self.network, self.actions = network, actions
        self._flat = Flattener(observations)
        wrong = _wrong(network, self._flat.size, actions)
        if wrong:
            raise ValueError(wrong)
        self.layers = layers_of(network)
        self._kind = network.weights.dtype
        self._furthest = network.furthest
        self.points = ActionForm(actions) if actions["kind"] == "points" else None
        self._deviations = np.exp(network.weights[_in_layers(network.widths) :].astype(np.float64))

    def write(self, path: str | Path) -> None:
        """Write the policy as JSON, which `load_policy` reads, as an ONNX model, or as a module of NumPy, by the file's ending."""
        path = Path(path)
        if path.suffix == ".onnx":
            write_onnx(self, path)
        elif path.suffix == ".py":
            write_module(self, path)
        elif path.suffix == ".json":
            super().write(path)
        else:
            raise ValueError(
                f"{path} must end with .json, for a policy that can be loaded, .onnx, for other programs, or .py, for NumPy alone"
            )

    @property
    def size(self) -> str:
        """How many weights there are."""
        return f"a network of {len(self.network.weights):,} weights"

    def outputs(self, obs: Any) -> Floats:
        """Return the outputs of the network for an observation."""
        network = self.network
        seen = (self._flat(obs) - network.centres) / network.units
        x: Reals = np.minimum(np.maximum(seen, -LARGEST), LARGEST).astype(self._kind)[np.newaxis]
        *hidden, (matrix, biases) = self.layers
        for weights, bias in hidden:
            x = np.maximum(x @ weights + bias, 0.0)
        outputs: Floats = (x @ matrix + biases)[0].astype(np.float64)
        return outputs

    def act(self, obs: Any, action_mask: ArrayLike | None = None, *, sample: bool | None = None) -> Any:
        """Return the best action for an observation, of those that a mask allows.

        With `sample=True`, a policy with probabilities draws its action as in training.
        """
        outputs = self.outputs(obs)
        if self.points is not None:
            return self.points(self._point(outputs, bool(sample)))
        assert self.actions["kind"] == "numbered"
        if action_mask is not None:
            outputs[~checked_mask(action_mask, len(outputs), "the action mask")] = -np.inf
        if self.network.head == "chances":
            outputs = np.exp(outputs - outputs.max())
            if sample:
                up_to = outputs.cumsum()
                # No action with a probability of 0 is drawn, as its sum is not above the one before.
                return (
                    int(up_to.searchsorted(self._rng.random() * up_to[-1], "right")) + self.actions["first"]
                )
        return int(outputs.argmax()) + self.actions["first"]

    def _point(self, outputs: Floats, sample: bool) -> Floats:
        """Return the mean of the point, or a draw, in the units of the environment."""
        network, size = self.network, len(self.network.low)
        if network.head == "squashed":
            z = outputs[:size]
            if sample:
                deviations = np.exp(np.minimum(np.maximum(outputs[size:], QUIETEST), LOUDEST))
                z = z + deviations * self._rng.standard_normal(size)
            z = np.where(np.isinf(self._furthest), z, np.tanh(z))
        else:
            z = np.minimum(np.maximum(outputs, -self._furthest), self._furthest)
            if sample:
                z = z + self._deviations * self._rng.standard_normal(size)
        return network.low + (network.high - network.low) * 0.5 * (z + 1.0)

    @classmethod
    def from_contents(cls, data: Any, seed: int = 0) -> Self:
        """Return the policy that a file holds, or say what is wrong with it."""
        check_kind(NetworkFile, data, "the policy")
        check_format(data, FORMAT)
        given = data["network"]
        weights = unpacked("weights", given["weights"])
        sides = {
            name: unpacked(name, given[name], "<f8")
            for name in ("centres", "units", "low", "high", "furthest")
        }
        if weights.dtype.kind != "f":
            raise ValueError("its weights are not numbers of single or double precision")
        network = Network(given["head"], given["widths"], weights, **sides)
        return cls(network, data["observations"], data["actions"], data.get("about"), seed)

    def contents(self) -> JsonObject:
        """Return everything that the policy's file holds."""
        network: Any = {
            name: packed(part) if isinstance(part, np.ndarray) else part
            for name, part in self.network._asdict().items()
        }
        content: Any = NetworkFile(
            format=FORMAT,
            version=VERSION,
            observations=self._flat.form,
            actions=self.actions,
            network=network,
            about=self.about,
        )
        return content  # type: ignore[no-any-return]


def _in_layers(widths: list[int]) -> int:
    """Return the number of weights in all layers."""
    return sum((before + 1) * after for before, after in itertools.pairwise(widths))


def layers_of(network: Network) -> list[tuple[Reals, Reals]]:
    """Return the matrix and the biases of each layer.

    >>> net = Network("values", [1, 2], np.array([1.0, 0.0, 0.0, 1.0]), np.zeros(1), np.ones(1))
    >>> layers_of(net)
    [(array([[1., 0.]]), array([0., 1.]))]
    """
    layers, start = [], 0
    for inputs, outputs in itertools.pairwise(network.widths):
        end = start + inputs * outputs
        matrix, start = network.weights[start:end].reshape(inputs, outputs), end + outputs
        layers.append((matrix, network.weights[end:start]))
    return layers


def _wrong(network: Network, inputs: int, actions: Actions) -> str:
    """Return what does not fit together in a network, or an empty text; a file may hold anything."""
    widths, size = network.widths, len(network.low)
    if len(widths) < 2 or min(widths) < 1 or len(network.centres) != inputs or widths[0] != inputs:
        return f"its layers have {shown(widths)} units, which do not fit {inputs} inputs"
    further = size if network.head == "normal" else 0
    if len(network.weights) != _in_layers(widths) + further or len(network.units) != inputs:
        return f"its layers have {shown(widths)} units, which do not fit {len(network.weights)} weights"
    is_point = network.head in ("normal", "squashed")
    if is_point != (actions["kind"] == "points"):
        return f"its outputs are {network.head}, but its actions are {actions['kind']}"
    if actions["kind"] == "numbered":
        wanted = actions["count"]
    else:
        wanted = size * (2 if network.head == "squashed" else 1)
        if not size == len(network.high) == math.prod(actions["shape"]):
            return "the bounds of its points do not fit its actions"
        furthest = network.furthest
        if not ((network.low < network.high).all() and len(furthest) == size and (furthest > 0.0).all()):
            return "the bounds of its points are not in order"
    if widths[-1] != wanted:
        return f"it has {widths[-1]} outputs where its actions need {wanted}"
    if not (network.units > 0.0).all():
        return "its units are not above 0"
    return (
        infinite("weights", network.weights)
        or infinite("centres", network.centres)
        or infinite("units", network.units)
        or infinite("low", network.low)
        or infinite("high", network.high)
    )
