"""Which of equally good actions is taken.

    share_of(ties, u, epsilon) -> float                  where among them, in [0, 1)
    is_best(ties, values, state, action) -> bool         whether an action counts as greedy

At random costs no draw of its own: a number u that did not explore is uniform between epsilon and 1.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from sojourn.agents.values.protocol import Values, best, read
from sojourn.rules.compile import no_rule, rule
from sojourn.rules.values import Value
from sojourn.rules.vectors import State


class Ties(Value, Protocol):
    """Anything that the rules of this file are registered for."""


class LowestTies(NamedTuple):
    """The action with the lowest number, which alone counts as greedy."""


class RandomTies(NamedTuple):
    """Any of them, all equally likely; each counts as greedy."""


TIES: dict[str, type[LowestTies] | type[RandomTies]] = {"random": RandomTies, "lowest": LowestTies}


@rule()
def share_of(ties: Ties, u: float, epsilon: float) -> float:
    """Return the place among the tied actions, in [0, 1), of a draw that did not explore.

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
    """Wherever u is between epsilon and 1."""
    return (u - epsilon) / (1.0 - epsilon)


@is_best.register
def is_first_best(ties: LowestTies, values: Values, state: State, action: int) -> bool:
    """Whether it is the first of the best."""
    return action == best(values, state, 0.0)[0]


@is_best.register
def is_one_of_the_best(ties: RandomTies, values: Values, state: State, action: int) -> bool:
    """Whether no action has a larger value."""
    return read(values, state, action) == best(values, state, 0.0)[1]


def ties_of(given: str) -> Ties:
    """Return how ties are broken, by its name."""
    if given not in TIES:
        raise ValueError(f"ties is {given!r}; it must be 'random' or 'lowest'")
    return TIES[given]()
