"""A policy that is surely better than the one that made the log, or that one itself.

Solving the model of a log picks what looks best, and what looks best is often what was seen by luck a few times. So
(compare R. Laroche, P. Trichelair and R. Tachet des Combes, "Safe policy improvement with baseline bootstrapping",
ICML 2019):

1. Candidates are made by policy iteration on rewards less c standard errors, among actions that were taken at least m
   times in their state; a state without one keeps its commonest. m is 5, 10, 20 or 40, c is 0, 1/2, 1, 2 or 3.
2. A candidate and the behaviour are compared on the same rows: the difference of their gains has the variance

       sum over pairs of var(x delta - x_b delta_b) / n  +  sum over states of w_b^2 sum of pi_b adv_b^2 / n(s)

   x and x_b how often each of them takes the pair per unit time. The second part is the chance of the actions.
3. A candidate must be better with a probability of 98 %, by Student's law with Satterthwaite's degrees of freedom, and
   better than its luck (see `luck`) with one of 90 %. Of those that are, the one of which most is sure is chosen; without
   any, the behaviour is kept.
4. The gain that is reported has its luck taken off. Its lower limit, found along a path (see `lower_limit`), is the
   lesser of two: that at 99.75 % for a promise of 95 %, and that at 95 % less the luck. Both pay for having chosen and
   measured on the same rows; the second counts where there are many states.

The constants were chosen on logs of other seeds than those that the documentation's figures are from.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from sojourn.exact.logs.fit import Fit, Worth, advantage, ahead, inside, shrunk, spread, worth
from sojourn.rules.arrays import Flags, Floats, Ints

LEAST = (5, 10, 20, 40)
PENALTIES = (0.0, 0.5, 1.0, 2.0, 3.0)
_ROUNDS = 30
_SURE, _LIKELY = 0.98, 0.9  # levels at which a candidate must be better, and better than its luck
_PAID = 0.05  # by how much less often the limit may be wrong than it says, as the price of the choice
_PATH = 6  # steps to the lower limit


class Choice(NamedTuple):
    """A policy that is surely better: its worth; its gain less luck, with a limit; the probability that it is better."""

    found: Worth
    gain: float
    low: float
    beats: float


def chosen(fit: Fit, level: float = 0.95) -> Choice | None:
    """Return the policy to follow; None where the behaviour is to be kept."""
    base = worth(fit, fit.behaviour)
    best, most, beats = None, 0.0, 0.0
    for share in candidates(fit, base):
        found = worth(fit, share)
        difference, lucky = found.gain - base.gain, luck(fit, found)
        deviation, freedom = compared(fit, found, base)
        sure, likely = (float(stdtrit(freedom, level)) * deviation for level in (_SURE, _LIKELY))
        least = difference - max(sure, lucky + likely)
        if least > most:
            best, most = found, least
            beats = float(stdtr(freedom, (difference - lucky) / deviation)) if deviation else 1.0
    if best is None:
        return None
    lucky, (_, freedom) = luck(fit, best), standard_error(fit, best)
    limits = [
        lower_limit(fit, best, float(stdtrit(freedom, sure))) - less
        for sure, less in ((1.0 - _PAID * (1.0 - level), 0.0), (level, lucky))
    ]
    return Choice(best, best.gain - lucky, min(limits), beats)


def candidates(fit: Fit, base: Worth) -> list[Floats]:
    """Return the different policies that policy iteration on lowered rewards finds."""
    found: dict[bytes, Floats] = {}
    commonest = first_best(fit, fit.seen.astype(np.float64))
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
        if pairs is None:
            new = first_best(fit, surplus)
        else:
            best = np.maximum.reduceat(surplus, fit.offsets[:-1])
            slack = 1e-9 * (1.0 + np.abs(best))
            new = np.where(best > surplus[pairs] + slack, first_best(fit, surplus), pairs)
        if pairs is not None and (new == pairs).all():
            break
        pairs = new
        share = np.zeros(len(fit.seen))
        share[pairs] = 1.0
        now = worth(fit, share, reward)
    return share


def first_best(fit: Fit, numbers: Floats) -> Ints:
    """Return the first pair of each state that has the state's largest number."""
    best = np.maximum.reduceat(numbers, fit.offsets[:-1])
    at = np.flatnonzero(numbers == best[fit.state])
    _, first = np.unique(fit.state[at], return_index=True)
    return at[first]


def luck(fit: Fit, found: Worth) -> float:
    """Return how much of a policy's estimated gain is the luck of what looked best in each state, on average.

    Of two means whose difference D has the standard error e, the better one is estimated too high by e phi(d / e) on
    average, d the true difference and phi the normal density. With D in the place of d that would be too little, since D
    has itself gained from the choice; root 2 e phi(D / e) is never too little on average. It adds up over states:
    in a log of thousands of them it is many standard errors.
    """
    surplus = advantage(fit, found)
    error = shrunk(fit, spread(fit, 1.0, -found.gain, ahead(fit, found.bias))) / fit.seen
    own = first_best(fit, found.share)[fit.state]
    apart = np.sqrt(error + error[own])
    other = (fit.seen >= LEAST[0]) & (np.arange(len(own)) != own) & (apart > 0.0)
    odds = np.where(other, (surplus[own] - surplus) / np.where(other, apart, 1.0), np.inf)
    parts = apart * np.exp(-0.5 * odds**2) / math.sqrt(math.pi)
    return float((found.visits[fit.state] * parts)[other].sum())


def compared(fit: Fit, found: Worth, base: Worth) -> tuple[float, float]:
    """Return the standard error of the difference of two gains, the second that of the behaviour, and its freedom."""
    own, other = found.weight(fit), base.weight(fit)
    gains, biases = (found.gain, base.gain), (ahead(fit, found.bias), ahead(fit, base.bias))
    # Pairs borrow from the pooled variances and covariance of both deltas, each at its own weights.
    one, two = (spread(fit, 1.0, -gain, bias) for gain, bias in zip(gains, biases, strict=True))
    both = (spread(fit, 2.0, -sum(gains), biases[0] + biases[1]) - one - two) / 2.0
    variance = (
        sum(
            weight * shrunk(fit, squares)
            for weight, squares in ((own**2, one), (other**2, two), (-2.0 * own * other, both))
        )
        / fit.seen
    )
    choice = (base.visits**2 / fit.visits)[fit.state] * base.share * advantage(fit, base) ** 2
    return _error(variance + choice, fit)


def standard_error(fit: Fit, found: Worth) -> tuple[float, float]:
    """Return the standard error of a policy's estimated gain, and Satterthwaite's degrees of freedom."""
    variance = shrunk(fit, spread(fit, 1.0, -found.gain, ahead(fit, found.bias)))
    parts = found.weight(fit) ** 2 * variance / fit.seen
    return _error(parts, fit)


def _error(parts: Floats, fit: Fit) -> tuple[float, float]:
    """Return the root of a sum of variances, and its degrees of freedom if each part has those of its pair."""
    total = float(parts.sum())
    if total <= 0.0:
        return 0.0, 1e6
    return math.sqrt(total), min(total**2 / float((parts**2 / (fit.seen + 1)).sum()), 1e6)


def lower_limit(fit: Fit, found: Worth, quantile: float) -> float:
    """Return the least gain of the policy among models about as plausible as the one that was fitted.

    The model is moved, in small steps, the way that lowers the gain most for its loss of likelihood: rows of a large delta
    lose weight, those of a small one gain it. Each step costs its standard error as it is there. Where the gain
    falls ever faster, as in a queue that fills up, one step by the first standard error would stop too soon.
    """
    step, gain = quantile / _PATH, found.gain
    noise = inside(fit)
    for _ in range(_PATH):
        cells = (fit.cell_sums[0] - found.gain * fit.cell_sums[1]) / fit.cell_count + ahead(fit, found.bias)
        off = cells - fit.over_pairs(fit.cell_share * cells)[fit.cell_pair]
        between = fit.over_pairs(fit.cell_share * off**2)
        within = noise[0] + found.gain**2 * noise[1] - 2.0 * found.gain * noise[2]
        variance = shrunk(fit, fit.seen * between + within)
        weight = found.weight(fit)
        error = math.sqrt(float((weight**2 * variance / fit.seen).sum()))
        if error == 0.0:
            return gain
        gain -= step * error
        force = step * weight / (fit.seen * error)
        share = fit.cell_share * np.exp(-force[fit.cell_pair] * off)
        share /= fit.over_pairs(share)[fit.cell_pair]
        moved = (share - fit.cell_share) / fit.cell_count
        # What is not told by the successor is moved as a mean.
        fit = fit._replace(
            cell_share=share,
            reward=fit.reward
            + fit.over_pairs(moved * fit.cell_sums[0])
            - force * np.maximum(variance - between, 0.0),
            duration=fit.duration + fit.over_pairs(moved * fit.cell_sums[1]),
        )
        found = worth(fit, found.share)
    return min(gain, found.gain)
