"""The solver of totals: policy iteration on V = max over actions of c + W V, with proven bounds; see `criteria`.

The rows of W sum to at most 1, so 1 - W is an M-matrix, like that of a policy's bias in `direct`: each policy of a large model is
evaluated by factors without pivoting, and between two evaluations it is improved in sweeps. The first sweeps begin with values of
0. A policy found by sweeps may never come to an end where the one before them did; then the sweeps are not used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sojourn.exact.direct import MOST_ENTRIES as MOST_OF_FACTORS
from sojourn.exact.direct import Evaluated, estimate, factors_of, sweeps_like, swept
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.operators import arrays, first_best
from sojourn.models import laws
from sojourn.models.chain import SingularError, iterated, leading_to, solved, steps_to
from sojourn.models.smdp import MOST_ENTRIES, SMDP
from sojourn.models.structure import named
from sojourn.rules.arrays import Flags, Floats, Ints, Sparse
from sojourn.rules.blas import one_thread

_ULP = 2.0**-53
_TRANSFORM = 4e-15  # transforms are at least as exact as this, in absolute terms
_LOSS = 1e-14  # and losses, relative to themselves
_WIDER = (4.0, 64.0, 4096.0)  # how much wider than rounding the bounds are tried
_MOST = 1000  # policies
_SLACK = 1e-14  # relative to what is compared: a pair must be better by more than this
_TOO_LARGE = (
    "floats cannot hold the totals of a policy, which takes too long to come to an end; give a larger discount, or an end that "
    "is reached sooner"
)
_DENSE = 500  # states that are solved densely
_FILL = 50.0  # if factors have fewer entries than so many times those of the matrix, nothing is faster
_ITERATIONS = 60  # of BiCGSTAB; if more are needed, factors are faster


class Asked(NamedTuple):
    """A total in checked words: the discount or None, when rewards are paid, the states that end it, and its steps or None."""

    discount: float | None
    paid: str
    ends: Flags
    steps: int | None
    amount: str = "reward"

    def words(self, model: SMDP) -> str:
        """Return what the total counts, in words."""
        parts = [f"total {self.amount}"]
        if self.discount is not None:
            when = {"start": "at the start of", "end": "at the end of", "during": "during"}[self.paid]
            parts.append(f"discounted by {self.discount:.9g} per unit time and paid {when} each step")
        if self.ends.any():
            parts.append(f"until {named(model, np.flatnonzero(self.ends))}")
        if self.steps is not None:
            parts.append(f"of {self.steps:,} step{'' if self.steps == 1 else 's'}")
        return ", ".join(parts)


# --- Solving --------------------------------------------------------------------------------


class Found(NamedTuple):
    """The value of each state with its bounds, the pairs of a policy, and how it was found."""

    values: Floats
    pairs: Ints
    lower: Floats
    upper: Floats
    iterations: int
    residual: float


class Totals:
    """What each pair pays and with which weight it leads where, both with proven errors."""

    def __init__(self, model: SMDP, wanted: Asked) -> None:
        self.model, self.ends = model, wanted.ends
        self.is_discounted = wanted.discount is not None
        self._state, counts = model.state_of_pair(), np.diff(model.row_offsets)
        pair = np.repeat(np.arange(model.num_pairs), counts)
        share = model.probability / np.add.reduceat(model.probability, model.row_offsets[:-1])[pair]
        self.earned = np.array(model.amount(wanted.amount))
        lost, size = np.zeros(model.num_rows), np.abs(self.earned)
        self._error = (counts + 8.0) * 2.0 * _ULP  # relative, of a sum over rows and of its terms
        if wanted.discount is not None:
            lost, paid = _discounted(model, wanted)
            if wanted.paid != "start":
                means, sizes = _of_rows(model, wanted.amount)
                unsure = _TRANSFORM if wanted.paid == "end" else _LOSS * paid
                terms = sizes * (paid + unsure / (16.0 * _ULP))
                self.earned = np.add.reduceat(share * means * paid, model.row_offsets[:-1])
                size = np.add.reduceat(share * terms, model.row_offsets[:-1])
        here = self.ends[self._state]
        self.earned[here] = 0.0
        over = here[pair] | self.ends[model.successor]
        self.weight, self.leaves = _split(model, share, lost, over)
        self._size = np.where(here, 0.0, size)
        self._unsure = np.where(over, 0.0, share * np.minimum(_LOSS * lost, _TRANSFORM))
        self._pair = pair
        self._last: tuple[bytes, Callable[[Floats], Floats]] | None = (
            None  # a policy, and what solves its equations
        )
        self._by_iterations: bool | None = None  # whether iterations do for the policies of this model
        self._entries = 0.0  # of the factors of the last policy

    def ahead(self, values: Floats) -> Floats:
        """Return the weighted value of the next states of each pair."""
        return self._summed(self.weight * values[self.model.successor])

    def gained(self, earned: Floats, values: Floats, terms: bool = False) -> Floats:
        """Return c + W v - v of each pair, or the sum of the sizes of its terms, from differences of values.

        So it keeps its digits where one stays long for little, and v is large.
        """
        own = values[self._state]
        moves = self.weight * (values[self.model.successor] - own[self._pair])
        if terms:
            return np.abs(earned) + self._summed(np.abs(moves)) + self.leaves * np.abs(own)
        return earned + self._summed(moves) - self.leaves * own

    def errors(self, values: Floats) -> Floats:
        """Return more than rounding can change in what each pair has gained."""
        unsure = self._summed(self._unsure * np.abs(values)[self.model.successor])
        return np.asarray(self._error * self.gained(self._size, values, terms=True) + 1.5 * unsure + 1e-300)

    def _summed(self, rows: Floats) -> Floats:
        return np.asarray(np.add.reduceat(rows, self.model.row_offsets[:-1]))

    # --- A number of steps ----------------------------------------------------------------

    def backward(self, steps: int, taken: Ints | None = None) -> Found:
        """Return the largest total of this many steps, or that of given pairs [step, state]."""
        model, offsets = self.model, self.model.pair_offsets
        if steps * model.num_states > MOST_ENTRIES:
            raise ValueError(
                f"steps is {steps:,}, and a policy of so many steps in {model.num_states:,} states is too large; with "
                f"{MOST_ENTRIES // model.num_states:,} steps it is not"
            )
        pairs = np.empty((steps, model.num_states), dtype=np.int64)
        low, values, high = np.zeros((3, model.num_states))

        def errors(ahead: Floats) -> Floats:
            size = np.abs(ahead)
            unsure = self._summed(self._unsure * size[model.successor])
            return np.asarray(self._error * (self._size + self.ahead(size)) + 1.5 * unsure + 1e-300)

        for step in range(steps - 1, -1, -1):
            worth = self.earned + self.ahead(values)
            least = self.earned + self.ahead(low) - errors(low)
            most = self.earned + self.ahead(high) + errors(high)
            pairs[step] = first_best(offsets, worth) if taken is None else taken[step]
            values, low = worth[pairs[step]], least[pairs[step]]
            high = np.maximum.reduceat(most, offsets[:-1]) if taken is None else most[pairs[step]]
            for each in (values, low, high):
                each[self.ends] = 0.0
        return Found(values, pairs, low, high, steps, 0.0)

    # --- For ever -------------------------------------------------------------------------

    @property
    def costly(self) -> Flags:
        """Whether each pair pays or costs anything, or begins at the end."""
        return np.asarray((self.earned != 0.0) | self.ends[self._state])

    def lost(self) -> Flags:
        """Return from which states of a model with one action in each the set may never be reached."""
        if self.is_discounted:
            return np.zeros(self.model.num_states, dtype=bool)
        self._check_end()
        never = np.flatnonzero(~self._reaching(np.ones(self.model.num_pairs, dtype=bool)))
        return np.isfinite(steps_to(self.model, never, ~self.ends)) & ~self.ends

    def _reaching(self, usable: Flags) -> Flags:
        """Return from which states the set can be reached by pairs that may be used."""
        return np.isfinite(steps_to(self.model, np.flatnonzero(self.ends), usable))

    def _check_end(self) -> None:
        if not (self.is_discounted or self.ends.any()):
            raise ValueError("a total has no end: give a discount, until or steps")

    def forever(self, lost: Flags | None = None) -> Found:
        """Return the total until the set is reached, or for ever; states that are `lost` are worth nothing."""
        if lost is not None and lost.any():
            self.ends = self.ends | lost  # only states that are lost themselves lead to these
            self.earned = np.where(self.ends[self._state], 0.0, self.earned)
            self.weight = np.where(self.ends[self._state][self._pair], 0.0, self.weight)
            self.leaves = np.where(self.ends[self._state], 1.0, self.leaves)
        pairs = self._swept(self.earned, np.zeros(self.model.num_states), self.first())
        values, pairs, iterations = self._improved(self.earned, pairs)
        lower, upper = np.full(len(values), -np.inf), np.full(len(values), np.inf)
        margin = self.errors(values) + _ULP * self._sizes(values)
        margin[self.ends[self._state]] = 0.0
        for wider in _WIDER:
            try:
                if not np.isfinite(upper).all():
                    above, _, _ = self._improved(self.earned + wider * margin, pairs)
                    if self._holds(above, 1.0).all():
                        upper = above
                if not np.isfinite(lower).all():
                    below = self._valued(self.earned - wider * margin, pairs)
                    if self._holds(below, -1.0)[pairs].all():
                        lower = below
            except (NotSolvedError, SingularError):
                continue
        gained = self.gained(self.earned, values)
        worst = np.abs(np.maximum.reduceat(gained, self.model.pair_offsets[:-1])).max()
        return Found(values, pairs, lower, upper, iterations, float(worst))

    def _sizes(self, values: Floats) -> Floats:
        """Return how large the values are between which each pair moves: what floats leave unsure is relative to these."""
        sizes, to = np.abs(values), self.model.successor
        own = self._state[self._pair]
        moved = np.where((self.weight > 0.0) & (to != own), np.maximum(sizes[to], sizes[own]), 0.0)
        return np.asarray(np.maximum.reduceat(moved, self.model.row_offsets[:-1]))

    def _holds(self, values: Floats, sign: float) -> Flags:
        """Whether c + W v <= v for sign 1, or >= v for sign -1, surely holds for each pair; it need not at the end."""
        gained = self.gained(self.earned, values)
        return self.ends[self._state] | (sign * gained + self.errors(values) <= 0.0)

    def first(self) -> Ints:
        """Return a policy whose total is finite."""
        model, pairs = self.model, first_best(self.model.pair_offsets, self.earned)
        self._check_end()
        if self.is_discounted:
            return pairs
        usable = np.ones(model.num_pairs, dtype=bool)
        while True:
            # Pairs that lead to states from which the set cannot be reached are left out, which may cut off further states.
            reached = self._reaching(usable)
            lost = np.logical_or.reduceat(~reached[model.successor], model.row_offsets[:-1])
            if not (usable & lost & ~self.ends[self._state]).any():
                break
            usable &= ~lost | self.ends[self._state]
        missed = np.flatnonzero(~reached)
        if missed.size:
            raise NotSolvedError(
                f"from {named(model, missed)} no policy is sure to reach {named(model, np.flatnonzero(self.ends))}, so a total "
                "until then does not exist; add states to until, or give a discount"
            )
        return leading_to(model, np.flatnonzero(self.ends), pairs, usable)

    def _valued(self, earned: Floats, pairs: Ints) -> Floats:
        """Return the total of a policy."""
        key = pairs.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._inverse(self._system(pairs), earned[pairs])
        inverse = self._last[1]
        values = inverse(earned[pairs])
        values = values + inverse(self.gained(earned, values)[pairs])
        if not np.isfinite(values).all():
            raise SingularError(_TOO_LARGE)
        return values

    def _system(self, pairs: Ints) -> Sparse:
        """Return the matrix 1 - W of a policy."""
        model = self.model
        offsets, rows = model.rows_of(pairs)
        state = np.repeat(np.arange(model.num_states), np.diff(offsets))
        away = model.successor[rows] != state
        moves = sparse.coo_array(
            (self.weight[rows][away], (state[away], model.successor[rows][away])),
            shape=(model.num_states,) * 2,
        ).tocsr()
        moves.eliminate_zeros()
        leaves = self.leaves[pairs] + np.asarray(moves.sum(axis=1))
        return (sparse.diags_array(leaves) - moves).tocsc()

    def _inverse(self, system: Sparse, right: Floats) -> Callable[[Floats], Floats]:
        """Return a function that solves a system; the first one of a large model decides how it is done for all."""
        if system.shape[0] <= _DENSE:
            return lambda right: solved(system, right)
        rows = system.tocsr()
        if self._by_iterations is None:
            entries = estimate(rows).entries
            self._by_iterations = entries > MOST_OF_FACTORS
            if entries > _FILL * rows.nnz:
                with contextlib.suppress(ZeroDivisionError):  # it has broken down
                    self._by_iterations |= iterated(rows, right, _ITERATIONS) is not None
        if self._by_iterations:
            return lambda right: _iterated(rows, right)
        with one_thread(), contextlib.suppress(NotSolvedError):
            factors = factors_of(system)
            self._entries = float(factors.nnz)
            return one_thread()(lambda right: np.asarray(factors.solve(right)))
        return lambda right: solved(system, right)

    def _improved(self, earned: Floats, pairs: Ints) -> tuple[Floats, Ints, int]:
        """Return the value of a policy that no pair improves by more than rounding, the policy, and how many were tried."""
        model, seen = self.model, set[bytes]()
        for iteration in range(1, _MOST + 1):
            values = self._valued(earned, pairs)
            worth, terms = self.gained(earned, values), self.gained(self._size, values, terms=True)
            best = first_best(model.pair_offsets, worth)
            slack = _SLACK * (terms[best] + terms[pairs]) + _ULP * self._sizes(values)[best]
            better = worth[best] > worth[pairs] + slack
            if not self._ending(np.where(better, best, pairs)).all():
                errors = self.errors(values) + 16.0 * _ULP * self._sizes(values)
                better = worth[best] > worth[pairs] + errors[best] + errors[pairs]  # not by rounding
                if np.abs(worth[pairs]).max() > 0.1 * np.abs(earned).max():
                    raise SingularError(_TOO_LARGE)
                self._check_ends(np.where(better, best, pairs))
            if not better.any() or pairs.tobytes() in seen:
                return values, pairs, iteration
            seen.add(pairs.tobytes())
            pairs = self._swept(earned, values, np.where(better, best, pairs))
        raise NotSolvedError(
            f"after {_MOST} policies the best is still not found; scale the rewards to similar sizes"
        )

    def _swept(self, earned: Floats, values: Floats, pairs: Ints) -> Ints:
        """Return a policy of a large model improved in sweeps that begin with given values."""
        model = self.model
        if model.num_states <= _DENSE:
            return pairs
        if not self._entries:
            self._entries = estimate(self._system(pairs)).entries
        paid = arrays(model)._replace(probability=self.weight, reward=earned)
        found = Evaluated(pairs.copy(), 0.0, values, 4.0 * _ULP * float(np.abs(values).max()))
        with np.errstate(all="ignore"):
            swept(paid, found, sweeps_like(model, self._entries))
        return found.pairs if self._ending(found.pairs).all() else pairs

    def _ending(self, pairs: Ints) -> Flags:
        """Return from which states a policy may come to an end."""
        if self.is_discounted:
            return np.ones(self.model.num_states, dtype=bool)
        usable = np.zeros(self.model.num_pairs, dtype=bool)
        usable[pairs] = True
        return self._reaching(usable)

    def _check_ends(self, pairs: Ints) -> None:
        """Raise an error if a policy does not reach the set: it was improved, so it must earn on the way for ever."""
        missed = np.flatnonzero(~self._ending(pairs))
        if missed.size:
            raise NotSolvedError(
                f"in {named(self.model, missed)} a policy can earn for ever without reaching "
                f"{named(self.model, np.flatnonzero(self.ends))}, so the total has no limit; give a discount, or make going "
                "round in circles cost something"
            )


def _iterated(rows: Sparse, right: Floats) -> Floats:
    answer = None
    with contextlib.suppress(ZeroDivisionError):
        answer = iterated(rows, right, 10 * _ITERATIONS) if right.any() else right
    return solved(rows.tocsc(), right) if answer is None else answer


def _split(model: SMDP, share: Floats, lost: Floats, over: Flags) -> tuple[Floats, Floats]:
    """Return the weight with which each row leads on, and what each pair loses of 1 on the way, without a subtraction."""
    first = model.row_offsets[:-1]
    return np.where(over, 0.0, share * (1.0 - lost)), np.add.reduceat(
        np.where(over, share, share * lost), first
    )


def _discounted(model: SMDP, wanted: Asked) -> tuple[Floats, Floats]:
    """Return what 1 after each row loses of its worth before it, and what 1 that is paid in the row is worth."""
    assert wanted.discount is not None
    _, duration, by_rows = model.flat_laws()
    place: Any = slice(None) if by_rows else np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    lost = laws.losses(duration, wanted.discount)
    if wanted.paid != "during":
        return lost[place], laws.transforms(duration, wanted.discount)[place]
    mean = wanted.discount * laws.means(duration)
    return lost[place], np.where(mean > 0.0, lost / np.where(mean > 0.0, mean, 1.0), 1.0)[place]


def _of_rows(model: SMDP, amount: str) -> tuple[Floats, Floats]:
    """Return the mean of an amount in each row, and the size of what it is computed from."""
    reward, duration, by_rows = model.flat_laws()
    pair = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    if amount in ("reward", "duration"):
        own, place = (reward if amount == "reward" else duration), (slice(None) if by_rows else pair)
        return laws.means(own)[place], laws.sizes(own)[place]
    return model.amount(amount)[pair], np.abs(model.amount(amount))[pair]
