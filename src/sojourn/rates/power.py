r"""Power means of rates, with a weight for each step, and their limits; harmonic, geometric and arithmetic means are among them.

With x = r / tau the rate of a step and w its weight, the mean of exponent p of rates of one sign is

    M = (sum w |x|^p / sum w)^(1/p),      exp(sum w log|x| / sum w) if p = 0

The weights are 1 ("unit"), |r| ("reward") or tau ("duration"). Positive and negative rates are averaged apart, since a power of a
negative rate may not exist, and steps without reward count as a rate of 0. The parts are combined by how many steps each sign has;
with weights of duration, by how long they took. So

    unit, p = -1        Harmonic                  unit, p = 1         MeanOfRates
    reward, p = -1      WeightedHarmonic          duration, p = 1     Exponential: the gain

**Which one is the gain.** Let all rewards be positive. With weights of duration, p = 1 is the gain whatever the law of a step is;
with weights of reward, p = -1 is. Since a power mean grows with its exponent, all others of these are too high above that exponent
and too low below it, unless all rates are equal. With unit weights no exponent is always right: p = -1 is, if r and tau / r
are uncorrelated, and p = 1, if tau and r / tau are; in between there is one that is right for the law at hand.

With weights of duration and p = 1 - theta it is the certain rate of somebody with constant relative risk aversion theta, which
`sojourn.exact.crra` maximises.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sojourn.data.numbers import Number, finite, fraction, shown, within
from sojourn.rates.protocol import Rate, Side, Steps, limit, ratio, update, value
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp, log
from sojourn.rules.values import checked, replaced

WEIGHTS = ("unit", "reward", "duration")
_UNIT, _REWARD, _DURATION = range(3)
_POWERS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))  # of reward and duration in each weight
_MOST = 20.0  # larger powers of usual rates do not fit into floats


def _weight(name: str, given: str | Number) -> int:
    if not isinstance(given, str):
        return within(name, given, len(WEIGHTS))
    if given not in WEIGHTS:
        raise ValueError(f"{name} is {shown(given)}; it must be one of {', '.join(map(repr, WEIGHTS))}")
    return WEIGHTS.index(given)


def _exponent(name: str, given: Number) -> float:
    if not abs(finite(name, given)) <= _MOST:
        raise ValueError(f"{name} is {given}; it must be from {-_MOST:g} to {_MOST:g}")
    return float(given)


@checked(step_size=fraction, exponent=_exponent, weight=_weight)
class PowerMean(NamedTuple):
    """A power mean of rates (Hardy, Littlewood and Pólya 1934) that forgets: of exponent 1 arithmetic, 0 geometric, -1 harmonic.

    `weight` is "unit", "reward" or "duration". It keeps moving means of weighted powers of rates, of weights and of shares, by
    sign; powers are of rates over the first rate that was not 0, so that no unit makes them too large. `Scheduled` with
    `Visits(1.0, 1.0)` makes it the mean of all steps so far.

    Rates of 1 and 4, of which the later one has half of the weight:

    >>> for exponent in (1, 0, -1):
    ...     rate = update(PowerMean(step_size=0.5, exponent=exponent), 1.0, 1.0)
    ...     round(value(update(update(rate, 4.0, 1.0), 4.0, 1.0)), 6)  # 4 has a weight of 6/7
    3.571429
    3.281341
    2.8
    >>> rate = update(PowerMean(step_size=0.5, exponent=1, weight="duration"), 6.0, 2.0)
    >>> value(update(rate, 0.0, 2.0))  # of the weights 1/4 and 1/2
    1.0
    """

    step_size: float
    exponent: float = 0.0
    weight: int | str = 0  # an index into WEIGHTS, or its name
    first: float = 0.0
    positive: float = 0.0
    positive_weight: float = 0.0
    positive_share: float = 0.0
    negative: float = 0.0
    negative_weight: float = 0.0
    negative_share: float = 0.0
    zero_share: float = 0.0


@update.register
def update_power_mean(rate: PowerMean, reward: float, duration: float) -> PowerMean:
    """Move the means of w |x|^p, of w, and of 1 or tau, each for the sign of the reward."""
    step_size, size = rate.step_size, abs(reward)
    share = duration if rate.weight == _DURATION else 1.0
    weight = size if rate.weight == _REWARD else share
    first = rate.first if rate.first > 0.0 else size / duration
    part = weight * _powered(size / duration / first, rate.exponent) if size > 0.0 else 0.0
    up = 1.0 if reward > 0.0 else 0.0
    down = 1.0 if reward < 0.0 else 0.0
    return replaced(
        rate,
        first=first,
        positive=rate.positive + step_size * (up * part - rate.positive),
        positive_weight=rate.positive_weight + step_size * (up * weight - rate.positive_weight),
        positive_share=rate.positive_share + step_size * (up * share - rate.positive_share),
        negative=rate.negative + step_size * (down * part - rate.negative),
        negative_weight=rate.negative_weight + step_size * (down * weight - rate.negative_weight),
        negative_share=rate.negative_share + step_size * (down * share - rate.negative_share),
        zero_share=rate.zero_share + step_size * ((1.0 - up - down) * share - rate.zero_share),
    )


@value.register
def value_power_mean(rate: PowerMean) -> float:
    """Return the means of both signs, each by its share."""
    total = rate.positive_share + rate.negative_share + rate.zero_share
    positive, negative = 0.0, 0.0
    if rate.positive_weight > 0.0:
        positive = _root(rate.positive / rate.positive_weight, rate.exponent)
    if rate.negative_weight > 0.0:
        negative = _root(rate.negative / rate.negative_weight, rate.exponent)
    shares = rate.positive_share * positive - rate.negative_share * negative
    return rate.first * ratio(shares, total)


@inlined
def _powered(x: float, exponent: float) -> float:
    """Return x^p, or log x for the exponent 0."""
    if exponent == 1.0:
        return x
    if exponent == -1.0:
        return 1.0 / x
    return exp(exponent * log(x)) if exponent != 0.0 else log(x)


@inlined
def _root(mean: float, exponent: float) -> float:
    """Return the number whose power this is."""
    if exponent == 0.0:
        return exp(mean)
    if mean <= 0.0:  # a power below the smallest float
        return 0.0
    return _powered(mean, 1.0 / exponent)


# --- Limits ------------------------------------------------------------------------------


@limit.register
def limit_of_power_mean(rate: PowerMean, steps: Steps) -> float:
    """Return the same of the law of a step: C+ (E[w |x|^p; r > 0] / E[w; r > 0])^(1/p) - ..., C the shares of the signs."""
    return limit_power(steps, rate.exponent, WEIGHTS[int(rate.weight)])


def limit_power(steps: Steps, exponent: float, weight: str) -> float:
    """Return the limit of the power mean of this exponent with these weights.

    Rates of 1 and 9, equally often, in a time of 1:

    >>> steps = Steps(5.0, 1.0, Side(1.0, 5.0, 1.0, (1 + 1 / 9) / 2), Side(0.0, 0.0, 0.0, 0.0))
    >>> round(limit_power(steps, -1.0, "unit"), 9), limit_power(steps, -1.0, "reward")
    (1.8, 5.0)
    """
    total = steps.duration if weight == "duration" else 1.0
    gained, lost = (_side(steps, side, exponent, weight) / total for side in (0, 1))
    return gained if math.isinf(gained) else gained - lost


def _side(steps: Steps, number: int, exponent: float, weight: str) -> float:
    """Return the share of one sign times its power mean."""
    side = (steps.positive, steps.negative)[number]
    if not side.share:
        return 0.0
    by_reward, by_duration = _POWERS[WEIGHTS.index(weight)]
    share = side.duration if weight == "duration" else side.share
    weights = _moment(steps, number, by_reward, by_duration)[0]
    mean, logs = _moment(steps, number, by_reward + exponent, by_duration - exponent, logs=exponent == 0.0)
    if exponent == 0.0:
        return share * math.exp(logs / weights)
    if math.isinf(mean):
        return math.inf if exponent > 0.0 else 0.0
    return share * weights / mean if exponent == -1.0 else share * float((mean / weights) ** (1.0 / exponent))


def _moment(
    steps: Steps, number: int, by_reward: float, by_duration: float, *, logs: bool = False
) -> tuple[float, float]:
    """Return E[|r|^a tau^b] of one sign, and the same times log(|r| / tau); a few are known without the laws of a step."""
    side: Side = (steps.positive, steps.negative)[number]
    known = {
        (0.0, 0.0): side.share,
        (1.0, 0.0): abs(side.reward),
        (0.0, 1.0): side.duration,
        (-1.0, 1.0): abs(side.duration_per_reward),
    }
    if not logs and (by_reward, by_duration) in known:
        return known[by_reward, by_duration], math.nan
    if steps.moments is None:
        raise ValueError(
            "steps has no moments, which the limits of most power means need; take steps from sojourn.audit"
        )
    return steps.moments(by_reward, by_duration)[number]


def limit_harmonic(rate: Rate, steps: Steps) -> float:
    """Return P+^2 / E[tau/r; r > 0] + P-^2 / E[tau/r; r < 0]."""
    return limit_power(steps, -1.0, "unit")


def limit_weighted_harmonic(rate: Rate, steps: Steps) -> float:
    """Return P+ E[r; r > 0] / E[tau; r > 0] + P- E[r; r < 0] / E[tau; r < 0]."""
    return limit_power(steps, -1.0, "reward")
