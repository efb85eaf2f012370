"""What values are: Q(s, a) behind a few rules, so that agents need not know how it is stored.

    read(values, state, action) -> float                   Q(s, a)
    best(values, state, share) -> (action, value)          the action with the largest value, and that value
    move(values, state, action, amount) -> values          Q(s, a) += amount
    sizes(values) -> (num_states, num_actions)             for vectors, the number of entries seen in place of num_states

`share`, in [0, 1), decides between equally good actions: 0 takes the first of them, and a random
number that is already drawn picks one without a second draw. An action of value -inf is not
available in its state: it is never the best, and it is never explored. `move` may write into the
arrays of the values it was given.

`Table` is the simplest kind: one number for each pair, for states that can be listed. `tiles` has values for states that are
vectors.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.data.numbers import shown, whole, within
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import bridge, inlined
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value
from sojourn.rules.vectors import State, Vector


class Values(Value, Protocol):
    """Any type that the rules of this file are registered for."""


V = TypeVar("V", bound=Values)


@rule()
def read(values: Values, state: State, action: int) -> float:
    """Return the value of an action in a state.

    >>> float(read(Table(np.array([[1.0, 3.0]])), 0, 1))
    3.0
    """
    raise no_rule("read", values)


@rule()
def best(values: Values, state: State, share: float) -> tuple[int, float]:
    """Return the action with the largest value in a state, and that value.

    >>> table = Table(np.array([[1.0, 3.0, 3.0]]))
    >>> best(table, 0, 0.0)[0], best(table, 0, 0.7)[0]  # the first of both, and the second
    (1, 2)
    """
    raise no_rule("best", values)


@rule()
def move(values: V, state: State, action: int, amount: float) -> V:
    """Return the values with one of them moved by an amount.

    >>> move(Table(np.array([[1.0, 3.0]])), 0, 1, 0.5)
    Table(q=array([[1. , 3.5]]))
    """
    raise no_rule("move", values)


@rule()
def sizes(values: Values) -> tuple[int, int]:
    """Return the numbers of states and of actions.

    >>> sizes(Table(np.zeros((3, 2))))
    (3, 2)
    """
    raise no_rule("sizes", values)


@rule()
def num_missing(values: Values) -> int:
    """Return how many pairs of state and action are not available: those of value -inf."""
    raise no_rule("num_missing", values)


@rule()
def is_sound(values: Values, missing: int) -> bool:
    """Whether all values are finite, except for exactly `missing` pairs that are -inf."""
    raise no_rule("is_sound", values)


@rule(compiled=False)
def ready_values(values: V) -> V:
    """Return values as compiled code needs them, or say what is wrong with them."""
    raise no_rule("ready_values", values)


@rule(compiled=False)
def restricted(values: V, available: Flags) -> V:
    """Return values with -inf for every action that a state does not have."""
    raise no_rule("restricted", values)


@rule(compiled=False)
def emptied(values: V) -> V:
    """Return values of the same kind and size, all 0."""
    raise no_rule("emptied", values)


@rule(compiled=False)
def entries(values: Values) -> Floats:
    """Return the array [state, action] of all values; it is the array itself, not a copy."""
    raise no_rule("entries", values)


@rule(compiled=False)
def maskable(values: Values) -> Floats:
    """Return the array [state, action] where -inf hides an action from all rules; without this rule, that of the values."""
    return entries(values)


@rule(compiled=False)
def reads_vectors(values: Values) -> bool:
    """Whether these values are for states that are vectors; without this rule, states are numbered."""
    return False


@rule(compiled=False)
def checked_state(values: Values, name: str, state: State) -> State:
    """Return a state given by a user in the form that rules need, or say what is wrong with it."""
    return within(name, state, sizes(values)[0])


@rule(fallback=True)
def is_available(values: Values, state: State, action: int) -> bool:
    """Whether a state has an action."""
    return read(values, state, action) != -np.inf


@inlined
def is_unmasked(num_inputs: int, state: Vector, action: int) -> bool:
    """Whether a vector allows an action; after its inputs it may have a 1 or 0 for each action.

    >>> is_unmasked(1, (0.5,), 1), is_unmasked(1, (0.5, 1.0, 0.0), 1)
    (True, False)
    """
    return len(state) == num_inputs or state[num_inputs + action] > 0.0


@inlined
def nth_available(values: Values, state: State, share: float) -> int:
    """Return the action at this share, in [0, 1), of the actions available in a state."""
    num_actions = sizes(values)[1]
    count = 0
    for action in range(num_actions):
        if is_available(values, state, action):
            count += 1
    left = int(share * count)
    chosen = 0
    for action in range(num_actions):
        if is_available(values, state, action):
            if left == 0:
                chosen = action
            left -= 1
    return chosen


@rule(fallback=True)
def write_policy(values: Values, actions: Ints) -> None:
    """Write the best action of every state, the first if several are equally good; for vectors, write nothing."""
    for state in range(len(actions)):
        actions[state] = best(values, state, 0.0)[0]


@inlined
def mean_available(values: Values, state: State) -> float:
    """Return the mean value of the actions available in a state.

    >>> float(mean_available(Table(np.array([[1.0, -np.inf, 3.0]])), 0))
    2.0
    """
    num_actions = sizes(values)[1]
    total, count = 0.0, 0
    for action in range(num_actions):
        if is_available(values, state, action):
            total += read(values, state, action)
            count += 1
    return total / count


# --- Tables ---------------------------------------------------------------------------


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
