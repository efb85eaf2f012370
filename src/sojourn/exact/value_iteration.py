"""Value iteration on Schweitzer's transformed model.

Under every policy, a semi-Markov model has the same gain as this model with steps of equal length

    r'(s, a) = r(s, a) / d(s, a)
    P'(s' | s, a) = (e / d(s, a)) (P(s' | s, a) - 1{s = s'}) + 1{s = s'},      0 < e < min d

(Schweitzer, Journal of Mathematical Analysis and Applications 34, 1971), whose chains are aperiodic. In
terms of the bias h of the semi-Markov model one step is

    h(s) <- h(s) + e max_a (r(s, a) + sum P h - h(s)) / d(s, a)

and what it adds, divided by e, bounds the gain from both sides (see `bounds`). It converges if the optimal gain is one
number, but the smaller e is, the slower: one very short duration makes all steps short. `modified_policy_iteration` does not
have this weakness. Decisions that take no time are followed at once, within the step.
"""

from __future__ import annotations

import time

import numpy as np

from sojourn.data.numbers import positive, whole
from sojourn.exact.bounds import Goal, Solution, middle, not_solved, proven
from sojourn.exact.operators import Workers, arrays, improve_block, iterate
from sojourn.models.chain import expected
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told

_SHARE = 0.9  # of the shortest duration; below 1, so that every state may lead to itself
_AT_ONE_INSTANT = 1000  # decisions without time in a row that one sweep follows
_BETWEEN_LOOKS = 10  # sweeps from one look at the bounds to the next
_AT_ONCE = 100_000_000  # rows between two chances to interrupt from the keyboard


@told
def value_iteration(model: SMDP, tolerance: float = 1e-9, *, max_sweeps: int = 1_000_000) -> Solution:
    """Return a policy whose gain, like the optimal one, is known to within `tolerance`; see `solve` on its meaning.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> round(value_iteration(model).gain, 8)
    1.0
    """
    began = time.perf_counter()
    tolerance, max_sweeps = positive("tolerance", tolerance), whole("max_sweeps", max_sweeps)
    bias, sweeps, goal = np.zeros(model.num_states), 0, Goal(model, tolerance)
    lower, upper, pairs = proven(model, bias)
    goal.begin(upper - lower, middle(lower, upper))
    done = upper - lower <= goal.near and goal.reached(upper - lower, pairs, middle(lower, upper))
    swept = _swept if model.duration.min() > 0.0 else _swept_without_time
    with Workers(model) as workers:
        while not done:
            if not goal.near >= 0.0:
                raise not_solved(model, sweeps, bias, tolerance)
            sweeps += swept(model, workers, bias, goal.near, max_sweeps - sweeps, tolerance)
            lower, upper, pairs = proven(model, bias)
            done = goal.reached(upper - lower, pairs, middle(lower, upper))
        gain, ratio, surplus = middle(lower, upper), *np.empty((2, model.num_states))
        workers.sweep(improve_block, bias, gain, 0.0, False, pairs.copy(), ratio, surplus)
    return Solution(
        model=model,
        gains=np.full(model.num_states, gain),
        bias=bias - bias[0],
        policy=model.action[pairs].astype(np.int64),
        lower=lower,
        upper=upper,
        residual=float(np.abs(surplus).max()),
        iterations=sweeps,
        solver="value iteration",
        seconds=time.perf_counter() - began,
    )


def _swept(
    model: SMDP, workers: Workers, bias: Floats, goal: float, max_sweeps: int, tolerance: float
) -> int:
    """Sweep until the gap between the bounds is at most `goal`, up to rounding; return the number of sweeps."""
    step = _SHARE * float(model.duration.min())
    ratio, surplus = np.empty((2, model.num_states))
    pairs, known, sweeps = model.pair_offsets[:-1].copy(), np.array([-np.inf, np.inf]), 0
    done = False
    while not done:
        if sweeps >= max_sweeps:
            raise not_solved(model, sweeps, bias, tolerance)
        if workers.alone:
            before = known.copy()
            at_once = min(max_sweeps - sweeps, max(1, _AT_ONCE // model.num_rows))
            taken = iterate(arrays(model), step, goal, at_once, bias, pairs, ratio, known)
            sweeps, done = sweeps + abs(taken), taken < 0
            if not done and (known == before).all():  # the bounds will not come closer
                raise not_solved(model, sweeps, bias, tolerance)
        else:
            workers.sweep(improve_block, bias, 0.0, 0.0, True, pairs, ratio, surplus)
            sweeps += 1
            done = bool(ratio.max() - ratio.min() <= goal)
            bias += 0.0 if done else step * (ratio - ratio[0])
        bias -= bias[0]
    return sweeps


def _swept_without_time(
    model: SMDP, _workers: Workers, bias: Floats, goal: float, max_sweeps: int, tolerance: float
) -> int:
    """Do the same for a model with decisions that take no time, which are followed at once after each step.

    A step computes v(s) = h(s) + e max (r + P h - h) / d over the pairs that take time. Then h(s) becomes the larger of v(s)
    and the maximum of r + P h over the pairs that take no time, again and again until nothing changes.
    """
    state, first = model.state_of_pair(), model.pair_offsets[:-1]
    timed = model.duration > 0.0
    duration = np.where(timed, model.duration, 1.0)
    step = _SHARE * float(duration[timed].min())
    for sweep in range(1, max_sweeps + 1):
        gained = model.reward + expected(model, bias)
        slow = bias[state] + step * (gained - bias[state]) / duration
        slow = np.maximum.reduceat(np.where(timed, slow, -np.inf), first)
        new = np.where(np.isfinite(slow), slow, bias)
        for _ in range(_AT_ONE_INSTANT):
            before = new
            quick = np.where(timed, -np.inf, model.reward + expected(model, new))
            new = np.maximum(slow, np.maximum.reduceat(quick, first))
            if (new == before).all():
                break
        bias[:] = new - new[0]
        if sweep % _BETWEEN_LOOKS == 0:
            lower, upper = proven(model, bias)[:2]
            if upper - lower <= goal:
                return sweep
    raise not_solved(model, max_sweeps, bias, tolerance)
