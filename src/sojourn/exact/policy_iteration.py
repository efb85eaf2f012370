"""Policy iteration: exact, for models whose linear systems can be solved.

Evaluate the policy, h + g d = r + P h. Then take in each state the pair of the largest surplus r - g d + P h - h, and
repeat until no surplus is above 0 by more than rounding. The gain never falls, and there are finitely many
policies (Howard 1960; for semi-Markov models Jewell, Operations Research 11, 1963).

The equation has one gain only if the policy has one recurrent class. In some models an optimal policy has one class, but
policies on the way to it have several. If the model has only one end component, the best of these classes can be reached
from every state. The policy is then changed to go there (Haviv and Puterman, Journal of Applied Probability 28, 1991),
which costs no gain.

The bounds of the last bias say whether floats were good enough. If they were not, because probabilities, rewards or
durations differ by many orders of magnitude, the iteration goes on in decimals, with as many digits as it takes until the
bounds meet: with a leak of 2^-1000 the bias has numbers of about 2^1000, and their differences matter. Each policy is then
evaluated by elimination without subtraction. The bounds are those of `bounds`; every operation is rounded down for the
lower one and up for the upper one, so they hold for any number of digits.
"""

from __future__ import annotations

import decimal
import time
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import unmasked, whole
from sojourn.exact.bounds import Solution, bounds, longest_timeless
from sojourn.exact.chains import (
    CHEAP,
    LARGEST,
    Numbers,
    above,
    below,
    digits,
    eliminated,
    exact,
    nearest,
    valued,
)
from sojourn.exact.direct import cost_in_sweeps, direct_policy_iteration
from sojourn.exact.errors import NotSolvedError, check_one_class, checked_bias
from sojourn.exact.operators import first_best
from sojourn.models.chain import chain_of_pairs, classes_of, expected, leading_to, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

_ROUNDING = 1e-12  # relative to the largest bias and to what the pair earns
_CLOSE = 1e-10  # how close the bounds must be, relative to the gain or its terms
# Numbers of digits, each with the number of states up to which it takes seconds at most.
_LENGTHS = ((50, 300), (200, 120), (800, 50), (3200, 20))
_SPARE = 10  # digits that rounding may spoil
_ENOUGH = Decimal("1e-15")  # how near the bounds must be, relative to the gain
_NOTHING = Decimal("1e-30")  # or relative to what is earned and lost per unit time, since the gain may be 0


@told
def policy_iteration(model: SMDP, *, start: ArrayLike | None = None, max_iterations: int = 1000) -> Solution:
    """Return an optimal policy, found by policy iteration from `start`, by default the policy of the largest r / d.

    >>> from sojourn.models import from_matrices
    >>> model = from_matrices(
    ...     [[[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]]],
    ...     rewards=[[[6, -5], [7, 12]], [[10, 17], [-14, 13]]],
    ...     durations=[[[1, 5], [120, 60]], [[50, 75], [7, 2]]],
    ... )
    >>> best = policy_iteration(model)
    >>> best.policy, round(best.gain, 6), best.iterations
    (array([0, 1]), 2.104478, 1)
    """
    began = time.perf_counter()
    check_one_class(model)
    pairs = _steepest(model) if start is None else pairs_of(model, np.asarray(unmasked("start", start)))
    max_iterations = whole("max_iterations", max_iterations)
    if model.num_states > LARGEST and cost_in_sweeps(model, pairs) < np.inf:
        return direct_policy_iteration(model, pairs, max_iterations=max_iterations)
    with np.errstate(all="ignore"):
        found = _in_floats(model, pairs, max_iterations)
    if not _good(model, found):
        try:
            found = _in_decimals(model, found.pairs, max_iterations)
        except NotSolvedError:  # unless the gain is known as well as floats allow
            if not found.upper - found.lower <= 1e-8 * _size(model, found):
                raise
    with np.errstate(all="ignore"):
        surplus = _surplus(model, found.gain, found.bias)
    return Solution(
        model=model,
        gains=np.full(model.num_states, found.gain),
        bias=found.bias,
        policy=model.action[found.pairs].astype(np.int64),
        lower=found.lower,
        upper=found.upper,
        residual=float(np.abs(np.maximum.reduceat(surplus, model.pair_offsets[:-1])).max()),
        iterations=found.iterations,
        solver="policy iteration",
        seconds=time.perf_counter() - began,
    )


class _Found(NamedTuple):
    """A policy by its pairs, its gain and bias, and proven bounds on the optimal gain."""

    pairs: Ints
    gain: float
    bias: Floats
    lower: float
    upper: float
    iterations: int


def _in_floats(model: SMDP, pairs: Ints, max_iterations: int) -> _Found:
    """Return a policy that no action improves by more than rounding, and the bounds that its bias proves."""
    seen: set[bytes] = set()
    for iteration in range(1, max_iterations + 1):
        try:
            pairs, gain, bias = _one_class(model, pairs)
        except NotSolvedError:
            return _Found(pairs, np.nan, np.full(model.num_states, np.nan), -np.inf, np.inf, iteration)
        surplus = _surplus(model, gain, bias)
        terms = np.abs(model.reward) + abs(gain) * model.duration
        best = first_best(model.pair_offsets, surplus)
        slack = _ROUNDING * (np.abs(bias).max() + np.maximum(terms[best], terms[pairs]))
        better = surplus[best] > surplus[pairs] + slack
        if not better.any() or pairs.tobytes() in seen:  # only rounding can bring a policy up again
            lower, upper = bounds(model, bias, pairs)
            return _Found(pairs, min(max(gain, lower), upper), bias, lower, upper, iteration)
        seen.add(pairs.tobytes())
        pairs = np.where(better, best, pairs)
    lower, upper = bounds(model, bias)
    raise NotSolvedError(
        f"after {max_iterations} iteration{'' if max_iterations == 1 else 's'} the policy still changes, and the optimal gain "
        f"is known to be between {lower:.9g} and {upper:.9g}; allow more with max_iterations"
    )


def _good(model: SMDP, found: _Found) -> bool:
    """Whether the gain is known to ten digits or, in models where decimals are slow, to ten digits of its terms."""
    apart = found.upper - found.lower
    return apart <= _CLOSE * abs(found.gain) or (
        model.num_states > CHEAP and apart <= _CLOSE * _size(model, found)
    )


def _size(model: SMDP, found: _Found) -> float:
    """Return the largest reward per unit time that the policy meets again and again."""
    states = classes_of(chain_of_pairs(model, found.pairs))[0]
    reward, duration = np.abs(model.reward[found.pairs[states]]), model.duration[found.pairs[states]]
    return float((reward / np.where(duration > 0.0, duration, duration.max())).max())


def _surplus(model: SMDP, gain: float, bias: Floats) -> Floats:
    """Return r - g d + P h - h of every pair."""
    gained = model.reward + (expected(model, bias) - bias[model.state_of_pair()])
    return np.asarray(gained - gain * model.duration)


def _steepest(model: SMDP) -> Ints:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratio = model.reward / model.duration
    return first_best(
        model.pair_offsets, np.where(model.duration > 0.0, ratio, np.copysign(np.inf, model.reward))
    )


def _one_class(model: SMDP, pairs: Ints) -> tuple[Ints, float, Floats]:
    """Return a policy with one recurrent class that is at least as good, with its gain and bias."""
    gains, bias, classes = valued(chain_of_pairs(model, pairs))
    if len(classes) > 1:
        best = max(classes, key=lambda states: float(gains[states[0]]))
        pairs = leading_to(model, best, pairs)
        gains, bias, _ = valued(chain_of_pairs(model, pairs))
    return pairs, float(gains[0]), bias


# --- In decimals --------------------------------------------------------------------------


class _Worth(NamedTuple):
    pairs: Ints
    gain: Decimal
    size: Decimal
    bias: Numbers


class _Decimals:
    """A model whose numbers are decimals."""

    def __init__(self, model: SMDP) -> None:
        self.model, self.source = model, np.repeat(model.state_of_pair(), np.diff(model.row_offsets))
        self.probability, self.reward = exact(model.probability), exact(model.reward)
        self.duration = exact(model.duration)
        steps = longest_timeless(model)
        self.steps = None if steps is None else exact(steps)

    def summed(self, rows: Numbers) -> Numbers:
        """Return the sum over the rows of each pair."""
        return np.asarray(np.add.reduceat(rows, self.model.row_offsets[:-1]))


def _in_decimals(model: SMDP, pairs: Ints, max_iterations: int) -> _Found:
    """Return an optimal policy, starting from the one that takes `pairs`; the model must have one end component."""
    exactly, done = _Decimals(model), 0
    for count, most in _LENGTHS:
        if model.num_states > most:
            break
        with digits(count):
            worth, taken = _improved(exactly, pairs, count, max_iterations)
            pairs, done = worth.pairs, done + taken
            lower, upper = _bounds(exactly, worth, count)
            size = worth.size or max(np.abs(exactly.reward[pairs])) / max(exactly.duration[pairs])
            close = upper - lower <= max(_ENOUGH * abs(worth.gain), _NOTHING * size)
        if close:
            gains = np.full(model.num_states, float(worth.gain))
            bias = checked_bias(model, gains, nearest(worth.bias - worth.bias[0]))
            low, high = below(lower), above(upper)
            return _Found(pairs, min(max(float(worth.gain), low), high), bias, low, high, done)
    raise NotSolvedError(
        f"the numbers of the model's {model.num_states} states differ too much in size for floats and for up to "
        f"{max(c for c, most in _LENGTHS if model.num_states <= most or c == 50)} digits; "
        "lump states, or leave out the smallest probabilities"
    )


def _improved(exactly: _Decimals, pairs: Ints, count: int, max_iterations: int) -> tuple[_Worth, int]:
    """Return a policy that no action improves by more than rounding, and the number of policies tried."""
    model = exactly.model
    slack, seen = Decimal(10) ** (_SPARE - count), set[bytes]()
    for iteration in range(1, max_iterations + 1):
        worth = _evaluated(exactly, pairs)
        gap = worth.bias[model.successor] - worth.bias[exactly.source]
        total = exactly.summed(exactly.probability)
        ahead = exactly.summed(exactly.probability * gap) / total
        size = exactly.summed(exactly.probability * np.abs(gap))
        surplus = exactly.reward - worth.gain * exactly.duration + ahead
        rounding = slack * (np.abs(exactly.reward) + abs(worth.gain) * exactly.duration + size)
        # The best pair of each state; `pairs` keeps the policy's own pair unless the best is surely better.
        best, own = first_best(model.pair_offsets, surplus), worth.pairs
        better = surplus[best] - rounding[best] > surplus[own] + rounding[own]
        pairs = np.where(better.astype(bool), best, own)
        if (pairs == own).all() or own.tobytes() in seen:  # a policy that comes up again needs more digits
            return worth, iteration
        seen.add(own.tobytes())
    raise NotSolvedError(
        f"after {max_iterations} iteration{'' if max_iterations == 1 else 's'} the policy still changes; "
        "allow more with max_iterations"
    )


def _evaluated(exactly: _Decimals, pairs: Ints) -> _Worth:
    """Return a policy with one recurrent class that is at least as good, and its gain and bias."""
    classes = classes_of(chain_of_pairs(exactly.model, pairs))
    best = classes[0]
    if len(classes) > 1:
        best = max(classes, key=lambda states: _worth(exactly, pairs, states).gain)
        pairs = leading_to(exactly.model, best, pairs)
    others = np.setdiff1d(np.arange(exactly.model.num_states), best)
    return _worth(exactly, pairs, np.concatenate([best, others]))


def _worth(exactly: _Decimals, pairs: Ints, states: Ints) -> _Worth:
    """Evaluate a policy on states that it does not leave; the first of them is in its only recurrent class."""
    offsets, rows = exactly.model.rows_of(pairs[states])
    place = np.zeros(exactly.model.num_states, dtype=np.int64)
    place[states] = np.arange(len(states))
    rates = np.full((len(states), len(states)), Decimal(0), dtype=object)
    probability = exactly.probability[rows]
    total = np.add.reduceat(probability, offsets[:-1])
    source = np.repeat(np.arange(len(states)), np.diff(offsets))
    np.add.at(rates, (source, place[exactly.model.successor[rows]]), probability / total[source])
    reward, duration = exactly.reward[pairs[states]], exactly.duration[pairs[states]]
    left = eliminated(rates, np.column_stack([reward, duration, np.abs(reward)]))
    earned, taken, size = left.cycle()
    gain, totals = earned / taken, left.totals()
    bias = np.full(exactly.model.num_states, Decimal(0), dtype=object)
    bias[states] = totals[:, 0] - gain * totals[:, 1]
    return _Worth(pairs, gain, size / taken, bias)


def _bounds(exactly: _Decimals, worth: _Worth, count: int) -> tuple[Decimal, Decimal]:
    """Return a lower bound on the gain of the policy and an upper bound on that of any; see `longest_timeless`."""
    least = most = worth.bias
    zero = np.flatnonzero(exactly.model.duration == 0.0)
    if exactly.steps is not None:
        gap = worth.bias[exactly.model.successor] - worth.bias[exactly.source]
        total = exactly.summed(exactly.probability)
        gained = exactly.reward + exactly.summed(exactly.probability * gap) / total
        rounding = max(np.abs(worth.bias)) * Decimal(10) ** (_SPARE - count)
        most = worth.bias + 2 * max(max(gained[zero]) + rounding, Decimal(0)) * exactly.steps
        taken = worth.pairs[exactly.model.duration[worth.pairs] == 0.0]
        lost = max((-number for number in gained[taken]), default=Decimal(0))
        least = worth.bias - 2 * max(lost + rounding, Decimal(0)) * exactly.steps
    lower = min(_lowest(exactly, least, count, 1)[worth.pairs])
    return lower, max(number.copy_negate() for number in _lowest(exactly, most, count, -1))


def _lowest(exactly: _Decimals, bias: Numbers, count: int, sign: int) -> Numbers:
    """Return a number not above (r + sum p (h' - h) / sum p) / d for each pair, with -r and -h if sign is -1."""
    with digits(count, decimal.ROUND_CEILING):
        most = exactly.summed(exactly.probability)
    with digits(count, decimal.ROUND_FLOOR):
        least = exactly.summed(exactly.probability)
        bias = bias * sign
        gap = bias[exactly.model.successor] - bias[exactly.source]
        ahead = exactly.summed(exactly.probability * gap)
        # A positive sum is divided by too much and a negative one by too little, so both come out too low.
        ahead = ahead / np.where((ahead > 0).astype(bool), most, least)
        gained = exactly.reward * sign + ahead
        ratios = zip(gained, exactly.duration, strict=True)
        return np.array([x / d if d else Decimal("Infinity" if x >= 0 else "-Infinity") for x, d in ratios])
