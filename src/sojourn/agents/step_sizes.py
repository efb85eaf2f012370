"""The step size of the values: a constant, or one that falls with the visits to each pair.

sized(step_size, state, action) -> (float, step_size)       alpha for this visit
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from sojourn.agents.values.protocol import Values, move, read
from sojourn.rates.scheduled import Visits, step_size_at
from sojourn.rules.compile import no_rule, rule
from sojourn.rules.numbers import fraction
from sojourn.rules.values import Value, checked
from sojourn.rules.vectors import State


class StepSize(Value, Protocol):
    """Any type that the rule of this file is registered for."""


S = TypeVar("S", bound=StepSize)


@rule()
def sized(step_size: S, state: State, action: int) -> tuple[float, S]:
    """Return the step size for this visit to a pair, and the step sizes after it.

    >>> from sojourn.agents.values.table import zeros
    >>> size, after = sized(ByVisits(Visits(1.0, 1.0), zeros(1, 2)), 0, 1)
    >>> float(size), float(sized(after, 0, 1)[0])
    (1.0, 0.5)
    """
    raise no_rule("sized", step_size)


@checked(size=fraction)
class Constant(NamedTuple):
    """The same step size for every visit."""

    size: float


@sized.register
def sized_constant(step_size: Constant, state: State, action: int) -> tuple[float, Constant]:
    """The constant."""
    return step_size.size, step_size


class ByVisits(NamedTuple):
    """A step size that follows a schedule by the visits to each pair, which it counts."""

    schedule: Visits
    visits: Values


@sized.register
def sized_by_visits(step_size: ByVisits, state: State, action: int) -> tuple[float, ByVisits]:
    """Count the visit."""
    visits = move(step_size.visits, state, action, 1.0)
    size = step_size_at(step_size.schedule, read(visits, state, action))
    return size, ByVisits(schedule=step_size.schedule, visits=visits)


def step_size_of(given: float | Visits, empty: Callable[[], Values]) -> StepSize:
    """Return the step size that an agent was given; `empty` makes values of the agent's kind, all 0, to count visits in."""
    if isinstance(given, Visits):
        return ByVisits(given, empty())
    return Constant(fraction("step_size", given))
