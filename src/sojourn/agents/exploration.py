"""How much an agent explores: a value that changes with every step.

    chance(exploration) -> float            epsilon, the probability of a uniformly drawn action
    later(exploration) -> exploration       the exploration after one more step

Constant exploration is a `Decay` with the factor 1.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from sojourn.data.numbers import Number, finite, fraction, probability
from sojourn.rules.compile import no_rule, rule
from sojourn.rules.replace import replaced
from sojourn.rules.values import Value, checked


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
