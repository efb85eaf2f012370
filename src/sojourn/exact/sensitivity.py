"""How the gain depends on each number of a model, how close each other action is, and what would change the policy.

Let x(s, a) be how often a policy takes a pair per unit time, g its gain and h its bias. If one number changes a little, the
gain changes by

    d gain / d reward(s, a) = x(s, a)        d gain / d duration(s, a) = -g x(s, a)
    d gain / d p(row)       = x(s, a) (v(row) - mean of v over the pair's rows),    v = r - g tau + h(s') of the row

where the number p(row) moves, and then all probabilities of the pair are divided by their sum. The probability itself moves by
only 1 - p as much, so per unit of it, divide by 1 - p.

An action that the policy does not take loses A = h(s) - (r - g d + P h) each time that it is taken instead. If the reward of
the policy's own pair in state i grows by e, the gain grows by e x(i) and the bias by e k, where

    k + x(i) d = 1(s = i) + P k

Hence every A grows by e S, with S = k(s) + x(i) d(s, a) - P k: the policy stays the best as long as no A + e S is below 0. And
if another action is always taken in i, the gain falls by A x(i) / S for S in the same state: S / x(i) is the mean time between two
visits then, since the mean time from s to i is (k(i) - k(s)) / x(i). (Derivatives of this kind: P. J. Schweitzer, Journal of
Applied Probability 5, 1968.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from sojourn.models.chain import chain_of_pairs, expected, outward
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.blas import one_thread

if TYPE_CHECKING:
    from sojourn.exact.policies import PolicyValue
    from sojourn.models.smdp import SMDP

MOST_STATES = 1000  # of a model whose alternatives are worked out, with a matrix of all states by all states
_TIE = 1e-14  # relative to what it is the difference of: a loss below is rounding
_ROUNDING = 1e-11  # of the largest terms


class Sensitivity(NamedTuple):
    """By how much the gain changes if a number of the model does: per unit of each reward, duration and probability.

    `reward` and `duration` have a number for each pair, `probability` one for each row of the model, as they are stored
    in it. If the number of a row changes, all probabilities of its pair are divided by their sum, so its own moves by
    1 - p as much; divide by 1 - p for the effect per unit of the probability itself.

    >>> import sojourn as sj
    >>> worth = sj.evaluate(sj.problems.long_return(), [0, 0])  # 30 in a time of 2, then 0 in one of 1
    >>> worth.sensitivity.reward, worth.sensitivity.duration
    (array([0.33333333, 0.        , 0.33333333, 0.        ]), array([-3.33333333,  0.        , -3.33333333,  0.        ]))
    """

    reward: Floats
    duration: Floats
    probability: Floats


def sensitivity(worth: PolicyValue) -> Sensitivity:
    """Return the derivatives of a policy's gain, if the policy has one recurrent class."""
    model, gain = worth.model, worth.gain
    often = worth.stationary[model.state_of_pair()] * worth.pair_shares / worth.mean_duration
    counts, starts = np.diff(model.row_offsets), model.row_offsets[:-1]
    value = worth.bias[model.successor]
    if model.row_reward is not None:
        value = value + model.row_reward
    if model.row_duration is not None:
        value = value - gain * model.row_duration
    # Rewards and durations that are given for pairs are the same in all rows, and make no difference.
    total = np.add.reduceat(model.probability, starts)
    mean = np.add.reduceat(model.probability * value, starts) / total
    away = value - np.repeat(mean, counts)
    return Sensitivity(often, 0.0 - gain * often, np.repeat(often / total, counts) * away)


def losses(model: SMDP, gain: float, bias: Floats) -> Floats:
    """Return h(s) - (r - g d + P h) for every pair: what taking it once loses, given the best gain and bias.

    It is 0 where rounding alone may have made it.
    """
    own = bias[model.state_of_pair()]
    lost = own - (model.reward - gain * model.duration + expected(model, bias))
    terms = np.abs(own) + np.abs(model.reward) + abs(gain) * model.duration + expected(model, np.abs(bias))
    return np.where(np.abs(lost) <= _TIE * terms, 0.0, lost)


class Alternatives(NamedTuple):
    """How close other actions come to the best policy, and how far each reward may move before the policy changes.

    All have a number for each pair of the model. `loss` is what is lost each time that the pair is taken in place of the
    policy's own, and `cost` what the gain loses if it always is: NaN if the gain then depends on the start. `fall` and `rise`
    say how far the mean reward of the pair may fall and rise, all else being equal, until another action is as good in some
    state. If the policy visits that state for ever, it is no longer the best beyond that; if not, its gain may still be.

    >>> import sojourn as sj
    >>> found = sj.solve(sj.problems.long_shot())  # 5 in a time of 1, or 12 in one of 4
    >>> found.alternatives()
    Alternatives(loss=array([0., 8.]), cost=array([0., 2.]), fall=array([ 2., inf]), rise=array([inf,  8.]))
    """

    loss: Floats
    cost: Floats
    fall: Floats
    rise: Floats


@one_thread()
def alternatives(worth: PolicyValue) -> Alternatives:
    """Return how close other actions come to a policy that is the best and has one recurrent class."""
    model, states = worth.model, worth.model.state_of_pair()
    if model.num_states > MOST_STATES:
        raise ValueError(
            f"the model has {model.num_states:,} states; what changes the policy is worked out for at most {MOST_STATES:,}, "
            "and `advantages` of `evaluate` says for models of any size what other actions lose"
        )
    if ((worth.pair_shares > 0.0) & (worth.pair_shares < 1.0)).any():
        raise ValueError("the policy draws its actions at random, so limits and not rewards alone decide it")
    taken = np.flatnonzero(worth.pair_shares)
    often, values = _per_reward(model, taken, int(worth.classes[0][0]) if len(worth.classes) == 1 else -1)
    ahead = sparse.csr_array(
        (model.probability, model.successor, model.row_offsets), shape=(model.num_pairs, model.num_states)
    )
    total = np.asarray(ahead.sum(axis=1))
    slope = values[states] + model.duration[:, None] * often - (ahead @ values) / total[:, None]
    size = np.abs(values).max(axis=0) + model.duration.max() * often
    slope[np.abs(slope) <= _ROUNDING * size] = 0.0
    loss = np.maximum(losses(model, worth.gain, worth.bias), 0.0)
    loss[taken] = 0.0
    own = slope[np.arange(model.num_pairs), states]
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = np.where(own > 0.0, loss * often[states] / own, np.nan)
        room = loss[:, None] / slope
    room[taken] = np.inf  # their own slopes and losses are 0, but for that of the reward itself
    cost[taken] = 0.0
    fall, rise = np.full(model.num_pairs, np.inf), loss.copy()
    fall[taken] = np.where(slope > 0.0, room, np.inf).min(axis=0)
    rise[taken] = np.where(slope < 0.0, -room, np.inf).min(axis=0)
    return Alternatives(loss, cost, fall, rise)


def _per_reward(model: SMDP, taken: Ints, recurrent: int) -> tuple[Floats, Floats]:
    """Return x(i) for every state i, and k [s, i]; `recurrent` is a state in which k is 0."""
    if recurrent < 0:
        raise ValueError("the policy has several recurrent classes, so its gain may depend on the start")
    chain = chain_of_pairs(model, taken)
    system = outward(chain.matrix).toarray()
    system[:, recurrent] = chain.duration  # k is 0 there, so its column is free for x
    values = np.linalg.inv(system)
    often = values[recurrent].copy()
    values[recurrent] = 0.0
    return np.maximum(often, 0.0), values
