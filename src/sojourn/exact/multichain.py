"""Solve models whose gain depends on the state where one begins.

Every policy ends in an end component for ever (see `model.structure`), and inside one the optimal gain is one
number. So such a model is solved in two steps. Each largest end component, as a model of its own, has a gain;
then one plays for the best of them: w(s) is the largest mean of the gain of where one stays,

    w(s) = max( the gain of s's component if it has one,  max_a sum P(s' | s, a) w(s') )

the smallest w with ">=" in place of "=", which is a linear program. Where w is the gain of the state's own
component one stays in it, by its policy; elsewhere one takes actions that keep w and come nearer to where one
stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from sojourn.exact.bounds import NotSolvedError, Solution, residual
from sojourn.exact.policies import valued
from sojourn.models.chain import chain_of_pairs, leading_to, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Flags, Floats, Ints

_CLOSE = 1e-8  # values of the program that are equal but for this are equal


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
    label, kept = model.structure
    own, pairs = np.full(model.num_states, -np.inf), model.pair_offsets[:-1].copy()
    lower, upper, iterations = np.inf, -np.inf, 0
    for number in range(label.max() + 1):
        states = np.flatnonzero(label == number)
        part, part_pairs = _restricted(model, states, kept)
        found = inside(part)
        own[states] = found.gain
        pairs[states] = part_pairs[pairs_of(part, found.policy)]
        lower, upper = min(lower, found.lower), max(upper, found.upper)
        iterations += found.iterations
    value = _played_for(model, own)
    close = _CLOSE * max(1.0, float(np.abs(value).max()))
    stays = own >= value - close
    ahead = np.add.reduceat(model.probability * value[model.successor], model.row_offsets[:-1])
    keeps = ahead >= value[model.state_of_pair()] - close
    pairs = leading_to(model, np.flatnonzero(stays), pairs, usable=keeps)
    gains, bias, _ = valued(chain_of_pairs(model, pairs))
    if np.abs(gains - value).max() > 100.0 * close:
        raise NotSolvedError(
            f"the policy found has a gain of {gains.min():.9g} where {value[gains.argmin()]:.9g} was to be had; "
            "probabilities of very different size may be to blame: scale or lump them"
        )
    return Solution(
        model=model,
        gains=gains,
        bias=bias,
        policy=model.action[pairs].astype(np.int64),
        lower=lower,
        upper=upper,
        residual=residual(model, gains, bias),
        iterations=iterations,
        solver=f"{found.solver}, by end components",
        seconds=time.perf_counter() - began,
    )


def _restricted(model: SMDP, states: Ints, kept: Flags) -> tuple[SMDP, Ints]:
    """Return the model of an end component, and which pair of the whole each of its pairs is."""
    number = np.full(model.num_states, -1)
    number[states] = np.arange(len(states))
    state = model.state_of_pair()
    pairs = np.flatnonzero(kept & (number[state] >= 0))
    offsets, rows = model.rows_of(pairs)
    part = SMDP(
        pair_offsets=np.concatenate(
            ([0], np.cumsum(np.bincount(number[state[pairs]], minlength=len(states))))
        ),
        row_offsets=offsets,
        successor=number[model.successor[rows]],
        probability=model.probability[rows],
        reward=model.reward[pairs],
        duration=model.duration[pairs],
        action=model.action[pairs],
    )
    return part, pairs


def _played_for(model: SMDP, own: Floats) -> Floats:
    """Return the smallest w that is at least `own` and at least its mean after every pair."""
    counts = np.diff(model.row_offsets)
    pair = np.arange(model.num_pairs)
    shape = (model.num_pairs, model.num_states)
    ahead = sparse.coo_array((model.probability, (np.repeat(pair, counts), model.successor)), shape=shape)
    here = sparse.coo_array((np.ones(model.num_pairs), (pair, model.state_of_pair())), shape=shape)
    low = float(own[np.isfinite(own)].min())
    size = float(np.abs(own[np.isfinite(own)] - low).max()) or 1.0
    found = linprog(
        np.ones(model.num_states),
        A_ub=(ahead - here).tocsr(),
        b_ub=np.zeros(model.num_pairs),
        bounds=np.stack([np.maximum((own - low) / size, 0.0), np.full(model.num_states, np.inf)], axis=1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise NotSolvedError(f"HiGHS did not solve the linear program: {found.message.rstrip('.')}")
    return np.asarray(found.x) * size + low
