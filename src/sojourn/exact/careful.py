"""Policy iteration in decimals, for models that need more digits than floats have.

The steps are those of `policy_iteration`, with as many digits as it takes until the bounds meet: with a leak of 2^-1000 the
bias has numbers of about 2^1000, and their differences matter. Each policy is evaluated by elimination without subtraction.
The bounds are those of `bounds`. Every operation is rounded down for the lower one and up for the upper one, so they hold
for any number of digits.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from sojourn.exact.chains import longest_timeless
from sojourn.exact.decimals import above, below, digits, exact, nearest
from sojourn.exact.refusals import NotSolvedError, in_floats
from sojourn.models.chain import chain_of_pairs, classes_of, leading_to
from sojourn.models.elimination import Numbers, eliminated
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints

# Numbers of digits, each with the number of states up to which it takes seconds at most.
_LENGTHS = ((50, 300), (200, 120), (800, 50), (3200, 20))
_SPARE = 10  # digits that rounding may spoil
_ENOUGH = Decimal("1e-15")  # how near the bounds must be, relative to the gain
_NOTHING = Decimal("1e-30")  # or relative to what is earned and lost per unit time, since the gain may be 0


class Found(NamedTuple):
    """A policy by its pairs, its gain and bias, and proven bounds on the optimal gain."""

    pairs: Ints
    gain: float
    bias: Floats
    lower: float
    upper: float
    iterations: int


class _Worth(NamedTuple):
    pairs: Ints
    gain: Decimal
    size: Decimal
    bias: Numbers


class _Decimals:
    """A model whose numbers are decimals."""

    def __init__(self, model: SMDP) -> None:
        self.model, self.starts, self.state = model, model.row_offsets[:-1], model.state_of_pair()
        self.counts = np.diff(model.row_offsets)
        self.source = np.repeat(self.state, self.counts)
        self.probability = exact(model.probability)
        self.reward, self.duration = exact(model.reward), exact(model.duration)
        steps = longest_timeless(model)
        self.steps = None if steps is None else exact(steps)

    def summed(self, rows: Numbers) -> Numbers:
        """Return the sum over the rows of each pair."""
        return np.asarray(np.add.reduceat(rows, self.starts))


def careful(model: SMDP, pairs: Ints, max_iterations: int) -> Found:
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
            bias = in_floats(model, gains, nearest(worth.bias - worth.bias[0]))
            low, high = below(lower), above(upper)
            return Found(pairs, min(max(float(worth.gain), low), high), bias, low, high, done)
    raise NotSolvedError(
        f"the numbers of the model's {model.num_states} states differ too much in size for floats and for up to "
        f"{max(c for c, most in _LENGTHS if model.num_states <= most or c == 50)} digits; "
        "lump states, or leave out the smallest probabilities"
    )


def _improved(exactly: _Decimals, pairs: Ints, count: int, max_iterations: int) -> tuple[_Worth, int]:
    """Return a policy that no action improves by more than rounding, and the number of policies tried."""
    model, first = exactly.model, exactly.model.pair_offsets[:-1]
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
        best = np.array(
            [a + int(np.argmax(surplus[a:b])) for a, b in zip(first, model.pair_offsets[1:], strict=True)]
        )
        own = worth.pairs
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
        gained = exactly.reward + exactly.summed(exactly.probability * gap) / exactly.summed(
            exactly.probability
        )
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
        return np.array(
            [
                x / d if d else Decimal("Infinity" if x >= 0 else "-Infinity")
                for x, d in zip(gained, exactly.duration, strict=True)
            ]
        )
