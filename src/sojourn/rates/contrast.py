"""Estimators for comparison with others.

TimeSmoothed        forgets per unit of time instead of per transition
MeanOfRates         the arithmetic mean of all rates r/tau so far
Fixed               the rate is a constant
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import finite, proper_fraction
from sojourn.rates.protocol import Steps, limit, limit_is_gain, ratio, update, value, value_as_kept
from sojourn.rules.elementary import expm1, log1p
from sojourn.rules.values import checked, replaced


@checked(step_size=proper_fraction)
class TimeSmoothed(NamedTuple):
    """Moving mean of the rates that forgets per unit of time, not per transition.

    A transition of duration tau has the weight 1 - (1 - beta)^tau. The estimate is divided by the total weight so far, so
    the first update returns the first rate. Beta is the share that is forgotten in a unit of time, so it depends on that
    unit. The mean of the estimate tends to the gain as beta goes to 0; `sojourn.audit` has the mean at any beta. This is
    SmoothedSMART of the paper's authors, github.com/erelon/SMDP_Agents.

    >>> rate = update(TimeSmoothed(step_size=0.5), 6.0, 2.0)  # weight 3/4
    >>> value(rate), value(update(rate, 0.0, 1.0))  # 3 keeps half of its weight, 3/8, and 0 has the weight 1/2
    (3.0, 1.2857142857142858)
    """

    step_size: float
    rate: float = 0.0
    weight: float = 0.0


@update.register
def update_time_smoothed(rate: TimeSmoothed, reward: float, duration: float) -> TimeSmoothed:
    """Rho <- e^(-lambda tau) rho + (1 - e^(-lambda tau)) r/tau, lambda = -log(1 - beta); W likewise, with 1 for r/tau."""
    share = -expm1(log1p(-rate.step_size) * duration)
    return replaced(
        rate,
        rate=rate.rate + share * (reward / duration - rate.rate),
        weight=rate.weight + share * (1.0 - rate.weight),
    )


@value.register
def value_time_smoothed(rate: TimeSmoothed) -> float:
    """Return rho / W."""
    return ratio(rate.rate, rate.weight)


@checked()
class MeanOfRates(NamedTuple):
    """Arithmetic mean of all rates r/tau so far; each counts the same, however short its transition was.

    Its limit is E[r/tau], which is not the gain. It is infinite if durations come near 0, as exponential ones do. This is
    CumulativeStepRate of the paper's authors, github.com/erelon/SMDP_Agents.

    >>> rate = update(update(MeanOfRates(), 6.0, 2.0), 1.0, 1.0)
    >>> value(rate)  # (3 + 1) / 2, although 7 were earned in a time of 3
    2.0
    """

    rate: float = 0.0
    transitions: float = 0.0


@update.register
def update_mean_of_rates(rate: MeanOfRates, reward: float, duration: float) -> MeanOfRates:
    """Count k += 1, m += (r/tau - m) / k."""
    transitions = rate.transitions + 1.0
    return MeanOfRates(
        rate=rate.rate + (reward / duration - rate.rate) / transitions, transitions=transitions
    )


@limit.register
def limit_mean_of_rates(rate: MeanOfRates, steps: Steps) -> float:
    """Return E[r/tau]."""
    if steps.mean_rate is None:
        raise ValueError(f"{steps} has no mean_rate; give the mean of r/tau")
    return steps.mean_rate


@checked(rate=finite)
class Fixed(NamedTuple):
    """A constant rate that learns nothing, as a control.

    >>> value(update(Fixed(1.5), 6.0, 2.0))
    1.5
    """

    rate: float = 0.0


@update.register
def update_fixed(rate: Fixed, reward: float, duration: float) -> Fixed:
    """Change nothing."""
    return rate


@limit.register
def limit_fixed(rate: Fixed, steps: Steps) -> float:
    """Return the constant."""
    return rate.rate


value.register(MeanOfRates)(value_as_kept)
value.register(Fixed)(value_as_kept)
limit.register(TimeSmoothed)(limit_is_gain)  # for small step sizes
