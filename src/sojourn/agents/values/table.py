"""Values in a table: one number for each pair of state and action, for states that can be listed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.values.protocol import (
    best,
    entries,
    is_sound,
    move,
    num_missing,
    read,
    ready_values,
    restricted,
    sizes,
)
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.bridge import inlined
from sojourn.rules.numbers import whole


class Table(NamedTuple):
    """Q(s, a) as an array of states by actions.

    >>> Table(np.zeros((1, 2)))
    Table(q=array([[0., 0.]]))
    """

    q: Floats


def zeros(num_states: int, num_actions: int) -> Table:
    """Return a table of zeros."""
    return Table(np.zeros((whole("num_states", num_states), whole("num_actions", num_actions))))


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


@inlined
def greedy_action(q: Floats, state: int) -> int:
    """Return the action with the largest value in a row of an array; of equal ones, the first.

    >>> greedy_action(np.array([[1.0, 3.0, 3.0]]), 0)
    1
    """
    return first_best(q, state)[0]


@inlined
def largest(q: Floats, state: int) -> float:
    """Return the largest value in a row of an array.

    >>> float(largest(np.array([[1.0, 3.0, 3.0]]), 0))
    3.0
    """
    return first_best(q, state)[1]


@read.register
def read_table(values: Table, state: int, action: int) -> float:
    """Q(s, a)."""
    return values.q[state, action]  # type: ignore[no-any-return]


@best.register
def best_of_table(values: Table, state: int, share: float) -> tuple[int, float]:
    """The first of the largest, or with a share above 0 the one at this share among the largest."""
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
    """Rows and columns."""
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
    """Whether nothing is infinite or no number, but so many -inf."""
    q = values.q
    sound = num_missing(values) == missing
    for state in range(q.shape[0]):
        for action in range(q.shape[1]):
            sound = sound and q[state, action] < np.inf
    return sound


# --- What is done to whole tables, in Python ----------------------------------------


@ready_values.register
def ready_table(values: Table) -> Table:
    """Return the table with floats in it, for a table of whole numbers would stay one."""
    q = np.ascontiguousarray(values.q, dtype=np.float64)
    if q.ndim != 2:
        raise ValueError(f"the agent's table has the shape {q.shape}; it must be states by actions")
    return Table(q)


@restricted.register
def restricted_table(values: Table, available: Flags) -> Table:
    """-inf for what is not available; a stack of tables is restricted as one table is."""
    return Table(np.where(available, values.q, -np.inf))


@entries.register
def entries_of_table(values: Table) -> Floats:
    """The array itself: to write into it is to change the table."""
    return values.q
