"""What values are: Q(s, a) behind a few rules, so that agents need not know how it is stored.

    read(values, state, action) -> float                   Q(s, a)
    best(values, state, share) -> (action, value)          the action with the largest value, and that value
    move(values, state, action, amount) -> values          Q(s, a) += amount
    sizes(values) -> (num_states, num_actions)             for vectors, the number of entries seen in place of num_states

`share`, in [0, 1), decides between equally good actions: 0 takes the first of them, and a random
number that is already drawn picks one without a second draw. An action of value -inf is not
available in its state: it is never the best, and it is never explored. `move` may write into the
arrays of the values it was given.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from sojourn.data.numbers import within
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import inlined
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value
from sojourn.rules.vectors import State, Vector


class Values(Value, Protocol):
    """Any type that the rules of this file are registered for."""


V = TypeVar("V", bound=Values)


@rule()
def read(values: Values, state: State, action: int) -> float:
    """Return the value of an action in a state.

    >>> from sojourn.agents.values.table import Table
    >>> float(read(Table(np.array([[1.0, 3.0]])), 0, 1))
    3.0
    """
    raise no_rule("read", values)


@rule()
def best(values: Values, state: State, share: float) -> tuple[int, float]:
    """Return the action with the largest value in a state, and that value.

    >>> from sojourn.agents.values.table import Table
    >>> table = Table(np.array([[1.0, 3.0, 3.0]]))
    >>> best(table, 0, 0.0)[0], best(table, 0, 0.7)[0]  # the first of both, and the second
    (1, 2)
    """
    raise no_rule("best", values)


@rule()
def move(values: V, state: State, action: int, amount: float) -> V:
    """Return the values with one of them moved by an amount.

    >>> from sojourn.agents.values.table import Table
    >>> move(Table(np.array([[1.0, 3.0]])), 0, 1, 0.5)
    Table(q=array([[1. , 3.5]]))
    """
    raise no_rule("move", values)


@rule()
def sizes(values: Values) -> tuple[int, int]:
    """Return the numbers of states and of actions.

    >>> from sojourn.agents.values.table import Table
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

    >>> from sojourn.agents.values.table import Table
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
