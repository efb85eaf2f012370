"""What an agent of observations is: any object that draws actions for arrays of observations and learns from steps.

Such an agent need not be one of Sojourn's. Written in Python, with any framework, it can train in a `Learner` if it has

    draw(observations, allowed) -> (actions, explored)     actions to take, and which of them were not the best
    learn(transitions) -> None                             learns from what followed
    greedy(observations, allowed) -> actions               the best actions, without chance
    rate -> float                                          its estimate of the rate, to be shown
    state() -> {name: array, number, text, ...}            everything that it needs to continue
    restored(state) -> None                                continues from such a state

For `Learner.best` it also needs

    policy() -> {name: array}                              what decides about its actions
    with_policy(policy, seed) -> agent                     one that acts by it; unless seed is None, with draws of its own
    is_stochastic -> bool                                  optional: whether the policy gives actions probabilities

Every argument covers several environments at once, called *places*; a single environment is one place. Observations
are flat: an array of places by inputs. `allowed` is an array of places by actions, 1 where an action may be taken;
for continuous actions it has no columns. Actions are numbers from 0, or an array of places by dimensions. A point that
is drawn beyond the bounds is moved to the bounds before it is taken, but `learn` sees it as it was drawn.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sojourn.data.numbers import shown, unmasked, whole
from sojourn.rules.arrays import Flags, Floats, Ints

Actions: TypeAlias = Ints | Floats
Masks: TypeAlias = NDArray[np.int8]
Memory: TypeAlias = dict[str, Any]  # what a file can hold: numbers, texts, arrays, values and tables of these


class Spaces(NamedTuple):
    """What an agent is told about the environments that it will learn in.

    There are `num_actions` numbered actions, or actions are points between `low` and `high`. `places` is how many
    environments there are at once.

    >>> Spaces(num_inputs=2, num_actions=3).places
    1
    """

    num_inputs: int
    num_actions: int = 0
    low: Floats = np.zeros(0)
    high: Floats = np.zeros(0)
    places: int = 1
    seed: int = 0

    @property
    def is_continuous(self) -> bool:
        """Whether an action is a point, not a number."""
        return self.num_actions == 0


class Transitions(NamedTuple):
    """Steps that were taken, at most one at each place.

    `next_observations` and `next_allowed` say where the action led. If the episode was terminated, that is the first
    observation of the next episode. If it was truncated, that is its own last observation, and `cut` says that the
    place continues elsewhere. `ended` says where the episode was terminated; empty means nowhere.

    >>> from sojourn.agents.networks.deep_q import deep_q
    >>> agent, here, all_allowed = deep_q(Spaces(1, 2), compiled=False), np.zeros((1, 1)), np.ones((1, 2), np.int8)
    >>> actions, explored = agent.draw(here, all_allowed)
    >>> place, not_cut, reward, duration = np.array([0]), np.array([False]), np.array([6.0]), np.array([2.0])
    >>> agent.learn(
    ...     Transitions(place, here, all_allowed, actions, reward, duration, here, all_allowed, not_cut, not_cut)
    ... )
    >>> agent.rate
    3.0
    """

    places: Ints
    observations: Floats
    allowed: Masks
    actions: Actions
    rewards: Floats
    durations: Floats
    next_observations: Floats
    next_allowed: Masks
    cut: Flags
    explored: Flags
    ended: Flags = np.zeros(0, dtype=np.bool_)


@runtime_checkable
class ObservingAgent(Protocol):
    """An agent of observations: anything with these methods.

    >>> from sojourn.agents.networks.deep_q import deep_q
    >>> isinstance(deep_q(Spaces(1, 2), compiled=False), ObservingAgent)
    True
    """

    @property
    def rate(self) -> float:
        """The estimate of the rate."""

    def draw(self, observations: Floats, allowed: Masks) -> tuple[Actions, Flags]:
        """Return actions to take, and which of them were not the best."""

    def learn(self, transitions: Transitions) -> None:
        """Learn from what followed."""

    def greedy(self, observations: Floats, allowed: Masks) -> Actions:
        """Return the best actions."""

    def state(self) -> Memory:
        """Return everything that is needed to continue."""

    def restored(self, state: Memory) -> None:
        """Continue from a state."""


def checked_spaces(spaces: Spaces, agent: str, continuous: bool, numbered: bool = True) -> Spaces:
    """Return the spaces if an agent can learn in them, or say why not."""
    if not isinstance(spaces, Spaces):
        raise TypeError(
            f"spaces is {shown(spaces)}; {agent} needs sojourn.agents.Spaces(num_inputs=, num_actions=)"
        )
    whole("num_inputs", spaces.num_inputs)
    whole("places", spaces.places)
    whole("num_actions", spaces.num_actions, least=0)
    if not spaces.is_continuous and not numbered:
        raise ValueError(f"{agent} is for continuous actions only; for numbered actions use deep_q or ppo")
    if not spaces.is_continuous:
        return spaces
    if not continuous:
        raise ValueError(f"{agent} is for numbered actions only; for continuous actions use ppo or sac")
    unmasked("spaces", (spaces.low, spaces.high))
    low, high = np.asarray(spaces.low, dtype=np.float64), np.asarray(spaces.high, dtype=np.float64)
    if low.ndim != 1 or low.shape != high.shape or not low.size or not (low < high).all():
        raise ValueError(
            f"the bounds of the actions are {shown(spaces.low)} and {shown(spaces.high)}; each low bound must be below "
            "its high bound"
        )
    return spaces._replace(low=low, high=high)
