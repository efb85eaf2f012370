"""Solve models whose gain depends on the start.

Every policy ends up in an end component and stays there for ever (see `sojourn.models.structure`), and inside an end component the
optimal gain is one number. So such a model is solved in two steps. First, each maximal end component is solved as a model
of its own. Then a second problem decides which component to head for: w(s) is the largest mean gain of the component in
which a policy from s ends up,

    w(s) = max( the gain of s's component if it has one,  max over pairs that leave of sum P(s' | s, a) w(s') )

Inside a component a policy can go to any of its states and wait there for any way out, for as long as it takes. So each
component is one *place*, and each pair that leaves it is one of the choices there. Where such a choice leads is the law of
the pair given that it leaves: the probabilities of the states outside divided by their sum, exact however small they are. A
state in no component is a place of its own. No policy can stay outside the components for ever, so every choice of ways out
ends somewhere, and policy iteration needs no more than that (Courcoubetis and Yannakakis, IEEE Transactions on Automatic
Control 43, 1998, describe this quotient).

The bounds are these: no policy ends up with more than the largest upper bound of any component, and the policy found ends
up with no less than the smallest lower bound among the components in which it stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import sparse

from sojourn.exact.bounds import Solution, residual
from sojourn.exact.chains import Numbers, carried, lumped, valued
from sojourn.exact.errors import NotSolvedError, checked_bias
from sojourn.models.chain import chain_of_pairs, leading_to, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.models.validation import offsets_of
from sojourn.rules.arrays import Flags, Floats, Ints, Sparse

_ROUNDING = 1e-13  # relative to the mean size of the gains in which a policy may end up
_MOST = 1000  # policies; no model is known that needs more than ten
_MANY = 1e4  # places left in a row; up to here rounding adds up to less than 1e-9
_EXACT = 40  # places; up to here fractions take seconds at most


def by_components(model: SMDP, inside: Callable[[SMDP], Solution]) -> Solution:
    """Return an optimal policy from every state; `inside` solves one component.

    >>> from sojourn.models import from_arrays
    >>> from sojourn.exact.policy_iteration import policy_iteration
    >>> stay_or_go = from_arrays(
    ...     [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], rewards=[[1.0, 0.0], [3.0, 2.0]]
    ... )
    >>> found = by_components(stay_or_go, policy_iteration)
    >>> found.gains, found.policy
    (array([3., 3.]), array([1, 0]))
    """
    began = time.perf_counter()
    kept = model.structure.kept
    pairs, solutions = model.pair_offsets[:-1].copy(), []
    for states in model.structure.parts:
        part, part_pairs = restricted(model, states, kept)
        solutions.append(inside(part))
        pairs[states] = part_pairs[pairs_of(part, solutions[-1].policy)]
    ways = _ways_out(model)
    value, choice = _played_for(ways, np.array([found.gain for found in solutions]))
    ends = [found for found, way in zip(solutions, choice, strict=False) if way < 0]
    lower, upper = min(found.lower for found in ends), max(found.upper for found in solutions)
    # In a place that is left, all states lead to the one where the way out begins.
    taken = ways.pair[choice[choice >= 0]]
    exits = model.state_of_pair()[taken]
    pairs = leading_to(model, exits, pairs, usable=kept)
    pairs[exits] = taken
    gains = np.clip(value[ways.place], lower, upper)
    if max(found.lower for found in ends) <= min(found.upper for found in ends):
        gains = np.full(model.num_states, gains.max())  # the bounds do not show that they differ
    with np.errstate(all="ignore"):
        bias = checked_bias(model, gains, valued(chain_of_pairs(model, pairs)).bias)
        left = residual(model, gains, bias)
    return Solution(
        model=model,
        gains=gains,
        bias=bias,
        policy=model.action[pairs].astype(np.int64),
        lower=lower,
        upper=upper,
        residual=left,
        iterations=sum(found.iterations for found in solutions),
        solver=f"{solutions[-1].solver}, by end components",
        seconds=time.perf_counter() - began,
    )


def restricted(model: SMDP, states: Ints, kept: Flags) -> tuple[SMDP, Ints]:
    """Return the model with only these states and the pairs that are kept, and where each of its pairs was before."""
    number = np.full(model.num_states, -1)
    number[states] = np.arange(len(states))
    state = number[model.state_of_pair()]
    pairs = np.flatnonzero(kept & (state >= 0))
    offsets, rows = model.rows_of(pairs)
    part = SMDP(
        pair_offsets=offsets_of(np.bincount(state[pairs], minlength=len(states))),
        row_offsets=offsets,
        successor=number[model.successor[rows]],
        probability=model.probability[rows],
        reward=model.reward[pairs],
        duration=model.duration[pairs],
        action=model.action[pairs],
        amounts={name: each[pairs] for name, each in model.amounts.items()},
    )
    return part, pairs


class _Ways(NamedTuple):
    """The ways out of every place: the pair, the place it leaves, and the law of where it leads given that it leaves.

    The first places are the components, in their order; `place` is the place of each state.
    """

    place: Ints
    pair: Ints
    source: Ints
    law: Sparse


def _ways_out(model: SMDP) -> _Ways:
    label = model.structure.label
    place = label.copy()
    alone = np.flatnonzero(label < 0)
    parts = int(label.max()) + 1
    place[alone] = parts + np.arange(len(alone))
    state, counts = model.state_of_pair(), np.diff(model.row_offsets)
    outside = place[model.successor] != np.repeat(place[state], counts)
    pair = np.flatnonzero(np.logical_or.reduceat(outside, model.row_offsets[:-1]))
    offsets, rows = model.rows_of(pair)
    source = np.repeat(np.arange(len(pair)), np.diff(offsets))[outside[rows]]
    rows = rows[outside[rows]]
    # Divide by the largest first, since sums of numbers near 5e-324 have few digits.
    largest = np.maximum.reduceat(np.where(outside, model.probability, 0.0), model.row_offsets[:-1])
    weight = model.probability[rows] / largest[pair[source]]
    total = np.bincount(source, weights=weight, minlength=len(pair))
    law = sparse.coo_array(
        (weight / total[source], (source, place[model.successor[rows]])),
        shape=(len(pair), parts + len(alone)),
    ).tocsr()
    return _Ways(place, pair, place[state[pair]], law)


def _played_for(ways: _Ways, own: Floats) -> tuple[Floats, Ints]:
    """Return the worth of each place and the way out to take there, -1 to stay.

    A way out that nearly always leads back gains almost nothing at once and much in the end. If so many places may be left
    in a row that such a gain could be mistaken for rounding, fractions are used, otherwise floats.
    """
    places = ways.law.shape[1]
    if _longest(ways) <= _MANY:
        sizes = np.column_stack([own, np.abs(own)])
        worth, choice = _improved(ways, sizes, carried, ways.law, _ROUNDING)
        return worth[:, 0], choice
    if places > _EXACT:
        raise NotSolvedError(
            f"{places} classes and states lead to each other with probabilities too different in size to be solved in floats, "
            f"and exact fractions are used for at most {_EXACT}; lump states, or leave out the smallest probabilities"
        )
    law = _fractions(ways.law.toarray())
    sizes = _fractions(np.column_stack([own, np.abs(own)]))
    worth, choice = _improved(ways, sizes, lumped, law, 0)
    return np.array([float(value) for value in worth[:, 0]]), choice


def _fractions(numbers: Floats) -> Numbers:
    return np.array([Fraction(x) for x in numbers.ravel().tolist()], dtype=object).reshape(numbers.shape)


def _improved(
    ways: _Ways, own: Numbers, solve: Callable[..., Numbers], law: Numbers | Sparse, rounding: float
) -> tuple[Numbers, Ints]:
    """Improve the ways out until none is better by more than rounding; `own` has gains and their sizes."""
    places, parts = ways.law.shape[1], len(own)
    choice = np.full(places, -1)
    # A place in no component must be left.
    first = np.full(places, -1)
    first[ways.source[::-1]] = np.arange(len(ways.pair))[::-1]
    choice[parts:] = first[parts:]
    worth = np.zeros((places, 2), dtype=own.dtype)
    entries = ways.law.tocoo()
    data = law[entries.row, entries.col] if isinstance(law, np.ndarray) else entries.data
    for _ in range(_MOST):
        worth[:parts] = own
        inner = np.flatnonzero(choice >= 0)
        if inner.size:
            worth[inner] = solve(law[choice[inner]], inner, worth, np.zeros((len(inner), 2), dtype=own.dtype))
        gained, size = np.zeros((2, len(ways.pair)), dtype=own.dtype)
        np.add.at(gained, entries.row, data * (worth[entries.col, 0] - worth[ways.source[entries.row], 0]))
        np.add.at(size, entries.row, data * worth[entries.col, 1])
        good = np.flatnonzero(gained > rounding * (size + worth[ways.source, 1]))
        if not good.size:
            return worth, choice
        for way in good:
            if choice[ways.source[way]] not in good or gained[way] > gained[choice[ways.source[way]]]:
                choice[ways.source[way]] = way
    raise NotSolvedError(
        f"after {_MOST} policies it is still not known which end components are best, perhaps because gains or "
        "probabilities differ much in size; scale rewards, or lump states"
    )


def _longest(ways: _Ways) -> float:
    """Return the largest mean number of places that a policy can leave one after the other."""
    places = ways.law.shape[1]
    choice = np.full(places, -1)
    choice[ways.source] = np.arange(len(ways.pair))
    inner = np.flatnonzero(choice >= 0)
    if not inner.size:
        return 0.0
    steps, nothing, ones = np.zeros((places, 1)), np.zeros((places, 1)), np.ones((len(inner), 1))
    for _ in range(_MOST):
        steps[inner] = carried(ways.law[choice[inner]], inner, nothing, ones)
        more = 1.0 + (ways.law @ steps)[:, 0] - steps[ways.source, 0]
        if steps.max() > _MANY or more.max() <= 0.25:
            break
        better = np.flatnonzero(more > 0.25)
        better = better[np.argsort(more[better])]  # so that the best comes last
        choice[ways.source[better]] = better
    return float(steps.max())
