"""What the rest of this room knows of environments: the types of spaces and observations, and what is in a step.

Gymnasium leaves the types of observations and actions open, and so does Sojourn, since an environment
may be anybody's. To learn a table of values, observations must be elements of one of Gymnasium's
finite spaces, or of a Box that is cut into bins.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from sojourn.data.numbers import shown, unmasked

Environment: TypeAlias = gymnasium.Env[Any, Any]
VectorEnvironment: TypeAlias = VectorEnv[Any, Any, Any]
Space: TypeAlias = gymnasium.Space[Any]
Info: TypeAlias = dict[str, Any]  # as Gymnasium declares it
Element: TypeAlias = "int | float | np.generic | NDArray[np.generic] | tuple[Element, ...] | list[Element] | Mapping[str, Element]"
ElementReader: TypeAlias = Callable[[Any], Any | None]  # the element as its space has it, or None
Step: TypeAlias = tuple[Element, SupportsFloat, bool, bool, Info]

# The key of info that says that the action was not allowed, and nothing happened.
FORBIDDEN = "forbidden_action"


def warn_of(action: int, env: object) -> None:
    """Warn that an environment was given an action that its mask does not allow."""
    warnings.warn(
        f'{type(env).__name__} was given the action {action}, which info["action_mask"] does not allow: nothing happened, and no '
        'time passed; draw actions by the mask, as in action_space.sample(info["action_mask"]) (this is said once)',
        RuntimeWarning,
        stacklevel=3,
    )


def parts_of(returned: Any) -> Step:
    """Return what a step returned, or say in one sentence what is missing from it."""
    if isinstance(returned, tuple) and len(returned) == 5:
        return returned
    what = (
        "four values, as environments of the old gym do: truncated is missing"
        if isinstance(returned, tuple) and len(returned) == 4
        else shown(returned)
    )
    raise ValueError(f"step returned {what}; it must return (obs, reward, terminated, truncated, info)")


def opener(env: Environment) -> Callable[..., tuple[Element, Info]]:
    """Return the function that resets an environment, and says in one sentence what is wrong with what that returns.

    It is a partial function, so that a copy of an environment that has it resets the copy.
    """
    return functools.partial(_opened, env, element_reader(env.observation_space))


def _opened(env: Environment, read: ElementReader, **options: Any) -> tuple[Element, Info]:
    returned: Any = env.reset(**options)
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise ValueError(f"reset returned {shown(returned)}; it must return (obs, info)")
    must_begin(returned[0], env.observation_space, read)
    return returned


def must_begin(observation: Any, space: Space, read: ElementReader) -> None:
    """Raise an error if the first observation of an episode is not in its space, which `read` reads."""
    if read(observation) is None:
        raise ValueError(
            f"reset returned the observation {shown(observation)}, which is not in the observation space, {shown(space)}"
        )


def element_reader(space: Space) -> ElementReader:
    """Return the function that gives an element in the form of its space, or None if it is not in the space.

    It agrees with `space.contains`, is several times as fast, and takes lists and other types of numbers too.

    >>> read = element_reader(MultiDiscrete([3, 3]))
    >>> read((1, 2)), read((1, 3)), read((1, 1.5))
    (array([1, 2]), None, None)
    """
    if isinstance(space, Discrete):
        return _number_reader(space)
    if isinstance(space, Box):
        return _array_reader(space.low, space.high, space.dtype)
    if isinstance(space, MultiBinary):
        return _array_reader(np.zeros(space.shape), np.ones(space.shape), space.dtype)
    if isinstance(space, MultiDiscrete):
        return _array_reader(space.start, space.start + space.nvec - 1, space.dtype)
    if isinstance(space, Tuple):
        return _parts_reader(space.spaces)
    if isinstance(space, Dict):
        return _entries_reader(space.spaces)
    return lambda given: given if space.contains(given) else None


def _number_reader(space: Discrete) -> ElementReader:
    first, last = int(space.start), int(space.start + space.n) - 1

    def read(given: Any) -> Any | None:
        if type(given) is int:
            return given if first <= given <= last else None
        return int(given) if space.contains(unmasked("an element of a space", given)) else None

    return read


def _array_reader(low: NDArray[Any], high: NDArray[Any], dtype: Any) -> ElementReader:
    shape, is_float = low.shape, np.dtype(dtype).kind == "f"

    def read(given: Any) -> Any | None:
        unmasked("an element of a space", given)
        try:
            numbers: NDArray[Any] = np.array(given, dtype=dtype if is_float else None)
        except (TypeError, ValueError):
            return None  # not numbers, or lists of different lengths
        if numbers.shape != shape or numbers.dtype.kind not in "biuf":
            return None
        if not ((low <= numbers) & (numbers <= high)).all():
            return None
        if numbers.dtype == dtype:
            return numbers
        array = numbers.astype(dtype)
        return array if numbers.dtype.kind != "f" or (array == numbers).all() else None

    return read


def _parts_reader(spaces: Sequence[Space]) -> ElementReader:
    readers = [element_reader(space) for space in spaces]

    def read(given: Any) -> Any | None:
        if not isinstance(given, tuple | list) or len(given) != len(readers):
            return None
        parts = tuple(part(each) for part, each in zip(readers, given, strict=True))
        return None if any(part is None for part in parts) else parts

    return read


def _entries_reader(spaces: Mapping[str, Space]) -> ElementReader:
    readers = {key: element_reader(space) for key, space in spaces.items()}

    def read(given: Any) -> Any | None:
        if not isinstance(given, Mapping) or given.keys() != readers.keys():
            return None
        entries = {key: part(given[key]) for key, part in readers.items()}
        return None if any(entry is None for entry in entries.values()) else entries

    return read
