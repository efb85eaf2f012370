"""Online estimators of the rate: reward per unit time, from one transition after another.

An estimator is a value with two rules,

    update(rate, reward, duration) -> rate        value(rate) -> float

With rho the estimate, r the reward and tau the duration of a transition:

    Cumulative          X += r;  Y += tau                                   rho = X / Y
    SmoothedCumulative  X += r;  Y += tau;  rho += beta (X/Y - rho)
    Exponential         x += beta (r - x);  y += beta (tau - y)             rho = x / y
    Harmonic            moving mean of tau/r and moving share, per sign
    WeightedHarmonic    the same with each rate weighted by |r|
    CumulativeHarmonic  modified harmonic mean of all rates so far
    TimeSmoothed        forgets per unit of time instead of per transition
    Incremental         rho += beta (x - rho tau), x chosen by the agent
    Fixed               rho is a constant

Parts start at zero, and the rate before any evidence is 0.0. To add an estimator, write a
NamedTuple, register both rules for it, and run `sojourn.check_rate` on it; nothing else
needs to know.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from sojourn._compile import inlined, no_rule, rule
from sojourn._values import checked, finite, fraction, positive, proper_fraction
from sojourn.elementary import expm1, log1p

R = TypeVar("R")


def _check_update(rate: Any, reward: Any, duration: Any) -> tuple[Any, float, float]:
    return rate, finite("reward", reward), positive("duration", duration)


@rule(_check_update)
def update(rate: R, reward: float, duration: float) -> R:
    """Return the estimator after one more transition.

    >>> rate = update(Harmonic(step_size=0.05), 3.0, 2.0)
    >>> value(rate)
    1.5
    """
    raise no_rule("update", rate)


@rule(lambda rate: (rate,))
def value(rate: Any) -> float:
    """Return the estimate: reward per unit time.

    >>> value(Cumulative())
    0.0
    """
    raise no_rule("value", rate)


@checked()
class Cumulative(NamedTuple):
    """Total reward over total duration: SMART's estimator (Das et al. 1999).

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

    This is Relaxed-SMART as Gosavi (2004) has it.

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
    return SmoothedCumulative(
        step_size=rate.step_size,
        reward=total_reward,
        duration=total_duration,
        rate=rate.rate + rate.step_size * (total_reward / total_duration - rate.rate),
    )


@checked(step_size=fraction)
class Exponential(NamedTuple):
    """Moving mean of the rewards over moving mean of the durations.

    This is Relaxed-SMART as the Harmonic R-Learning paper has it. Both means start at
    zero with the same weights, so their ratio needs no correction: the first update
    returns the first rate.

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
    return Exponential(
        step_size=rate.step_size,
        reward=rate.reward + rate.step_size * (reward - rate.reward),
        duration=rate.duration + rate.step_size * (duration - rate.duration),
    )


@checked(step_size=fraction)
class Harmonic(NamedTuple):
    """Exponential form of the modified harmonic mean: Harmonic R-Learning's estimator.

    For each sign it keeps the moving mean of the reciprocal rate tau/r (`positive`,
    `negative`) and the moving share of the transitions (the three `share`s); transitions
    without reward count as a rate of 0.

    >>> rate = update(Harmonic(step_size=0.5), 2.0, 1.0)
    >>> value(rate), value(update(rate, 0.0, 1.0))
    (2.0, 0.6666666666666666)
    """

    step_size: float
    positive: float = 0.0
    negative: float = 0.0
    positive_share: float = 0.0
    negative_share: float = 0.0
    zero_share: float = 0.0


@update.register
def update_harmonic(rate: Harmonic, reward: float, duration: float) -> Harmonic:
    """Move p += beta (1{r>0} tau/r - p), n likewise; each share += beta (1{sign} - share)."""
    step_size = rate.step_size
    reciprocal = duration / reward if reward != 0.0 else 0.0
    return Harmonic(
        step_size=step_size,
        positive=rate.positive + step_size * ((reciprocal if reward > 0.0 else 0.0) - rate.positive),
        negative=rate.negative + step_size * ((reciprocal if reward < 0.0 else 0.0) - rate.negative),
        positive_share=rate.positive_share
        + step_size * ((1.0 if reward > 0.0 else 0.0) - rate.positive_share),
        negative_share=rate.negative_share
        + step_size * ((1.0 if reward < 0.0 else 0.0) - rate.negative_share),
        zero_share=rate.zero_share + step_size * ((1.0 if reward == 0.0 else 0.0) - rate.zero_share),
    )


@value.register
def value_harmonic(rate: Harmonic) -> float:
    """Return w+/w E+ + w-/w E- with w = w+ + w- + w0, E+ = w+/p and E- = w-/n."""
    total = rate.positive_share + rate.negative_share + rate.zero_share
    positive = _ratio(rate.positive_share, total) * _ratio(rate.positive_share, rate.positive)
    negative = _ratio(rate.negative_share, total) * _ratio(rate.negative_share, rate.negative)
    return positive + negative


@checked(step_size=fraction)
class WeightedHarmonic(NamedTuple):
    """As `Harmonic`, with each rate weighted by |r| among the rates of its sign.

    This is the paper's authors' reward-weighted form. The weight turns the harmonic mean
    of one sign into total reward over total duration of that sign; the signs are still
    combined by their shares of the transitions.

    >>> rate = update(WeightedHarmonic(step_size=0.5), 6.0, 2.0)
    >>> value(rate), value(update(rate, 1.0, 1.0))
    (3.0, 2.0)
    """

    step_size: float
    positive_reward: float = 0.0
    positive_duration: float = 0.0
    negative_reward: float = 0.0
    negative_duration: float = 0.0
    positive_share: float = 0.0
    negative_share: float = 0.0
    zero_share: float = 0.0


@update.register
def update_weighted_harmonic(rate: WeightedHarmonic, reward: float, duration: float) -> WeightedHarmonic:
    """Moving means of r and tau and of the share, for each sign apart."""
    step_size = rate.step_size
    up = 1.0 if reward > 0.0 else 0.0
    down = 1.0 if reward < 0.0 else 0.0
    zero = 1.0 if reward == 0.0 else 0.0
    return WeightedHarmonic(
        step_size=step_size,
        positive_reward=rate.positive_reward + step_size * (up * reward - rate.positive_reward),
        positive_duration=rate.positive_duration + step_size * (up * duration - rate.positive_duration),
        negative_reward=rate.negative_reward + step_size * (down * reward - rate.negative_reward),
        negative_duration=rate.negative_duration + step_size * (down * duration - rate.negative_duration),
        positive_share=rate.positive_share + step_size * (up - rate.positive_share),
        negative_share=rate.negative_share + step_size * (down - rate.negative_share),
        zero_share=rate.zero_share + step_size * (zero - rate.zero_share),
    )


@value.register
def value_weighted_harmonic(rate: WeightedHarmonic) -> float:
    """As for `Harmonic`, with E+ and E- the ratio of the moving means of that sign."""
    total = rate.positive_share + rate.negative_share + rate.zero_share
    positive = _ratio(rate.positive_share, total) * _ratio(rate.positive_reward, rate.positive_duration)
    negative = _ratio(rate.negative_share, total) * _ratio(rate.negative_reward, rate.negative_duration)
    return positive + negative


@checked()
class CumulativeHarmonic(NamedTuple):
    """Modified harmonic mean of all rates so far, without keeping them.

    It equals `sojourn.modified_harmonic_mean` of the rates r/tau.

    >>> rate = CumulativeHarmonic()
    >>> for reward in (1, 1, -1, -4):
    ...     rate = update(rate, reward, 1.0)
    >>> round(value(rate), 12)
    -0.3
    """

    positive: float = 0.0
    negative: float = 0.0
    positive_count: float = 0.0
    negative_count: float = 0.0
    total_count: float = 0.0


@update.register
def update_cumulative_harmonic(
    rate: CumulativeHarmonic, reward: float, duration: float
) -> CumulativeHarmonic:
    """Sums of tau/r and counts, per sign."""
    reciprocal = duration / reward if reward != 0.0 else 0.0
    return CumulativeHarmonic(
        positive=rate.positive + (reciprocal if reward > 0.0 else 0.0),
        negative=rate.negative + (reciprocal if reward < 0.0 else 0.0),
        positive_count=rate.positive_count + (1.0 if reward > 0.0 else 0.0),
        negative_count=rate.negative_count + (1.0 if reward < 0.0 else 0.0),
        total_count=rate.total_count + 1.0,
    )


@value.register
def value_cumulative_harmonic(rate: CumulativeHarmonic) -> float:
    """Return n+/n H+ + n-/n H-."""
    positive = _ratio(rate.positive_count, rate.total_count) * _ratio(rate.positive_count, rate.positive)
    negative = _ratio(rate.negative_count, rate.total_count) * _ratio(rate.negative_count, rate.negative)
    return positive + negative


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


@checked(step_size=fraction)
class Incremental(NamedTuple):
    """Moves by the error of the estimate itself: R-Learning and Differential Q-learning.

    Here `reward` is whatever evidence the agent chooses. The estimate is stable only
    while step size times duration stays below 2.

    >>> value(update(Incremental(step_size=0.5, rate=1.0), 6.0, 2.0))
    3.0
    """

    step_size: float
    rate: float = 0.0


@update.register
def update_incremental(rate: Incremental, reward: float, duration: float) -> Incremental:
    """The estimate: rho += beta (x - rho tau)."""
    return Incremental(
        step_size=rate.step_size,
        rate=rate.rate + rate.step_size * (reward - rate.rate * duration),
    )


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


@value.register(Cumulative)
@value.register(Exponential)
def value_as_ratio(rate: Any) -> float:
    """Return X / Y."""
    return _ratio(rate.reward, rate.duration)


@value.register(SmoothedCumulative)
@value.register(TimeSmoothed)
@value.register(Incremental)
@value.register(Fixed)
def value_as_kept(rate: Any) -> float:
    """The estimate rho, as it is kept."""
    return rate.rate  # type: ignore[no-any-return]


@inlined
def _ratio(top: float, low: float) -> float:
    """Return top / low, and 0 where there is no evidence yet."""
    return top / low if low != 0.0 else 0.0


class RateMeter(Generic[R]):
    """A rate estimator that updates itself, for notebooks and running systems.

    >>> meter = RateMeter(Exponential(step_size=0.5))
    >>> meter.update(reward=6.0, duration=2.0)
    >>> meter.rate
    3.0
    """

    def __init__(self, estimator: R) -> None:
        value(estimator)  # refuses what is no estimator
        self.estimator = estimator

    def update(self, reward: float, duration: float) -> None:
        """Take in one transition."""
        self.estimator = update(self.estimator, reward, duration)

    @property
    def rate(self) -> float:
        """The estimate: reward per unit time."""
        return float(value(self.estimator))

    def __repr__(self) -> str:
        return f"RateMeter({self.estimator!r})"
