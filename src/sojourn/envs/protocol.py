"""The types of environments, spaces and observations that the rest of this room uses.

Gymnasium leaves the types of observations and actions open, and so does Sojourn, since an environment
may be anybody's. To learn a table of values, observations must be elements of one of Gymnasium's
finite spaces, or of a Box that is cut into bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from sojourn.rules.numbers import shown

Environment: TypeAlias = gymnasium.Env[Any, Any]
VectorEnvironment: TypeAlias = VectorEnv[Any, Any, Any]
Space: TypeAlias = gymnasium.Space[Any]
Info: TypeAlias = dict[str, Any]  # as Gymnasium declares it
Element: TypeAlias = "int | float | np.generic | NDArray[np.generic] | tuple[Element, ...] | list[Element] | Mapping[str, Element]"
Step: TypeAlias = tuple[Element, SupportsFloat, bool, bool, Info]


def parts_of(returned: Any) -> Step:
    """Return what a step returned, or say in one sentence what is missing from it."""
    if isinstance(returned, tuple) and len(returned) == 5:
        return returned
    told = (
        "four values, as environments of the old gym do: truncated is missing"
        if isinstance(returned, tuple) and len(returned) == 4
        else shown(returned)
    )
    raise ValueError(f"step returned {told}; it must return (obs, reward, terminated, truncated, info)")


def begun_with(returned: Any) -> tuple[Element, Info]:
    """Return what a reset returned, or say in one sentence that it is not a pair."""
    if isinstance(returned, tuple) and len(returned) == 2:
        return returned
    raise ValueError(f"reset returned {shown(returned)}; it must return (obs, info)")
