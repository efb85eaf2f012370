"""Rows whose end was not seen: they say only that it comes later than they were watched.

A row of a pair (state and action) that was watched for y and did not end there is *censored*. Whether it is must not depend on how
long it would have lasted, nor on where it would have led, given the pair. The law of durations is then estimated by the
product-limit estimator (E. L. Kaplan and P. Meier, JASA 53, 1958): with d_k ends among the Y_k rows that were watched at the
duration t_k, S(t) is the product of 1 - d_k / Y_k over t_k <= t, and a row that ends at t_k has the weight W = S(t_k-) / Y_k. A mean
of anything that is known where a row ends is its sum with these weights; for the indicator of a successor it is the probability
of O. Aalen and S. Johansen (Scand. J. Stat. 5, 1978), with as many competing ends as there are successors.

Where the longest row is censored, a share q of the rows outlasts all that were seen to end. Such rows are taken to end at the
longest time that was watched (B. Efron, Fifth Berkeley Symposium, 1967), and to lead where the others lead. `fit.tail_doubt` says
what more may be behind it. A law in place of the product-limit estimator says how long they last: exponential, whose mean is the whole
time over the number of ends, or Weibull, by maximum likelihood.

How uncertain such a mean is follows from what each row adds to it. With m(t) the mean of f among the rows that last longer than t,

    psi = W (f - m(t_k)) where the row ends  -  sum over t_k <= y of sum of W (f - m(t_k)) / Y_k over the rows that end at t_k

which are martingales, whatever is known of the row before it begins; without censoring, psi is (f - mean) / n. So the *completed
value* mean + n psi takes the place of f in each of the n rows, censored or not, and all that is computed from rows goes on as if
nothing were censored (compare the pseudo-values of P. K. Andersen, J. P. Klein and S. Rosthoj, Biometrika 90, 2003).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from sojourn.rules.arrays import Flags, Floats, Ints

LAWS = ("kaplan-meier", "exponential", "weibull")
_FEW = 5  # ends; with fewer, a Weibull law is exponential
_SHAPES = (0.05, 50.0)
_HALVINGS = 60
_MORE = 2.0  # times what a Weibull law says of rows that outlast all others, if the longer they last, the less they end
_FAR = 500.0  # mean lives, beyond which only few of any law are left


class Unfinished(NamedTuple):
    """What is known of a log's rows beside what they show: whether each ended, and the part of its reward paid at its beginning."""

    ended: Flags
    start: Floats | None  # None if it is not known which part that is
    law: str = LAWS[0]
    watched: Floats | None = (
        None  # how long each row was watched, if its duration has more to it, such as a repair
    )


class SurvivalCurve(NamedTuple):
    """The product-limit estimators of several pairs, row by row.

    Rows are ordered by pair and duration; a *block* has the rows of a pair with the same duration.
    """

    rows: Ints  # their places in the log
    group: Ints  # of each row, 0, 1, ...: one for each pair
    first: Ints  # row of each group
    watched: Ints  # rows of each group
    ended: Flags
    weight: Floats  # W, 0 for a censored row
    block: Ints  # of each row
    head: Ints  # first row of each block
    at_risk: Floats  # of each block
    left: Floats  # S after each block
    tail: Floats  # q, by group

    def sums(self, values: Floats) -> Floats:
        """Return the sum over the rows of each group."""
        return np.asarray(np.add.reduceat(values, self.first))

    def means(self, values: Floats) -> Floats:
        """Return the mean of each group among the rows that were seen to end."""
        return self.sums(self.weight * values) / (1.0 - self.tail)

    def influences(self, values: Floats, tail: Floats | float) -> Floats:
        """Return psi of each row; `tail` is the value of a group's rows that outlast the others."""
        parts = self.weight * values
        within = np.cumsum(parts)
        base = np.append(0.0, within)[self.first]
        ends = np.append(self.head[1:], len(values)) - 1
        of_block = self.group[self.head]
        beyond = (self.sums(parts) + self.tail * tail)[of_block] - (within[ends] - base[of_block])
        mean = np.where(self.left > 0.0, beyond / np.where(self.left > 0.0, self.left, 1.0), 0.0)
        off = parts - self.weight * mean[self.block]
        steps = np.cumsum(np.add.reduceat(off, self.head) / self.at_risk)
        before = np.append(0.0, steps)[self.block[self.first]]
        return np.asarray(off - (steps[self.block] - before[self.group]))


def curve_of(pair: Ints, duration: Floats, ended: Flags) -> SurvivalCurve:
    """Return the curves of the pairs that have censored rows. Rows that end come before those censored at the same duration."""
    has = np.zeros(int(pair.max()) + 1, dtype=bool)
    has[pair[~ended]] = True
    rows = np.flatnonzero(has[pair])
    rows = rows[np.lexsort((duration[rows], pair[rows]))]
    key, lasts, ends = pair[rows], duration[rows], ended[rows]
    is_first = np.append(True, np.diff(key) != 0)
    is_head = is_first | np.append(True, np.diff(lasts) != 0.0)
    first, head = np.flatnonzero(is_first), np.flatnonzero(is_head)
    group, block = np.cumsum(is_first) - 1, np.cumsum(is_head) - 1
    count = np.diff(np.append(first, len(rows)))
    at_risk = (first + count)[group[head]] - head
    died = np.add.reduceat(ends.astype(np.int64), head)
    over = died == at_risk  # only where the last rows end
    logs = np.cumsum(np.log1p(-np.where(over, 0, died) / at_risk))
    base = np.append(0.0, logs)[block[first]]
    left = np.exp(logs - base[group[head]])
    before = np.append(1.0, left[:-1])
    before[block[first]] = 1.0
    left[over] = 0.0
    weight = np.where(ends, (before / at_risk)[block], 0.0)
    last = np.append(block[first][1:], len(head)) - 1
    return SurvivalCurve(
        rows, group, first, count, ends, weight, block, head, at_risk.astype(np.float64), left, left[last]
    )


class Ends(NamedTuple):
    """A log's censored rows: completed rewards and durations of all rows, and what completes their successors."""

    ended: Flags
    cell: Ints  # of each row, -1 if it did not end
    reward: Floats
    duration: Floats
    curve: SurvivalCurve
    excess: Floats  # by group: how much longer its tail may last
    earning: Floats  # by group: what is earned per unit of time

    def successors(self, cells: Floats) -> Floats:
        """Return the completed value of the successor of each row, given the value of each cell."""
        found = np.where(self.cell >= 0, cells[self.cell], 0.0)
        curve, values = self.curve, found[self.curve.rows]
        mean = curve.means(values)
        off = np.where(curve.ended, values - mean[curve.group], 0.0)
        scale = curve.watched / (1.0 - curve.tail)
        found[curve.rows] = mean[curve.group] + scale[curve.group] * curve.influences(off, 0.0)
        return found


def completed(
    pair: Ints, cell: Ints, reward: Floats, duration: Floats, known: Unfinished
) -> tuple[Ends, Floats]:
    """Return what completes the rows of a log, and their weights: those of a pair sum to 1, and censored rows have none.

    Every pair has a row that ended.
    """
    watched = duration if known.watched is None else known.watched
    curve = curve_of(pair, watched, known.ended)
    rows, group = curve.rows, curve.group
    start = np.zeros(len(reward)) if known.start is None else known.start
    lasts, flows = watched[rows], (reward - start)[rows]
    ends = curve.sums(curve.ended.astype(np.float64))
    exposure = curve.sums(lasts)
    safe = np.where(exposure > 0.0, exposure, 1.0)
    earning, excess = curve.sums(flows) / safe, exposure / ends
    last = np.append(curve.first[1:], len(rows)) - 1
    if known.law == LAWS[0]:
        longer = _residual(curve, lasts, lasts[last])
        excess = np.where(longer > excess, _MORE * longer, excess)
        length = _by_curve(curve, duration[rows], duration[rows][last])
    else:
        length = _by_law(curve, lasts, weibull=known.law == LAWS[2])
        excess = np.zeros(len(excess))
    if known.law == LAWS[0] or known.start is None:
        flow = _by_curve(curve, flows, flows[last])
    else:
        mean = curve.sums(length) / curve.watched
        off = curve.watched[group] * (flows - earning[group] * lasts) / safe[group]
        flow = earning[group] * length + mean[group] * off
    rewards, durations = reward.copy(), duration.copy()
    durations[rows] = length
    rewards[rows] = start[rows] + flow
    weight = 1.0 / np.bincount(pair)[pair]
    weight[rows] = curve.weight / (1.0 - curve.tail)[group]
    return Ends(known.ended, cell, rewards, durations, curve, excess, earning), weight


def _by_curve(curve: SurvivalCurve, values: Floats, tail: Floats) -> Floats:
    """Return completed values by the product-limit estimator; `tail` are the values of rows that outlast the others."""
    mean = curve.sums(curve.weight * values) + curve.tail * tail
    off = np.where(curve.ended, values, 0.0)
    return np.asarray(mean[curve.group] + curve.watched[curve.group] * curve.influences(off, tail))


def _residual(curve: SurvivalCurve, lasts: Floats, watched: Floats) -> Floats:
    """Return how much longer a row lasts that has lasted as long as it was watched, by a Weibull law fitted to each group."""
    lasts = _above_zero(lasts)
    ended = curve.ended.astype(np.float64)
    ends = curve.sums(ended)
    shape = np.where(ends >= _FEW, _shapes(curve, np.log(lasts), ended, ends), 1.0)
    scale = (curve.sums(lasts ** shape[curve.group]) / ends) ** (1.0 / shape)
    x = np.minimum((_above_zero(watched) / scale) ** shape, _FAR)
    return np.asarray(
        scale / shape * special.gamma(1.0 / shape) * special.gammaincc(1.0 / shape, x) * np.exp(x)
    )


def _above_zero(lasts: Floats) -> Floats:
    """Return durations with those of 0, which have been rounded, as half the smallest one."""
    positive = lasts[lasts > 0.0]
    return np.maximum(lasts, 0.5 * float(positive.min()) if positive.size else 1.0)


def _by_law(curve: SurvivalCurve, lasts: Floats, *, weibull: bool) -> Floats:
    """Return completed durations by a law fitted to each group: its mean, and what each row adds to that."""
    group, ended = curve.group, curve.ended.astype(np.float64)
    ends = curve.sums(ended)
    shape = np.ones(len(ends))
    if weibull:
        lasts = _above_zero(lasts)
        shape = np.where(ends >= _FEW, _shapes(curve, np.log(lasts), ended, ends), 1.0)
    k = shape[group]
    scale = (curve.sums(lasts**k) / ends) ** (1.0 / shape)
    mean = scale * special.gamma(1.0 + 1.0 / shape)
    logs = k * np.log(np.maximum(lasts, np.finfo(float).tiny) / scale[group])
    z = np.exp(logs)
    own, other = k * (z - ended), ended * (1.0 + logs) - z * logs  # scores of log scale and log shape
    # The information of (log scale, log shape); a shape that is not fitted has no score.
    a, b, c = shape**2 * ends, -shape * curve.sums(z * logs), curve.sums(z * logs**2 + (z - ended) * logs)
    slope = -mean * special.digamma(1.0 + 1.0 / shape) / shape
    fitted = np.full(len(ends), weibull) & (ends >= _FEW)
    b, slope, c = np.where(fitted, b, 0.0), np.where(fitted, slope, 0.0), np.where(fitted, c, 1.0)
    det = a * c - b * b
    by_scale, by_shape = (c * mean - b * slope) / det, (a * slope - b * mean) / det
    adds = by_scale[group] * own + by_shape[group] * np.where(fitted[group], other, 0.0)
    return np.asarray(mean[group] + curve.watched[group] * adds)


def _shapes(curve: SurvivalCurve, logs: Floats, ended: Floats, ends: Floats) -> Floats:
    """Return the shapes of Weibull laws by maximum likelihood: 1/k + mean log of ends = weighted mean log, by halving."""
    group = curve.group
    off = logs - np.maximum.reduceat(logs, curve.first)[group]
    mean = curve.sums(ended * off) / ends
    low, high = (np.full(len(ends), np.log(end)) for end in _SHAPES)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        k = np.exp(middle)
        power = np.exp(k[group] * off)
        slope = 1.0 / k + mean - curve.sums(power * off) / curve.sums(power)
        low, high = np.where(slope > 0.0, middle, low), np.where(slope > 0.0, high, middle)
    return np.asarray(np.exp(0.5 * (low + high)))
