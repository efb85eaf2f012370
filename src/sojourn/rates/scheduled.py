"""Step sizes that fall with the number of visits, and an estimator of the rate that uses one."""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import Number, fraction, probability, shown
from sojourn.rates.protocol import Rate, Steps, limit, update, value
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp, log
from sojourn.rules.values import checked, replaced

_update, _value = update.bare, value.bare


def _power(name: str, number: Number) -> float:
    power = fraction(name, number)
    if power <= 0.5:
        raise ValueError(f"{name} is {power}; it must be greater than 0.5 and at most 1")
    return power


@checked(first=fraction, power=_power, floor=probability)
class Visits(NamedTuple):
    """A step size that falls with the number of visits n: max(floor, first / n^power).

    For values, n counts the visits to the pair of state and action; for a rate, it counts updates. Proofs of convergence
    need a power above 0.5 and at most 1, and a floor of 0.

    >>> [step_size_at(Visits(first=1.0, power=1.0, floor=0.3), n) for n in (1, 2, 4)]
    [1.0, 0.5, 0.3]
    """

    first: float
    power: float
    floor: float = 0.0


@inlined
def step_size_at(schedule: Visits, visits: float) -> float:
    """Return the step size of the n-th visit, n = 1, 2, ..."""
    if schedule.power == 1.0:
        return max(schedule.floor, schedule.first / visits)
    return max(schedule.floor, schedule.first * exp(-schedule.power * log(visits)))


def _with_a_step_size(name: str, rate: Rate) -> Rate:
    if "step_size" not in getattr(rate, "_fields", ()):
        raise ValueError(
            f"{name} is {shown(rate)}, which has no step size to schedule; give an estimator that has one"
        )
    return rate


@checked(estimator=_with_a_step_size)
class Scheduled(NamedTuple):
    """An estimator whose step size falls with the number of its updates.

    With the step size 1/n, the moving means of `Exponential` are the plain means of all transitions so far:

    >>> from sojourn.rates.ratio import Exponential
    >>> rate = Scheduled(Exponential(step_size=1.0), Visits(first=1.0, power=1.0))
    >>> for reward in (1.0, 2.0, 6.0):
    ...     rate = update(rate, reward, 2.0)
    >>> round(value(rate), 12)
    1.5
    """

    estimator: Rate
    schedule: Visits
    updates: float = 0.0


@update.register
def update_scheduled(rate: Scheduled, reward: float, duration: float) -> Scheduled:
    """Update the estimator, using the step size that is due."""
    updates = rate.updates + 1.0
    estimator = replaced(rate.estimator, step_size=step_size_at(rate.schedule, updates))
    return replaced(rate, estimator=_update(estimator, reward, duration), updates=updates)


@value.register
def value_scheduled(rate: Scheduled) -> float:
    """Return the estimate of the estimator inside."""
    return _value(rate.estimator)


@limit.register
def limit_scheduled(rate: Scheduled, steps: Steps) -> float:
    """Return the limit of the estimator inside."""
    return limit(rate.estimator, steps)
