"""What the rows of a log show about a policy: its estimated gain, and how certain that is.

For each pair of a state and an action that was seen n times, the log gives the mean reward, the mean duration and the
shares of the successors. These make a model, in which a policy x(pair | state) has a gain rho and a bias h,

    h + rho d = r + P h

Let w(s) be the visits to state s per unit time. Up to terms of second order, the gain is a sum of independent means: if
the mean over the rows of a pair of

    delta = r - rho tau + h(s') - h(s)

changes by e, rho changes by w x e. So the variance of rho is the sum of (w x)^2 v / n, where v is the variance of delta
among the rows of the pair. Pairs that were seen only a few times borrow from all others: v = (SS + 2 V) / (n + 1), with SS
the pair's sum of squares and V the pooled variance.

The behaviour's shares n(s, a) / n(s) are estimates too, so its variance is that of delta among all rows of a state. The deltas
of a log's own behaviour sum to 0 in every state, so that its gain is also (sum of r + h(last state) - h(first state)) / (sum
of tau): the observed rate, corrected for a log that begins or ends in unusual states.

Where a few rows decide, as with lognormal costs, a variance says too little. The rows' own terms w x (delta - mean) / n have
a skewness and a kurtosis, with which `sum_sides` corrects Student's law (compare A. B. Owen, "Empirical likelihood", 2001,
and P. S. Thomas, G. Theocharous and M. Ghavamzadeh, "High confidence policy improvement", ICML 2015).

A log need not show how all states are connected. So that every policy has one gain, each step may be followed, with a
probability of 1e-5, by a restart in a state drawn as often as the log visited it.

Rows whose end was not seen are *completed* (`censoring`): each has a value in place of its reward, its duration and the worth of
its successor, so that means and sums of squares over the rows are those of the product-limit estimator. A pair then counts as
many rows as ended.

If the log has the probabilities of its actions, they give a second estimate, without a model (`cycles`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.special import stdtrit

from sojourn.data.moved import moved_names
from sojourn.exact.logs.censoring import Ends, Unfinished, completed
from sojourn.models.chain import iterated
from sojourn.rules.arrays import Flags, Floats, Ints, Sparse
from sojourn.rules.blas import one_thread
from sojourn.rules.long_run import sum_sides

__getattr__ = moved_names(__name__)

_RESTART = 1e-5
_DENSE = 500  # up to this many states, matrices are dense
_NARROW, _TRIED = (
    50,
    40,
)  # the bandwidth up to which a large matrix is factored at once; else steps of iteration before that
_BORROWED = 2.0  # rows of the pooled variance that are added to each pair
_TABLE = 1_000_000  # places of a table that is always small enough
_CERTAIN = 1 << 50  # rows that a known effect is worth


_NOTHING = np.zeros(0)


class LogRows(NamedTuple):
    """The rows of a log, with states, actions and next states as numbers."""

    state: Ints
    action: Ints
    reward: Floats
    duration: Floats
    next_state: Ints


class Fit(NamedTuple):
    """Counts, means and sums of squares of a log's pairs, and of their successors.

    Pairs are ordered by state and action, as in a model. A *cell* is a pair with one of its successors; cells are ordered
    by pair. Every state has a pair. The sums of a cell are sums of rewards and durations minus the means of the pair.
    """

    offsets: Ints  # of the pairs of each state
    state: Ints  # of each pair
    action: Ints
    seen: Ints  # rows of each pair
    reward: Floats  # means of pairs
    duration: Floats
    squares: Floats  # [3, pair]: sums of squares of reward, of duration, and of their product
    cell_pair: Ints
    cell_next: Ints
    cell_count: Floats
    cell_share: Floats  # of the pair's rows
    cell_sums: Floats  # [2, cell]: of reward and duration
    row_pair: Ints
    taken: Ints  # rows of each pair; `seen` are those that ended, or as many as are certain where the effect is known
    ends: Ends | None = None  # if there are censored rows

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.offsets) - 1

    @property
    def known(self) -> Flags:
        """Which pairs have an effect that is known and not estimated."""
        return np.asarray(self.seen == _CERTAIN)

    @property
    def visits(self) -> Ints:
        """The number of rows of each state."""
        return np.add.reduceat(self.taken, self.offsets[:-1])

    @property
    def behaviour(self) -> Floats:
        """The share of each pair among the rows of its state, which estimates the policy that made the log."""
        return np.asarray(self.taken / self.visits[self.state])

    def over_pairs(self, cells: Floats) -> Floats:
        """Return sums over the cells of each pair."""
        return np.bincount(self.cell_pair, cells, minlength=len(self.seen)).astype(np.float64, copy=False)


def fitted(rows: LogRows, num_states: int) -> Fit:
    """Return the counts, means and sums of squares of a log in which every state is left at least once."""
    actions = int(rows.action.max()) + 1
    keys, row_pair, count = grouped(rows.state * actions + rows.action, num_states * actions)
    state, pairs = keys // actions, len(keys)
    reward = np.bincount(row_pair, rows.reward) / count
    duration = np.bincount(row_pair, rows.duration) / count
    r, t = rows.reward - reward[row_pair], rows.duration - duration[row_pair]
    cells, row_cell, cell_count = grouped(row_pair * num_states + rows.next_state, pairs * num_states)
    return Fit(
        offsets=np.searchsorted(state, np.arange(num_states + 1)),
        state=state,
        action=keys % actions,
        seen=count,
        reward=reward,
        duration=duration,
        squares=np.array(
            [np.bincount(row_pair, product, minlength=pairs) for product in (r * r, t * t, r * t)]
        ),
        cell_pair=cells // num_states,
        cell_next=cells % num_states,
        cell_count=cell_count.astype(np.float64),
        cell_share=cell_count / count[cells // num_states],
        cell_sums=np.array([np.bincount(row_cell, r), np.bincount(row_cell, t)]),
        row_pair=row_pair,
        taken=count,
    )


def fitted_unfinished(rows: LogRows, num_states: int, known: Unfinished) -> tuple[Fit, LogRows]:
    """Return the fit of a log with censored rows, and its rows with completed rewards and durations.

    Every pair has a row that ended. Squares and shares are those of the estimated law, as if as many rows as ended had shown it.
    """
    actions = int(rows.action.max()) + 1
    keys, pair, taken = grouped(rows.state * actions + rows.action, num_states * actions)
    ended, pairs = known.ended, len(keys)
    places, place, _ = grouped((pair * num_states + rows.next_state)[ended], pairs * num_states)
    cell = np.full(len(pair), -1, dtype=np.int64)
    cell[ended] = place
    ends, weight = completed(pair, cell, rows.reward, rows.duration, known)
    seen = np.bincount(pair[ended], minlength=pairs)
    cell_pair = places // num_states
    share = np.bincount(place, weight[ended]).astype(np.float64, copy=False)
    of = pair[ended]
    off = [one[ended] - np.bincount(pair, weight * one)[of] for one in (rows.reward, rows.duration)]
    counted = (seen[pair] * weight)[ended]
    products = (off[0] ** 2, off[1] ** 2, off[0] * off[1])
    fit = Fit(
        offsets=np.searchsorted(keys // actions, np.arange(num_states + 1)),
        state=keys // actions,
        action=keys % actions,
        seen=seen,
        reward=np.bincount(pair, ends.reward) / taken,
        duration=np.bincount(pair, ends.duration) / taken,
        squares=np.array([np.bincount(of, counted * one, minlength=pairs) for one in products]),
        cell_pair=cell_pair,
        cell_next=places % num_states,
        cell_count=share * seen[cell_pair],
        cell_share=share,
        cell_sums=np.array([np.bincount(place, counted * one) for one in off]),
        row_pair=pair,
        taken=taken,
        ends=ends,
    )
    return fit, rows._replace(reward=ends.reward, duration=ends.duration)


def fitted_sums(cells: LogRows, squares: Floats, count: Ints, num_states: int) -> Fit:
    """Return the fit of a log of which only sums are known: each "row" has the sums of many with the same successor.

    `squares` has their sums of squares of reward, of duration, and of their product.
    """
    actions = int(cells.action.max()) + 1
    keys, pair, _ = grouped(cells.state * actions + cells.action, num_states * actions)
    places, place, _ = grouped(pair * num_states + cells.next_state, len(keys) * num_states)
    cell_pair = places // num_states
    rows = np.bincount(place, count).astype(np.float64)
    seen = np.bincount(pair, count).astype(np.int64)
    sums = np.array([np.bincount(place, cells.reward), np.bincount(place, cells.duration)])
    means = np.array([np.bincount(cell_pair, each) for each in sums]) / seen
    products = np.array([means[0] ** 2, means[1] ** 2, means[0] * means[1]])
    centred = np.array([np.bincount(pair, each) for each in squares]) - seen * products
    centred[:2] = np.maximum(centred[:2], 0.0)
    return Fit(
        offsets=np.searchsorted(keys // actions, np.arange(num_states + 1)),
        state=keys // actions,
        action=keys % actions,
        seen=seen,
        reward=means[0],
        duration=means[1],
        squares=centred,
        cell_pair=cell_pair,
        cell_next=places % num_states,
        cell_count=rows,
        cell_share=rows / seen[cell_pair],
        cell_sums=sums - rows * means[:, cell_pair],
        row_pair=np.zeros(0, dtype=np.int64),
        taken=seen,
    )


def grouped(keys: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Return the different keys below `size`, the place of each row's key among them, and their counts."""
    if size > max(len(keys), _TABLE):
        return np.unique(keys, return_inverse=True, return_counts=True)
    count = np.bincount(keys, minlength=size)
    known = np.flatnonzero(count)
    place = np.zeros(size, dtype=np.int64)
    place[known] = np.arange(len(known))
    return known, place[keys], count[known]


def with_known(
    fit: Fit, action: int, reward: float, duration: float, successors: Floats, states: Ints
) -> Fit:
    """Return the fit with an action whose effect is known, the same in each of these states."""
    actions = max(action, int(fit.action.max())) + 1
    keys = np.union1d(fit.state * actions + fit.action, states * actions + action)
    place = np.searchsorted(keys, fit.state * actions + fit.action)
    mine = (keys % actions == action) & np.isin(keys // actions, states)

    def filled(old: Floats, new: float) -> Floats:
        whole = np.full((*old.shape[:-1], len(keys)), new, dtype=old.dtype)
        whole[..., place] = old
        whole[..., mine] = new
        return whole

    count = np.zeros(len(keys), dtype=np.int64)
    count[place] = fit.taken
    after = np.flatnonzero(successors)
    kept = np.flatnonzero(~mine[place[fit.cell_pair]])
    pair = np.append(place[fit.cell_pair[kept]], np.repeat(np.flatnonzero(mine), len(after)))
    following = np.append(fit.cell_next[kept], np.tile(after, len(states)))
    share = np.append(fit.cell_share[kept], np.tile(successors[after], len(states)))
    order = np.lexsort((following, pair))
    sums = np.append(fit.cell_sums[:, kept], np.zeros((2, len(after) * len(states))), axis=1)
    moved = np.full(len(fit.cell_pair), -1, dtype=np.int64)
    moved[kept] = np.argsort(order)[: len(kept)]
    seen = np.full(len(keys), _CERTAIN)
    seen[place] = fit.seen
    seen[mine] = _CERTAIN
    return Fit(
        offsets=np.searchsorted(keys // actions, np.arange(fit.num_states + 1)),
        state=keys // actions,
        action=keys % actions,
        seen=seen,
        reward=filled(fit.reward, reward),
        duration=filled(fit.duration, duration),
        squares=filled(fit.squares, 0.0),
        cell_pair=pair[order],
        cell_next=following[order],
        cell_count=(share * seen[pair])[order],
        cell_share=share[order],
        cell_sums=sums[:, order],
        row_pair=place[fit.row_pair],
        taken=count,
        ends=_moved(fit.ends, moved),
    )


def _moved(ends: Ends | None, place: Ints) -> Ends | None:
    """Return the ends with the new places of cells, -1 for those that are gone."""
    return ends and ends._replace(cell=np.where(ends.cell >= 0, place[ends.cell], -1))


def padded(fit: Fit) -> Fit:
    """Return the fit with half a row for each successor that a state has shown, but only under other actions.

    An action that was taken 50 times and never led to the bad regime may still lead there, if another one did.
    """
    count = fit.num_states
    shown = np.unique(fit.state[fit.cell_pair] * count + fit.cell_next)
    first = np.searchsorted(shown, np.arange(count + 1) * count)  # of each state's successors
    many = np.diff(first)[fit.state]
    pair = np.repeat(np.arange(len(fit.seen)), many)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(many) - many, many)
    after = shown[first[fit.state[pair]] + within] % count
    # Pairs and successors are in the order of the cells, so the cells that exist are found by bisection.
    place = np.searchsorted(pair * count + after, fit.cell_pair * count + fit.cell_next)
    rows, sums = np.full(len(pair), 0.5), np.zeros((2, len(pair)))
    rows[place], sums[:, place] = fit.cell_count, fit.cell_sums
    total = np.bincount(pair, rows)
    return fit._replace(
        cell_pair=pair,
        cell_next=after,
        cell_count=rows,
        cell_share=rows / total[pair],
        cell_sums=sums,
        ends=_moved(fit.ends, place),
    )


class Worth(NamedTuple):
    """The worth of a policy in the model of a log: gain, bias, and visits to each state per unit time."""

    share: Floats  # of each pair in its state
    gain: float
    bias: Floats
    visits: Floats

    def weight(self, fit: Fit) -> Floats:
        """Return how often each pair is taken per unit time."""
        return self.visits[fit.state] * self.share


@one_thread()
def worth(fit: Fit, share: Floats, reward: Floats | None = None) -> Worth:
    """Return the worth of the policy with these shares of pairs; `reward` replaces the mean rewards if given."""
    first, count = fit.offsets[:-1], fit.num_states
    rewards = np.add.reduceat(share * (fit.reward if reward is None else reward), first)
    durations = np.add.reduceat(share * fit.duration, first)
    again = _RESTART * fit.visits / fit.visits.sum()
    chance = (1.0 - _RESTART) * share[fit.cell_pair] * fit.cell_share
    place = fit.state[fit.cell_pair] * count + fit.cell_next
    # The bias of state 0 is 0, so its column is free for the gain; the first row of the inverse is then w.
    if count <= _DENSE:
        system = np.eye(count) - np.bincount(place, chance, minlength=count**2).reshape(count, count) - again
        system[:, 0] = durations
        inverse = np.linalg.inv(system)
        answer, visits = inverse @ rewards, inverse[0]
    else:
        answer, visits = _large(sparse.coo_array((chance, divmod(place, count))), again, rewards, durations)
    bias = answer.copy()
    bias[0] = 0.0
    return Worth(share, float(answer[0]), bias, visits)


def _large(matrix: Sparse, again: Floats, rewards: Floats, durations: Floats) -> tuple[Floats, Floats]:
    """Return the same for a large model, in which the restart is one more state that takes no time."""
    count = len(rewards)
    restart = sparse.coo_array(again / _RESTART)
    leave = sparse.coo_array(np.full((count, 1), _RESTART))
    whole = sparse.block_array([[matrix.tocsr(), leave], [restart.reshape((1, count)), None]], format="csc")
    system = (sparse.eye_array(count + 1, format="csc") - whole)[:, 1:]
    first = sparse.csc_array(np.append(durations, 0.0)[:, None])
    system = sparse.hstack([first, system], format="csc")
    right, unit = np.append(rewards, 0.0), np.append(1.0, np.zeros(count))
    # Where states lead to states all over, factors are dense, but iteration is quick; along a queue it is the reverse.
    answer = None if _is_narrow(matrix) else iterated(system.tocsr(), right, _TRIED)
    visits = None if answer is None else iterated(system.T.tocsr(), unit, 10 * _TRIED)
    if answer is None or visits is None:
        factors = linalg.splu(system)
        answer, visits = factors.solve(right), factors.solve(unit, trans="T")
    return answer[:count], visits[:count]


def _is_narrow(matrix: Sparse) -> bool:
    """Return whether all entries are near the diagonal if the states are put in a good order (E. Cuthill and J. McKee, 1969)."""
    order = reverse_cuthill_mckee(sparse.csr_array(matrix))
    place = np.argsort(order)
    return bool(np.abs(place[matrix.row] - place[matrix.col]).max() <= _NARROW)


def spread(fit: Fit, reward: Floats | float, duration: Floats | float, cells: Floats) -> Floats:
    """Return each pair's sum of squares of a r + b tau + g minus its mean, with a and b given by pair and g by cell.

    Of a pair with censored rows it is what as many rows as ended would have to have for the mean to be as uncertain as it is.
    """
    found, ends = spread_of_law(fit, reward, duration, cells), fit.ends
    if ends is None:
        return found
    rows, first = ends.curve.rows, ends.curve.first
    a, b = (np.broadcast_to(one, fit.reward.shape)[fit.row_pair[rows]] for one in (reward, duration))
    values = a * ends.reward[rows] + b * ends.duration[rows] + ends.successors(cells)[rows]
    off = values - (ends.curve.sums(values) / ends.curve.watched)[ends.curve.group]
    pair = fit.row_pair[rows[first]]
    found[pair] = (np.minimum(fit.seen, fit.taken)[pair] / ends.curve.watched) ** 2 * ends.curve.sums(off**2)
    return found


def spread_of_law(fit: Fit, reward: Floats | float, duration: Floats | float, cells: Floats) -> Floats:
    """Return the same for rows that ended, each with the share of its pair that its cell has."""
    a, b = np.broadcast_to(reward, fit.reward.shape), np.broadcast_to(duration, fit.reward.shape)
    off = cells - fit.over_pairs(cells * fit.cell_share)[fit.cell_pair]
    sums = a[fit.cell_pair] * fit.cell_sums[0] + b[fit.cell_pair] * fit.cell_sums[1]
    rows = fit.cell_share * fit.seen[fit.cell_pair]
    crossed = fit.over_pairs((2.0 * sums * rows / fit.cell_count + rows * off) * off)
    own = a * a * fit.squares[0] + b * b * fit.squares[1] + 2.0 * a * b * fit.squares[2]
    return np.asarray(np.maximum(own + crossed, 0.0))


def inside(fit: Fit) -> Floats:
    """Return the part of each pair's `squares` that its successors do not explain."""
    reward, duration = fit.cell_sums
    products = (reward**2, duration**2, reward * duration)
    return np.asarray(fit.squares - np.array([fit.over_pairs(one / fit.cell_count) for one in products]))


def ahead(fit: Fit, bias: Floats) -> Floats:
    """Return h(s') - h(s) for each cell."""
    return bias[fit.cell_next] - bias[fit.state[fit.cell_pair]]


def shrunk(fit: Fit, squares: Floats) -> Floats:
    """Return the variance of each pair, with two rows of the pooled variance added."""
    unsure = ~fit.known
    left = fit.seen[unsure].sum() - np.count_nonzero(unsure)
    pooled = squares[unsure].sum() / max(left, 1)
    return np.asarray((squares + _BORROWED * pooled) / (fit.seen - 1 + _BORROWED))


def advantage(fit: Fit, found: Worth, reward: Floats | None = None) -> Floats:
    """Return the mean delta of each pair: the advantage of taking it once before following the policy."""
    mean = fit.over_pairs(ahead(fit, found.bias) * fit.cell_share)
    return np.asarray((fit.reward if reward is None else reward) - found.gain * fit.duration + mean)


def deltas(rows: LogRows, fit: Fit, found: Worth) -> Floats:
    """Return delta of each row, completed where rows are censored."""
    ends = fit.ends
    after = found.bias[rows.next_state] if ends is None else ends.successors(found.bias[fit.cell_next])
    return np.asarray(rows.reward - found.gain * rows.duration + after - found.bias[rows.state])


def tail_doubt(fit: Fit, found: Worth, base: Worth | None = None) -> tuple[float, float]:
    """Return how much lower and higher a gain may be, or its difference to that of `base`, for rows that outlast all others.

    They may lead to their pair's worst or best successor, and may last longer by what an exponential law says or, if ends
    become rarer with time, by twice what a Weibull law says.
    """
    ends = fit.ends
    if ends is None:
        return 0.0, 0.0
    pair, starts = (
        fit.row_pair[ends.curve.rows[ends.curve.first]],
        np.searchsorted(fit.cell_pair, np.arange(len(fit.seen))),
    )
    moved, longer = np.zeros(len(fit.cell_pair)), np.zeros(len(pair))
    for one, sign in ((found, 1.0), (base, -1.0)):
        if one is not None:
            weight = sign * np.where(fit.known, 0.0, one.weight(fit))
            after = one.bias[fit.cell_next]
            moved += weight[fit.cell_pair] * (after - fit.over_pairs(after * fit.cell_share)[fit.cell_pair])
            longer += weight[pair] * ends.excess * (ends.earning - one.gain)
    below = np.minimum.reduceat(moved, starts)[pair] + np.minimum(longer, 0.0)
    above = np.maximum.reduceat(moved, starts)[pair] + np.maximum(longer, 0.0)
    return float(ends.curve.tail @ below), float(ends.curve.tail @ above)


def terms(rows: LogRows, fit: Fit, found: Worth, usual: Flags) -> Floats:
    """Return what each row adds to the error of a policy's estimated gain; `usual` are the states that keep the behaviour."""
    delta = deltas(rows, fit, found)
    surplus = advantage(fit, found)
    if fit.known.any():  # what such rows show is not used
        delta = np.where(fit.known[fit.row_pair], surplus[fit.row_pair], delta)
    own = found.weight(fit) / np.where(fit.known, fit.seen, fit.taken)
    usually = (found.visits / fit.visits)[fit.state]
    mean = np.add.reduceat(surplus * found.share, fit.offsets[:-1])[fit.state]
    factor, middle = (np.where(usual[fit.state], *both) for both in ((usually, own), (mean, surplus)))
    return np.asarray(factor[fit.row_pair] * (delta - middle[fit.row_pair]))


def sides(
    rows: LogRows | None,
    fit: Fit,
    level: float,
    found: Worth,
    usual: Flags,
    base: Worth | None = None,
    more: Floats = _NOTHING,
) -> tuple[float, float]:
    """Return how far below and above its estimate a gain may be, or its difference to that of the behaviour, `base`.

    `more` are further terms. Without rows, as in a log of sums, Student's law takes the place of skewness and kurtosis.
    """
    always = np.ones(fit.num_states, dtype=bool)
    if rows is not None:
        own = terms(rows, fit, found, usual)
        own = own if base is None else own - terms(rows, fit, base, always)
        return sum_sides(np.append(own, more), level)
    parts = [_factors(fit, found, usual)] + ([] if base is None else [_factors(fit, base, always)])
    a, b, off, cells = (one[0] - one[1] if len(one) > 1 else one[0] for one in zip(*parts, strict=True))
    squares = float((spread(fit, a, b, cells) + fit.seen * off**2)[~fit.known].sum() + more @ more)
    freedom = max(int(fit.taken.sum()) - len(fit.taken), 1)
    half = float(stdtrit(freedom, 0.5 + level / 2.0)) * math.sqrt(squares)
    return -half, half


def _factors(fit: Fit, found: Worth, usual: Flags) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what the terms of rows are made of: factors of rewards and durations, means by pair, and parts by cell."""
    surplus, keeps = advantage(fit, found), usual[fit.state]
    mean = np.add.reduceat(surplus * found.share, fit.offsets[:-1])[fit.state]
    factor = np.where(keeps, (found.visits / fit.visits)[fit.state], found.weight(fit) / fit.seen)
    off = factor * np.where(keeps, surplus - mean, 0.0)
    return factor, -found.gain * factor, off, factor[fit.cell_pair] * ahead(fit, found.bias)
