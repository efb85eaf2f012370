"""How an agent chooses: how much it explores, and which of several equally good actions it takes.

    chance(exploration) -> float                         epsilon, the probability of a uniformly drawn action
    later(exploration) -> exploration                    the exploration after one more step
    share_of(ties, u, epsilon) -> float                  the place among equally good actions, in [0, 1)
    is_best(ties, values, state, action) -> bool         whether an action counts as greedy

Constant exploration is a `Decay` with the factor 1. To choose among equally good actions at random needs no second draw: a
number u that did not explore is uniform between epsilon and 1.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from sojourn.agents.values.protocol import Values, best, nth_available, read
from sojourn.data.numbers import Number, finite, fraction, probability
from sojourn.rules.door import told_inlined
from sojourn.rules.random import Stream, uniform
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, checked, replaced
from sojourn.rules.vectors import State


class Exploration(Value, Protocol):
    """Any type that the rules of this file are registered for."""


E = TypeVar("E", bound=Exploration)


@rule()
def chance(exploration: Exploration) -> float:
    """Return epsilon, the probability of a uniformly drawn action.

    >>> chance(Decay(start=0.2, factor=0.999))
    0.2
    """
    raise no_rule("chance", exploration)


@rule()
def later(exploration: E) -> E:
    """Return the exploration after one more step.

    >>> later(Linear(start=1.0, end=0.0, steps=4))
    Linear(start=0.75, end=0.0, steps=3.0)
    """
    raise no_rule("later", exploration)


@checked(start=probability, factor=fraction, floor=probability)
class Decay(NamedTuple):
    """Exploration that starts at `start` and is multiplied by `factor` after every step, down to `floor`.

    >>> Decay(start=0.2, factor=0.999)
    Decay(start=0.2, factor=0.999, floor=0.0)
    """

    start: float
    factor: float
    floor: float = 0.0


@chance.register
def chance_decay(exploration: Decay) -> float:
    """Its current value."""
    return exploration.start


@later.register
def later_decay(exploration: Decay) -> Decay:
    """The rest of a decay is a decay, too."""
    return replaced(exploration, start=max(exploration.floor, exploration.start * exploration.factor))


def _count(name: str, number: Number) -> float:
    steps = finite(name, number)
    if steps < 0.0 or not steps.is_integer():
        raise ValueError(f"{name} is {steps}; it must be a whole number, at least 0")
    return steps


@checked(start=probability, end=probability, steps=_count)
class Linear(NamedTuple):
    """Exploration that changes linearly from `start` to `end` in `steps` steps, and then stays at `end`.

    >>> Linear(1.0, 0.05, steps=10_000)
    Linear(start=1.0, end=0.05, steps=10000.0)
    """

    start: float
    end: float
    steps: float


@chance.register
def chance_linear(exploration: Linear) -> float:
    """Its current value."""
    return exploration.start if exploration.steps > 0.0 else exploration.end


@later.register
def later_linear(exploration: Linear) -> Linear:
    """The rest of a straight line is a straight line, too."""
    if exploration.steps <= 1.0:
        return replaced(exploration, start=exploration.end, steps=0.0)
    slope = (exploration.end - exploration.start) / exploration.steps
    return replaced(exploration, start=exploration.start + slope, steps=exploration.steps - 1.0)


def exploration_of(given: float | Exploration) -> Exploration:
    """Return the exploration that an agent was given; a number becomes a constant."""
    if isinstance(given, Decay) and given.floor > given.start:
        raise ValueError(
            f"exploration starts at {given.start}, below its floor of {given.floor}; give a lower floor"
        )
    if isinstance(given, tuple) and chance.knows(type(given)):
        return given
    return Decay(start=probability("exploration", given), factor=1.0)  # type: ignore[arg-type] # or refused


# --- Ties -----------------------------------------------------------------------------


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
