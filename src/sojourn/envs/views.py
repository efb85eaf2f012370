"""The states that an environment shows and the actions that it takes, both as numbers or as vectors."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from sojourn.rules.arrays import Floats
from sojourn.rules.numbers import finite, shown, within
from sojourn.rules.vectors import Action, State
from sojourn.worlds.checks import first_state
from sojourn.worlds.protocol import World, controlled, extent, is_masked, observed

Number: TypeAlias = int | np.integer  # of a state or of an action
Seen: TypeAlias = Number | Floats  # an observation
Given: TypeAlias = Number | float | Floats  # an action, as the caller gives it
Masks: TypeAlias = NDArray[np.int8]  # states by actions, or the row of one state


class AllowedActions(Discrete):
    """Actions numbered from 0; without arguments, `sample` draws one that is allowed now.

    >>> space = AllowedActions(3)
    >>> space.allowed = np.array([0, 1, 0], dtype=np.int8)
    >>> int(space.sample()), space == Discrete(3)
    (1, True)
    """

    allowed: Masks | None = None

    def sample(  # type: ignore[override] # as in all versions
        self, mask: Masks | None = None, **options: Masks | None
    ) -> np.int64:
        """Draw an action."""
        return super().sample(self.allowed if mask is None and not options else mask, **options)


# --- States -----------------------------------------------------------------------------


class NumberedStates:
    """States 0, 1, ...; the actions of each are known from the start."""

    def __init__(self, world: World) -> None:
        self.num_states, self.num_seen = int(extent(world)[0]), 1
        self.like: State = 0
        self.space: gymnasium.Space[Any] = Discrete(self.num_states)
        available = np.asarray(getattr(world, "available", True))
        self._masks: Masks | None = None if available.all() else available.astype(np.int8)
        self.is_masked = self._masks is not None

    def is_sound(self, entries: list[float]) -> bool:
        """Whether these are the numbers of a state."""
        return 0 <= entries[0] < self.num_states

    def observation(self, entries: list[float]) -> Seen:
        """Return what is seen of a state."""
        return int(entries[0])

    def mask(self, entries: list[float]) -> Masks | None:
        """Return a 1 for each action that the state has; None if every state has all of them."""
        return None if self._masks is None else self._masks[int(entries[0])]


class VectorStates:
    """States that are vectors; they may say themselves which actions they have."""

    def __init__(self, world: World) -> None:
        bounds = observed(world)
        assert bounds is not None
        self.like: State = first_state(world)
        self.num_seen = len(bounds.low)
        self.space: gymnasium.Space[Any] = Box(np.array(bounds.low), np.array(bounds.high), dtype=np.float64)
        self.is_masked = is_masked(world, self.like)

    def is_sound(self, entries: list[float]) -> bool:
        """Whether these are the numbers of a state."""
        return all(map(math.isfinite, entries))

    def observation(self, entries: list[float]) -> Seen:
        """Return what is seen of a state."""
        return np.array(entries[: self.num_seen])

    def mask(self, entries: list[float]) -> Masks | None:
        """Return a 1 for each action that the state has; None if every state has all of them."""
        return np.array(entries[self.num_seen :], dtype=np.int8) if self.is_masked else None


States: TypeAlias = NumberedStates | VectorStates


def states_of(world: World) -> States:
    """Return how a world's states are seen."""
    return NumberedStates(world) if observed(world) is None else VectorStates(world)


# --- Actions ----------------------------------------------------------------------------


class ListedActions:
    """Actions 0, 1, ..."""

    def __init__(self, num_actions: int, is_masked: bool) -> None:
        self._num_actions = num_actions
        self._is_masked = is_masked
        self.choices = AllowedActions(num_actions)
        self.space: gymnasium.Space[Any] = self.choices if is_masked else Discrete(num_actions)
        self.like: Action = 0

    def taken(self, action: Given) -> Action:
        """Return an action as the world takes it, or refuse it."""
        if type(action) is int and 0 <= action < self._num_actions:
            return action
        return within("action", action, self._num_actions)

    def allow(self, mask: Masks) -> Masks:
        """Let the space draw by the mask of the state, and return a copy of it to show."""
        self.choices.allowed = mask
        return mask.copy()


class NumericActions:
    """Actions that are numbers; an array of one number is accepted, too."""

    def __init__(self, low: float, high: float) -> None:
        self.space: gymnasium.Space[Any] = Box(low, high, (1,), dtype=np.float64)
        self.like: Action = 0.0

    def taken(self, action: Given) -> Action:
        """Return an action as the world takes it, or refuse it."""
        if np.size(action) != 1:
            raise ValueError(f"action is {shown(action)}; it must be one number")
        return finite("action", np.asarray(action).reshape(-1)[0])

    def allow(self, mask: Masks) -> Masks:
        """Return a copy of the mask; numbers are not masked."""
        return mask.copy()


Actions: TypeAlias = ListedActions | NumericActions


def actions_of(world: World, is_masked: bool) -> Actions:
    """Return how a world's actions are given."""
    bounds = controlled(world)
    if bounds is None:
        return ListedActions(int(extent(world)[1]), is_masked)
    return NumericActions(bounds.low[0], bounds.high[0])
