"""What the solvers share: expected values, the best pair of each state, and compiled sweeps.

A sweep reads the values of the last sweep and writes new ones, so its result does not depend on the order of the states,
and threads that share the states get exactly the same result. The kernels have many arguments because each array that
they read or write is one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sojourn.rules.arrays import Floats, Indices, Ints
from sojourn.rules.bridge import inlined
from sojourn.rules.kernel import Kernel, gradually, kernel

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

_ULP = 2.0**-53
_SMALLEST = 5e-324
_LARGEST = 1.7e308  # rounded down
_STAYS = 1.0 - 1e-9  # where one stays with more, rounding spoils the probability of leaving
_ROWS_FOR_THREADS = 200_000  # with fewer, handing out the work takes longer than the work
_ROWS_IN_PYTHON = 1000  # up to this many, a few sweeps in Python are done sooner than they could be compiled


# --- Whole models, in NumPy ---------------------------------------------------------------


def first_best(offsets: Ints, numbers: Floats) -> Ints:
    """Return the first pair of each state that has the state's largest number; `offsets` says where states begin.

    >>> first_best(np.array([0, 3, 5]), np.array([1.0, 4.0, 4.0, 2.0, 0.0]))
    array([1, 3])
    """
    state = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    at = np.flatnonzero(numbers == np.maximum.reduceat(numbers, offsets[:-1])[state])
    _, first = np.unique(state[at], return_index=True)
    return at[first]


# --- Compiled sweeps ----------------------------------------------------------------------


class Arrays(NamedTuple):
    """A model as compiled code reads it."""

    pair_offsets: Ints
    row_offsets: Ints
    successor: Indices
    probability: Floats
    reward: Floats
    duration: Floats
    action: Indices


def arrays(model: SMDP) -> Arrays:
    """Return a model as compiled code reads it."""
    return Arrays(*(getattr(model, name) for name in Arrays._fields))


@inlined
def _expected_bias(model: Arrays, pair: int, bias: Floats) -> float:
    """Return the mean bias of the states that a pair leads to."""
    # Indices are unsigned, or Numba would test each of them for counting from the end.
    total = 0.0
    for row in range(np.uintp(model.row_offsets[pair]), np.uintp(model.row_offsets[pair + 1])):
        total += model.probability[row] * bias[np.uintp(model.successor[row])]
    return total


@kernel
def improve_block(
    model: Arrays, first: int, last: int, bias: Floats, gain: float, slack: float, steepest: bool,
    pairs: Ints, ratio: Floats, surplus: Floats,
) -> None:  # fmt: skip
    """Find the largest ratio (r + P h - h) / d and the largest surplus r - g d + P h - h of each state.

    The pair of the largest surplus (of the largest ratio, if `steepest`) becomes the state's pair, unless the old one is
    worse by no more than `slack`.
    """
    for state in range(first, last):
        highest = -np.inf
        most = -np.inf
        best = -np.inf
        own = -np.inf
        best_pair = pairs[state]
        for pair in range(model.pair_offsets[state], model.pair_offsets[state + 1]):
            gained = model.reward[pair] + (_expected_bias(model, pair, bias) - bias[state])
            here = gained / model.duration[pair]
            left = gained - gain * model.duration[pair]
            highest = max(highest, here)
            most = max(most, left)
            score = here if steepest else left
            if pair == pairs[state]:
                own = score
            if score > best:
                best = score
                best_pair = pair
        if not own >= best - slack:
            pairs[state] = best_pair
        ratio[state] = highest
        surplus[state] = most


@kernel
def relax(model: Arrays, bias: Floats, gain: float, slack: float, is_backward: bool, pairs: Ints) -> None:
    """Improve the policy as `improve_block` does, and with it the bias of each state before the next one is looked at.

    The bias of a state becomes the largest with which no pair has a surplus there. What is new travels through all states in
    one sweep, if it travels in their order (Gauss and Seidel).
    """
    for step in range(len(bias)):
        state = len(bias) - 1 - step if is_backward else step
        most = -np.inf
        rise = -np.inf
        own = -np.inf
        best_pair = pairs[state]
        for pair in range(model.pair_offsets[state], model.pair_offsets[state + 1]):
            ahead = 0.0
            stays = 0.0
            for row in range(np.uintp(model.row_offsets[pair]), np.uintp(model.row_offsets[pair + 1])):
                ahead += model.probability[row] * bias[np.uintp(model.successor[row])]
                if model.successor[row] == state:
                    stays += model.probability[row]
            left = model.reward[pair] - gain * model.duration[pair] + (ahead - bias[state])
            rise = max(rise, left / (1.0 - stays) if stays < _STAYS else left)
            if pair == pairs[state]:
                own = left
            if left > most:
                most = left
                best_pair = pair
        if not own >= most - slack:
            pairs[state] = best_pair
        bias[state] += rise


@kernel
def prove_block(
    model: Arrays, first: int, last: int, bias: Floats, pairs: Ints, lows: Floats, highs: Floats
) -> None:
    """Find a proven lower bound on the ratio of each state's pair, and a proven upper bound on all ratios of the state.

    The ratio is (r + sum p (h' - h) / sum p) / d in real numbers. Both sums are compensated: what each operation loses is
    computed and added up too. So a sum x of k rows is off by at most u |x| + (2 k u)^2 sum |terms|, with u = 2^-53 (Ogita,
    Rump and Oishi, SIAM Journal on Scientific Computing 26, 2005), and by less than 5 k 5e-324 where terms underflow.
    A division and a sum follow. `error` is more than twice all of this, to allow for its own rounding.
    """
    for state in range(first, last):
        lows[state] = -np.inf
        highs[state] = -np.inf
        for pair in range(model.pair_offsets[state], model.pair_offsets[state + 1]):
            ahead = 0.0
            ahead_rest = 0.0
            total = 0.0
            total_rest = 0.0
            size = 0.0
            for row in range(np.uintp(model.row_offsets[pair]), np.uintp(model.row_offsets[pair + 1])):
                p = model.probability[row]
                gap, gap_rest = _sum(bias[np.uintp(model.successor[row])], -bias[state])
                term, term_rest = _product(p, gap)
                ahead, lost = _sum(ahead, term)
                ahead_rest += (lost + term_rest) + p * gap_rest
                total, lost = _sum(total, p)
                total_rest += lost
                size += abs(term)
            reward = model.reward[pair]
            error = 0.0
            if size != 0.0 or ahead_rest != 0.0:  # true for NaN too
                rows = 4.0 * (model.row_offsets[pair + 1] - model.row_offsets[pair]) + 16.0
                ahead = (ahead + ahead_rest) / (total + total_rest)
                error = 8.0 * _ULP * (abs(reward) + abs(ahead)) + (rows * _ULP) * (rows * _ULP) * size
                error += 4.0 * rows * _SMALLEST
            low = _below(reward + ahead - error, model.duration[pair])
            high = -_below(-reward - ahead - error, model.duration[pair])
            if pair == pairs[state]:
                lows[state] = low
            highs[state] = max(highs[state], high)


@inlined
def _sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b, and what rounding lost."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


@inlined
def _product(a: float, b: float) -> tuple[float, float]:
    """Return a b, and what rounding lost (Dekker)."""
    product = a * b
    large = 134217729.0 * a
    a_high = large - (large - a)
    a_low = a - a_high
    large = 134217729.0 * b
    b_high = large - (large - b)
    b_low = b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@inlined
def _below(gained: float, duration: float) -> float:
    """Return a number that is not above gained / duration, where `gained` is itself rounded.

    For a pair that takes no time it is infinity if the pair loses nothing, and -infinity if it does.
    """
    if duration == 0.0:
        return np.inf if gained >= 0.0 else -np.inf
    if gained == 0.0:
        return 0.0
    ratio = gained / duration
    if not ratio < np.inf:  # too large for floats, or infinity less infinity
        return _LARGEST if ratio > 0.0 and gained < np.inf else -np.inf
    return ratio - (4.0 * _ULP * abs(ratio) + 2.0 * _SMALLEST)


@kernel
def evaluate_block(
    model: Arrays, first: int, last: int, bias: Floats, gain: float, damping: float, pairs: Ints,
    surplus: Floats, new: Floats,
) -> None:  # fmt: skip
    """Find the surplus c = r - g d + P h - h of each state's pair, and h + damping c."""
    for state in range(first, last):
        pair = pairs[state]
        earned = model.reward[pair] - gain * model.duration[pair]
        surplus[state] = earned + (_expected_bias(model, pair, bias) - bias[state])
        new[state] = bias[state] + damping * surplus[state]


@kernel
def iterate(
    model: Arrays, step: float, tolerance: float, sweeps: int, bias: Floats, pairs: Ints, ratio: Floats,
    bounds: Floats,
) -> int:  # fmt: skip
    """Take up to `sweeps` sweeps of h <- h + step (max (r + P h - h) / d - middle), in one thread.

    `bounds` gets the best lower and upper bound met. Returns the number of sweeps taken, as a negative number if the last
    bounds are within `tolerance` of each other.
    """
    for sweep in range(sweeps):
        low = np.inf
        high = -np.inf
        for state in range(len(bias)):
            best = -np.inf
            for pair in range(model.pair_offsets[state], model.pair_offsets[state + 1]):
                gained = model.reward[pair] + (_expected_bias(model, pair, bias) - bias[state])
                here = gained / model.duration[pair]
                if here > best:
                    best = here
                    pairs[state] = pair
            ratio[state] = best
            low = min(low, best)
            high = max(high, best)
        bounds[0] = max(bounds[0], low)
        bounds[1] = min(bounds[1], high)
        if high - low <= tolerance:
            return -(sweep + 1)
        for state in range(len(bias)):
            bias[state] += step * (ratio[state] - (low + high) / 2.0)
    return sweeps


class Workers:
    """Threads that share the states of a model, each with about the same number of rows."""

    def __init__(self, model: SMDP) -> None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = threads if model.num_rows > _ROWS_FOR_THREADS else 1
        by_state = model.row_offsets[model.pair_offsets]
        shares = np.arange(1, threads) * (model.num_rows // threads)
        self._cuts = [0, *np.searchsorted(by_state, shares).tolist(), model.num_states]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._model = arrays(model)
        self._is_small = model.num_rows <= _ROWS_IN_PYTHON
        policy_rows = model.num_rows / model.num_pairs * model.num_states
        self._policy_alone = policy_rows <= _ROWS_FOR_THREADS
        self._ready: dict[tuple[object, ...], Callable[..., None]] = {}

    @property
    def alone(self) -> bool:
        """Whether there is only one thread."""
        return self._pool is None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def sweep(self, block: Kernel[Callable[..., None]], *args: Floats | Ints | float) -> None:
        """Run a kernel on all states."""
        parts = list(zip(self._cuts[:-1], self._cuts[1:], strict=True))
        # In small models, looking at the types of the arguments takes longer than a sweep.
        arrays = (one for one in args if isinstance(one, np.ndarray))
        types = (block, *((one.dtype.char, one.flags.writeable) for one in arrays))
        if types not in self._ready:
            like = (self._model, *parts[0], *args)
            use = functools.partial(self._ready.__setitem__, types)
            self._ready[types] = gradually(block, like, use) if self._is_small else block.prepared(*like)
        run = self._ready[types]
        if self._pool is None or (block is evaluate_block and self._policy_alone):
            run(self._model, 0, self._cuts[-1], *args)
        else:
            for _ in self._pool.map(lambda part: run(self._model, *part, *args), parts):
                pass
