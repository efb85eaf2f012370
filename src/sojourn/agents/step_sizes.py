"""Step sizes of values: constant, falling with the visits to a pair, or divided by how often the pair is visited.

    sized(step_size, state, action) -> (float, step_size)       alpha for this visit to a pair, and the step sizes after it

With a constant step size alpha, a pair that is visited in a share mu of all steps learns at the speed alpha mu. So while a
rate is wrong, and all values grow by v in each step, the value of the pair lags behind by v / (alpha mu). Step sizes alpha /
mu make the lag v / alpha for every pair, which changes no policy: see `sojourn.exact.audit.lock_in`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from sojourn.agents.values.protocol import Values, move, read
from sojourn.data.moved import moved_names
from sojourn.data.numbers import at_least_zero, fraction
from sojourn.rates.scheduled import Visits, step_size_at
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, checked, replaced
from sojourn.rules.vectors import State

__getattr__ = moved_names(__name__)


class StepSize(Value, Protocol):
    """Any type that the rule of this file is registered for."""


S = TypeVar("S", bound=StepSize)


@rule()
def sized(step_size: S, state: State, action: int) -> tuple[float, S]:
    """Return the step size for this visit to a pair, and the step sizes after it.

    >>> from sojourn.agents.values.protocol import zeros
    >>> size, after = sized(ByVisits(Visits(1.0, 1.0), zeros(1, 2)), 0, 1)
    >>> float(size), float(sized(after, 0, 1)[0])
    (1.0, 0.5)
    """
    raise no_rule("sized", step_size)


@checked(size=fraction)
class ConstantStepSize(NamedTuple):
    """The same step size for every visit."""

    size: float


@sized.register
def sized_constant(step_size: ConstantStepSize, state: State, action: int) -> tuple[float, ConstantStepSize]:
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
    return size, replaced(step_size, visits=visits)


@checked(frequency_adjusted=fraction, largest=fraction)
class FrequencyAdjusted(NamedTuple):
    """Step sizes alpha / mu, for values that lag equally far behind however rarely their pair is visited.

    alpha is `frequency_adjusted`, and mu the share of all steps so far in which the pair was visited, this one included. No
    step size is above `largest`: of pairs with a share below alpha / `largest`, the values still lag behind the others.
    Rarely visited pairs learn in large steps, so their values are noisy: take a smaller alpha than without this.

    >>> from sojourn.agents.values.protocol import zeros
    >>> step_size = step_size_of(FrequencyAdjusted(0.25), lambda: zeros(1, 2))
    >>> for action in (0, 0, 0, 1, 1):  # the second action is visited in 1 step of 4, and then in 2 of 5
    ...     size, step_size = sized(step_size, 0, action)
    ...     print(float(size))
    0.25
    0.25
    0.25
    1.0
    0.625
    """

    frequency_adjusted: float
    largest: float = 1.0


@checked(steps=at_least_zero)
class ByFrequency(NamedTuple):
    """Step sizes alpha / mu, with the visits to each pair and the number of all steps, of which mu is the share."""

    schedule: FrequencyAdjusted
    visits: Values
    steps: float = 0.0


@sized.register
def sized_by_frequency(step_size: ByFrequency, state: State, action: int) -> tuple[float, ByFrequency]:
    """Count the visit: alpha times all steps, divided by the visits."""
    visits, steps = move(step_size.visits, state, action, 1.0), step_size.steps + 1.0
    size = step_size.schedule.frequency_adjusted * steps / read(visits, state, action)
    return min(size, step_size.schedule.largest), replaced(step_size, visits=visits, steps=steps)


GivenStepSize: TypeAlias = float | Visits | FrequencyAdjusted  # what an agent is given as its step size


def step_size_of(given: GivenStepSize, empty: Callable[[], Values]) -> StepSize:
    """Return the step size that an agent was given; `empty` makes values of the agent's kind, all 0, to count visits in."""
    if isinstance(given, Visits):
        return ByVisits(given, empty())
    if isinstance(given, FrequencyAdjusted):
        return ByFrequency(given, empty())
    return ConstantStepSize(fraction("step_size", given))
