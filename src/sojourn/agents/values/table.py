"""Values in a table: one number for each pair of state and action, for states that can be listed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.values.protocol import (
    best,
    emptied,
    entries,
    is_sound,
    move,
    num_missing,
    read,
    ready_values,
    restricted,
    sizes,
)
from sojourn.data.numbers import shown, whole, within
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.bridge import bridge, inlined

MOST_VALUES = 50_000_000  # 400 megabytes


class Table(NamedTuple):
    """Q(s, a) as an array of states by actions.

    >>> Table(np.zeros((1, 2)))
    Table(q=array([[0., 0.]]))
    """

    q: Floats


def zeros(num_states: int, num_actions: int) -> Table:
    """Return a table of zeros."""
    shape = whole("num_states", num_states), whole("num_actions", num_actions)
    if shape[0] * shape[1] > MOST_VALUES:
        raise ValueError(
            f"a table of {shown(shape[0])} states by {shown(shape[1])} actions is too large; it may have at most "
            f"{MOST_VALUES:,} values"
        )
    return Table(np.zeros(shape))


def _row(q: Floats, state: int) -> tuple[Floats, int]:
    if not (isinstance(q, np.ndarray) and q.ndim == 2 and q.shape[1]):
        raise TypeError(f"q is {shown(q)}; it must be an array of states by actions")
    return q, within("state", state, len(q))


@inlined
def first_best(q: Floats, state: int) -> tuple[int, float]:
    """Return the first of the actions with the largest value, and that value."""
    action = 0
    highest: float = q[state, 0]
    for other in range(1, q.shape[1]):
        if q[state, other] > highest:
            action = other
            highest = q[state, other]
    return action, highest


def greedy_action(q: Floats, state: int) -> int:
    """Return the action with the largest value in a row of an array; the first if several are equal.

    >>> greedy_action(np.array([[1.0, 3.0, 3.0]]), 0)
    1
    """
    return first_best(*_row(q, state))[0]


def largest(q: Floats, state: int) -> float:
    """Return the largest value in a row of an array.

    >>> float(largest(np.array([[1.0, 3.0, 3.0]]), 0))
    3.0
    """
    return first_best(*_row(q, state))[1]


# When compiled, they check nothing, like all compiled code.
bridge(greedy_action, lambda *_: lambda q, state: first_best(q, state)[0])
bridge(largest, lambda *_: lambda q, state: first_best(q, state)[1])


@read.register
def read_table(values: Table, state: int, action: int) -> float:
    """Q(s, a)."""
    return values.q[state, action]  # type: ignore[no-any-return]


@best.register
def best_of_table(values: Table, state: int, share: float) -> tuple[int, float]:
    """The first of the largest or, if the share is above 0, the one at this share among the largest."""
    q = values.q
    action, highest = first_best(q, state)
    if share > 0.0:
        count = 0
        for other in range(q.shape[1]):
            if q[state, other] == highest:
                count += 1
        left = int(share * count)
        for other in range(q.shape[1]):
            if q[state, other] == highest:
                if left == 0:
                    action = other
                left -= 1
    return action, highest


@move.register
def move_table(values: Table, state: int, action: int, amount: float) -> Table:
    """Q(s, a) += amount, in place."""
    values.q[state, action] += amount
    return values


@sizes.register
def sizes_of_table(values: Table) -> tuple[int, int]:
    """The numbers of rows and columns."""
    return values.q.shape[0], values.q.shape[1]


@num_missing.register
def num_missing_in_table(values: Table) -> int:
    """Count -inf."""
    q = values.q
    count = 0
    for state in range(q.shape[0]):
        for action in range(q.shape[1]):
            if q[state, action] == -np.inf:
                count += 1
    return count


@is_sound.register
def is_table_sound(values: Table, missing: int) -> bool:
    """Whether all values are finite, except for exactly `missing` that are -inf."""
    q = values.q
    sound = num_missing(values) == missing
    for state in range(q.shape[0]):
        for action in range(q.shape[1]):
            sound = sound and q[state, action] < np.inf
    return sound


# --- What is done to whole tables, in Python ----------------------------------------


@ready_values.register
def ready_table(values: Table) -> Table:
    """Return the table with floats in it, as a table of whole numbers would round what it learns."""
    q = np.asarray(values.q)
    if q.ndim != 2 or not q.size or q.dtype.kind not in "biuf":
        raise ValueError(
            f"the agent's table is an array of {q.dtype} of the shape {q.shape}; it must be an array of numbers, "
            "states by actions"
        )
    q = np.ascontiguousarray(q, dtype=np.float64)
    return Table(q)


@emptied.register
def emptied_table(values: Table) -> Table:
    """All entries are 0."""
    return Table(np.zeros_like(values.q))


@restricted.register
def restricted_table(values: Table, available: Flags) -> Table:
    """-inf for actions that are not available; a stack of tables is restricted like a single one."""
    return Table(np.where(available, values.q, -np.inf))


@entries.register
def entries_of_table(values: Table) -> Floats:
    """The array itself; writing into it changes the table."""
    return values.q
