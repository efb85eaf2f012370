"""The gains and biases of a chain, in floats where these are good enough and in decimals elsewhere.

Small chains are solved by elimination without subtraction. Its gains and laws are right up to rounding for any
probabilities; if floats underflow or rewards cancel, decimals take their place. Larger chains are solved as linear systems,
and the answer is tested: if the bounds on the gain are far apart, decimals are used here too.
"""

from __future__ import annotations

import weakref
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from sojourn.exact.decimals import digits, exact, nearest
from sojourn.exact.refusals import NotSolvedError
from sojourn.models.chain import Chain, SingularError, chain_of_pairs, classes_of, outward, solved
from sojourn.models.elimination import Numbers, eliminated
from sojourn.rules.arrays import Floats, Ints, Sparse

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

_SMALL = 64  # states: up to here elimination is as fast as a linear system
LARGEST = 300  # states: with more, decimals would take minutes
CHEAP = 30  # states: up to here decimals cost milliseconds
_CANCELLED = 1e-5  # a gain that is less than this part of what is earned and lost has too few digits left
_CLOSE = (
    1e-8  # how near the bounds of a linear system's gain must be, relative to the largest reward per time
)
_ULPS, _KEPT = 2.0**-50, 1e-9  # what rounding does to a sum, and how much of a bias it may spoil
_ROUGH = 1e-3  # how much in chains that are too large for decimals
_DIGITS, _MOST_DIGITS = 60, 3000
_POLICIES = 100  # tried at most in the search for the longest run of decisions without time
_AT_ONE_INSTANT = 300  # decisions without time in a row that are followed one by one in larger models
_timeless: weakref.WeakKeyDictionary[SMDP, Floats | None] = (
    weakref.WeakKeyDictionary()
)  # for each model, computed once


class Valued(NamedTuple):
    """The gain and bias of every state of a chain, and its recurrent classes."""

    gains: Floats
    bias: Floats
    classes: list[Ints]


def valued(chain: Chain, sure: bool = False) -> Valued:
    """Return the gains, the bias and the recurrent classes of a chain.

    If parts of a chain are hardly ever left, the bias is the small difference of what is earned there and what the gain
    would earn in the same long time. In small chains, and in all if it must be `sure`, decimals are used where floats have
    lost it. Chains that are too large for that are refused if not even three digits are left.
    """
    classes = classes_of(chain)
    sure = sure or len(chain.reward) <= CHEAP
    try:
        return _in_floats(chain, classes, sure)
    except FloatingPointError:
        if len(chain.reward) > LARGEST:
            raise NotSolvedError(
                f"a policy stays so long in parts of its {len(chain.reward)} states that floats do not show what it earns "
                f"on the way, and decimals are used for at most {LARGEST} states; lump states, or leave out the smallest "
                "probabilities"
            ) from None
    return _in_decimals(chain, classes)


def _in_floats(chain: Chain, classes: list[Ints], sure: bool) -> Valued:
    num_states = len(chain.reward)
    gains, bias = np.zeros(num_states), np.zeros(num_states)
    for states in classes:
        part = Chain(chain.matrix[states][:, states], chain.reward[states], chain.duration[states])
        gains[states], bias[states] = _recurrent(part, sure)
    inner = np.setdiff1d(np.arange(num_states), np.concatenate(classes))
    if inner.size:
        leaving = chain.matrix[inner]
        if len(classes) == 1:
            gains[inner] = gains[classes[0][0]]
        else:
            gains[inner] = carried(leaving, inner, gains[:, None], np.zeros((len(inner), 1)))[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.abs(chain.reward[inner]) + np.abs(gains[inner]) * chain.duration[inner]
            earned = chain.reward[inner] - gains[inner] * chain.duration[inner]
            if (
                len(inner) > LARGEST
            ):  # here only the order of the size is needed, and a system would be tested for more
                bias[inner] = carried(leaving, inner, bias[:, None], earned[:, None])[:, 0]
                size = solved(outward(leaving, inner), terms) if sure else terms
            else:
                known, columns = np.column_stack([bias, np.abs(bias)]), np.column_stack([earned, terms])
                bias[inner], size = carried(leaving, inner, known, columns).T
        if sure:
            _check_kept(bias[inner], size, terms, _KEPT if num_states <= LARGEST else _ROUGH)
    return Valued(gains, bias, classes)


def _in_decimals(chain: Chain, classes: list[Ints]) -> Valued:
    """Do the same in decimals, with as many digits as the bias needs."""
    given, count = exact(chain.matrix.toarray()), _DIGITS
    inner = np.setdiff1d(np.arange(len(given)), np.concatenate(classes))
    while True:
        with digits(count):
            # In a part that is hardly ever left, even the rounding of a sum of probabilities adds up.
            matrix = given / given.sum(axis=1, keepdims=True)
            reward, duration = exact(chain.reward), exact(chain.duration)
            gains, bias, size = np.full((3, len(matrix)), Decimal(0), dtype=object)
            for states in classes:
                amounts = np.column_stack([reward, duration, np.abs(reward)])[states]
                left = eliminated(matrix[np.ix_(states, states)], amounts)
                gains[states], totals = left.cycle()[0] / left.cycle()[1], left.totals()
                bias[states] = totals[:, 0] - gains[states] * totals[:, 1]
                size[states] = totals[:, 2] + np.abs(gains[states]) * totals[:, 1]
            if inner.size:
                nothing = np.full((len(inner), 1), Decimal(0), dtype=object)
                gains[inner] = lumped(matrix[inner], inner, gains[:, None], nothing)[:, 0]
                lost = gains[inner] * duration[inner]
                earned = np.column_stack([reward[inner] - lost, np.abs(reward[inner]) + np.abs(lost)])
                found = lumped(matrix[inner], inner, np.column_stack([bias, size]), earned)
                bias[inner], size[inner] = found.T
            unit = np.abs(reward) + np.abs(gains) * duration
            # The bias is a difference of two sums: the digits in which these agree are lost.
            needed = max(
                (
                    s.adjusted() - max(abs(b), u).adjusted()
                    for s, b, u in zip(size, bias, unit, strict=True)
                    if s and u
                ),
                default=0,
            )
            if needed + 30 <= count or count >= _MOST_DIGITS:
                return Valued(nearest(gains), nearest(bias), classes)
        count = min(needed + 30, _MOST_DIGITS)


def _check_kept(bias: Floats, size: Floats, terms: Floats, kept: float = _KEPT) -> None:
    """Raise an error if a bias is so small a difference of sums of this size that rounding may have spoiled it."""
    with np.errstate(all="ignore"):
        if not (_ULPS * size <= kept * (np.abs(bias) + terms)).all():
            raise FloatingPointError("the bias is cancelled")


def carried(leaving: Sparse, inner: Ints, known: Numbers, earned: Floats) -> Floats:
    """Return v = earned + P v in the states `inner`, whose rows of P are `leaving`; elsewhere v is `known`.

    `known` and `earned` have a column for each amount to be carried. Every inner state must lead to known ones.
    """
    if len(inner) > LARGEST:
        return _carried_by_system(leaving, inner, known, earned)
    dense = leaving.toarray()
    try:
        with np.errstate(all="raise"):
            return lumped(dense, inner, known, earned)
    except FloatingPointError:
        if not (np.isfinite(known).all() and np.isfinite(earned).all()):
            return np.full(earned.shape, np.nan)
        with digits(_DIGITS):
            return nearest(lumped(exact(dense), inner, exact(known), exact(earned)))


def lumped(leaving: Numbers, inner: Ints, known: Numbers, earned: Numbers) -> Numbers:
    """Do the same with numbers of any kind in dense arrays; the known states are lumped into one, which comes first."""
    outside = np.setdiff1d(np.arange(leaving.shape[1]), inner)
    ahead = leaving[:, outside]
    rates = np.zeros((len(inner) + 1, len(inner) + 1), dtype=leaving.dtype)
    rates[1:, 1:], rates[1:, 0] = leaving[:, inner], ahead.sum(axis=1)
    amounts = np.zeros((len(inner) + 1, earned.shape[1]), dtype=leaving.dtype)
    amounts[1:] = earned
    for place, values in zip(range(len(outside)), known[outside], strict=True):
        amounts[1:] += ahead[:, place, None] * values
    return eliminated(rates, amounts).totals()[1:]


def _carried_by_system(leaving: Sparse, inner: Ints, known: Floats, earned: Floats) -> Floats:
    """Do the same by a linear system, and refuse an answer that rounding may have spoiled."""
    system = outward(leaving, inner)
    outer = known.copy()
    outer[inner] = 0.0
    right = earned + leaving @ outer
    answer = np.column_stack([solved(system, column) for column in right.T])
    steps = solved(system, np.ones(len(inner)))  # the mean number of steps over which errors may add up
    error = np.abs(system @ answer - right).max(axis=0) * np.abs(steps).max()
    size = np.abs(answer).max(axis=0) + np.abs(known).max(axis=0)
    if not ((error <= 1e-8 * size).all() and steps.min() > 0.0):
        raise NotSolvedError(
            f"the {len(inner)} states that are left for good have probabilities too different in size to be solved "
            "in floats, and are too many for decimals; lump states, or leave out the smallest probabilities"
        )
    return answer


def _recurrent(chain: Chain, sure: bool) -> tuple[float, Floats]:
    """Return the gain and bias of an irreducible chain: h + g d = r + P h, with a bias of 0 in its first state."""
    if len(chain.reward) > _SMALL:
        try:
            return _by_system(chain, sure)
        except SingularError:
            if len(chain.reward) > LARGEST:
                raise NotSolvedError(
                    f"a policy stays in {len(chain.reward)} states for ever whose numbers are too different in size to be "
                    f"solved in floats, and decimals are used for at most {LARGEST} states; lump states, or scale the numbers"
                ) from None
    return _by_elimination(chain, sure)


def _by_elimination(chain: Chain, sure: bool) -> tuple[float, Floats]:
    with np.errstate(all="raise"):
        amounts = np.column_stack([chain.reward, chain.duration, np.abs(chain.reward)])
        left = eliminated(chain.matrix.toarray(), amounts)
        reward, duration, size = left.cycle()
        gain = float(reward / duration)
        if len(amounts) <= CHEAP and size > 0.0 and abs(gain) < _CANCELLED * (size / duration):
            raise FloatingPointError("the gain is cancelled")
        totals = left.totals()
        bias = totals[:, 0] - gain * totals[:, 1]
        if sure:
            terms = amounts[:, 2] + abs(gain) * amounts[:, 1]
            _check_kept(bias, totals[:, 2] + abs(gain) * totals[:, 1], terms)
        return gain, bias


def _by_system(chain: Chain, sure: bool) -> tuple[float, Floats]:
    # The first bias is 0, so its column is free for the gain, here per mean duration, which has the units of a bias.
    system, length = outward(chain.matrix), chain.duration.mean()
    with_gain = with_column(system, chain.duration / length)
    answer = solved(with_gain, chain.reward)
    gain, answer[0] = float(answer[0] / length), 0.0
    with np.errstate(all="ignore"):
        # A step that takes no time is measured against the longest duration.
        duration = np.where(chain.duration > 0.0, chain.duration, chain.duration.max())
        apart = np.abs(chain.reward - system @ answer - gain * chain.duration) / duration
        if not apart.max() <= _CLOSE * np.abs(chain.reward / duration).max():
            raise SingularError("rounding has spoiled the answer")
        if sure:
            # If other roundings would give another answer, this one is worth nothing.
            terms = np.abs(chain.reward) + abs(gain) * chain.duration
            signs = np.random.default_rng(0).choice([-1.0, 1.0], len(terms))
            moved = np.abs(solved(with_gain, _ULPS * signs * (terms + np.abs(answer))))
            typical, close = terms.mean(), _CLOSE if len(terms) <= LARGEST else _ROUGH
            # The first is the gain, which has no bias to be measured against.
            if not (moved <= close * (np.append(0.0, np.abs(answer[1:])) + typical)).all():
                raise SingularError("the answer depends on rounding")
    return gain, answer


def stationary(matrix: Sparse) -> Floats:
    """Return the stationary law of an irreducible chain: x P = x, with the sum 1."""
    if matrix.shape[0] > LARGEST:
        # One of the equations follows from the others; that the sum is 1 takes its place.
        first = np.zeros(matrix.shape[0])
        first[0] = 1.0
        law = np.maximum(solved(with_column(outward(matrix), np.ones(matrix.shape[0])).T.tocsc(), first), 0.0)
        return np.asarray(law / law.sum())
    dense = matrix.toarray()
    try:
        law = eliminated(dense, np.zeros((len(dense), 1))).visits()
    except FloatingPointError:
        with digits(_DIGITS):
            law = eliminated(exact(dense), exact(np.zeros((len(dense), 1)))).visits()
            return nearest(law / law.sum())
    return np.asarray(law / law.sum())


def with_column(matrix: Sparse, column: Floats) -> Sparse:
    """Return a matrix with its first column replaced."""
    return sparse.hstack([sparse.csc_array(column[:, None]), matrix[:, 1:]], format="csc")


def longest_timeless(model: SMDP) -> Floats | None:
    """Return the largest mean number of timeless decisions in a row from each state, or None if all take time.

    It is finite, since no model can go on for ever without time passing. Bounds on the gain need it: r + P h - h <= U d must
    hold for every pair, so where d = 0 the left side must not be above 0, and rounding alone could push it there. Let k be
    the numbers returned here. For every pair that takes no time, k(s) - P k is at least 1/2, so adding 2 e k to h lowers its
    left side by at least e.

    >>> from sojourn.models import from_transitions
    >>> retry = from_transitions([(0, 0, 0, 0.75, 1.0, 0.0), (0, 0, 1, 0.25, 1.0, 0.0), (1, 0, 0, 1.0, 0.0, 2.0)])
    >>> longest_timeless(retry)
    array([4., 0.])
    """
    if model not in _timeless:
        _timeless[model] = _longest_timeless(model)
    return _timeless[model]


def _longest_timeless(model: SMDP) -> Floats | None:
    zero = np.flatnonzero(model.duration == 0.0)
    if not zero.size:
        return None
    state, counts = model.state_of_pair(), np.diff(model.row_offsets)
    inner, first = np.unique(state[zero], return_index=True)
    pairs, steps = model.pair_offsets[:-1].copy(), np.zeros(model.num_states)
    if model.num_states > LARGEST:
        offsets, rows = model.rows_of(zero)
        for _ in range(_AT_ONE_INSTANT):
            ahead = np.add.reduceat(model.probability[rows] * steps[model.successor[rows]], offsets[:-1])
            before, steps[inner] = steps[inner], 1.0 + np.maximum.reduceat(ahead, first)
            if (steps[inner] - before).max() <= 0.25:
                return steps
        steps[:] = 0.0
    pairs[inner] = zero[first]
    for _ in range(_POLICIES):
        rows = chain_of_pairs(model, pairs).matrix[inner]
        ones = np.ones((len(inner), 1))
        steps[inner] = carried(rows, inner, np.zeros((model.num_states, 1)), ones)[:, 0]
        gap = steps[model.successor] - np.repeat(steps[state], counts)
        more = 1.0 + np.add.reduceat(model.probability * gap, model.row_offsets[:-1])[zero]
        better = np.flatnonzero(more > 0.25)
        if not better.size:
            return steps
        better = better[np.lexsort((-more[better], state[zero[better]]))]
        states, first = np.unique(state[zero[better]], return_index=True)
        pairs[states] = zero[better[first]]
    raise NotSolvedError(
        f"decisions that take no time follow each other up to {steps.max():.3g} times in a row, "
        "too often for proven bounds; raise the probability that time passes"
    )
