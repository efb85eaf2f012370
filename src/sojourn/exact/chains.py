"""The gains and biases of a chain, in floats where these are good enough and in decimals elsewhere.

Small chains are solved by *elimination*. Suppose that a chain leaves state k for j at the rate A(k, j). Watched only while it
is not in k, it behaves like a chain with the rates A(i, j) + A(i, k) A(k, j) / out(k), where out(k) = sum over j of A(k, j).
What is earned in k is counted on the way through it. Nothing is ever subtracted, not even for 1 - A(k, k), so every number
has a small *relative* error, however unequal the rates are: a leak of 1e-300 is as exact as one of 0.5 (Grassmann, Taksar
and Heyman, Operations Research 33, 1985; O'Cinneide, Numerische Mathematik 65, 1993).

If floats underflow or rewards cancel, *decimals* take their place. Every float is exactly a decimal. Exponents are
practically unlimited, so nothing overflows or vanishes; only digits beyond the number asked for are lost, and rounding can be
directed down or up, which is how bounds are proven.

Larger chains are solved as linear systems, and the answer is tested: if rounding may have spoiled it, decimals are used here
too, or the chain is refused.
"""

from __future__ import annotations

import decimal
import math
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sojourn.exact.errors import NotSolvedError
from sojourn.models.chain import Chain, SingularError, classes_of, outward, solved
from sojourn.rules.arrays import Floats, Ints, Sparse

Numbers: TypeAlias = npt.NDArray[Any]  # floats, or objects that are decimals or fractions

_SMALL = 64  # states: up to here elimination is as fast as a linear system
LARGEST = 300  # states: with more, decimals would take minutes
CHEAP = 30  # states: up to here decimals cost milliseconds
_CANCELLED = 1e-5  # a gain that is less than this part of what is earned and lost has too few digits left
_CLOSE = 1e-8  # how exact the gain of a linear system must be, relative to the largest reward per unit time
_ULPS, _KEPT = 2.0**-50, 1e-9  # what rounding does to a sum, and how much of a bias it may spoil
_ROUGH = 1e-3  # how much in chains that are too large for decimals
_DIGITS, _MOST_DIGITS = 60, 3000


# --- Gains and biases ---------------------------------------------------------------------


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
            if len(inner) > LARGEST:
                # Here only the order of the size is needed, and `carried` would test for more.
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
            sums = [(s, max(abs(b), u)) for s, b, u in zip(size, bias, unit, strict=True) if s and u]
            needed = max((s.adjusted() - left.adjusted() for s, left in sums), default=0)
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


# --- Elimination --------------------------------------------------------------------------


class Eliminated(NamedTuple):
    """The rates and amounts of each state at the time when it was eliminated, and its total rate of leaving."""

    rates: Numbers
    amounts: Numbers
    out: Numbers

    def cycle(self) -> Numbers:
        """Return the mean amounts between two visits to the first state."""
        return np.asarray(self.amounts[0])

    def totals(self) -> Numbers:
        """Return the mean amounts from each state until the first state is reached; 0 in the first state itself."""
        result = np.zeros_like(self.amounts)
        with np.errstate(all="raise"):
            for k in range(1, len(result)):
                ahead = np.flatnonzero(self.rates[k, :k])
                later = (self.rates[k, ahead][:, None] * result[ahead]).sum(axis=0)
                result[k] = (self.amounts[k] + later) / self.out[k]
        return result

    def visits(self) -> Numbers:
        """Return the mean number of visits to each state between two visits to the first one."""
        result = np.zeros_like(self.out)
        result[0] = 1
        with np.errstate(all="raise"):
            for k in range(1, len(result)):
                before = np.flatnonzero(self.rates[:k, k])
                result[k] = (result[before] * self.rates[before, k]).sum() / self.out[k]
        return result


def eliminated(rates: Numbers, amounts: Numbers) -> Eliminated:
    """Eliminate all states but the first, starting with the last; a state's rate to itself does not count.

    `amounts` has in its columns what is earned per step in each state. The first state must be reached from every state.

    >>> rates = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    >>> left = eliminated(rates, np.array([[4.0], [0.0], [6.0]]))
    >>> left.cycle(), left.totals()[:, 0], left.visits()
    (array([7.]), array([0., 3., 6.]), array([1. , 1. , 0.5]))
    """
    rates, amounts = rates.copy(), amounts.copy()
    out = np.zeros_like(rates[0])
    with np.errstate(all="raise"):
        for k in range(len(rates) - 1, 0, -1):
            out[k] = rates[k, :k].sum()
            before, ahead = np.flatnonzero(rates[:k, k]), np.flatnonzero(rates[k, :k])
            share = (rates[before, k] / out[k])[:, None]
            rates[np.ix_(before, ahead)] += share * rates[k, ahead]
            amounts[before] += share * amounts[k]
    return Eliminated(rates, amounts, out)


# --- Decimals -----------------------------------------------------------------------------


def digits(count: int, rounding: str = decimal.ROUND_HALF_EVEN) -> AbstractContextManager[decimal.Context]:
    """Return a context in which decimals have this many digits, rounded to the nearest, down or up."""
    return decimal.localcontext(
        decimal.Context(prec=count, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    )


def exact(floats: Floats) -> Numbers:
    """Return floats as decimals, exactly.

    >>> exact(np.array([0.5, 2.0**-20]))
    array([Decimal('0.5'), Decimal('9.5367431640625E-7')], dtype=object)
    """
    return np.array([Decimal(x) for x in floats.ravel().tolist()], dtype=object).reshape(floats.shape)


def nearest(numbers: Numbers) -> Floats:
    """Return decimals as the nearest floats."""
    return np.array([float(number) for number in numbers.ravel()], dtype=np.float64).reshape(numbers.shape)


def below(number: Decimal) -> float:
    """Return the largest float that is not above a decimal.

    >>> below(Decimal("0.1")), below(Decimal("1e-400")), below(Decimal("-1e-400"))
    (0.09999999999999999, 0.0, -5e-324)
    """
    found = float(number)
    return math.nextafter(found, -math.inf) if Decimal(found) > number else found


def above(number: Decimal) -> float:
    """Return the smallest float that is not below a decimal."""
    return -below(number.copy_negate())
