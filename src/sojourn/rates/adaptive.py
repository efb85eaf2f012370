"""Estimators of a rate that changes.

    AdaptiveRatio        no step size: ratios with seven memories, weighted by how well each has predicted rewards
    ClippedExponential   like Exponential, but rewards far from the expected ones are clipped
    TimeForgetting       X <- e^(-lambda tau) X + r;  Y <- e^(-lambda tau) Y + tau;  rho = X / Y

All are ratios of rewards and durations, so their limit is the gain: for `AdaptiveRatio` once nothing changes any more, for
the other two if step sizes are small. None of them looks at states. If a policy stays for long in rich states and then in
poor ones, its rate seems to change, and they follow it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sojourn.data.numbers import fraction, proper_fraction
from sojourn.rates.protocol import limit, limit_is_gain, ratio, update, value, value_as_ratio
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp, log1p, small_expm1
from sojourn.rules.values import checked, replaced

# --- The rungs of AdaptiveRatio: memories of about 4, 12, 36, ..., 2916 blocks, and one that forgets nothing ---
#
# A block is two transitions; R is the sum of their rewards and T that of their durations. Rung j keeps a sum X of rewards, Y
# of durations and N of blocks, and forgets faster as it fills up:
#
#     f = 1 / (1 + N / (4 3^j)^2);    X <- f X + e;    Y <- f Y + T;    N <- f N + 1
#
# So at first its estimate h = X / Y is nearly the plain ratio of all that it has seen, and N approaches about 4 3^j. Here e is
# R, clipped if it is far from what the rung expects.

FORGETTING = tuple(
    [1.0 / (4.0 * 3.0**j) ** 2 for j in range(6)] + [0.0]
)  # of each rung: f = 1 / (1 + N times this)
_CLIP = 2.0  # standard deviations of what is remembered; a surprise beyond them is clipped
_LEAD = 8.0  # a rung with this lead over the next slower one hands over its memory
_STEEPEST = 0.5  # of the difference between memories of N and 3 N blocks: the slope that makes up for the lag


class Rung(NamedTuple):
    """One memory: sums of rewards, durations and blocks, its weight, and its lead over the next slower rung."""

    weight: float = 0.0
    reward: float = 0.0
    duration: float = 0.0
    blocks: float = 0.0
    lead: float = 0.0


class Ladder(NamedTuple):
    """Seven rungs, the fastest first."""

    first: Rung
    second: Rung
    third: Rung
    fourth: Rung
    fifth: Rung
    sixth: Rung
    last: Rung


class Nine(NamedTuple):
    """A number for each of the nine experts: seven rungs, and the trends through the fourth and the fifth."""

    first: float
    second: float
    third: float
    fourth: float
    fifth: float
    sixth: float
    last: float
    fourth_trend: float
    fifth_trend: float


class Noise(NamedTuple):
    """The noise of blocks; `squares / duration` is the variance of unexpected rewards per unit of time."""

    squares: float = 0.0
    duration: float = 0.0
    blocks: float = 0.0


@inlined
def opinions(ladder: Ladder, reward: float, duration: float) -> Nine:
    """Return the estimate of each expert, including an unfinished block; there must be some evidence."""
    fourth, fifth, sixth = ladder.fourth, ladder.fifth, ladder.sixth
    fourth_says = _says(fourth, reward, duration)
    fifth_says = _says(fifth, reward, duration)
    sixth_says = _says(sixth, reward, duration)
    return Nine(
        _says(ladder.first, reward, duration),
        _says(ladder.second, reward, duration),
        _says(ladder.third, reward, duration),
        fourth_says,
        fifth_says,
        sixth_says,
        _says(ladder.last, reward, duration),
        fourth_says + _slope(fourth, fifth) * (fourth_says - fifth_says),
        fifth_says + _slope(fifth, sixth) * (fifth_says - sixth_says),
    )


@inlined
def _says(rung: Rung, reward: float, duration: float) -> float:
    return (rung.reward + reward) / (rung.duration + duration)


@inlined
def _slope(faster: Rung, slower: Rung) -> float:
    """Return how far the line through two rungs must be extended beyond the faster one to reach the present.

    If the rate moves along a straight line, the ratios lag behind by the ages of their memories, N and 3 N, and extending the
    line by half of their difference makes up for the lag. Two memories of the same blocks have no slope.
    """
    if slower.blocks <= faster.blocks:
        return 0.0
    return min(_STEEPEST, 0.25 * (slower.blocks / faster.blocks - 1.0))


@inlined
def losses(said: Nine, rate: float, surprise: float, duration: float, precision: float) -> Nine:
    """Return by how much each expert's score on a block is worse than the best, in units of noise, at most 2.

    `precision` is one over the variance of the reward per unit of time.
    """
    plain = Nine(
        _loss(said.first - rate, surprise, duration, precision),
        _loss(said.second - rate, surprise, duration, precision),
        _loss(said.third - rate, surprise, duration, precision),
        _loss(said.fourth - rate, surprise, duration, precision),
        _loss(said.fifth - rate, surprise, duration, precision),
        _loss(said.sixth - rate, surprise, duration, precision),
        _loss(said.last - rate, surprise, duration, precision),
        _loss(said.fourth_trend - rate, surprise, duration, precision),
        _loss(said.fifth_trend - rate, surprise, duration, precision),
    )
    least = plain.first
    for loss in plain:
        least = min(least, loss)
    return Nine(
        min(2.0, plain.first - least),
        min(2.0, plain.second - least),
        min(2.0, plain.third - least),
        min(2.0, plain.fourth - least),
        min(2.0, plain.fifth - least),
        min(2.0, plain.sixth - least),
        min(2.0, plain.last - least),
        min(2.0, plain.fourth_trend - least),
        min(2.0, plain.fifth_trend - least),
    )


@inlined
def _loss(off: float, surprise: float, duration: float, precision: float) -> float:
    """Return the score 1/2 T h^2 - R h up to a common constant; `off` is h - rho and `surprise` is R - rho T."""
    return off * (0.5 * duration * off - surprise) * precision


@inlined
def handed_over(rung: Rung, donor: Rung, behind: float) -> tuple[Rung, Rung]:
    """Return a rung after a handover, and the donor for the slower ones.

    A rung that remembers more than the donor takes over the donor's memory. `behind` is how much more the next slower
    rung lost on this block. A rung whose total lead is above 8 becomes the donor.
    """
    after = rung
    if rung.blocks > donor.blocks:
        after = replaced(donor, weight=rung.weight, lead=0.0)
    lead = max(0.0, after.lead + behind)
    if lead > _LEAD:
        after = replaced(after, lead=0.0)
        return after, after
    return replaced(after, lead=lead), donor


@inlined
def clipped(surprise: float, variance: float) -> float:
    """Return a surprise, clipped at two standard deviations of what is remembered, whose variance is given."""
    if surprise * surprise <= _CLIP * _CLIP * variance:
        return surprise  # the usual case, which needs no square root
    return math.copysign(_CLIP * math.sqrt(variance), surprise)


@inlined
def fed(
    rung: Rung, weight: float, forgetting: float, reward: float, duration: float, variance: float
) -> Rung:
    """Return a rung with its new weight after one more block; with a variance of 0 nothing is clipped."""
    keep = 1.0 / (1.0 + rung.blocks * forgetting)
    taken = reward
    if variance > 0.0:
        expected = rung.reward / rung.duration * duration
        taken = expected + clipped(reward - expected, variance * rung.duration)
    return replaced(
        rung,
        weight=weight,
        reward=keep * rung.reward + taken,
        duration=keep * rung.duration + duration,
        blocks=keep * rung.blocks + 1.0,
    )


# --- The estimators ---------------------------------------------------------------------

_TRENDS = 0.1  # the share of the two trends in the weights at the start
_PRIOR = Nine(
    *[
        (1.0 - _TRENDS) * 3.0**j / 1093.0 for j in range(7)
    ],  # slower rungs have more: 1093 is 1 + 3 + ... + 3^6
    *[_TRENDS * 3.0**j / 4.0 for j in range(2)],
)
_SHARE = 0.00005  # the share of the prior in the weights after each block, so that no expert is lost for good
_KEPT = 1.0 - 1.0 / 300.0  # the part of the noise that is kept with each block
_LEAST = 1e-300  # the smallest variance that experts are weighed by: one over it is still a finite float
_BLOCK = 2.0  # transitions; the way there and the way back belong together
_WARM = 6.0  # blocks before anything is clipped
_START = Ladder(*[Rung(weight=weight) for weight in _PRIOR[:7]])
_NOBODY = Rung(blocks=math.inf)  # has a longer memory than any rung, so no rung takes it over


@checked()
class AdaptiveRatio(NamedTuple):
    """Reward over duration with a memory that adapts to the stream; it has no step size.

    It keeps ratios with seven memories, from 8 transitions to all, and weighs them by how well each predicted the rewards of
    every two transitions, using the score that `rate_score` adds up. If a short memory is clearly better than the next
    longer one, the world has changed, and the longer ones start again from the short one. Two more experts extend the
    line through two memories, for a rate that moves steadily. Rewards far from the expected ones are clipped; the longer the
    memory, the higher the limit.

    >>> rate = AdaptiveRatio()
    >>> for reward in (6.0, 0.0, 6.0, 0.0):
    ...     rate = update(rate, reward, 1.5)
    >>> round(value(rate), 12)
    2.0
    """

    ladder: Ladder = _START
    fourth_trend: float = _PRIOR.fourth_trend
    fifth_trend: float = _PRIOR.fifth_trend
    noise: Noise = Noise()
    reward: float = 0.0
    duration: float = 0.0
    pending: float = 0.0


@update.register
def update_adaptive_ratio(rate: AdaptiveRatio, reward: float, duration: float) -> AdaptiveRatio:
    """Add a transition to the block; once the block has two, weigh the experts by it and update them all."""
    block_reward = rate.reward + reward
    block_duration = rate.duration + duration
    if rate.pending + 1.0 < _BLOCK:
        return replaced(rate, reward=block_reward, duration=block_duration, pending=rate.pending + 1.0)
    ladder, weights, noise = rate.ladder, _weights(rate), rate.noise
    warm = noise.blocks >= _WARM and noise.squares > 0.0
    if noise.blocks > 0.0:
        said = opinions(ladder, 0.0, 0.0)
        expected = _mean(weights, said)
        surprise = block_reward - expected * block_duration
        if warm:
            surprise = clipped(surprise, noise.squares)
        noise = replaced(
            noise,
            squares=_KEPT * noise.squares + surprise * surprise,
            duration=_KEPT * noise.duration + block_duration,
        )
        variance = noise.squares / noise.duration
        if _LEAST < variance < math.inf:
            lost = losses(said, expected, surprise, block_duration, 1.0 / variance)
            weights = _weighed(weights, lost)
            ladder = _after_handovers(ladder, lost)
    cut = ratio(noise.squares, noise.duration) if warm else 0.0
    return AdaptiveRatio(
        ladder=_all_fed(ladder, weights, block_reward, block_duration, cut),
        fourth_trend=weights.fourth_trend,
        fifth_trend=weights.fifth_trend,
        noise=replaced(noise, blocks=noise.blocks + 1.0),
        reward=0.0,
        duration=0.0,
        pending=0.0,
    )


@value.register
def value_adaptive_ratio(rate: AdaptiveRatio) -> float:
    """Return the weighted mean of the experts' estimates, which include the unfinished block."""
    if rate.noise.blocks + rate.pending == 0.0:
        return 0.0  # before any evidence
    return _mean(_weights(rate), opinions(rate.ladder, rate.reward, rate.duration))


@inlined
def _weights(rate: AdaptiveRatio) -> Nine:
    ladder = rate.ladder
    return Nine(
        ladder.first.weight,
        ladder.second.weight,
        ladder.third.weight,
        ladder.fourth.weight,
        ladder.fifth.weight,
        ladder.sixth.weight,
        ladder.last.weight,
        rate.fourth_trend,
        rate.fifth_trend,
    )


@inlined
def _mean(weights: Nine, said: Nine) -> float:
    total = 0.0
    for k in range(9):
        total += weights[k] * said[k]
    return total


@inlined
def _weighed(weights: Nine, lost: Nine) -> Nine:
    """Return w e^(-loss), scaled to add up to 1, with a little of the prior mixed in."""
    raw = Nine(
        weights.first * _odds(lost.first),
        weights.second * _odds(lost.second),
        weights.third * _odds(lost.third),
        weights.fourth * _odds(lost.fourth),
        weights.fifth * _odds(lost.fifth),
        weights.sixth * _odds(lost.sixth),
        weights.last * _odds(lost.last),
        weights.fourth_trend * _odds(lost.fourth_trend),
        weights.fifth_trend * _odds(lost.fifth_trend),
    )
    total = 0.0
    for weight in raw:
        total += weight
    scale = (1.0 - _SHARE) / total
    return Nine(
        scale * raw.first + _SHARE * _PRIOR.first,
        scale * raw.second + _SHARE * _PRIOR.second,
        scale * raw.third + _SHARE * _PRIOR.third,
        scale * raw.fourth + _SHARE * _PRIOR.fourth,
        scale * raw.fifth + _SHARE * _PRIOR.fifth,
        scale * raw.sixth + _SHARE * _PRIOR.sixth,
        scale * raw.last + _SHARE * _PRIOR.last,
        scale * raw.fourth_trend + _SHARE * _PRIOR.fourth_trend,
        scale * raw.fifth_trend + _SHARE * _PRIOR.fifth_trend,
    )


@inlined
def _odds(loss: float) -> float:
    """Return e^(-loss) for a loss of at most 2, faster than `exp`, which takes any number."""
    eighth = 1.0 + small_expm1(-0.125 * loss)
    quarter = eighth * eighth
    half = quarter * quarter
    return half * half


@inlined
def _after_handovers(ladder: Ladder, lost: Nine) -> Ladder:
    """Return the ladder after every rung with a large enough lead has handed its memory to the slower ones."""
    first, donor = handed_over(ladder.first, _NOBODY, lost.second - lost.first)
    second, donor = handed_over(ladder.second, donor, lost.third - lost.second)
    third, donor = handed_over(ladder.third, donor, lost.fourth - lost.third)
    fourth, donor = handed_over(ladder.fourth, donor, lost.fifth - lost.fourth)
    fifth, donor = handed_over(ladder.fifth, donor, lost.sixth - lost.fifth)
    sixth, donor = handed_over(ladder.sixth, donor, lost.last - lost.sixth)
    last, donor = handed_over(ladder.last, donor, 0.0)
    return Ladder(first, second, third, fourth, fifth, sixth, last)


@inlined
def _all_fed(ladder: Ladder, weights: Nine, reward: float, duration: float, cut: float) -> Ladder:
    return Ladder(
        fed(ladder.first, weights.first, FORGETTING[0], reward, duration, cut),
        fed(ladder.second, weights.second, FORGETTING[1], reward, duration, cut),
        fed(ladder.third, weights.third, FORGETTING[2], reward, duration, cut),
        fed(ladder.fourth, weights.fourth, FORGETTING[3], reward, duration, cut),
        fed(ladder.fifth, weights.fifth, FORGETTING[4], reward, duration, cut),
        fed(ladder.sixth, weights.sixth, FORGETTING[5], reward, duration, cut),
        fed(ladder.last, weights.last, FORGETTING[6], reward, duration, cut),
    )


_FEW = 10.0  # updates of a ClippedExponential before anything is clipped
_NOISE_KEPT = 0.995  # the part of its noise that is kept with each update


@checked(step_size=fraction)
class ClippedExponential(NamedTuple):
    """Like `Exponential`, but a reward far from the expected one counts only up to a limit.

    The limit is two standard deviations of the total reward in memory, so it matters if tails are heavy or records wrong,
    and hardly otherwise. The first ten transitions count in full.

    >>> rate = update(ClippedExponential(step_size=0.5), 6.0, 2.0)
    >>> value(rate), value(update(rate, 0.0, 1.0))
    (3.0, 1.5)
    """

    step_size: float
    reward: float = 0.0
    duration: float = 0.0
    noise: Noise = Noise()


@update.register
def update_clipped_exponential(
    rate: ClippedExponential, reward: float, duration: float
) -> ClippedExponential:
    """X <- (1 - beta) X + e, Y <- (1 - beta) Y + tau; e is the reward, clipped at 2 sqrt(V Y) from rho tau."""
    noise = rate.noise
    expected = ratio(rate.reward, rate.duration) * duration
    surprise = reward - expected
    usual, taken = surprise, reward
    if noise.blocks >= _FEW and noise.squares > 0.0:
        usual = clipped(surprise, noise.squares)
        taken = expected + clipped(surprise, noise.squares / noise.duration * rate.duration)
    if noise.blocks > 0.0:
        noise = replaced(
            noise,
            squares=_NOISE_KEPT * noise.squares + usual * usual,
            duration=_NOISE_KEPT * noise.duration + duration,
        )
    keep = 1.0 - rate.step_size
    return replaced(
        rate,
        reward=keep * rate.reward + taken,
        duration=keep * rate.duration + duration,
        noise=replaced(noise, blocks=noise.blocks + 1.0),
    )


@checked(step_size=proper_fraction)
class TimeForgetting(NamedTuple):
    """Reward over duration that forgets per unit of time, not per transition.

    What happened a time t ago has the weight (1 - beta)^t, so the memory covers the same time whether steps are slow or fast.
    Beta is the share that is forgotten in a unit of time, so it depends on that unit.

    >>> rate = update(TimeForgetting(step_size=0.5), 6.0, 2.0)
    >>> value(rate), value(update(rate, 0.0, 1.0))
    (3.0, 1.5)
    """

    step_size: float
    reward: float = 0.0
    duration: float = 0.0


@update.register
def update_time_forgetting(rate: TimeForgetting, reward: float, duration: float) -> TimeForgetting:
    """X <- e^(-lambda tau) X + r, Y <- e^(-lambda tau) Y + tau, lambda = -log(1 - beta)."""
    keep = exp(log1p(-rate.step_size) * duration)
    return replaced(rate, reward=keep * rate.reward + reward, duration=keep * rate.duration + duration)


value.register(ClippedExponential)(value_as_ratio)
value.register(TimeForgetting)(value_as_ratio)
limit.register(AdaptiveRatio)(limit_is_gain)
limit.register(ClippedExponential)(limit_is_gain)
limit.register(TimeForgetting)(limit_is_gain)
