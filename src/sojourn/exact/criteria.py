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

import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sojourn.data.numbers import listed, positive, shown, whole
from sojourn.exact.bounds import Solution
from sojourn.exact.totals import Asked, Found, Totals
from sojourn.models import laws
from sojourn.models.chain import PolicyLike, by_number, chain_of, leading_to, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.models.structure import named, structure_of
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.door import told

Paid: TypeAlias = Literal["start", "end", "during"]


# --- What is asked for ----------------------------------------------------------------------


def asked(
    model: SMDP,
    discount: float | None = None,
    paid: str = "start",
    until: Hashable | Iterable[Hashable] | None = None,
    steps: int | None = None,
    amount: str = "reward",
) -> Asked | None:
    """Check the words for a total; None if there are none, so that a gain is asked for."""
    if paid not in get_args(Paid):
        raise ValueError(f"paid is {shown(paid)}; it must be {listed(get_args(Paid))}")
    if discount is None and paid != "start":
        raise ValueError(
            f"paid is {shown(paid)}, but there is no discount; when a reward is paid matters only with one"
        )
    if discount is None and until is None and steps is None:
        return None
    return Asked(
        None if discount is None else positive("discount", discount),
        paid,
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
