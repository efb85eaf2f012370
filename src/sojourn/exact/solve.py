"""Solve a model with the solver that suits it.

Models of up to 300 states are solved by policy iteration, which is exact. Larger ones are solved by modified policy
iteration, or by policy iteration if that takes too long (long queues and other models that mix slowly have linear systems
that are easy to solve). If the gain depends on the start, each end component is solved in this way.
"""

from __future__ import annotations

import contextlib

from sojourn.data.numbers import positive
from sojourn.exact.bounds import Solution
from sojourn.exact.modified import modified_policy_iteration
from sojourn.exact.multichain import by_components
from sojourn.exact.policy_iteration import policy_iteration
from sojourn.exact.refusals import NotSolvedError
from sojourn.models.smdp import SMDP, check_model

_SMALL = 300  # states: up to here policy iteration is as fast, and exact
_PATIENCE = 3000  # sweeps


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
        try:
            # If the bounds meet, the gain is one number, and there is no need to look for end components.
            return modified_policy_iteration(model, tolerance, max_sweeps=_PATIENCE)
        except NotSolvedError:
            pass
    if len(model.structure.parts) > 1:
        return by_components(model, lambda part: _inside(part, tolerance))
    return _inside(model, tolerance)


def _inside(model: SMDP, tolerance: float) -> Solution:
    """Solve a model whose gain is one number."""
    try:
        return policy_iteration(model)
    except NotSolvedError:
        if model.num_states > _SMALL:
            with contextlib.suppress(NotSolvedError):
                return modified_policy_iteration(model, tolerance, max_sweeps=100 * _PATIENCE)
        raise
