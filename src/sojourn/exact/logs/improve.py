"""A policy that is very probably better than the one that made the log, or that one itself.

Solving the model of a log picks what looks best, and that is often what was seen only a few times and was lucky. So a policy
is chosen as follows (compare R. Laroche, P. Trichelair and R. Tachet des Combes, "Safe policy improvement with baseline
bootstrapping", ICML 2019; the penalty of step 1 is that of M. Petrik, M. Ghavamzadeh and Y. Chow, "Safe policy improvement by
minimizing robust baseline regret", NeurIPS 2016, in its reward-adjusted form):

1. Candidates are found by policy iteration on rewards minus c standard errors, using only actions that were taken at least
   m times in their state. A state without such an action keeps its commonest one. m is 5, 10, 20 or 40, and c is 0, 1/2, 1,
   2 or 3.
2. Each candidate is compared with the behaviour on the same rows. The difference of their gains has the variance

       sum over pairs of var(x delta - x_b delta_b) / n  +  sum over states of w_b^2 sum of pi_b adv_b^2 / n(s)

   where x and x_b are how often each of them takes the pair per unit time. The second part is due to the random choice of
   actions in the log.
3. A candidate must be better with a probability of 98 %, by Student's law with Satterthwaite's degrees of freedom, and must
   be better by more than its luck (see `luck`) with a probability of 90 %. The candidate with the largest sure advantage
   must also be better by the rows themselves, with their skewness and kurtosis (`sum_sides`), and with half a row added of
   the worst that other actions have met in the same state (see `half_rows`); else the next one is tried. If there is none,
   the behaviour is kept.
4. The luck is subtracted from the reported gain. The lower limit of the gain is the smallest of three, all of which allow for
   choosing and measuring on the same rows. Two are found along a path (see `lower_limit`), in the model in which every
   action may lead wherever the state has led (see `padded`): for a promise of 95 %, the limit at 99.75 %, and the limit at
   95 % minus the luck, which matters if there are many states. The third comes from the rows themselves at 99.75 %, with
   those half rows, minus the luck; it matters if a few rows decide.

The constants were chosen on logs with other seeds than those behind the documentation's figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from sojourn.exact.logs.fit import (
    Fit,
    LogRows,
    Worth,
    advantage,
    ahead,
    deltas,
    inside,
    padded,
    shrunk,
    sides,
    spread,
    spread_of_law,
    tail_doubt,
    worth,
)
from sojourn.exact.operators import first_best
from sojourn.rules.arrays import Flags, Floats

LEAST = (5, 10, 20, 40)
PENALTIES = (0.0, 0.5, 1.0, 2.0, 3.0)
_ROUNDS = 30
_TIE = 1e-12  # relative to what the pairs earn and to the largest bias: closer actions are equally good
_SURE, _LIKELY = 0.98, 0.9  # how surely a candidate must be better, and better by more than its luck
_PAID = 0.05  # the limit may be wrong only this share as often as it says, to allow for the choice
_DOUBTED = 0.9  # level of the interval from the rows themselves that must lie above the behaviour
_PATH = 6  # steps on the path to the lower limit


class Choice(NamedTuple):
    """A policy to follow, its gain minus luck, a lower limit of the gain, and how probably it beats the behaviour."""

    found: Worth
    gain: float
    low: float
    beats: float


def chosen(
    rows: LogRows | None, fit: Fit, level: float = 0.95, among: Iterable[Floats] | None = None
) -> Choice | None:
    """Return the policy to follow, of the candidates or of those given, or None if the behaviour should be kept."""
    base = worth(fit, fit.behaviour)
    better = []
    for share in candidates(fit, base) if among is None else among:
        found = worth(fit, share)
        difference = found.gain - base.gain + tail_doubt(fit, found, base)[0]
        lucky = luck(fit, found)
        deviation, freedom = compared(fit, found, base)
        sure, likely = (float(stdtrit(freedom, one)) * deviation for one in (_SURE, _LIKELY))
        beats = float(stdtr(freedom, (difference - lucky) / deviation)) if deviation else 1.0
        better.append((difference - max(sure, lucky + likely), beats, lucky, difference, found))
    never = np.zeros(fit.num_states, dtype=bool)
    for least, beats, lucky, difference, found in sorted(better, key=lambda one: -one[0]):
        if least <= 0.0:
            break
        half = half_rows(rows, fit, found)
        surplus = difference - lucky + float(half.sum())
        if surplus + sides(rows, fit, _DOUBTED, found, never, base, half)[0] > 0.0:
            return Choice(found, found.gain - lucky, promised(rows, fit, found, level), beats)
    return None


def promised(rows: LogRows | None, fit: Fit, found: Worth, level: float) -> float:
    """Return the lower limit of the gain of a policy that was chosen on the same rows."""
    half, sure = half_rows(rows, fit, found), 1.0 - 2.0 * _PAID * (1.0 - level)
    never = np.zeros(fit.num_states, dtype=bool)
    below = sides(rows, fit, sure, found, never, more=half)[0] + float(half.sum())
    least = min(_along_path(fit, found, level), found.gain + below)
    return least - luck(fit, found) + tail_doubt(fit, found)[0]


def most_promised(rows: LogRows | None, fit: Fit, level: float, among: Iterable[Floats]) -> Choice:
    """Return the policy with the highest lower limit, where the behaviour must not be kept."""
    base, better = worth(fit, fit.behaviour), []
    for share in among:
        found = worth(fit, share)
        lucky, (deviation, freedom) = luck(fit, found), compared(fit, found, base)
        surplus = found.gain - base.gain + tail_doubt(fit, found, base)[0] - lucky
        beats = float(stdtr(freedom, surplus / deviation)) if deviation else float(surplus > 0.0)
        better.append(Choice(found, found.gain - lucky, promised(rows, fit, found, level), beats))
    return max(better, key=lambda one: one.low)


def half_rows(rows: LogRows | None, fit: Fit, found: Worth) -> Floats:
    """Return by state what half a row of its worst surprise would add to a policy's gain, if only other actions had it.

    Of two actions with rare losses, the one that looks better is the one whose losses have not come yet. Sums do not show it.
    """
    if rows is None:
        return np.zeros(fit.num_states)
    delta = deltas(rows, fit, found)
    worst = np.full(len(fit.seen), np.inf)
    np.minimum.at(worst, fit.row_pair, delta)
    worst -= advantage(fit, found)
    own, least = first_best(fit.offsets, found.share), np.minimum.reduceat(worst, fit.offsets[:-1])
    return np.asarray(np.where(least < worst[own], 0.5 * least * found.visits / fit.seen[own], 0.0))


def _along_path(fit: Fit, found: Worth, level: float) -> float:
    """Return the lower limit of a policy's gain that two paths give, plus its luck."""
    lucky, (_, freedom), wider = luck(fit, found), standard_error(fit, found), padded(fit)
    there = worth(wider, found.share)
    return min(
        lower_limit(wider, there, float(stdtrit(freedom, sure))) + more
        for sure, more in ((1.0 - _PAID * (1.0 - level), lucky), (level, 0.0))
    )


def candidates(fit: Fit, base: Worth) -> list[Floats]:
    """Return the different policies that policy iteration finds on lowered rewards."""
    found: dict[bytes, Floats] = {}
    commonest = first_best(fit.offsets, fit.taken.astype(np.float64))
    for least in LEAST:
        usable = fit.seen >= least
        usable[commonest] = True
        for penalty in PENALTIES:
            share = _iterated(fit, base, usable, penalty)
            found[share.tobytes()] = share
    return list(found.values())


def _iterated(fit: Fit, base: Worth, usable: Flags, penalty: float) -> Floats:
    pairs, now, reward = None, base, fit.reward
    for _ in range(_ROUNDS):
        variance = shrunk(fit, spread(fit, 1.0, -now.gain, ahead(fit, now.bias)))
        reward = fit.reward - penalty * np.sqrt(variance / fit.seen)
        surplus = np.where(usable, advantage(fit, now, reward), -np.inf)
        best = first_best(fit.offsets, surplus)
        if pairs is not None:
            terms = np.abs(reward) + abs(now.gain) * fit.duration
            slack = _TIE * (np.abs(now.bias).max() + np.maximum(terms[best], terms[pairs]))
            best = np.where(surplus[best] > surplus[pairs] + slack, best, pairs)
            if (best == pairs).all():
                break
        pairs = best
        share = np.zeros(len(fit.seen))
        share[pairs] = 1.0
        now = worth(fit, share, reward)
    return share


def luck(fit: Fit, found: Worth) -> float:
    """Return how much of a policy's estimated gain is due, on average, to lucky estimates in the choice of actions.

    If the difference D of two means has the standard error e, the larger of them is estimated too high by e phi(d / e) on
    average, where d is the true difference and phi the normal density. D in place of d would give too little, since D is
    itself enlarged by the choice; root 2 e phi(D / e) is never too little on average. Luck adds up over states: in a log of
    thousands of states it is many standard errors.
    """
    surplus = advantage(fit, found)
    error = shrunk(fit, spread(fit, 1.0, -found.gain, ahead(fit, found.bias))) / fit.seen
    own = first_best(fit.offsets, found.share)[fit.state]
    apart = np.sqrt(error + error[own])
    other = (fit.seen >= LEAST[0]) & (np.arange(len(own)) != own) & (apart > 0.0)
    odds = np.where(other, (surplus[own] - surplus) / np.where(other, apart, 1.0), np.inf)
    parts = apart * np.exp(-0.5 * odds**2) / math.sqrt(math.pi)
    return float((found.visits[fit.state] * parts)[other].sum())


def compared(fit: Fit, found: Worth, base: Worth) -> tuple[float, float]:
    """Return the standard error of the difference between a gain and the behaviour's, and its degrees of freedom."""
    own, other = found.weight(fit), base.weight(fit)
    gains, biases = (found.gain, base.gain), (ahead(fit, found.bias), ahead(fit, base.bias))
    # Pairs borrow from the pooled variances and covariance of both deltas, each with its own weight.
    one, two = (spread(fit, 1.0, -gain, bias) for gain, bias in zip(gains, biases, strict=True))
    both = (spread(fit, 2.0, -sum(gains), biases[0] + biases[1]) - one - two) / 2.0
    weighted = ((own**2, one), (other**2, two), (-2.0 * own * other, both))
    variance = sum(weight * shrunk(fit, squares) for weight, squares in weighted) / fit.seen
    choice = (base.visits**2 / fit.visits)[fit.state] * base.share * advantage(fit, base) ** 2
    return _error(variance + choice, fit)


def standard_error(fit: Fit, found: Worth) -> tuple[float, float]:
    """Return the standard error of a policy's estimated gain, and Satterthwaite's degrees of freedom."""
    variance = shrunk(fit, spread(fit, 1.0, -found.gain, ahead(fit, found.bias)))
    parts = found.weight(fit) ** 2 * variance / fit.seen
    return _error(parts, fit)


def _error(parts: Floats, fit: Fit) -> tuple[float, float]:
    """Return the root of a sum of variances, and its degrees of freedom, given those of each pair."""
    total = float(parts.sum())
    if total <= 0.0:
        return 0.0, 1e6
    return math.sqrt(total), min(1.0 / float(((parts / total) ** 2 / (fit.seen + 1)).sum()), 1e6)


def lower_limit(fit: Fit, found: Worth, quantile: float) -> float:
    """Return the smallest gain of the policy among models about as plausible as the fitted one.

    The model is moved in small steps, in the direction that lowers the gain most for a given loss of likelihood: rows with a
    large delta lose weight, and rows with a small one gain it. Each step lowers the gain by its share of the standard error
    at that point. If the gain falls ever faster, as in a queue that fills up, a single step by the first standard error
    would stop too soon.
    """
    step, gain = quantile / _PATH, found.gain
    noise, seen = inside(fit), fit.seen
    if fit.ends is not None:  # a pair with censored rows says less than as many rows as ended
        given = (1.0, -found.gain, ahead(fit, found.bias))
        apart = [shrunk(fit, one(fit, *given)) for one in (spread, spread_of_law)]
        seen = seen * np.where(apart[0] > 0.0, apart[1] / np.where(apart[0] > 0.0, apart[0], 1.0), 1.0)
    for _ in range(_PATH):
        cells = (fit.cell_sums[0] - found.gain * fit.cell_sums[1]) / fit.cell_count + ahead(fit, found.bias)
        off = cells - fit.over_pairs(fit.cell_share * cells)[fit.cell_pair]
        between = fit.over_pairs(fit.cell_share * off**2)
        within = noise[0] + found.gain**2 * noise[1] - 2.0 * found.gain * noise[2]
        variance = shrunk(fit, fit.seen * between + within)
        weight = found.weight(fit)
        error = math.sqrt(float((weight**2 * variance / seen).sum()))
        if error == 0.0:
            return gain
        gain -= step * error
        force = step * weight / (seen * error)
        share = fit.cell_share * np.exp(-force[fit.cell_pair] * off)
        share /= fit.over_pairs(share)[fit.cell_pair]
        moved = (share - fit.cell_share) / fit.cell_count
        # The part that the successor does not explain is moved as a mean.
        unexplained = force * np.maximum(variance - between, 0.0)
        reward, duration = (fit.over_pairs(moved * sums) for sums in fit.cell_sums)
        fit = fit._replace(
            cell_share=share, reward=fit.reward + reward - unexplained, duration=fit.duration + duration
        )
        found = worth(fit, found.share)
    return min(gain, found.gain)
