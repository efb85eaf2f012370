"""What an environment is to Sojourn: the types that the rest of this room speaks of.

Gymnasium leaves the types of observations and actions open, and so do we: an environment may
be anybody's. What a table of values can be learned from is an element of one of Gymnasium's
finite spaces, or of a Box that is cut into bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

Environment: TypeAlias = gymnasium.Env[Any, Any]
VectorEnvironment: TypeAlias = VectorEnv[Any, Any, Any]
Space: TypeAlias = gymnasium.Space[Any]
Info: TypeAlias = dict[str, Any]  # as Gymnasium declares it
Element: TypeAlias = "int | float | np.generic | NDArray[np.generic] | tuple[Element, ...] | list[Element] | Mapping[str, Element]"
