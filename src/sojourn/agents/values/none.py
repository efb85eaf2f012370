"""No values, for agents that keep none where states are vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.values.protocol import (
    best,
    checked_state,
    is_available,
    is_sound,
    is_unmasked,
    move,
    num_missing,
    read,
    reads_vectors,
    ready_values,
    restricted,
    sizes,
    write_policy,
)
from sojourn.data.numbers import shown, unmasked
from sojourn.rules.arrays import Flags, Ints
from sojourn.rules.vectors import State, Vector


class NoValues(NamedTuple):
    """All actions are worth 0 in all states, vectors of `num_inputs` entries. If `num_actions` is 0, actions are numbers."""

    num_inputs: int
    num_actions: int


@read.register
def read_nothing(values: NoValues, state: State, action: int) -> float:
    """0."""
    return 0.0


@best.register
def best_of_nothing(values: NoValues, state: State, share: float) -> tuple[int, float]:
    """The first available action."""
    action = 0
    while not is_available(values, state, action):
        action += 1
    return action, 0.0


@move.register
def move_nothing(values: NoValues, state: State, action: int, amount: float) -> NoValues:
    """Nothing moves."""
    return values


@is_available.register
def is_available_in_vector(values: NoValues, state: State, action: int) -> bool:
    """Whether the state's mask allows the action, if it has a mask."""
    return is_unmasked(values.num_inputs, state, action)


@sizes.register
def sizes_of_nothing(values: NoValues) -> tuple[int, int]:
    """The sizes that were given."""
    return values.num_inputs, values.num_actions


@num_missing.register
def nothing_missing(values: NoValues) -> int:
    """Always 0, as the states themselves say which actions they have."""
    return 0


@is_sound.register
def nothing_is_sound(values: NoValues, missing: int) -> bool:
    """Always, as there are no values that could grow."""
    return True


@write_policy.register
def write_no_policy(values: NoValues, actions: Ints) -> None:
    """Write nothing, as there is no list of states."""


@reads_vectors.register
def nothing_reads_vectors(values: NoValues) -> bool:
    """Their states are vectors."""
    return True


@checked_state.register
def checked_vector_of_nothing(values: NoValues, name: str, state: State) -> Vector:
    """Return the entries as floats."""
    return checked_vector(name, state, values.num_inputs, values.num_actions)


@ready_values.register
def nothing_is_ready(values: NoValues) -> NoValues:
    """There is nothing to check."""
    return values


@restricted.register
def nothing_is_restricted(values: NoValues, available: Flags) -> NoValues:
    """Nothing changes, as the states themselves say which actions they have."""
    return values


def checked_vector(name: str, state: State, num_inputs: int, num_actions: int) -> Vector:
    """Return a state as floats: the entries that are seen and, if it has one, the mask of its actions.

    >>> checked_vector("state", np.array([2, 0, 1]), num_inputs=1, num_actions=2)
    (2.0, 0.0, 1.0)
    """
    numbers = np.asarray(unmasked(name, state))
    if (
        numbers.ndim != 1
        or numbers.dtype.kind not in "biuf"
        or len(numbers) not in (num_inputs, num_inputs + num_actions)
    ):
        mask = f", or those and a 1 or 0 for each of {num_actions} actions" if num_actions else ""
        raise ValueError(f"{name} is {shown(state)}; it must be {num_inputs} numbers{mask}")
    entries: list[float] = numbers.astype(np.float64).tolist()
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} is {shown(state)}; its entries must be finite")
    if len(entries) > num_inputs and not any(entries[num_inputs:]):
        raise ValueError(f"{name} is {shown(state)}; it must have an action, but its mask is all 0")
    return tuple(entries)
