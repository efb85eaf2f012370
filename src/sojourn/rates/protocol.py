"""An estimator of the rate is a value with three rules.

    update(rate, reward, duration) -> rate      take in one transition
    value(rate) -> float                        read the estimate
    limit(rate, steps) -> float                 the exact limit of the estimate in the long run

Parts start at zero, and the rate before any evidence is 0.0. To add an estimator, write a NamedTuple, register `update` and
`value` for it, and run `sojourn.runs.check_rate` on it; no other code needs to change. Register `limit` too if you know it, so
that `sojourn.audit` includes the estimator's limit.

A rate is reward per unit time, so a step that takes no time says nothing about it on its own. Its reward is *carried* to
the next step that takes time, and the estimator gets both together. Agents, `RateMeter` and all other code that updates an
estimator use `carry`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from sojourn.data.numbers import Number, finite, positive
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told_inlined
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value


class Rate(Value, Protocol):
    """An estimator: any value that the rules of this file are registered for."""


R = TypeVar("R", bound=Rate)


class KeepsRate(Rate, Protocol):
    """An estimator that keeps its estimate in a field."""

    @property
    def rate(self) -> float:
        """The estimate."""
        ...


class TwoMeans(Rate, Protocol):
    """An estimator that keeps sums or means of rewards and of durations."""

    @property
    def reward(self) -> float:
        """The sum or mean of the rewards."""
        ...

    @property
    def duration(self) -> float:
        """The sum or mean of the durations."""
        ...


# --- The law of a step, as far as limits depend on it ------------------------------------
#
# A fixed policy visits its states and actions with fixed shares in the long run, so the reward r and the duration tau of a
# step have a joint law, and `Steps` has the means of that law. E[x; A] is the mean of x over all steps, with steps outside A
# counted as 0.


class Side(NamedTuple):
    """The steps whose rewards have one sign: their share of all steps, and their part of three means.

    For the positive side these are P(r > 0), E[r; r > 0], E[tau; r > 0] and E[tau/r; r > 0].
    """

    share: float
    reward: float
    duration: float
    duration_per_reward: float


Moments: TypeAlias = Callable[[float, float], tuple[tuple[float, float], tuple[float, float]]]


class Steps(NamedTuple):
    """The mean reward and duration of a step in the long run, and the part that each sign of the reward has in them.

    `moments` returns, given powers a and b, for each sign the means E[|r|^a tau^b] and E[|r|^a tau^b log(|r| / tau)] over its steps;
    power means need it. `relative` is the limit of the evidence r + max Q(s') - max Q(s) per unit of time. It is the gain of the followed policy,
    even if exploration changes how often states are visited; None means that it is the `gain` here. `mean_rate` is E[r/tau],
    infinite if that does not exist.

    Rewards of 1 and 9 in a time of 1, equally often:

    >>> steps = Steps(5.0, 1.0, Side(1.0, 5.0, 1.0, (1 + 1 / 9) / 2), Side(0.0, 0.0, 0.0, 0.0))
    >>> steps.gain
    5.0
    """

    reward: float
    duration: float
    positive: Side
    negative: Side
    relative: float | None = None
    mean_rate: float | None = None
    moments: Moments | None = None

    @property
    def gain(self) -> float:
        """The reward per unit time, E[r] / E[tau]."""
        return self.reward / self.duration


# --- The rules -------------------------------------------------------------------------


def _check_update(rate: R, reward: Number, duration: Number) -> tuple[R, float, float]:
    if duration == 0.0:
        raise ValueError(
            "duration is 0.0; update needs a duration above 0: use sojourn.rates.carry for steps that take no time"
        )
    return rate, finite("reward", reward), positive("duration", duration)


def _check_limit(rate: R, steps: Steps) -> tuple[R, Steps]:
    if not isinstance(steps, Steps):
        raise TypeError(f"steps is {steps!r}; limit needs the law of a step, a sojourn.rates.Steps")
    return rate, steps


@rule(_check_update)
def update(rate: R, reward: float, duration: float) -> R:
    """Return the estimator after one more transition.

    >>> from sojourn.rates.harmonic import Harmonic
    >>> rate = update(Harmonic(step_size=0.05), 3.0, 2.0)
    >>> value(rate)
    1.5
    """
    raise no_rule("update", rate)


@rule(lambda rate: (rate,))
def value(rate: Rate) -> float:
    """Return the estimate: reward per unit time.

    >>> from sojourn.rates.ratio import Cumulative
    >>> value(Cumulative())
    0.0
    """
    raise no_rule("value", rate)


@rule(_check_limit, compiled=False)
def limit(rate: Rate, steps: Steps) -> float:
    """Return the exact limit of the estimate if steps have this law for ever.

    An estimator with a constant step size keeps fluctuating; its limit is what its mean tends
    to as the step size goes to 0. If an estimator has no such rule, its limit is not known.

    Rewards of 1 and 9 in a time of 1, equally often, earn 5; the harmonic mean of 1 and 9 is 1.8:

    >>> from sojourn.rates.harmonic import Harmonic
    >>> from sojourn.rates.ratio import Cumulative
    >>> steps = Steps(5.0, 1.0, Side(1.0, 5.0, 1.0, (1 + 1 / 9) / 2), Side(0.0, 0.0, 0.0, 0.0))
    >>> limit(Cumulative(), steps), round(limit(Harmonic(step_size=0.01), steps), 9)
    (5.0, 1.8)
    """
    raise no_rule("limit", rate)


@inlined
def ratio(top: float, low: float) -> float:
    """Return top / low, or 0 if there is no evidence yet."""
    return top / low if low != 0.0 else 0.0


_update = update.bare


@told_inlined
def carry(rate: R, carried: float, reward: float, duration: float) -> tuple[R, float]:
    """Return the estimator after one more step, which may take no time, and the reward that is still carried.

    10 earned in no time and then 1 in a time of 4 count as 11 in a time of 4:

    >>> from sojourn.rates.ratio import Exponential
    >>> rate, carried = carry(Exponential(step_size=0.1), 0.0, 10.0, 0.0)
    >>> value(rate), carried
    (0.0, 10.0)
    >>> rate, carried = carry(rate, carried, 1.0, 4.0)
    >>> value(rate), carried
    (2.75, 0.0)
    """
    if duration > 0.0:
        return _update(rate, carried + reward, duration), 0.0
    return rate, carried + reward


def stumbling(rate: Rate) -> str:
    """Return why an estimator from elsewhere cannot go on, or an empty text; it is tried on a few steps of reward 1 in time 1.

    >>> from sojourn.rates.adaptive import AdaptiveRatio, Noise
    >>> stumbling(AdaptiveRatio()), stumbling(AdaptiveRatio(noise=Noise(blocks=3.0)))
    ('', 'the AdaptiveRatio cannot go on from where it is: float division by zero')
    """
    try:
        for _ in range(4):
            value.bare(rate)
            rate = update.bare(rate, 1.0, 1.0)
    except (ArithmeticError, ValueError) as error:
        return f"the {type(rate).__name__} cannot go on from where it is: {error}"
    return ""


def value_as_kept(rate: KeepsRate) -> float:
    """Return the estimate rho from its field."""
    return rate.rate


def value_as_ratio(rate: TwoMeans) -> float:
    """Return X / Y."""
    return ratio(rate.reward, rate.duration)


def limit_is_gain(rate: Rate, steps: Steps) -> float:
    """Return E[r] / E[tau], the gain."""
    return steps.gain
