"""Totals instead of long-run means: discounted, until a set of states is reached, or of some steps.

All three are the largest solution of one equation. A step of the pair (s, a) pays c(s, a) and leads to s' with the weight
w(s' | s, a), the probability times what 1 is worth after the step:

    V(s) = max over a of c(s, a) + sum w(s' | s, a) V(s'),        V = 0 in the states of `until`

With a discount kappa per unit time, 1 at the end of a duration tau is worth E[exp(-kappa tau)] at its beginning, the Laplace
transform of its law (Jewell, Operations Research 11, 1963; Puterman, "Markov Decision Processes", section 11.3). A reward is
paid at the start of a step, c = r; at its end, c = r E[exp(-kappa tau)]; or during it at the constant rate r / d,
c = r E[1 - exp(-kappa tau)] / (kappa d). Reward and duration of a row are independent of each other, as they are in a run.

Without a discount, `until` asks for the largest mean total of the policies that are sure to reach the set. If a policy is
improved as policy iteration does, it still reaches the set, unless it has found a loop in which it earns for ever; this is
reported (Bertsekas and Tsitsiklis, Mathematics of Operations Research 16, 1991). States between which one can move at will,
for nothing, are worth the same and count as one state, which one leaves for good or for pay (de Alfaro, "Formal verification
of probabilistic systems", 1997); so no policy improves by rounding as it goes round in circles.

**Bounds.** If c + W U <= U for every pair, then V <= U: put the inequality into itself n times, and what is left of U after n
steps vanishes. If c + W L >= L for the pairs of a policy, this policy is worth at least L. U is the solution with every c
raised, and L that with every c lowered, by more than all rounding in testing the inequality can amount to. So the bounds hold
for real numbers. `steps` applies the right side of the equation n times, rounded up and down.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from sojourn.data.numbers import listed, positive, shown, whole
from sojourn.exact.bounds import Solution
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.operators import first_best
from sojourn.models import laws
from sojourn.models.chain import (
    PolicyLike,
    SingularError,
    by_number,
    chain_of,
    iterated,
    leading_to,
    pairs_of,
    solved,
)
from sojourn.models.smdp import MOST_ENTRIES, SMDP
from sojourn.models.structure import named, structure_of
from sojourn.rules.arrays import Flags, Floats, Ints, Sparse
from sojourn.rules.blas import one_thread
from sojourn.rules.door import told

Paid: TypeAlias = Literal["start", "end", "during"]
_PAID = ("start", "end", "during")
_ULP = 2.0**-53
_TRANSFORM = 4e-15  # transforms are at least as exact as this, in absolute terms
_LOSS = 1e-14  # and losses, relative to themselves
_WIDER = (4.0, 64.0, 4096.0)  # how much wider than rounding the bounds are tried
_MOST = 1000  # policies
_SLACK = 1e-14  # relative to what is compared: a pair must be better by more than this
_DENSE, _ITERATIONS = 500, 60  # states that are solved densely; of BiCGSTAB, more take longer than factors


# --- What is asked for ----------------------------------------------------------------------


class Asked(NamedTuple):
    """A total in checked words: the discount or None, when rewards are paid, the states that end it, and its steps or None."""

    discount: float | None
    paid: Paid
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


def asked(
    model: SMDP,
    discount: float | None = None,
    paid: str = "start",
    until: Hashable | Iterable[Hashable] | None = None,
    steps: int | None = None,
    amount: str = "reward",
) -> Asked | None:
    """Check the words for a total; None if there are none, so that a gain is asked for."""
    if paid not in _PAID:
        raise ValueError(f"paid is {shown(paid)}; it must be {listed(_PAID)}")
    if discount is None and paid != "start":
        raise ValueError(
            f"paid is {shown(paid)}, but there is no discount; when a reward is paid matters only with one"
        )
    if discount is None and until is None and steps is None:
        return None
    return Asked(
        None if discount is None else positive("discount", discount),
        paid,  # type: ignore[arg-type] # it is one of _PAID
        _ending(model, until),
        None if steps is None else whole("steps", steps),
        amount,
    )


def _ending(model: SMDP, given: Any) -> Flags:
    """Return which states end a total: a state, or several; whole numbers are positions unless they are labels."""
    ends = np.zeros(model.num_states, dtype=bool)
    if given is None:
        return ends
    is_one = isinstance(given, int | str | np.integer) or (
        isinstance(given, Hashable) and model.has_labels and given in model.labels
    )
    if not is_one and not isinstance(given, Iterable):
        raise TypeError(f"until is {shown(given)}; it must be a state or a list of states")
    for state in [given] if is_one else given:
        if isinstance(state, int | np.integer) and not model.has_whole_labels:
            if not 0 <= state < model.num_states:
                raise ValueError(f"until has state {state}; states are 0 to {model.num_states - 1}")
            ends[int(state)] = True
        else:
            try:
                ends[model.state_number(state)] = True
            except ValueError as error:
                raise ValueError(f"until: {error}") from None
    if not ends.any():
        raise ValueError("until has no states; name at least one")
    return ends


# --- Answers --------------------------------------------------------------------------------


@told
@dataclass(frozen=True, eq=False, repr=False)
class TotalValue:
    """What a policy is worth in total: discounted, until a set of states, or over some steps.

    `values` is the mean total from each state, at least `lower` and at most `upper` there. It is NaN in states from which
    the policy may never come to an end; `findings` says so. `total` gives the same total of any other amount, such as the mean
    time until the end.

    >>> import sojourn as sj
    >>> machine = sj.models.from_dict({
    ...     "new": {"run": {"duration": 10, "reward": 30, "next": {"new": 0.75, "broken": 0.25}}},
    ...     "broken": {"repair": {"duration": 5, "reward": -40, "next": "new"}},
    ... })
    >>> worth = sj.evaluate(machine, {}, until="broken")  # on average four runs
    >>> worth, worth.total("duration")
    (TotalValue(values=[120.0, 0.0]), array([40.,  0.]))
    """

    model: SMDP
    values: Floats
    lower: Floats
    upper: Floats
    criterion: str
    findings: tuple[str, ...] = ()  # sentences on what was assumed, and on states without a total
    _asked: Asked | None = field(default=None, kw_only=True)
    _policy: Any = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"TotalValue(values={shown(self.values.tolist())})"

    def total(self, amount: str) -> Floats:
        """Return the same total of another amount: "duration", "steps", or one that the model names."""
        assert self._asked is not None
        return evaluate_total(self.model, self._policy, self._asked._replace(amount=amount)).values


def solve_total(model: SMDP, wanted: Asked) -> Solution:
    """Return a policy with the largest mean total, that total from each state, and proven bounds on it.

    >>> from sojourn.models import from_dict
    >>> way = from_dict({"home": {"walk": {"duration": 30, "reward": -30, "next": "work"},
    ...                           "bus": {"duration": 9, "reward": -9, "next": {"work": 0.9, "home": 0.1}}},
    ...                  "work": {"stay": {"duration": 480, "reward": 0, "next": "home"}}})
    >>> solve_total(way, asked(way, until="work"))
    Solution(values=[-10.0, 0.0], policy={'home': 'bus', 'work': 'stay'}, solver='policy iteration')
    """
    began = time.perf_counter()
    if wanted.steps is not None:
        found = Totals(model, wanted).backward(wanted.steps)
    elif wanted.discount is None:
        found = _until(model, wanted)
    else:
        found = Totals(model, wanted).forever()
    values = np.clip(found.values, found.lower, found.upper)
    return Solution(
        model=model,
        gains=np.full(model.num_states, np.nan),
        bias=values,
        policy=model.action[found.pairs].astype(np.int64),
        lower=found.lower,
        upper=found.upper,
        residual=found.residual,
        iterations=found.iterations,
        solver="policy iteration" if wanted.steps is None else "backward induction",
        seconds=time.perf_counter() - began,
        values=values,
        criterion=wanted.words(model),
        notes=_notes(model, wanted, found),
    )


def evaluate_total(model: SMDP, policy: PolicyLike, wanted: Asked) -> TotalValue:
    """Return what a policy is worth in total; with steps it may be an action for each [step, state]."""
    given = by_number(model, policy)
    if (
        wanted.steps is not None
        and given.dtype.kind in "iu"
        and given.shape == (wanted.steps, model.num_states)
    ):
        pairs = np.array([pairs_of(model, each) for each in given])
        totals = Totals(model, wanted)
        found = totals.backward(wanted.steps, pairs)
        lost = np.zeros(model.num_states, dtype=bool)
    else:
        followed = _as_followed(model, given, wanted.amount)
        totals = Totals(followed, wanted._replace(amount="reward"))
        lost = totals.lost() if wanted.steps is None else np.zeros(model.num_states, dtype=bool)
        found = totals.forever(lost) if wanted.steps is None else totals.backward(wanted.steps)
    notes = _notes(model, wanted, found)
    values, lower, upper = (each.copy() for each in (found.values, found.lower, found.upper))
    if lost.any():
        if lost[~wanted.ends].all():
            raise ValueError(
                f"the policy is not sure to reach {named(model, np.flatnonzero(wanted.ends))} from any state, so there is no "
                "total until then; add states to until, or give a discount"
            )
        notes = (*notes, (
            f"from {named(model, np.flatnonzero(lost))} the policy may never reach "
            f"{named(model, np.flatnonzero(wanted.ends))}, so there is no total from there"
        ))  # fmt: skip
        values[lost], lower[lost], upper[lost] = np.nan, np.nan, np.nan
    return TotalValue(
        model, np.clip(values, lower, upper), lower, upper, wanted.words(model), notes, _asked=wanted, _policy=policy
    )  # fmt: skip


def _notes(model: SMDP, wanted: Asked, found: Found) -> tuple[str, ...]:
    notes = []
    if wanted.discount is not None and model.duration_law is None:
        notes.append("the durations have no laws, so each is taken to be constant")
    if not np.isfinite(found.upper - found.lower).all():
        notes.append(
            "floats prove no bounds on this total, because some policies take too long to come to an end"
        )
    return tuple(notes)


def _as_followed(model: SMDP, given: Any, amount: str) -> SMDP:
    """Return the model in which each state has one action, which does as a policy, and an amount is the reward."""
    chain_of(model, given)  # which checks the policy
    weight = np.zeros(model.num_pairs)
    if given.ndim == 1:
        weight[pairs_of(model, given)] = 1.0
    else:
        weight = given[model.state_of_pair(), model.action].astype(np.float64)
    pairs = np.flatnonzero(weight > 0.0)
    offsets, rows = model.rows_of(pairs)
    pair = np.repeat(pairs, np.diff(offsets))
    reward, duration, by_rows = model.flat_laws()
    place = rows if by_rows else pair
    means = laws.means(reward)[place] if amount == "reward" else model.amount(amount)[pair]
    if amount == "duration":
        means = laws.means(duration)[place]
    sums = np.add.reduceat(model.probability[rows], offsets[:-1])
    begins = np.searchsorted(pairs, model.pair_offsets[:-1])  # every state has a pair
    return SMDP(
        pair_offsets=np.arange(model.num_states + 1),
        row_offsets=np.append(offsets[begins], offsets[-1]),
        successor=model.successor[rows],
        probability=model.probability[rows] * np.repeat(weight[pairs] / sums, np.diff(offsets)),
        row_reward=means,
        duration_law=laws.FlatLaws(duration.kind[place], duration.parameters[place]),
        state_names=model.labels if model.has_labels else None,
    )


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
        never = ~_reaching(self.model, self.ends, np.ones(self.model.num_pairs, dtype=bool))
        leads = _reaching(self.model, never, ~self.ends)
        return leads & ~self.ends

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
        pairs = self.first()
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
            reached = _reaching(model, self.ends, usable)
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
        model = self.model
        offsets, rows = model.rows_of(pairs)
        state = np.repeat(np.arange(model.num_states), np.diff(offsets))
        away = model.successor[rows] != state
        moves = sparse.coo_array(
            (self.weight[rows][away], (state[away], model.successor[rows][away])),
            shape=(model.num_states,) * 2,
        ).tocsr()
        moves.eliminate_zeros()
        leaves = self.leaves[pairs] + np.asarray(moves.sum(axis=1))  # what 1 - W has in its diagonal
        inverse = _inverse((sparse.diags_array(leaves) - moves).tocsc())
        values = inverse(earned[pairs])
        values = values + inverse(self.gained(earned, values)[pairs])
        if not np.isfinite(values).all():
            raise SingularError(
                "floats cannot hold the totals of a policy; give a larger discount, or scale the rewards"
            )
        return values

    def _improved(self, earned: Floats, pairs: Ints) -> tuple[Floats, Ints, int]:
        """Return the value of a policy that no pair improves by more than rounding, the policy, and how many were tried."""
        model, seen = self.model, set[bytes]()
        for iteration in range(1, _MOST + 1):
            if not self.is_discounted:
                self._check_ends(pairs)
            values = self._valued(earned, pairs)
            worth, terms = self.gained(earned, values), self.gained(self._size, values, terms=True)
            best = first_best(model.pair_offsets, worth)
            slack = _SLACK * (terms[best] + terms[pairs]) + _ULP * self._sizes(values)[best]
            better = worth[best] > worth[pairs] + slack
            if not better.any() or pairs.tobytes() in seen:
                return values, pairs, iteration
            seen.add(pairs.tobytes())
            pairs = np.where(better, best, pairs)
        raise NotSolvedError(
            f"after {_MOST} policies the best is still not found; scale the rewards to similar sizes"
        )

    def _check_ends(self, pairs: Ints) -> None:
        """Raise an error if a policy does not reach the set: it was improved, so it must earn on the way for ever."""
        model = self.model
        usable = np.zeros(model.num_pairs, dtype=bool)
        usable[pairs] = True
        missed = np.flatnonzero(~_reaching(model, self.ends, usable))
        if missed.size:
            raise NotSolvedError(
                f"in {named(model, missed)} a policy can earn for ever without reaching "
                f"{named(model, np.flatnonzero(self.ends))}, so the total has no limit; give a discount, or make going round "
                "in circles cost something"
            )


@one_thread()
def _inverse(system: Sparse) -> Callable[[Floats], Floats]:
    """Return a function that solves a system with a matrix 1 - W, whose rows of W sum to at most 1.

    Such a matrix has factors without pivoting, in an order that keeps them small; a random one is left to iterations.
    """
    if system.shape[0] <= _DENSE:
        return lambda right: solved(system, right)
    rows, first = system.tocsr(), np.ones(system.shape[0])
    with contextlib.suppress(ZeroDivisionError):  # it has broken down
        if iterated(rows, first, _ITERATIONS) is not None:
            return lambda right: _by_iterations(rows, right)
    with contextlib.suppress(RuntimeError):
        factors = linalg.splu(
            system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        return one_thread()(lambda right: np.asarray(factors.solve(right)))
    return lambda right: solved(system, right)


def _by_iterations(rows: Sparse, right: Floats) -> Floats:
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


def _until(model: SMDP, wanted: Asked) -> Found:
    """Return the total until a set, in the model in which states are one if one can move between them for nothing."""
    totals = Totals(model, wanted)
    pairs = totals.first()  # which raises an error if the set is not reached
    free = structure_of(model, ~totals.costly)
    if not free.kept.any():
        return totals.forever()
    part = np.where(free.label >= 0, free.label, free.label.max() + 1 + np.arange(model.num_states))
    states, first, place = np.unique(part, return_index=True, return_inverse=True)
    left = np.flatnonzero(~free.kept)
    left = left[np.argsort(place[model.state_of_pair()[left]], kind="stable")]
    counts = np.bincount(place[model.state_of_pair()[left]], minlength=len(states))
    offsets, rows = model.rows_of(left)
    smaller = SMDP(
        pair_offsets=np.append(0, np.cumsum(counts)),
        row_offsets=offsets,
        successor=place[model.successor[rows]],
        probability=model.probability[rows],
        reward=model.amount(wanted.amount)[left],
        duration=np.ones(len(left)),
        state_names=[model.labels[state] for state in first.tolist()],
    )
    found = Totals(smaller, wanted._replace(ends=wanted.ends[first], amount="reward")).forever()
    chosen = left[found.pairs]  # of each part, in one of its states; the others of the part go there
    at = model.state_of_pair()[chosen]
    pairs[at] = chosen
    pairs = leading_to(model, at, pairs, free.kept)
    return found._replace(
        values=found.values[place], lower=found.lower[place], upper=found.upper[place], pairs=pairs
    )


def _reaching(model: SMDP, ends: Flags, usable: Flags) -> Flags:
    """Return from which states the set can be reached by pairs that may be used."""
    counts, state = np.diff(model.row_offsets), model.state_of_pair()
    rows = np.repeat(usable, counts)
    back = sparse.csr_array(
        (np.ones(int(rows.sum()), dtype=np.int8), (model.successor[rows], np.repeat(state, counts)[rows])),
        shape=(model.num_states, model.num_states),
    )
    reached = ends.copy()
    front = np.flatnonzero(ends)
    while front.size:
        ahead = np.unique(back[front].indices)
        front = ahead[~reached[ahead]]
        reached[front] = True
    return reached


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
