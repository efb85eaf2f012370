"""Estimators of a rate that changes.

    AdaptiveRatio        no step size: ratios with seven memories, weighted by how well each has predicted rewards
    ClippedExponential   like Exponential, but rewards far from the expected ones are clipped
    TimeForgetting       X <- e^(-lambda tau) X + r;  Y <- e^(-lambda tau) Y + tau;  rho = X / Y

All are ratios of rewards and durations. The limit of `TimeForgetting` is the gain, if step sizes are small; the limits of the
other two are not known. None of them looks at states. If a policy stays for long in rich states and then in
poor ones, its rate seems to change, and they follow it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sojourn.data.numbers import fraction, proper_fraction
from sojourn.rates.protocol import limit, limit_is_gain, ratio, update, value, value_as_ratio
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp, log, log1p, small_expm1
from sojourn.rules.values import checked, replaced

# --- The rungs of AdaptiveRatio: memories of about 4, 12, 36, ..., 2916 blocks, and one that forgets nothing ---
#
# A block is two transitions; R is the sum of their rewards and T that of their durations. Rung j keeps a sum X of rewards, Y
# of durations and N of blocks, and forgets faster as it fills up:
#
#     f = 1 / (1 + N / (4 3^j)^2);    X <- f X + R;    Y <- f Y + T;    N <- f N + 1
#
# So at first X / Y is nearly the plain ratio of all that it has seen, and N approaches about 4 3^j. If nearly all time is spent
# in rare long steps, a short memory has mostly seen none, and X / Y is off by orders of magnitude. So the estimate of a rung
# borrows D from that of the next slower rung: h = (X + D h') / (Y + D). D is four times the mean duration of the block that is
# found at a random time, sum of T^2 / sum of T: four blocks if all take the same time, and four rare long ones else.

FORGETTING = tuple(
    [1.0 / (4.0 * 3.0**j) ** 2 for j in range(6)] + [0.0]
)  # of each rung: f = 1 / (1 + N times this)
_LEAD = 8.0  # a rung with this lead over the next slower one hands over its memory,
_PATIENCE = 1.5  # if it is also this times log N of the last rung: false alarms become as rare as N^-1.5
_BORROWED = 4.0  # blocks as found at a random time, whose time each rung borrows from the next slower one
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
def opinions(ladder: Ladder, all_squared: float) -> Nine:
    """Return the estimate of each expert; there must have been a block. `all_squared` is the last rung's sum of T^2."""
    total = ladder.last.duration
    borrowed = _BORROWED * min(all_squared / total, total)  # the latter where squares are no numbers
    last = ladder.last.reward / ladder.last.duration
    sixth = _says(ladder.sixth, borrowed, last)
    fifth = _says(ladder.fifth, borrowed, sixth)
    fourth = _says(ladder.fourth, borrowed, fifth)
    third = _says(ladder.third, borrowed, fourth)
    second = _says(ladder.second, borrowed, third)
    return Nine(
        _says(ladder.first, borrowed, second),
        second,
        third,
        fourth,
        fifth,
        sixth,
        last,
        fourth + _slope(ladder.fourth, ladder.fifth) * (fourth - fifth),
        fifth + _slope(ladder.fifth, ladder.sixth) * (fifth - sixth),
    )


@inlined
def _says(rung: Rung, borrowed: float, slower: float) -> float:
    """Return (X + D h') / (Y + D), in a form in which the seven divisions do not wait for each other."""
    scale = 1.0 / (rung.duration + borrowed)
    return rung.reward * scale + borrowed * scale * slower


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
def scores(said: Nine, rate: float, surprise: float, duration: float) -> Nine:
    """Return each expert's score on a block, up to a common constant."""
    return Nine(
        _score(said.first - rate, surprise, duration),
        _score(said.second - rate, surprise, duration),
        _score(said.third - rate, surprise, duration),
        _score(said.fourth - rate, surprise, duration),
        _score(said.fifth - rate, surprise, duration),
        _score(said.sixth - rate, surprise, duration),
        _score(said.last - rate, surprise, duration),
        _score(said.fourth_trend - rate, surprise, duration),
        _score(said.fifth_trend - rate, surprise, duration),
    )


@inlined
def losses(scored: Nine, least: float, precision: float) -> Nine:
    """Return by how much each score is worse than the best, in units of noise, of which `precision` is one over."""
    return Nine(
        (scored.first - least) * precision,
        (scored.second - least) * precision,
        (scored.third - least) * precision,
        (scored.fourth - least) * precision,
        (scored.fifth - least) * precision,
        (scored.sixth - least) * precision,
        (scored.last - least) * precision,
        (scored.fourth_trend - least) * precision,
        (scored.fifth_trend - least) * precision,
    )


@inlined
def _score(off: float, surprise: float, duration: float) -> float:
    """Return the score 1/2 T h^2 - R h up to a common constant; `off` is h - rho and `surprise` is R - rho T."""
    return off * (0.5 * duration * off - surprise)


@inlined
def handed_over(rung: Rung, donor: Rung, behind: float, longest: float) -> tuple[Rung, Rung]:
    """Return a rung after a handover, and the donor for the slower ones.

    A rung that remembers more than the donor takes over the donor's memory. `behind` is how much more the next slower
    rung lost on this block. A rung whose total lead is above 8 and above 1.5 log N becomes the donor, where N, the longest
    memory, is that of the last rung.
    """
    after = rung
    if rung.blocks > donor.blocks:
        after = replaced(donor, weight=rung.weight, lead=0.0)
    lead = max(0.0, after.lead + behind)
    if lead > _LEAD and lead > _PATIENCE * log(longest):
        after = replaced(after, lead=0.0)
        return after, after
    return replaced(after, lead=lead), donor


@inlined
def fed(rung: Rung, weight: float, forgetting: float, reward: float, duration: float) -> Rung:
    """Return a rung with its new weight after one more block."""
    keep = 1.0 / (1.0 + rung.blocks * forgetting)
    return replaced(
        rung,
        weight=weight,
        reward=keep * rung.reward + reward,
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
# So much of the prior is mixed into the weights after each block, so that no expert is lost for good; or _RARELY over N of
# the last rung, if that is less: the longer nothing has changed, the rarer are changes.
_SHARE, _RARELY = 0.00005, 0.05
_KEPT = 1.0 - 1.0 / 300.0  # the part of the noise that is kept with each block
_WIDEST = 4.0  # units of noise: what the scores of a block differ by is at most this, now and for long after
_FADING = 0.5  # the largest difference so far fades like the number of blocks to the power of minus this
_ROUNDING = 1e-18  # relative to rho^2 T: a smaller noise comes from rounding
_LEAST = 1e-300  # the smallest noise that experts are weighed by: one over it is still a finite float
_BLOCK = 2.0  # transitions; the way there and the way back belong together
_START = Ladder(*[Rung(weight=weight) for weight in _PRIOR[:7]])
_NOBODY = Rung(blocks=math.inf)  # has a longer memory than any rung, so no rung takes it over


@checked()
class AdaptiveRatio(NamedTuple):
    """Reward over duration with a memory that adapts to the stream; it has no step size.

    It keeps ratios with seven memories, from 8 transitions to all, and weighs them by how well each predicted the rewards of
    every two transitions, using the score that `rate_score` adds up. If a short memory is clearly better than the next
    longer one, the world has changed, and the longer ones start again from the short one. Two more experts extend the
    line through two memories, for a rate that moves steadily. How much a block counts depends on the noise of late and, for
    long after, on the largest difference that a block has made. So rare large rewards, losses or durations are hardly ever
    taken for changes. The parts are known (fixed share, Herbster and Warmuth 1998; dynamic model averaging, Raftery et al. 2010;
    CUSUM, Page 1954); what is made of them is ours.

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
    squared_durations: float = 0.0
    widest: float = 0.0
    all_squared: float = 0.0


@update.register
def update_adaptive_ratio(rate: AdaptiveRatio, reward: float, duration: float) -> AdaptiveRatio:
    """Add a transition to the block; once the block has two, weigh the experts by it and update them all."""
    block_reward = rate.reward + reward
    block_duration = rate.duration + duration
    if rate.pending + 1.0 < _BLOCK:
        return replaced(rate, reward=block_reward, duration=block_duration, pending=rate.pending + 1.0)
    ladder, weights, noise = rate.ladder, _weights(rate), rate.noise
    squared_durations, widest = rate.squared_durations, rate.widest
    if noise.blocks > 0.0:
        said = opinions(ladder, rate.all_squared)
        expected = _mean(weights, said)
        surprise = block_reward - expected * block_duration
        noise = replaced(
            noise,
            squares=_KEPT * noise.squares + surprise * surprise,
            duration=_KEPT * noise.duration + block_duration,
        )
        squared_durations = _KEPT * squared_durations + block_duration * block_duration
        scored = scores(said, expected, surprise, block_duration)
        least, most = _ends(scored)
        if most - least < math.inf:
            widest = max(widest * (noise.blocks / (noise.blocks + _FADING)), most - least)
            low, high = _ends(said)
            # The scores of h and rho differ by (rho - h) (R - (rho + h) T / 2), which is noisier the further h is from rho.
            apart = 0.5 * max(expected - low, high - expected)
            floor = max(widest / _WIDEST, _ROUNDING * expected * expected * block_duration)
            squares = max(noise.squares, apart * apart * squared_durations, floor * noise.duration)
            if _LEAST * noise.duration < squares < math.inf:
                lost = losses(scored, least, noise.duration / squares)
                weights = _weighed(weights, lost, min(_SHARE, _RARELY / ladder.last.blocks))
                ladder = _after_handovers(ladder, lost)
    all_squared = rate.all_squared
    if ladder.last.blocks < rate.ladder.last.blocks:  # it begins again, and durations are those of late
        all_squared = squared_durations / noise.duration * ladder.last.duration
    return AdaptiveRatio(
        ladder=_all_fed(ladder, weights, block_reward, block_duration),
        fourth_trend=weights.fourth_trend,
        fifth_trend=weights.fifth_trend,
        noise=replaced(noise, blocks=noise.blocks + 1.0),
        reward=0.0,
        duration=0.0,
        pending=0.0,
        squared_durations=squared_durations,
        widest=widest,
        all_squared=all_squared + block_duration * block_duration,
    )


@inlined
def _ends(numbers: Nine) -> tuple[float, float]:
    """Return the least and the most of nine numbers, in an order in which few comparisons wait for each other."""
    a, b, c, d, e, f, g, h, i = numbers
    ab, cd, ef, gh = min(a, b), min(c, d), min(e, f), min(g, h)
    abcd, efgh = min(ab, cd), min(ef, gh)
    least = min(abcd, efgh)
    ab, cd, ef, gh = max(a, b), max(c, d), max(e, f), max(g, h)
    abcd, efgh = max(ab, cd), max(ef, gh)
    most = max(abcd, efgh)
    return min(least, i), max(most, i)


@value.register
def value_adaptive_ratio(rate: AdaptiveRatio) -> float:
    """Return the weighted mean of the experts' estimates after the last whole block, or the ratio of the first transition."""
    if rate.noise.blocks == 0.0:
        return ratio(rate.reward, rate.duration)
    return _mean(_weights(rate), opinions(rate.ladder, rate.all_squared))


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
    return _total(
        Nine(
            weights.first * said.first,
            weights.second * said.second,
            weights.third * said.third,
            weights.fourth * said.fourth,
            weights.fifth * said.fifth,
            weights.sixth * said.sixth,
            weights.last * said.last,
            weights.fourth_trend * said.fourth_trend,
            weights.fifth_trend * said.fifth_trend,
        )
    )


@inlined
def _total(numbers: Nine) -> float:
    """Return the sum of nine numbers, in an order in which few additions wait for each other."""
    a, b, c, d, e, f, g, h, i = numbers
    return (((a + b) + (c + d)) + ((e + f) + (g + h))) + i


@inlined
def _weighed(weights: Nine, lost: Nine, share: float) -> Nine:
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
    scale = (1.0 - share) / _total(raw)
    return Nine(
        scale * raw.first + share * _PRIOR.first,
        scale * raw.second + share * _PRIOR.second,
        scale * raw.third + share * _PRIOR.third,
        scale * raw.fourth + share * _PRIOR.fourth,
        scale * raw.fifth + share * _PRIOR.fifth,
        scale * raw.sixth + share * _PRIOR.sixth,
        scale * raw.last + share * _PRIOR.last,
        scale * raw.fourth_trend + share * _PRIOR.fourth_trend,
        scale * raw.fifth_trend + share * _PRIOR.fifth_trend,
    )


@inlined
def _odds(loss: float) -> float:
    """Return e^(-loss) for a loss of at most 4, faster than `exp`, which takes any number."""
    sixteenth = 1.0 + small_expm1(-0.0625 * loss)
    eighth = sixteenth * sixteenth
    quarter = eighth * eighth
    half = quarter * quarter
    return half * half


@inlined
def _after_handovers(ladder: Ladder, lost: Nine) -> Ladder:
    """Return the ladder after every rung with a large enough lead has handed its memory to the slower ones."""
    longest = ladder.last.blocks
    first, donor = handed_over(ladder.first, _NOBODY, lost.second - lost.first, longest)
    second, donor = handed_over(ladder.second, donor, lost.third - lost.second, longest)
    third, donor = handed_over(ladder.third, donor, lost.fourth - lost.third, longest)
    fourth, donor = handed_over(ladder.fourth, donor, lost.fifth - lost.fourth, longest)
    fifth, donor = handed_over(ladder.fifth, donor, lost.sixth - lost.fifth, longest)
    sixth, donor = handed_over(ladder.sixth, donor, lost.last - lost.sixth, longest)
    last, donor = handed_over(ladder.last, donor, 0.0, longest)
    return Ladder(first, second, third, fourth, fifth, sixth, last)


@inlined
def _all_fed(ladder: Ladder, weights: Nine, reward: float, duration: float) -> Ladder:
    return Ladder(
        fed(ladder.first, weights.first, FORGETTING[0], reward, duration),
        fed(ladder.second, weights.second, FORGETTING[1], reward, duration),
        fed(ladder.third, weights.third, FORGETTING[2], reward, duration),
        fed(ladder.fourth, weights.fourth, FORGETTING[3], reward, duration),
        fed(ladder.fifth, weights.fifth, FORGETTING[4], reward, duration),
        fed(ladder.sixth, weights.sixth, FORGETTING[5], reward, duration),
        fed(ladder.last, weights.last, FORGETTING[6], reward, duration),
    )


_FEW = 10.0  # updates of a ClippedExponential before anything is clipped
_NOISE_KEPT = 0.995  # the part of its noise that is kept with each update, or 1 - beta if that is more
_CLIP = 2.0  # standard deviations of what is remembered; a surprise beyond them is clipped


@inlined
def clipped(surprise: float, variance: float) -> float:
    """Return a surprise, clipped at two standard deviations of what is remembered, whose variance is given."""
    if surprise * surprise <= _CLIP * _CLIP * variance:
        return surprise  # the usual case, which needs no square root
    return math.copysign(_CLIP * math.sqrt(variance), surprise)


@checked(step_size=fraction)
class ClippedExponential(NamedTuple):
    """Like `Exponential`, but a reward far from the expected one counts only up to a limit.

    The limit is two standard deviations of the total reward in memory, so it matters if tails are heavy or records wrong,
    and hardly otherwise. The first ten transitions count in full. The noise is remembered for 200 transitions, or for
    1 / step_size if that is more. So a rare large reward is clipped for good if it comes less often than that, as a wrong record
    is; with a step size well below its frequency it counts in full. Clipping is Huber's idea (1964); this form of it is ours.

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
    noise, keep = rate.noise, 1.0 - rate.step_size
    expected = ratio(rate.reward, rate.duration) * duration
    surprise = reward - expected
    usual, taken = surprise, reward
    if noise.blocks >= _FEW and noise.squares > 0.0:
        usual = clipped(surprise, noise.squares)
        taken = expected + clipped(surprise, noise.squares / noise.duration * rate.duration)
    if noise.blocks > 0.0:
        kept = max(_NOISE_KEPT, keep)
        noise = replaced(
            noise,
            squares=kept * noise.squares + usual * usual,
            duration=kept * noise.duration + duration,
        )
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
    Beta is the share that is forgotten in a unit of time, so it depends on that unit. Forgetting by time is Wright's (1986).

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
limit.register(TimeForgetting)(limit_is_gain)
