"""What the rows of a log say about a policy: its estimated gain, and how sure that is.

For each pair of a state and an action that was seen n times, the log gives the mean reward, the mean duration and the
shares of the successors. These make a model, in which a policy x(pair | state) has a gain rho and a bias h,

    h + rho d = r + P h

With w(s) the visits of state s per unit time, the gain is a sum of independent means, up to terms of second
order: a change of pair p's mean of

    delta = r - rho tau + h(s') - h(s)

by e changes rho by w x e. So its variance is the sum of (w x)^2 v / n, v the variance of delta among the rows of the
pair. Pairs seen a few times borrow from all: v = (SS + 2 V) / (n + 1), SS their sum of squares and V the pooled variance.

A log need not show how all states are connected. So that every policy has one gain, each step is mixed with a
restart, of probability 1e-5, in a state drawn as the log visited them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from sojourn.rules.arrays import Floats, Ints, Sparse

_RESTART = 1e-5
_DENSE = 500  # states, up to which matrices are dense
_BORROWED = 2.0  # rows of the pooled variance that each pair gets


class Rows(NamedTuple):
    """The rows of a log, in numbers: states, actions, next states; rewards and durations."""

    state: Ints
    action: Ints
    reward: Floats
    duration: Floats
    next_state: Ints


class Fit(NamedTuple):
    """Counts, means and sums of squares of a log's pairs, and of their successors.

    Pairs stand in order of state and action, as in a model, and *cells*, the different successors of pairs, in
    order of pair. Every state has a pair. Sums of a cell are of rewards and durations less the pair's means.
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
    cell_count: Ints
    cell_share: Floats  # of the pair's rows
    cell_sums: Floats  # [2, cell]: of reward and duration
    row_pair: Ints

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self.offsets) - 1

    @property
    def visits(self) -> Ints:
        """How many rows each state has."""
        return np.add.reduceat(self.seen, self.offsets[:-1])

    @property
    def behaviour(self) -> Floats:
        """The share of each pair among the rows of its state: the policy that made the log, as far as it is seen."""
        return np.asarray(self.seen / self.visits[self.state])

    def over_pairs(self, cells: Floats) -> Floats:
        """Return sums over the cells of each pair."""
        return np.bincount(self.cell_pair, cells, minlength=len(self.seen)).astype(np.float64, copy=False)


def fitted(rows: Rows, num_states: int) -> Fit:
    """Return the counts, means and squares of the rows of a log in which every state is left at least once."""
    actions = int(rows.action.max()) + 1
    keys, row_pair, count = np.unique(
        rows.state * actions + rows.action, return_inverse=True, return_counts=True
    )
    state, pairs = keys // actions, len(keys)
    reward = np.bincount(row_pair, rows.reward) / count
    duration = np.bincount(row_pair, rows.duration) / count
    r, t = rows.reward - reward[row_pair], rows.duration - duration[row_pair]
    cells, row_cell, cell_count = np.unique(
        row_pair * num_states + rows.next_state, return_inverse=True, return_counts=True
    )
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
        cell_count=cell_count,
        cell_share=cell_count / count[cells // num_states],
        cell_sums=np.array([np.bincount(row_cell, r), np.bincount(row_cell, t)]),
        row_pair=row_pair,
    )


class Worth(NamedTuple):
    """What a policy is worth in the model of a log: gain, bias, and visits of each state per unit time."""

    share: Floats  # of each pair in its state
    gain: float
    bias: Floats
    visits: Floats

    def weight(self, fit: Fit) -> Floats:
        """Return how often each pair is taken per unit time."""
        return self.visits[fit.state] * self.share


def worth(fit: Fit, share: Floats, reward: Floats | None = None) -> Worth:
    """Return what the policy with these shares of pairs is worth, with other mean rewards if they are given."""
    first, count = fit.offsets[:-1], fit.num_states
    rewards = np.add.reduceat(share * (fit.reward if reward is None else reward), first)
    durations = np.add.reduceat(share * fit.duration, first)
    again = _RESTART * fit.visits / fit.visits.sum()
    chance = (1.0 - _RESTART) * share[fit.cell_pair] * fit.cell_share
    place = fit.state[fit.cell_pair] * count + fit.cell_next
    # The bias of state 0 is 0, so that the gain can take its column; the first row of the inverse is then w.
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
    """Return the same of a large model: the restart is one more state, which takes no time."""
    count = len(rewards)
    restart = sparse.coo_array(again / _RESTART)
    leave = sparse.coo_array(np.full((count, 1), _RESTART))
    whole = sparse.block_array([[matrix.tocsr(), leave], [restart.reshape((1, count)), None]], format="csc")
    system = (sparse.eye_array(count + 1, format="csc") - whole)[:, 1:]
    first = sparse.csc_array(np.append(durations, 0.0)[:, None])
    factors = linalg.splu(sparse.hstack([first, system], format="csc"))
    answer = factors.solve(np.append(rewards, 0.0))
    visits = factors.solve(np.append(1.0, np.zeros(count)), trans="T")
    return answer[:count], visits[:count]


def spread(fit: Fit, reward: Floats | float, duration: Floats | float, cells: Floats) -> Floats:
    """Return the sum of squares, of each pair, of a r + b tau + g: a and b given by pair, g by cell, means taken off."""
    a, b = np.broadcast_to(reward, fit.reward.shape), np.broadcast_to(duration, fit.reward.shape)
    off = cells - fit.over_pairs(cells * fit.cell_share)[fit.cell_pair]
    sums = a[fit.cell_pair] * fit.cell_sums[0] + b[fit.cell_pair] * fit.cell_sums[1]
    rows = fit.cell_share * fit.seen[fit.cell_pair]
    crossed = fit.over_pairs((2.0 * sums * rows / fit.cell_count + rows * off) * off)
    own = a * a * fit.squares[0] + b * b * fit.squares[1] + 2.0 * a * b * fit.squares[2]
    return np.asarray(np.maximum(own + crossed, 0.0))


def inside(fit: Fit) -> Floats:
    """Return the sums of squares of rewards, of durations and of their product that successors do not explain, by pair."""
    reward, duration = fit.cell_sums
    told = (fit.over_pairs(one / fit.cell_count) for one in (reward**2, duration**2, reward * duration))
    return np.asarray(fit.squares - np.array(list(told)))


def ahead(fit: Fit, bias: Floats) -> Floats:
    """Return h(s') - h(s) of each cell."""
    return bias[fit.cell_next] - bias[fit.state[fit.cell_pair]]


def shrunk(fit: Fit, squares: Floats) -> Floats:
    """Return the variances of pairs, each with two rows of the variance of all."""
    left = fit.seen.sum() - len(fit.seen)
    pooled = squares.sum() / max(left, 1)
    return np.asarray((squares + _BORROWED * pooled) / (fit.seen - 1 + _BORROWED))


def advantage(fit: Fit, found: Worth, reward: Floats | None = None) -> Floats:
    """Return the mean delta of each pair: what taking it once, and then the policy, is worth beside the policy."""
    mean = fit.over_pairs(ahead(fit, found.bias) * fit.cell_share)
    return np.asarray((fit.reward if reward is None else reward) - found.gain * fit.duration + mean)
