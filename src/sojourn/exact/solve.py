"""Solve a model with the solver that suits it.

Models of up to 300 states are solved by policy iteration, which is exact. Larger ones begin with sweeps of modified policy
iteration. If the bounds do not meet soon, the rate at which they approach each other says how many more sweeps it would take,
and the width of the policy's graph says what policy iteration with sparse factorisations would take. The cheaper of the two
goes on from the policy that was reached. Random models mix fast and are left to the sweeps; queues, rings and other
narrow graphs are factorised. The choice depends on the model alone, not on a clock. If the gain depends on the start, each
end component is solved in this way.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import replace

from sojourn.data.numbers import positive
from sojourn.exact.bounds import Goal, Solution
from sojourn.exact.direct import cost_in_sweeps, direct_policy_iteration
from sojourn.exact.modified import modified_policy_iteration
from sojourn.exact.multichain import by_components
from sojourn.exact.policy_iteration import policy_iteration
from sojourn.exact.refusals import NotSolvedError, Reached
from sojourn.models.smdp import SMDP, check_model

_SMALL = 300  # states: up to here policy iteration is as fast, and exact
_TRIAL = 150  # sweeps; after two trials the rate is known
_SWEEPS = 300_000  # at most


def solve(model: SMDP, tolerance: float = 1e-8) -> Solution:
    """Return an optimal policy, its gain to within `tolerance`, and bounds that prove it.

    The tolerance has no unit. It is relative to what the policy earns and loses per unit time around its gain g, the mean
    of |r - g d| over the mean of d, so the answer does not depend on the units of money and time. It matters for models
    of more than 300 states; smaller ones are solved as exactly as floats allow.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> found = solve(model)
    >>> found.gain, found.policy, found.bias
    (1.0, array([0, 0]), array([ 0., -3.]))
    """
    check_model(model)
    positive("tolerance", tolerance)
    if model.num_states > _SMALL:
        return _large(model, tolerance)
    if len(model.structure.parts) > 1:
        return by_components(model, policy_iteration)
    return policy_iteration(model)


def _large(model: SMDP, tolerance: float) -> Solution:
    """Solve a model of more than 300 states, or its end components if there are several."""
    began, swept, sweeps, budget, reached = time.perf_counter(), 0, _TRIAL, math.nan, None
    while True:
        try:
            # If the bounds meet, the gain is one number, and there is no need to look for end components.
            found = modified_policy_iteration(model, tolerance, max_sweeps=sweeps, start=reached)
            break
        except NotSolvedError as error:
            if len(model.structure.parts) > 1:
                return by_components(model, lambda part: _inside(part, tolerance))
            if error.reached is None:
                raise
            refused, last, reached = error, reached, error.reached
        swept += reached.sweeps
        is_stuck = reached.sweeps < sweeps
        if last is None and not is_stuck:
            continue
        budget = cost_in_sweeps(model, reached.pairs) if math.isnan(budget) else budget
        left = _sweeps_left(model, tolerance, last, reached)
        if budget < math.inf and (is_stuck or swept + left > budget):
            found = _by_factors(model, tolerance, reached, _SWEEPS - swept)
            break
        if is_stuck or swept >= _SWEEPS:
            raise refused
        sweeps = int(min(max(_TRIAL, min(left, swept)), _SWEEPS))
    return replace(found, seconds=time.perf_counter() - began)


def _inside(model: SMDP, tolerance: float) -> Solution:
    """Solve an end component."""
    return _large(model, tolerance) if model.num_states > _SMALL else policy_iteration(model)


def _sweeps_left(model: SMDP, tolerance: float, last: Reached | None, now: Reached) -> float:
    """Return how many more sweeps will about be needed if the bounds go on approaching each other as they did."""
    if last is None or not 0.0 < now.apart < last.apart:
        return math.inf
    allowed = Goal(model, tolerance).allowed(now.pairs, now.gain)
    return now.sweeps * math.log(max(now.apart / allowed, 1.0)) / math.log(last.apart / now.apart)


def _by_factors(model: SMDP, tolerance: float, reached: Reached, max_sweeps: int) -> Solution:
    """Go on by policy iteration, or with sweeps if floats do not solve the linear systems of a policy."""
    try:
        return direct_policy_iteration(model, reached.pairs, tolerance)
    except NotSolvedError:
        with contextlib.suppress(NotSolvedError):
            return modified_policy_iteration(model, tolerance, max_sweeps=max(max_sweeps, 1), start=reached)
        raise
