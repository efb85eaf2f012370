"""Centring: feedback from the level of the values that corrects any estimate of the rate.

A rate that is too low makes all values grow; one that is too high makes them fall. `Centred` corrects an estimate by the
level m of the values. With tau the mean duration of a step,

    rho_eff = rho + kappa m / tau

A rate that is too low raises the level, and this raises rho_eff until it is right. If the mean error of every pair is zero,
the values solve the optimality equation, whose rate is the gain. So rho_eff is the optimal gain for any rho (the proof is
in the documentation, under Mathematics).
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import at_least_zero, positive
from sojourn.rates.protocol import R, Rate, limit, limit_is_gain, ratio, update, value
from sojourn.rules.bridge import inlined
from sojourn.rules.rule import rule
from sojourn.rules.values import checked, replaced

_update, _value = update.bare, value.bare

LEVEL_STEP = 0.01  # the step size of the level m
_DURATION_STEP = 0.001  # the smallest step size of the mean duration; a larger one ruins the feedback


@checked(steps=at_least_zero)
class MeanDuration(NamedTuple):
    """The mean duration of all steps at first, and later of about the last thousand."""

    mean: float = 0.0
    steps: float = 0.0


@inlined
def averaged(durations: MeanDuration, duration: float) -> MeanDuration:
    """Return the mean duration after one more step.

    >>> averaged(averaged(MeanDuration(), 2.0), 4.0)
    MeanDuration(mean=3.0, steps=2.0)
    """
    steps = durations.steps + 1.0
    step_size = max(_DURATION_STEP, 1.0 / steps)
    return MeanDuration(mean=durations.mean + step_size * (duration - durations.mean), steps=steps)


@checked(strength=positive)
class Centred(NamedTuple):
    """Any estimator, corrected by the level of the values of the agent that uses it.

    `strength` is kappa; 0.1 works well. With `centring=0.1` an agent wraps its own estimator in this one. Outside an agent
    the estimate is not corrected.

    >>> from sojourn.rates.contrast import Fixed
    >>> rate = timed(Centred(Fixed(0.0), strength=0.1), 4.0)
    >>> value(levelled(rate, 200.0))  # the level moves by 0.01 of the way to 200
    0.05
    """

    estimator: Rate
    strength: float
    level: float = 0.0
    durations: MeanDuration = MeanDuration()


@rule(fallback=True)
def timed(rate: R, duration: float) -> R:
    """Return the estimator after it has seen the duration of a step, before anything is learned from the step."""
    return rate


@rule(fallback=True)
def levelled(rate: R, ahead: float) -> R:
    """Return the estimator after it has seen max Q(s', .)."""
    return rate


@rule(fallback=True)
def levelled_by(rate: R, level: float, share: float) -> R:
    """Return the estimator with its level of the values moved by a share of the way to another level.

    Agents that learn from batches use this with the mean of a batch.

    >>> from sojourn.rates.contrast import Fixed
    >>> levelled_by(Centred(Fixed(0.0), strength=0.1, level=2.0), 4.0, 0.5).level
    3.0
    """
    return rate


@rule(fallback=True)
def own_value(rate: Rate) -> float:
    """Return the estimate without the correction by centring."""
    return _value(rate)


@timed.register
def timed_centred(rate: Centred, duration: float) -> Centred:
    """Add the duration to the mean."""
    return replaced(rate, durations=averaged(rate.durations, duration))


@levelled.register
def levelled_centred(rate: Centred, ahead: float) -> Centred:
    """The level: m += 0.01 (max Q(s', .) - m)."""
    return levelled_by(rate, ahead, LEVEL_STEP)


@levelled_by.register
def levelled_by_centred(rate: Centred, level: float, share: float) -> Centred:
    """The level: m += share (level - m)."""
    return replaced(rate, level=rate.level + share * (level - rate.level))


@own_value.register
def own_value_centred(rate: Centred) -> float:
    """Return rho."""
    return _value(rate.estimator)


@update.register
def update_centred(rate: Centred, reward: float, duration: float) -> Centred:
    """Update the estimator inside."""
    return replaced(rate, estimator=_update(rate.estimator, reward, duration))


@value.register
def value_centred(rate: Centred) -> float:
    """Return rho + kappa m / tau."""
    return _value(rate.estimator) + ratio(rate.strength * rate.level, rate.durations.mean)


limit.register(Centred)(limit_is_gain)  # the policy's gain, once its values have settled
