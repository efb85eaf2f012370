"""A network agent: arrays that kernels read and write, with the methods of an agent of observations."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.networks.memory import arrays_in, written_over
from sojourn.agents.networks.protocol import Actions, Masks, Memory, Spaces, Transitions
from sojourn.agents.networks.scaling import Earnings
from sojourn.rates.protocol import Rate, value
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.compile import Kernel
from sojourn.rules.numbers import shown
from sojourn.rules.stacks import take
from sojourn.rules.values import Value, canonical


class Learned(Value, Protocol):
    """What a network agent has learned: arrays, and values of arrays."""

    @property
    def earnings(self) -> Earnings:
        """What it knows about rewards and time."""


class Kernels(NamedTuple):
    """The two kernels of a network agent.

    `choose` takes (learned, observations, allowed, actions, explored) and writes the last two; on the way in, `explored`
    says where chance may decide, and on the way out, where it decided against the best action. `learn` takes (learned,
    transitions).
    """

    choose: Kernel[Any]
    learn: Kernel[Any]


class NetworkAgent:
    """An agent whose values or policy are a network; `sojourn.deep_q` and `sojourn.ppo` make one.

    >>> from sojourn.agents.networks.deep_q import deep_q
    >>> agent = deep_q(Spaces(num_inputs=2, num_actions=3), compiled=False)
    >>> agent.greedy(np.zeros((1, 2)), np.array([[0, 1, 0]], dtype=np.int8))
    array([1])
    """

    def __init__(
        self, kind: str, learned: Learned, kernels: Kernels, spaces: Spaces, options: Memory, compiled: bool
    ) -> None:
        self.kind, self.learned, self.spaces, self.options = kind, learned, spaces, options
        self._kernels, self._compiled = kernels, compiled
        self._prepared: dict[str, Any] = {}

    @property
    def estimator(self) -> Rate:
        """A copy of the estimator of the rate as it is now."""
        estimator: Rate = canonical(take(self.learned.earnings.rate, 0))
        return estimator

    @property
    def rate(self) -> float:
        """The rate that the agent learns with: the estimate, and what centring adds to it."""
        return float(value(self.estimator))

    @property
    def largest_weight(self) -> float:
        """The size of the largest weight of all networks."""
        weights = [array for name, array in arrays_in(self.learned) if name.endswith("weights")]
        return max(float(np.abs(array).max()) for array in weights)

    def draw(self, observations: ArrayLike, allowed: ArrayLike) -> tuple[Actions, Flags]:
        """Return actions to take, and which of them were not the best."""
        return self._choose(observations, allowed, chance=True)

    def greedy(self, observations: ArrayLike, allowed: ArrayLike) -> Actions:
        """Return the best actions."""
        return self._choose(observations, allowed, chance=False)[0]

    def learn(self, transitions: Transitions) -> None:
        """Take in what followed, and learn from a batch whenever one is due."""
        self._run("learn", self.learned, transitions)

    def state(self) -> Memory:
        """Return all arrays by name."""
        return {name: array.copy() for name, array in arrays_in(self.learned)}

    def restored(self, state: Memory) -> None:
        """Take over the arrays of an agent that was made with the same options."""
        written_over(self.learned, state)

    def _choose(self, observations: ArrayLike, allowed: ArrayLike, chance: bool) -> tuple[Actions, Flags]:
        spaces = self.spaces
        seen: Floats = np.ascontiguousarray(observations, dtype=np.float64)
        mask: Masks = np.ascontiguousarray(allowed, dtype=np.int8)
        count = len(seen)
        if seen.shape != (count, spaces.num_inputs) or mask.shape != (count, spaces.num_actions):
            raise ValueError(
                f"the observations have the shape {shown(seen.shape)} and the masks {shown(mask.shape)}; this agent "
                f"has {spaces.num_inputs} inputs and {spaces.num_actions} actions to mask"
            )
        if not 0 < count <= spaces.places:
            raise ValueError(
                f"there are {count} observations; this agent takes up to {spaces.places} at once"
            )
        actions: Actions = (
            np.zeros((count, len(spaces.low))) if spaces.is_continuous else np.zeros(count, dtype=np.int64)
        )
        explored: Flags = np.full(count, chance)
        self._run("choose", self.learned, seen, mask, actions, explored)
        return actions, explored

    def _run(self, name: str, *arguments: Any) -> None:
        """Run a kernel, compiled for the types of its first call, which never change."""
        function = self._prepared.get(name)
        if function is None:
            kernel: Kernel[Any] = getattr(self._kernels, name)
            function = kernel.prepared(*arguments) if self._compiled else kernel.python
            self._prepared[name] = function
        function(*arguments)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_prepared": {}}  # machine code is looked up again

    def __repr__(self) -> str:
        return f"<{self.kind} with {type(self.estimator).__name__}, rate {self.rate:.4g}>"
