"""Which of several equally good actions is taken.

    share_of(ties, u, epsilon) -> float                  its place among them, in [0, 1)
    is_best(ties, values, state, action) -> bool         whether an action counts as greedy

To choose at random needs no second draw: a number u that did not explore is uniform between epsilon and 1.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from sojourn.agents.values.protocol import Values, best, nth_available, read
from sojourn.rules.door import told_inlined
from sojourn.rules.random import uniform
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.streams import Stream
from sojourn.rules.values import Value
from sojourn.rules.vectors import State


class Ties(Value, Protocol):
    """Any type that the rules of this file are registered for."""


class LowestTies(NamedTuple):
    """The action with the lowest number is taken, and only that one counts as greedy."""


class RandomTies(NamedTuple):
    """Any of them is taken, all equally likely, and each counts as greedy."""


TIES: dict[str, type[LowestTies] | type[RandomTies]] = {"random": RandomTies, "lowest": LowestTies}


@rule()
def share_of(ties: Ties, u: float, epsilon: float) -> float:
    """Return the place among the tied actions, in [0, 1), that a draw which did not explore leads to.

    >>> share_of(LowestTies(), 0.6, 0.2), round(share_of(RandomTies(), 0.6, 0.2), 12)
    (0.0, 0.5)
    """
    raise no_rule("share_of", ties)


@rule()
def is_best(ties: Ties, values: Values, state: State, action: int) -> bool:
    """Whether an action counts as the greedy one."""
    raise no_rule("is_best", ties)


@share_of.register
def first(ties: LowestTies, u: float, epsilon: float) -> float:
    """The first."""
    return 0.0


@share_of.register
def any_of_them(ties: RandomTies, u: float, epsilon: float) -> float:
    """The place of u between epsilon and 1."""
    return (u - epsilon) / (1.0 - epsilon)


@is_best.register
def is_first_best(ties: LowestTies, values: Values, state: State, action: int) -> bool:
    """Whether it is the first of the best."""
    return action == best(values, state, 0.0)[0]


@is_best.register
def is_one_of_the_best(ties: RandomTies, values: Values, state: State, action: int) -> bool:
    """Whether no action has a larger value."""
    return read(values, state, action) == best(values, state, 0.0)[1]


@told_inlined
def epsilon_greedy(values: Values, state: int, epsilon: float, ties: Ties, rng: Stream) -> tuple[int, bool]:
    """Return any action with probability epsilon, otherwise a greedy one, and whether it explores, all by one draw."""
    u = uniform(rng)
    if u < epsilon:
        return nth_available(values, state, u / epsilon), True
    return best(values, state, share_of(ties, u, epsilon))[0], False


def ties_of(given: str) -> Ties:
    """Return the way to break ties that has this name."""
    if given not in TIES:
        raise ValueError(f"ties is {given!r}; it must be 'random' or 'lowest'")
    return TIES[given]()
