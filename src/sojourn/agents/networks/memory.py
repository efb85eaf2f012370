"""What a network remembers, as arrays by name, for files, which hold only data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.rules.arrays import misread
from sojourn.rules.values import Value, is_value, named_fields


def arrays_in(value: Value, name: str = "") -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Yield every array that a value holds, at any depth, with the path to it.

    >>> from sojourn.agents.networks.scaling import moments
    >>> [name for name, _ in arrays_in(moments(2))]
    ['means', 'squares', 'seen', 'centres', 'units', 'widest']
    """
    for field_name, field in named_fields(value):
        path = f"{name}.{field_name}" if name else field_name
        if is_value(field):
            yield from arrays_in(field, path)
        elif isinstance(field, np.ndarray):
            yield path, field


def written_over(value: Value, arrays: Mapping[str, Any]) -> None:
    """Write arrays over those that a value holds, or say which of them does not fit."""
    own = dict(arrays_in(value))
    if set(own) != set(arrays):
        missing = ", ".join(sorted(set(own) ^ set(arrays))[:3])
        raise ValueError(f"it was saved by another agent, not this one: only one of the two has {missing}")
    for path, array in own.items():
        wrong = misread(path, arrays[path], array.dtype.type, array.shape)
        if wrong:
            raise ValueError(f"it was saved by another agent, not this one: {wrong}")
    for path, array in own.items():
        array[...] = arrays[path]
