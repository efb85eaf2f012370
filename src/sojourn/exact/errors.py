"""The error that a solver raises if it finds no answer, and checks that raise it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sojourn.models.structure import several_classes
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


def check_one_class(model: SMDP) -> None:
    """Raise an error if the model has several end components, so that its gain may depend on the start."""
    parts = model.structure.parts
    if len(parts) > 1:
        raise NotSolvedError(several_classes(model, parts))


def checked_bias(model: SMDP, gains: Floats, bias: Floats) -> Floats:
    """Return a bias, or raise an error if floats cannot hold it."""
    if not np.isfinite(bias).all():
        state = int(np.argmin(np.isfinite(bias)))
        raise NotSolvedError(
            f"the gain of {model.state_place(state)} is {gains[state]:.9g}, but its bias is too large for a float; "
            "leave out the smallest probabilities, or scale rewards and durations"
        )
    return bias
