"""Estimators that converge to the gain: rewards over durations.

With rho the estimate, r the reward and tau the duration of a transition:

    Cumulative          X += r;  Y += tau                                   rho = X / Y
    SmoothedCumulative  X += r;  Y += tau;  rho += beta (X/Y - rho)
    Exponential         x += beta (r - x);  y += beta (tau - y)             rho = x / y
    Incremental         rho += beta (x - rho tau), x chosen by the agent

The limit of all is E[r] / E[tau], the gain, whatever the dependence between r and tau; for `Exponential` and `Incremental`
this holds if step sizes are small. R-Learning's evidence, r + max Q(s') - max Q(s), has the same mean as r, since the values
telescope.
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import fraction
from sojourn.rates.protocol import Steps, limit, limit_is_gain, update, value, value_as_kept, value_as_ratio
from sojourn.rules.values import checked, replaced


@checked()
class Cumulative(NamedTuple):
    """Total reward over total duration, which is SMART's estimator (Das et al. 1999).

    >>> rate = update(update(Cumulative(), 6.0, 2.0), 0.0, 1.0)
    >>> value(rate)
    2.0
    """

    reward: float = 0.0
    duration: float = 0.0


@update.register
def update_cumulative(rate: Cumulative, reward: float, duration: float) -> Cumulative:
    """X += r, Y += tau."""
    return Cumulative(reward=rate.reward + reward, duration=rate.duration + duration)


@checked(step_size=fraction)
class SmoothedCumulative(NamedTuple):
    """An estimate that moves towards total reward over total duration.

    This is Relaxed-SMART as in Gosavi (2004).

    >>> rate = update(update(SmoothedCumulative(step_size=0.5), 6.0, 2.0), 0.0, 1.0)
    >>> value(rate)
    1.75
    """

    step_size: float
    reward: float = 0.0
    duration: float = 0.0
    rate: float = 0.0


@update.register
def update_smoothed_cumulative(
    rate: SmoothedCumulative, reward: float, duration: float
) -> SmoothedCumulative:
    """X += r, Y += tau, rho += beta (X/Y - rho)."""
    total_reward = rate.reward + reward
    total_duration = rate.duration + duration
    return replaced(
        rate,
        reward=total_reward,
        duration=total_duration,
        rate=rate.rate + rate.step_size * (total_reward / total_duration - rate.rate),
    )


@checked(step_size=fraction)
class Exponential(NamedTuple):
    """Moving mean of the rewards over moving mean of the durations.

    This is Relaxed-SMART as Shtossel, Vidler, Shaham and Kaminka (2026) print it. Both means start at zero with the same weights, so their ratio
    needs no correction, and the first update returns the first rate.

    >>> rate = update(Exponential(step_size=0.5), 6.0, 2.0)
    >>> value(rate), value(update(rate, 0.0, 1.0))
    (3.0, 1.5)
    """

    step_size: float
    reward: float = 0.0
    duration: float = 0.0


@update.register
def update_exponential(rate: Exponential, reward: float, duration: float) -> Exponential:
    """X += beta (r - x), y += beta (tau - y)."""
    return replaced(
        rate,
        reward=rate.reward + rate.step_size * (reward - rate.reward),
        duration=rate.duration + rate.step_size * (duration - rate.duration),
    )


@checked(step_size=fraction)
class Incremental(NamedTuple):
    """An estimate that moves by its own error, as in R-Learning (Schwartz 1993) and Differential Q-learning (Wan et al. 2021).

    Here `reward` is whatever evidence the agent chooses. A step whose duration times the step size is above 2 makes an error
    larger instead of smaller; if there are too many of them, the variance is not finite, and `sojourn.audit` says so. The step
    size is a share per unit of time, so divide it by 60 if you count seconds instead of minutes.

    >>> value(update(Incremental(step_size=0.5, rate=1.0), 6.0, 2.0))
    3.0
    """

    step_size: float
    rate: float = 0.0


@update.register
def update_incremental(rate: Incremental, reward: float, duration: float) -> Incremental:
    """Rho += beta (x - rho tau)."""
    return replaced(rate, rate=rate.rate + rate.step_size * (reward - rate.rate * duration))


@limit.register
def limit_incremental(rate: Incremental, steps: Steps) -> float:
    """Return the limit with R-Learning's evidence, which is the gain of the policy, whatever is explored."""
    return steps.gain if steps.relative is None else steps.relative


value.register(Cumulative)(value_as_ratio)
value.register(Exponential)(value_as_ratio)
value.register(SmoothedCumulative)(value_as_kept)
value.register(Incremental)(value_as_kept)
limit.register(Cumulative)(limit_is_gain)
limit.register(SmoothedCumulative)(limit_is_gain)
limit.register(Exponential)(limit_is_gain)
