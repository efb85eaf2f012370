"""Value iteration on Schweitzer's transformed model.

A semi-Markov model has the same gain under every policy as the model with steps of equal length

    r'(s, a) = r(s, a) / d(s, a)
    P'(s' | s, a) = (e / d(s, a)) (P(s' | s, a) - 1{s = s'}) + 1{s = s'},      0 < e < min d

(Schweitzer, Journal of Mathematical Analysis and Applications 34, 1971), whose chains are aperiodic. In
terms of the bias h of the semi-Markov model one step is

    h(s) <- h(s) + e max_a (r(s, a) + sum P h - h(s)) / d(s, a)

and what it adds, divided by e, bounds the gain from both sides (see `solution`). It converges wherever the
optimal gain is one number, but as slowly as e is small: one very short duration makes all steps short.
`modified_policy_iteration` does not mind that.
"""

from __future__ import annotations

import time

import numpy as np

from sojourn.exact.bounds import Solution, not_solved
from sojourn.exact.sweeps import Crew, arrays, improve_block, iterate
from sojourn.models.smdp import SMDP
from sojourn.rules.numbers import positive, whole

_SHARE = 0.9  # of the shortest duration; below 1, so that every state may stay where it is
_AT_ONCE = 100_000_000  # rows between two looks at the keyboard


def value_iteration(model: SMDP, tolerance: float = 1e-9, *, max_sweeps: int = 1_000_000) -> Solution:
    """Return a policy whose gain, like the optimal one, is known to within `tolerance`.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> round(value_iteration(model).gain, 8)
    1.0
    """
    began = time.perf_counter()
    tolerance, max_sweeps = positive("tolerance", tolerance), whole("max_sweeps", max_sweeps)
    step = _SHARE * float(model.duration.min())
    bias, ratio, surplus = np.zeros((3, model.num_states))
    pairs, known, sweeps = model.pair_offsets[:-1].copy(), np.array([-np.inf, np.inf]), 0
    with Crew(model) as crew:
        done = False
        while not done:
            if sweeps >= max_sweeps:
                raise not_solved(model, sweeps, known[0], known[1], tolerance)
            if crew.alone:
                before = known.copy()
                at_once = min(max_sweeps - sweeps, max(1, _AT_ONCE // model.num_rows))
                taken = iterate(arrays(model), step, tolerance, at_once, bias, pairs, ratio, known)
                sweeps, done = sweeps + abs(taken), taken < 0
                if not done and (known == before).all():  # it will not come nearer
                    raise not_solved(model, sweeps, known[0], known[1], tolerance)
            else:
                crew.sweep(improve_block, bias, 0.0, 0.0, True, pairs, ratio, surplus)
                sweeps += 1
                known[:] = max(known[0], ratio.min()), min(known[1], ratio.max())
                done = ratio.max() - ratio.min() <= tolerance
                bias += 0.0 if done else step * (ratio - ratio[0])
            bias -= bias[0]
        # The pairs of the largest ratio have at least the lower bound; the bias is as the bounds have it.
        gain = float(known.mean())
        crew.sweep(improve_block, bias, gain, 0.0, True, pairs, ratio, surplus)
    return Solution(
        model=model,
        gains=np.full(model.num_states, gain),
        bias=bias - bias[0],
        policy=model.action[pairs].astype(np.int64),
        lower=float(known[0]),
        upper=float(known[1]),
        residual=float(np.abs(surplus).max()),
        iterations=sweeps,
        solver="value iteration",
        seconds=time.perf_counter() - began,
    )
