"""The best policy that keeps limits, such as "at most 5 % of the calls lost", with proven bounds and the price of each limit.

Let a be the amount to maximise and b the one it is counted per, usually reward and duration. "c per d at most l" means that
f = c - l d is at most 0 in the long run; for "at least" it is l d - c. Every policy has a rate of each per unit of b: R of a
and F of f. Rates of policies can be mixed, so the best that can be had is the largest R of all mixtures with F <= 0.

For any prices p >= 0, no policy within the limits has a rate of a above that of a - p f, since F is not above 0. So each
free problem with rewards a - p f, solved with proven bounds, proves an upper bound. This is the method of Dantzig and Wolfe
(Operations Research 8, 1960), with policies as its columns. A small linear program finds the best mixture of the
policies that are known, and prices at which none of them is better. The free problem with these prices then gives
a policy to add, or proves that none is missing. Each of these problems starts from the answer to the last one.

The mixture becomes one policy: where x(s) is how often a policy takes a step in s, that of the mixture is the sum, and
it takes each action in proportion to the x of the policies that take it. As a rule, it draws its action in as many
states as there are limits that bind (Beutler and Ross, Journal of Mathematical Analysis and Applications 112, 1985). If two policies differ in more states, the
states are changed one after the other from the first policy to the second, until the limit is passed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sojourn.exact.bounds import Solution, bounds, repriced
from sojourn.exact.constraints import Constraint
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.mixtures import (
    Improved,
    Master,
    Mixture,
    PolicyColumn,
    as_model,
    best_mixture,
    closest_mixture,
    drawn,
)
from sojourn.models.chain import chain_of_pairs
from sojourn.models.smdp import SMDP
from sojourn.models.validation import check_divisor
from sojourn.rules.arrays import Floats

_EXACT = 1e-13  # the tolerance in small models, which are solved as exactly as floats allow
_KEPT = 1e-9  # of its size: an excess up to here is rounding, since amounts are known to about 12 digits
_KNOWN = 1e-4  # of its size: if rounding hides a larger excess, it is not known whether a limit is kept
_ROUNDING = 1e-14  # of its size: where a free policy is at its limit
_TURNS = 16  # policies between two others that are looked at; as a rule ten are enough
_ROUNDS = 500  # policies; thirty are many
_PRICES = (
    1.0,
    4.0,
    16.0,
    np.inf,
)  # tried, relative to what the free policy earns per unit of what is limited
_SHARP, _COARSE = (
    0.05,
    1e-3,
)  # of the gap that is left: how exactly the next policy is found, and at least how exactly


# --- The iteration --------------------------------------------------------------------------


def within_limits(master: Master, limits: Sequence[Constraint], given: SMDP) -> Solution:
    """Return the best policy of a model that keeps its limits; `given` is the model before amounts were exchanged."""
    began = time.perf_counter()
    nothing = np.zeros(len(limits))
    free = master.best(1.0, nothing)
    column = master.columns[0]
    if len(master.columns) == 1 and (column.excess <= _ROUNDING * column.size[1:]).all():
        best = Best(Mixture(np.ones(1), column.reward, nothing), free, free.upper, free.is_coarse)
    else:
        room = make_feasible(master, limits, given)
        best = _in_fewer_states(master, find_best(master, room), room)
    return _solution(master, best, limits, given, time.perf_counter() - began)


class Best(NamedTuple):
    """The best mixture of the columns, the bias whose upper bound proves it, and that bound."""

    mixture: Mixture
    proof: Solution | Improved
    upper: float
    is_coarse: bool


def find_best(master: Master, room: Floats) -> Best:
    """Add policies until no policy can make the best mixture of them better; excesses may be as large as `room`."""
    upper, proof, sharp, is_stuck = np.inf, None, master.tolerance, False
    before, last_gap = -np.inf, np.inf
    for _ in range(_ROUNDS):
        mixture, known = best_mixture(master.columns, room), len(master.columns)
        size = _size(master, mixture)
        enough = (_EXACT if master.is_small else master.tolerance) * size
        allowed = float(mixture.prices @ room)
        found = (
            master.improved(1.0, mixture.prices, mixture.value - allowed + enough)
            if master.is_factored and not is_stuck
            else master.best(1.0, mixture.prices, sharp)
        )
        bound = found.upper + allowed
        if bound <= upper:
            upper, proof = bound, found
        gap, is_new = upper - mixture.value, len(master.columns) > known
        is_sharp = master.is_small or sharp < 0.2 * master.tolerance
        if gap <= enough or (not is_new and is_sharp):
            return Best(mixture, proof or found, upper, gap > master.tolerance * size)
        # If steps of policy iteration do not bring the bound nearer, the free problem is solved as a whole.
        is_stuck = not is_new or (mixture.value - before <= enough and gap > 0.5 * last_gap)
        before, last_gap = mixture.value, gap
        sharp = 0.1 * master.tolerance
        if is_new:
            sharp = min(max(_SHARP * gap / size, sharp), _COARSE)
    raise NotSolvedError(
        f"after {_ROUNDS} policies the best gain within the limits is known to be between {mixture.value:.9g} and "
        f"{upper:.9g}, which is not close enough; allow a larger tolerance"
    )


def _size(master: Master, mixture: Mixture) -> float:
    """Return what the mixture earns and pays at its prices, around its gain; the tolerance is relative to it."""
    model, total = master.model, 0.0
    for share, column in zip(mixture.shares, master.columns, strict=False):
        if share > 0.0:
            pairs = column.pairs
            earned = model.reward[pairs] - mixture.value * model.duration[pairs]
            for price, excess in zip(mixture.prices, master.excess, strict=True):
                earned = earned - price * excess[pairs]
            size = column.size[0] + mixture.prices @ column.size[1:]
            total += share * float(column.visits @ np.abs(earned) + 1e-3 * size)
    return total


def make_feasible(master: Master, limits: Sequence[Constraint], given: SMDP) -> Floats:
    """Find policies a mixture of which keeps all limits; return by how much rounding lets its excesses be above 0."""
    for at, limit in enumerate(limits):
        if all(column.excess[at] > 0.0 for column in master.columns):
            price = np.eye(len(limits))[at]
            if master.is_factored and _stepped(master, at, price):
                continue
            found = master.best(0.0, price, None if master.is_small else _COARSE)
            if master.columns[-1].excess[at] > 0.0:
                found = master.best(0.0, price)
            if -found.upper > _KEPT * min(column.size[1 + at] for column in master.columns):
                raise NotSolvedError(_alone(master, limit, given))
    scale = np.max([column.size[1:] for column in master.columns], axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    for _ in range(_ROUNDS):
        closest, known = closest_mixture(master.columns, scale), len(master.columns)
        proof = master.best(0.0, closest.prices) if closest.value > _KEPT else None
        if proof is None or (len(master.columns) == known and -proof.upper <= _KEPT):
            rates = np.array([column.excess for column in master.columns[:known]]).T @ closest.shares
            return np.maximum(rates, 0.0) if closest.value > 0.0 else np.zeros(len(limits))
        if -proof.upper > max(_KEPT, 0.999999 * closest.value) or len(master.columns) == known:
            raise NotSolvedError(_together(master.columns, closest.shares, limits, given))
    raise NotSolvedError(
        f"after {_ROUNDS} policies it is not known whether all limits can be kept; loosen one"
    )


def _stepped(master: Master, at: int, price: Floats) -> bool:
    """Try to keep a limit by a few steps of policy iteration at higher and higher prices; return whether one does."""
    column = master.columns[0]
    for times in _PRICES:
        weight = 0.0 if times == np.inf else column.size[1 + at] / (column.size[0] or 1.0) / times
        master.improved(weight, price)
        if master.columns[-1].excess[at] <= 0.0:
            return True
    return False


def _alone(master: Master, limit: Constraint, given: SMDP) -> str:
    """Say that a limit cannot be kept, and what can be had instead."""
    amount, divisor = given.amount(limit.amount), given.amount(limit.per)
    try:
        check_divisor(given, limit.per, divisor)
    except ValueError:
        return f"no policy has {limit}; loosen it"
    model = given if given.counts is None else given.with_counts(None)
    found = master.solver(model.with_means(-limit.sign * amount, divisor), master.tolerance, None)
    most = "most" if limit.is_least else "least"
    return f"no policy has {limit}; the {most} that can be had is {-limit.sign * found.gain:.9g}"


def _together(
    columns: Sequence[PolicyColumn], shares: Floats, limits: Sequence[Constraint], given: SMDP
) -> str:
    def mixed(name: str) -> float:
        used = zip(shares, columns, strict=False)
        return sum(float(share * (one.visits @ given.amount(name)[one.pairs])) for share, one in used)

    near = " and ".join(
        f"{limit.what} {mixed(limit.amount) / mixed(limit.per):.6g}" for limit in limits if mixed(limit.per)
    )
    wanted = " and ".join(map(str, limits))
    return f"no policy has {wanted}, though each alone can be had; the closest is {near}; loosen one of them"


# --- The answer -----------------------------------------------------------------------------


def _in_fewer_states(master: Master, best: Best, room: Floats) -> Best:
    """Return a mixture of two policies that differ in one state, if there is one binding limit and such a mixture is as good.

    Change the states in which the two policies differ one after the other; somewhere on the way the limit is passed.
    """
    used, binding = np.flatnonzero(best.mixture.shares), np.flatnonzero(best.mixture.prices)
    if not len(used) == 2 == len(binding) + 1:
        return best
    (at,) = binding.tolist()
    over, under = sorted((master.columns[j] for j in used), key=lambda column: -column.excess[at])
    apart = np.flatnonzero((over.pairs != under.pairs) & (over.visits + under.visits > 0.0))
    first, target = over.pairs, under.pairs
    weight = np.append(0.0, np.cumsum(over.visits[apart] + under.visits[apart]))
    low, high = 0, len(apart)
    above, below = (float(column.excess[at] - room[at]) for column in (over, under))
    for turn in range(_TURNS):
        if high - low <= 1:
            break
        # The excess falls about as the weight of the states that are changed grows (rule of false position), or anyhow.
        fallen = weight[low] + (weight[high] - weight[low]) * above / (above - below)
        middle = (low + high) // 2 if turn % 2 else int(np.searchsorted(weight, fallen))
        middle = min(max(middle, low + 1), high - 1)
        pairs = first.copy()
        pairs[apart[:middle]] = target[apart[:middle]]
        classes = master.classes(pairs, with_biases=False)
        if len(classes) > 1:
            return best
        excess = float(classes[0].excess[at] - room[at])
        if excess > 0.0:
            low, over, above = middle, classes[0], excess
        else:
            high, under, below = middle, classes[0], excess
    if over.excess[at] <= room[at] or over is under:
        return best
    share = (room[at] - under.excess[at]) / (over.excess[at] - under.excess[at])
    value = share * over.reward + (1.0 - share) * under.reward
    others = (
        share * over.excess + (1.0 - share) * under.excess <= room + _ROUNDING * (over.size + under.size)[1:]
    )
    slack = (_EXACT if master.is_small else master.tolerance) * _size(master, best.mixture)
    if value < best.upper - max(slack, best.upper - best.mixture.value) - slack or not others.all():
        return best
    master.columns = [over, under]
    mixture = Mixture(np.array([share, 1.0 - share]), value, best.mixture.prices)
    return best._replace(mixture=mixture)


def _solution(
    master: Master, best: Best, limits: Sequence[Constraint], given: SMDP, seconds: float
) -> Solution:
    """Return the mixture as one policy, with what is proven about it."""
    model = master.model
    weight = drawn(model, master.columns, best.mixture.shares)
    mixed = as_model(model, weight)
    states = np.arange(model.num_states)
    chain = chain_of_pairs(mixed, states)
    first = model.pair_offsets[:-1]
    rewards = [mixed.reward, *(np.add.reduceat(weight * each, first) for each in master.excess)]
    (gain, bias), *others = master.valued(chain, rewards)
    notes: tuple[str, ...] = ()
    for limit, reward, (_, each) in zip(limits, rewards[1:], others, strict=True):
        size = max(column.size[1 + limits.index(limit)] for column in master.columns)
        above = bounds(repriced(mixed, reward), each, states)[1]
        if not above <= _KNOWN * size:
            raise NotSolvedError(
                f"rounding does not allow to say whether the policy has {limit}; scale amounts to similar sizes"
            )
        if above > 10.0 * _KEPT * size:
            mixed_columns = zip(best.mixture.shares, master.columns, strict=False)
            divisor = sum(
                share * float(one.visits @ given.amount(limit.per)[one.pairs]) for share, one in mixed_columns
            )
            notes += (f"floats prove {limit} only to within {above / divisor:.1g}",)
    lower = min(bounds(mixed, bias, states)[0], best.upper)
    policy = np.zeros((model.num_states, model.num_actions))
    policy[model.state_of_pair(), model.action] = weight
    return Solution(
        model=model,
        gains=np.full(model.num_states, min(max(gain, lower), best.upper)),
        bias=best.proof.bias,
        policy=policy,
        lower=lower,
        upper=best.upper,
        residual=best.proof.residual,
        iterations=master.rounds,
        solver=f"Dantzig-Wolfe with {master.last.solver}" if master.last else "",
        seconds=seconds,
        is_coarse=best.is_coarse,
        limits=tuple(limits),
        prices=tuple(best.mixture.prices.tolist()),
        notes=notes,
    )
