"""Modified policy iteration, for models of up to millions of states.

Let g be a guess of the gain. In every state, take the pair of the largest surplus

    c = r - g d + P h - h

and then follow these pairs for some sweeps of h <- h + w c (w = 0.9 keeps periodic chains from oscillating).
This is cheap, since it looks at only one pair of each state. The surplus c becomes the same in all
states, E[r] - g E[d] under the policy's law, which is a line in g. The guess g moves up to where the line through the
last two points is 0, and it moves down only if no action would be better. Mixing, and with it the number of sweeps, does not
depend on the durations, however unequal they are. This is why the sweeps are not those of the transformed model, whose
steps are as small as the smallest duration.

No theorem of convergence is needed: the bounds hold for any h, and the iteration stops only when they are close enough.
(For unichain models and d = 1 this is Puterman's modified policy iteration, "Markov Decision Processes", section 8.7.)
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from sojourn.data.numbers import positive, whole
from sojourn.exact.bounds import Goal, Solution, not_solved, proven
from sojourn.exact.errors import Reached, StoppedError
from sojourn.exact.operators import Workers, evaluate_block, improve_block
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told

_DAMPING = 0.9
_FEWEST, _MOST = 5, 320  # sweeps between two improvements


@told
def modified_policy_iteration(
    model: SMDP,
    tolerance: float = 1e-8,
    *,
    max_sweeps: int = 20_000,
    go_on: Callable[[Reached], int] | None = None,
    bias: Floats | None = None,
) -> Solution:
    """Return a policy whose gain, like the optimal one, is known to within `tolerance`; see `solve` on its meaning.

    `go_on` is asked after `max_sweeps` how many more sweeps to take; `StoppedError` then takes the place of a sentence.
    `bias` is a guess to begin with.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> round(modified_policy_iteration(model).gain, 8)
    1.0
    """
    began = time.perf_counter()
    tolerance, max_sweeps = positive("tolerance", tolerance), whole("max_sweeps", max_sweeps)
    ratio, surplus, spare = np.zeros((3, model.num_states))
    bias = np.zeros(model.num_states) if bias is None else bias.copy()
    pairs, lower, upper = model.pair_offsets[:-1].copy(), -np.inf, np.inf
    # An improvement looks at all pairs, so the more actions there are, the more sweeps are worth their time between two.
    fewest = max(_FEWEST, model.num_pairs // model.num_states)
    last, sweeps, count, goal = None, 0, fewest, Goal(model, tolerance)
    timed = bool(model.duration.min() > 0.0)
    with Workers(model) as workers, np.errstate(all="ignore"):
        gain = float(model.reward.mean() / model.duration.mean())
        while True:
            before = pairs.copy()
            workers.sweep(improve_block, bias, gain, _slack(bias), False, pairs, ratio, surplus)
            sweeps += 1
            low, high = (float(ratio.min()), float(ratio.max())) if timed else proven(model, bias)[:2]
            lower, upper = max(lower, low), min(upper, high)
            if sweeps == 1:
                goal.begin(high - low, gain)
            if high - low <= goal.near and goal.reached(high - low, pairs, gain):
                low, high, steepest = proven(model, bias)
                if goal.reached(high - low, pairs, gain):
                    break
            reached = Reached(bias, gain, pairs, high - low, sweeps)
            if go_on is not None and sweeps >= max_sweeps:
                max_sweeps = sweeps + go_on(reached)
            if sweeps >= max_sweeps or not goal.near >= 0.0 or not np.isfinite(gain):
                if go_on is not None:
                    raise StoppedError(reached)
                raise not_solved(model, sweeps, bias, tolerance)
            changed = int(np.count_nonzero(pairs != before))
            # While the policy still changes much, its values are of little use; later only they are left to find.
            count = min(2 * count, _MOST) if changed * 1000 <= model.num_states else fewest
            for _ in range(count):
                workers.sweep(evaluate_block, bias, gain, _DAMPING, pairs, surplus, spare)
                bias, spare = spare, bias
                sweeps += 1
            slope = _slope(model.duration[pairs], surplus, gain, last if changed == 0 else None)
            last = gain, float(surplus.mean()), slope
            guess = min(max(gain + last[1] / slope, lower), upper)
            # A policy that earns less than the guess disproves the guess only if no other action is better.
            if guess > gain or gain > upper or (changed == 0 and surplus.max() < 0.0):
                gain = guess
            bias -= bias[0]
        gain = min(max(gain, low), high)
        workers.sweep(improve_block, bias, gain, 0.0, False, steepest.copy(), ratio, surplus)
    return Solution(
        model=model,
        gains=np.full(model.num_states, gain),
        bias=bias - bias[0],
        policy=model.action[steepest].astype(np.int64),
        lower=low,
        upper=high,
        residual=float(np.abs(surplus).max()),
        iterations=sweeps,
        solver="modified policy iteration",
        seconds=time.perf_counter() - began,
    )


def _slack(bias: Floats) -> float:
    """Return by how much rounding alone may change a surplus."""
    return 1e-14 * float(np.abs(bias).max())


def _slope(durations: Floats, surplus: Floats, gain: float, last: tuple[float, float, float] | None) -> float:
    """Return by how much the mean surplus of a policy falls as the guess of the gain rises.

    `last` has the guess, the mean surplus and the slope of the sweep before, if the policy is still the same.
    """
    if last is None:
        return float(durations.mean())
    guess, mean, slope = last
    now, spread = float(surplus.mean()), float(surplus.max() - surplus.min())
    # As long as the surplus differs between states, its mean gives no reliable slope.
    if gain != guess and spread <= 0.1 * abs(mean - now):
        least = float(durations.min()) or 1e-3 * float(durations.mean())
        slope = min(max((mean - now) / (gain - guess), least), float(durations.max()))
    return slope
