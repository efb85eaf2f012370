"""The error that a solver raises if it finds no answer, and checks that raise it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sojourn.models.structure import several_classes
from sojourn.rules.arrays import Floats, Ints

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP


class Reached(NamedTuple):
    """What sweeps came to: a bias, a guess of the gain, pairs, the distance of the bounds, the number of sweeps."""

    bias: Floats
    gain: float
    pairs: Ints
    apart: float
    sweeps: int


class NotSolvedError(ValueError):
    """Raised when a solver does not find the optimal gain within its limits.

    >>> import sojourn as sj
    >>> try:
    ...     sj.exact.value_iteration(sj.problems.gosavi(), max_sweeps=1)
    ... except sj.exact.NotSolvedError as error:
    ...     print(str(error).split(";")[1].strip())
    allow more with max_sweeps, or use policy_iteration
    """


class StoppedError(Exception):
    """Raised when sweeps are stopped so that another solver can go on from what they `reached`."""

    def __init__(self, reached: Reached) -> None:
        super().__init__(f"stopped after {reached.sweeps} sweeps")
        self.reached = reached


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
