"""Estimators to compare with.

TimeSmoothed        forgets per unit of time instead of per transition
Fixed               the rate is a constant
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.rates.protocol import limit, limit_is_gain, update, value, value_as_kept
from sojourn.rates.steps import Steps
from sojourn.rules.elementary import expm1, log1p
from sojourn.rules.numbers import finite, proper_fraction
from sojourn.rules.values import checked


@checked(step_size=proper_fraction)
class TimeSmoothed(NamedTuple):
    """Moving mean of the rates that forgets per unit of time, not per transition.

    A transition of duration tau has the weight 1 - (1 - beta)^tau.

    >>> value(update(TimeSmoothed(step_size=0.5), 6.0, 2.0))
    2.25
    """

    step_size: float
    rate: float = 0.0


@update.register
def update_time_smoothed(rate: TimeSmoothed, reward: float, duration: float) -> TimeSmoothed:
    """Rho <- e^(-lambda tau) rho + (1 - e^(-lambda tau)) r/tau, lambda = -log(1 - beta)."""
    weight = -expm1(log1p(-rate.step_size) * duration)
    return TimeSmoothed(step_size=rate.step_size, rate=rate.rate + weight * (reward / duration - rate.rate))


@checked(rate=finite)
class Fixed(NamedTuple):
    """A constant: the control that learns no rate.

    >>> value(update(Fixed(1.5), 6.0, 2.0))
    1.5
    """

    rate: float = 0.0


@update.register
def update_fixed(rate: Fixed, reward: float, duration: float) -> Fixed:
    """Nothing."""
    return rate


@limit.register
def limit_fixed(rate: Fixed, steps: Steps) -> float:
    """Return the constant."""
    return rate.rate


value.register(TimeSmoothed)(value_as_kept)
value.register(Fixed)(value_as_kept)
limit.register(TimeSmoothed)(limit_is_gain)  # for small step sizes
