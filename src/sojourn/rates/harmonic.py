"""Estimators that average rates harmonically, with positive and negative rates apart.

    Harmonic            moving mean of tau/r and moving share, per sign
    WeightedHarmonic    the same with each rate weighted by |r|
    CumulativeHarmonic  modified harmonic mean of all rates so far
    CumulativeWeightedHarmonic  the same with each rate weighted by |r|

They converge to the gain only if rewards do not co-vary with the time per reward. Let P+ and P- be the shares of steps with
r > 0 and r < 0, and E[x; A] the mean of x with everything outside A counted as 0. Then their limits are

    Harmonic, CumulativeHarmonic    P+^2 / E[tau/r; r > 0] + P-^2 / E[tau/r; r < 0]
    WeightedHarmonic, CumulativeWeightedHarmonic
                                    P+ E[r; r > 0] / E[tau; r > 0] + P- E[r; r < 0] / E[tau; r < 0]

With a constant step size beta, these are limits for small beta. Rewards of a sign whose density does not vanish at 0 add 0 to
the limit of `Harmonic` if small ones take as long as others, but at a given beta what they add falls only like 1 / log(1 / beta).
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import fraction
from sojourn.rates.power import limit_harmonic, limit_weighted_harmonic
from sojourn.rates.protocol import limit, ratio, update, value
from sojourn.rules.values import checked, replaced


@checked(step_size=fraction)
class Harmonic(NamedTuple):
    """The modified harmonic mean with exponential forgetting, Harmonic R-Learning's estimator (Shtossel et al. 2026).

    For each sign it keeps the moving mean of the reciprocal rate tau/r (`positive`,
    `negative`) and the moving share of the transitions (the three `share`s). Transitions
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
    return replaced(
        rate,
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
    positive = ratio(rate.positive_share, total) * ratio(rate.positive_share, rate.positive)
    negative = ratio(rate.negative_share, total) * ratio(rate.negative_share, rate.negative)
    return positive + negative


@checked(step_size=fraction)
class WeightedHarmonic(NamedTuple):
    """Like `Harmonic`, with each rate weighted by |r| among the rates of its sign.

    This is the reward-weighted form of the paper's authors, github.com/erelon/SMDP_Agents. The weights turn the harmonic mean
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
    """Update the moving means of r and tau and the moving share, separately for each sign."""
    step_size = rate.step_size
    up = 1.0 if reward > 0.0 else 0.0
    down = 1.0 if reward < 0.0 else 0.0
    zero = 1.0 if reward == 0.0 else 0.0
    return replaced(
        rate,
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
    """Return the same as for `Harmonic`, with E+ and E- the ratios of the moving means of each sign."""
    total = rate.positive_share + rate.negative_share + rate.zero_share
    positive = ratio(rate.positive_share, total) * ratio(rate.positive_reward, rate.positive_duration)
    negative = ratio(rate.negative_share, total) * ratio(rate.negative_reward, rate.negative_duration)
    return positive + negative


@checked()
class CumulativeHarmonic(NamedTuple):
    """Modified harmonic mean of all rates so far, computed without storing them.

    It equals `sojourn.rates.modified_harmonic_mean` (Shtossel et al. 2026) of the rates r/tau.

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
    """Add to the sums of tau/r and the counts of each sign."""
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
    positive = ratio(rate.positive_count, rate.total_count) * ratio(rate.positive_count, rate.positive)
    negative = ratio(rate.negative_count, rate.total_count) * ratio(rate.negative_count, rate.negative)
    return positive + negative


@checked()
class CumulativeWeightedHarmonic(NamedTuple):
    """Like `CumulativeHarmonic`, with each rate weighted by |r| among the rates of its sign.

    This is the reward-weighted form of the paper's authors, github.com/erelon/SMDP_Agents, without forgetting. If all rewards have the same sign, it is
    `Cumulative`.

    >>> rate = CumulativeWeightedHarmonic()
    >>> for reward, duration in ((6, 2), (1, 1), (-2, 1)):
    ...     rate = update(rate, reward, duration)
    >>> round(value(rate), 12)  # two thirds of 7/3 and one third of -2
    0.888888888889
    """

    positive_reward: float = 0.0
    positive_duration: float = 0.0
    negative_reward: float = 0.0
    negative_duration: float = 0.0
    positive_count: float = 0.0
    negative_count: float = 0.0
    total_count: float = 0.0


@update.register
def update_cumulative_weighted_harmonic(
    rate: CumulativeWeightedHarmonic, reward: float, duration: float
) -> CumulativeWeightedHarmonic:
    """Add to the sums of r and tau and the counts of each sign."""
    up = 1.0 if reward > 0.0 else 0.0
    down = 1.0 if reward < 0.0 else 0.0
    return CumulativeWeightedHarmonic(
        positive_reward=rate.positive_reward + up * reward,
        positive_duration=rate.positive_duration + up * duration,
        negative_reward=rate.negative_reward + down * reward,
        negative_duration=rate.negative_duration + down * duration,
        positive_count=rate.positive_count + up,
        negative_count=rate.negative_count + down,
        total_count=rate.total_count + 1.0,
    )


@value.register
def value_cumulative_weighted_harmonic(rate: CumulativeWeightedHarmonic) -> float:
    """Return n+/n R+/T+ + n-/n R-/T-."""
    positive = ratio(rate.positive_reward, rate.positive_duration)
    negative = ratio(rate.negative_reward, rate.negative_duration)
    return (
        ratio(rate.positive_count, rate.total_count) * positive
        + ratio(rate.negative_count, rate.total_count) * negative
    )


limit.register(Harmonic)(limit_harmonic)
limit.register(CumulativeHarmonic)(limit_harmonic)
limit.register(WeightedHarmonic)(limit_weighted_harmonic)
limit.register(CumulativeWeightedHarmonic)(limit_weighted_harmonic)
