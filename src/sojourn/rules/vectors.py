"""States that are vectors: tuples of floats, which compiled code keeps in registers.

A state is an int if states can be enumerated, and a tuple of floats if they cannot. The few places that inspect a
state from outside use the functions here. Compiled code specialises each for the type of its argument, so an int
costs no more than it would without vectors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sojourn.rules.arrays import Floats
from sojourn.rules.bridge import Function, Numba, bridge, written_out

Vector: TypeAlias = tuple[float, ...]
State: TypeAlias = Any  # a whole number or a vector, depending on the world
Action: TypeAlias = int | float


class Bounds(NamedTuple):
    """The least and the largest value of each entry of a vector, which may be infinite.

    >>> Bounds((0.0,), (math.inf,))
    Bounds(low=(0.0,), high=(inf,))
    """

    low: Vector
    high: Vector


def _is_listed(kind: Numba) -> bool:
    """Whether a type is that of a number, rather than a tuple or an array."""
    return not hasattr(kind, "count") and not hasattr(kind, "ndim")


# --- Checks ---------------------------------------------------------------------------


def is_state(state: State, size: int) -> bool:
    """Whether this is a state: a number below `size`, or a vector of finite entries.

    >>> is_state(2, 3), is_state(3, 3), is_state((0.5, 7.0), 2), is_state((math.nan,), 1)
    (True, False, True, False)
    """
    return _is_vector(state, size) if isinstance(state, tuple) else _is_number(state, size)


def _is_number(state: int, size: int) -> bool:
    return 0 <= state < size


def _is_vector(state: Vector, size: int) -> bool:
    sound = True
    for entry in state:
        sound = sound and abs(entry) < math.inf
    return sound


bridge(is_state, lambda state, _: _is_number if _is_listed(state) else _is_vector)


def is_offered(state: State, action: Action, size: int, num_actions: int) -> bool:
    """Whether a state has this action; vectors longer than `size` continue with a 1 or 0 for each action.

    >>> is_offered(0, 2, 5, 2), is_offered((0.5, 1.0, 0.0), 1, 1, 2), is_offered((0.5,), 1, 1, 2)
    (False, False, True)
    """
    if isinstance(action, float):
        return _is_finite(state, action, size, num_actions)
    if isinstance(state, tuple):
        return _is_allowed(state, action, size, num_actions)
    return _is_among(state, action, size, num_actions)


def _is_among(state: int, action: int, size: int, num_actions: int) -> bool:
    return 0 <= action < num_actions


def _is_allowed(state: Vector, action: int, size: int, num_actions: int) -> bool:
    return 0 <= action < num_actions and (len(state) == size or state[size + action] > 0.0)


def _is_finite(state: State, action: float, size: int, num_actions: int) -> bool:
    return abs(action) < math.inf


def _resolve_is_offered(state: Numba, action: Numba, size: Numba, num_actions: Numba) -> Function:
    if "float" in str(action):
        return _is_finite
    return _is_among if _is_listed(state) else _is_allowed


bridge(is_offered, _resolve_is_offered)


def spot(state: State) -> float:
    """Return the number of a state for a message; for a vector, an entry that is not finite, or 0.

    >>> spot(3), spot((0.5, math.inf)), spot((0.5,))
    (3, inf, 0.0)
    """
    return _wrong_entry(state) if isinstance(state, tuple) else state


def _wrong_entry(state: Vector) -> float:
    wrong = 0.0
    for entry in state:
        if not abs(entry) < math.inf:
            wrong = entry
    return wrong


def _itself(state: int) -> int:
    return state


bridge(spot, lambda state: _itself if _is_listed(state) else _wrong_entry)


def number_of(state: State) -> int:
    """Return the number of a state, or -1 for a vector.

    >>> number_of(3), number_of((0.5, 2.0))
    (3, -1)
    """
    return -1 if isinstance(state, tuple) else state


def _no_number(state: Vector) -> int:
    return -1


bridge(number_of, lambda state: _itself if _is_listed(state) else _no_number)


# --- In an array and back ---------------------------------------------------------------


def write_state(numbers: Floats, place: int, state: State) -> None:
    """Write a state into an array from an index on; the state may itself be an array."""
    if isinstance(state, tuple | np.ndarray):
        _write_vector(numbers, place, state)
    else:
        _write_number(numbers, place, state)


def _write_number(numbers: Floats, place: int, state: int) -> None:
    numbers[place] = state


def _write_vector(numbers: Floats, place: int, state: Vector | Floats) -> None:
    for i in range(len(state)):
        numbers[place + i] = state[i]


bridge(write_state, lambda numbers, place, state: _write_number if _is_listed(state) else _write_vector)


def is_written(numbers: Floats, place: int, state: State) -> bool:
    """Whether an array contains this state from an index on.

    >>> numbers = np.array([0.0, 2.0, 3.0])
    >>> bool(is_written(numbers, 1, (2.0, 3.0))), bool(is_written(numbers, 0, (2.0, 3.0)))
    (True, False)
    """
    if isinstance(state, tuple | np.ndarray):
        return _is_written_vector(numbers, place, state)
    return _is_written_number(numbers, place, state)


def _is_written_number(numbers: Floats, place: int, state: int) -> bool:
    return bool(numbers[place] == state)


def _is_written_vector(numbers: Floats, place: int, state: Vector | Floats) -> bool:
    found = True
    for i in range(len(state)):
        found = found and numbers[place + i] == state[i]
    return found


bridge(
    is_written,
    lambda numbers, place, state: _is_written_number if _is_listed(state) else _is_written_vector,
)


def state_in(numbers: Floats, place: int, like: State) -> State:
    """Return the state that an array contains from an index on; `like` is a state of the same type.

    >>> import numpy as np
    >>> numbers = np.zeros(4)
    >>> write_state(numbers, 1, (2.0, 3.0))
    >>> state_in(numbers, 1, like=(0.0, 0.0)), state_in(numbers, 1, like=0)
    ((2.0, 3.0), 2)
    """
    if isinstance(like, tuple):
        return tuple(numbers[place : place + len(like)].tolist())
    return int(numbers[place])


def _resolve_state_in(numbers: Numba, place: Numba, like: Numba) -> Function:
    """For compiled code: generated, since the length of a tuple is part of its type."""
    if _is_listed(like):
        return _number_in
    entries = "".join(f"numbers[place + {i}], " for i in range(like.count))
    return written_out(f"def function(numbers, place, like):\n    return ({entries})\n", {})


def _number_in(numbers: Floats, place: int, like: int) -> int:
    return int(numbers[place])


bridge(state_in, _resolve_state_in)
