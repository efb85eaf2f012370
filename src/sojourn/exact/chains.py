"""The gains and biases of a chain: in floats where these are good enough, else in decimals.

Small chains are solved by elimination without subtraction, whose gains and laws are right to rounding whatever the
probabilities; its floats give way to decimals where they underflow or where rewards cancel. Larger chains are solved as
linear systems, and the answer is tested: bounds of the gain that are far apart send it to the decimals, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sojourn.exact.bounds import NotSolvedError
from sojourn.exact.decimals import digits, exact, nearest
from sojourn.models.chain import Chain, SingularError, classes_of, outward, solved
from sojourn.models.elimination import Eliminated, Numbers, eliminated
from sojourn.rules.arrays import Floats, Ints, Sparse

_SMALL = 64  # states: up to here elimination is as fast as a linear system
LARGEST = 300  # states: above, decimals would take minutes
CHEAP = 30  # states: up to here decimals cost milliseconds
_CANCELLED = 1e-5  # a gain that is less than this part of what is earned and lost has too few digits left
_CLOSE = (
    1e-8  # how near the bounds of a linear system's gain must be, relative to the largest reward per time
)
_DIGITS = 60


class Valued(NamedTuple):
    """The gain and bias of every state of a chain, and its recurrent classes."""

    gains: Floats
    bias: Floats
    classes: list[Ints]


def valued(chain: Chain) -> Valued:
    """Return gains, bias and recurrent classes of a chain."""
    classes = classes_of(chain)
    num_states = len(chain.reward)
    gains, bias = np.zeros(num_states), np.zeros(num_states)
    for states in classes:
        part = Chain(chain.matrix[states][:, states], chain.reward[states], chain.duration[states])
        gains[states], bias[states] = _recurrent(part)
    inner = np.setdiff1d(np.arange(num_states), np.concatenate(classes))
    if inner.size:
        leaving = chain.matrix[inner]
        if len(classes) == 1:
            gains[inner] = gains[classes[0][0]]
        else:
            gains[inner] = carried(leaving, inner, gains[:, None], np.zeros((len(inner), 1)))[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            earned = chain.reward[inner] - gains[inner] * chain.duration[inner]
            bias[inner] = carried(leaving, inner, bias[:, None], earned[:, None])[:, 0]
    return Valued(gains, bias, classes)


def carried(leaving: Sparse, inner: Ints, known: Numbers, earned: Floats) -> Floats:
    """Return v = earned + P v in the states `inner`, which `leaving` has the rows of; elsewhere v is known.

    Both have columns, one for each thing to be carried. Every inner state must lead to known ones.
    """
    if len(inner) > LARGEST:
        return _carried_by_system(leaving, inner, known, earned)
    outside = np.ones(leaving.shape[1], dtype=bool)
    outside[inner] = False
    dense = leaving.toarray()

    def prepare(numbers: Callable[[Floats], Numbers]) -> Eliminated:
        # What is known is lumped into one state that comes first.
        rates = np.zeros((len(inner) + 1, len(inner) + 1), dtype=numbers(dense).dtype)
        rates[1:, 1:], ahead = numbers(dense[:, inner]), numbers(dense[:, outside])
        rates[1:, 0] = ahead.sum(axis=1)
        amounts = np.zeros((len(inner) + 1, earned.shape[1]), dtype=rates.dtype)
        amounts[1:] = numbers(earned)
        for place, values in enumerate(numbers(known[outside])):
            amounts[1:] += ahead[:, place, None] * values
        return eliminated(rates, amounts)

    try:
        with np.errstate(all="raise"):
            return np.asarray(prepare(np.asarray).totals()[1:])
    except FloatingPointError:
        if not (np.isfinite(known[outside]).all() and np.isfinite(earned).all()):
            return np.full(earned.shape, np.nan)
        with digits(_DIGITS):
            return nearest(prepare(exact).totals()[1:])


def _carried_by_system(leaving: Sparse, inner: Ints, known: Floats, earned: Floats) -> Floats:
    """Do the same by a linear system, and refuse an answer that rounding may have spoiled."""
    system = outward(leaving, inner)
    outer = known.copy()
    outer[inner] = 0.0
    right = earned + leaving @ outer
    answer = np.column_stack([solved(system, column) for column in right.T])
    steps = solved(system, np.ones(len(inner)))  # the mean number of steps that errors may add up in
    error = np.abs(system @ answer - right).max(axis=0) * np.abs(steps).max()
    size = np.abs(answer).max(axis=0) + np.abs(known).max(axis=0)
    if not ((error <= 1e-8 * size).all() and steps.min() > 0.0):
        raise NotSolvedError(
            f"the {len(inner)} states that are left for good have probabilities too different in size to be solved "
            "in floats, and are too many for decimals; lump states, or leave out the smallest probabilities"
        )
    return answer


def _recurrent(chain: Chain) -> tuple[float, Floats]:
    """Return gain and bias of an irreducible chain: h + g d = r + P h, the bias of its first state 0."""
    try:
        if len(chain.reward) <= _SMALL:
            return _by_elimination(chain)
        return _by_system(chain)
    except (FloatingPointError, SingularError):
        pass
    if len(chain.reward) > LARGEST:
        raise NotSolvedError(
            f"a policy keeps {len(chain.reward)} states for ever whose numbers are too different in size to be solved "
            f"in floats, and there are decimals for up to {LARGEST} states only; lump states, or scale the numbers"
        )
    return _by_decimals(chain)


def _by_elimination(chain: Chain) -> tuple[float, Floats]:
    with np.errstate(all="raise"):
        amounts = np.column_stack([chain.reward, chain.duration, np.abs(chain.reward)])
        left = eliminated(chain.matrix.toarray(), amounts)
        reward, duration, size = left.cycle()
        gain = float(reward / duration)
        if len(amounts) <= CHEAP and size > 0.0 and abs(gain) < _CANCELLED * (size / duration):
            raise FloatingPointError("the gain is cancelled")
        totals = left.totals()
        return gain, totals[:, 0] - gain * totals[:, 1]


def _by_system(chain: Chain) -> tuple[float, Floats]:
    # The column of the bias that is 0 is free, and g takes it.
    system = outward(chain.matrix)
    answer = solved(with_column(system, chain.duration), chain.reward)
    gain, answer[0] = float(answer[0]), 0.0
    with np.errstate(all="ignore"):
        ratio = (chain.reward - system @ answer) / chain.duration
        apart = ratio.max() - ratio.min()
        if not apart <= _CLOSE * np.abs(chain.reward / chain.duration).max():
            raise SingularError("rounding has spoiled the answer")
    return gain, answer


def _by_decimals(chain: Chain) -> tuple[float, Floats]:
    count = _DIGITS
    while True:
        with digits(count):
            columns = [exact(column) for column in (chain.reward, chain.duration, np.abs(chain.reward))]
            left = eliminated(exact(chain.matrix.toarray()), np.column_stack(columns))
            reward, duration, _ = left.cycle()
            gain, totals = reward / duration, left.totals()
            spread = (totals[:, 2] + abs(gain) * totals[:, 1]).max()
            unit = min((abs(r) + abs(gain) * d for r, d, _ in zip(*columns, strict=True)), default=spread)
            # The bias is a difference of two totals: their digits above its own are lost.
            needed = 30 + (spread.adjusted() - unit.adjusted() if spread and unit else 0)
            if needed <= count or count >= 3000:
                return float(gain), nearest(totals[:, 0] - gain * totals[:, 1])
        count = min(needed, 3000)


def stationary(matrix: Sparse) -> Floats:
    """Return the law x with x P = x and sum 1 of an irreducible chain."""
    if matrix.shape[0] > LARGEST:
        # One of the equations follows from the others, and the sum takes its place.
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
    """Return a matrix with another first column."""
    return sparse.hstack([sparse.csc_array(column[:, None]), matrix[:, 1:]], format="csc")
