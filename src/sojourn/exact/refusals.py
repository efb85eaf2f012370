"""The error that a solver raises if it finds no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sojourn.rules.arrays import Floats

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP


class NotSolvedError(ValueError):
    """Raised when a solver does not find the optimal gain within its limits.

    >>> import sojourn as sj
    >>> try:
    ...     sj.value_iteration(sj.problems.gosavi(), max_sweeps=1)
    ... except sj.NotSolvedError as error:
    ...     print(str(error).split(";")[1].strip())
    allow more with max_sweeps, or use policy_iteration
    """


def in_floats(model: SMDP, gains: Floats, bias: Floats) -> Floats:
    """Return a bias, or raise an error if floats cannot hold it."""
    if not np.isfinite(bias).all():
        state = int(np.argmin(np.isfinite(bias)))
        raise NotSolvedError(
            f"the gain of {model.state_place(state)} is {gains[state]:.9g}, but its bias is too large for a float; "
            "leave out the smallest probabilities, or scale rewards and durations"
        )
    return bias
