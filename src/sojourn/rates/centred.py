"""Centring: feedback from the level of the values that corrects any estimate of the rate.

A rate that is too low makes all values grow; one that is too high makes them fall. `Centred` corrects an estimate by the
level m of the values. With g a guess and T a unit of time,

    rho_eff = g + kappa m / T

A rate that is too low raises the level, and this raises rho_eff until it is right. If the mean error of every pair is zero,
the values solve the optimality equation, whose rate is the gain. So rho_eff is the optimal gain for any g (the proof is in
the documentation, under Mathematics).

The values come to rest only if g and T do, or if both move ever more slowly: both depend on the policy, which would
otherwise follow them, and they it, for ever. So g is the mean of all estimates so far, and T the mean of all durations so far.
Neither contains anything of the step that is learned from. A unit of time that has just seen a long duration would charge
less for it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from sojourn.data.numbers import at_least_zero, positive
from sojourn.rates.protocol import R, Rate, limit, limit_is_gain, ratio, update, value
from sojourn.rules.bridge import inlined
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, checked, replaced

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


class Past(Value, Protocol):
    """What centring keeps of the steps so far: any type that `noted` and `guessed` are registered for."""

    @property
    def mean(self) -> float:
        """The unit of time, T."""
        ...


P = TypeVar("P", bound=Past)


@checked(steps=at_least_zero)
class PastMeans(NamedTuple):
    """The mean duration of all steps before the latest, and the mean of the estimates after each of them.

    `steps` counts all of them. `latest` is the duration of the latest one, which is added when the next one begins.

    >>> noted(noted(noted(PastMeans(), 2.0, 0.0), 4.0, 0.5), 100.0, 0.7)
    PastMeans(mean=3.0, steps=3.0, guess=0.6, latest=100.0)
    """

    mean: float = 0.0
    steps: float = 0.0
    guess: float = 0.0
    latest: float = 0.0


@rule()
def noted(past: P, duration: float, estimate: float) -> P:
    """Return the past at the beginning of a step of this duration, at which the estimate of the rate is `estimate`."""
    raise no_rule("noted", past)


@rule()
def guessed(past: Past, estimate: float) -> float:
    """Return the guess, g, if the present estimate is `estimate`."""
    raise no_rule("guessed", past)


@noted.register
def noted_means(past: PastMeans, duration: float, estimate: float) -> PastMeans:
    """Add the step before this one to both means, with the step size 1/n."""
    share = 1.0 / past.steps if past.steps > 0.0 else 0.0
    return PastMeans(
        mean=past.mean + share * (past.latest - past.mean),
        steps=past.steps + 1.0,
        guess=past.guess + share * (estimate - past.guess),
        latest=duration,
    )


@guessed.register
def guessed_mean(past: PastMeans, estimate: float) -> float:
    """The mean of the estimates; during the first step, the estimate that the agent began with."""
    return past.guess if past.steps > 1.0 else estimate


# Version 0.2 guessed the estimate itself, and its unit of time contained the step that was learned from. What it saved has a
# `MeanDuration` where there is a `PastMeans` now, and goes on as it was.


@noted.register
def noted_duration(past: MeanDuration, duration: float, estimate: float) -> MeanDuration:
    """Add the duration of this step to the mean of about the last thousand."""
    return averaged(past, duration)


@guessed.register
def guessed_estimate(past: MeanDuration, estimate: float) -> float:
    """The estimate."""
    return estimate


_noted, _guessed = noted.bare, guessed.bare


@checked(strength=positive)
class Centred(NamedTuple):
    """Any estimator, corrected by the level of the values of the agent that uses it.

    `strength` is kappa; 0.1 works well. With `centring=0.1` an agent wraps its own estimator in this one. Outside an agent
    the estimate is not corrected. `durations` has the guess and the unit of time.

    >>> from sojourn.rates.contrast import Fixed
    >>> rate = levelled(timed(Centred(Fixed(0.0), strength=0.1), 4.0), 200.0)  # the level moves by 0.01 of the way to 200
    >>> value(timed(rate, 7.0))  # a step of 7 is charged for in units of the steps before it
    0.05
    """

    estimator: Rate
    strength: float
    level: float = 0.0
    durations: Past = PastMeans()


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
    """Take the step before this one into the guess and the unit of time."""
    return replaced(rate, durations=_noted(rate.durations, duration, _value(rate.estimator)))


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
    """Return g + kappa m / T."""
    guess = _guessed(rate.durations, _value(rate.estimator))
    return guess + ratio(rate.strength * rate.level, rate.durations.mean)


limit.register(Centred)(limit_is_gain)  # the policy's gain, once its values have settled
