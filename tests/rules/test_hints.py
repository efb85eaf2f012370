from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from sojourn.data.hints import check_kind

Number: Any = TypeVar("Number", bound=np.generic)  # type: ignore[misc] # a hint that is looked at, not used as one
named: Any = TypeAliasType
arrays: Any = np.ndarray
# From Python 3.12 on, with a newer NumPy, `numpy.typing.NDArray` is a type alias.
Shape: Any = named("Shape", tuple[Any, ...])
Named: Any = named("Named", arrays[Shape, np.dtype[Number]], type_params=(Number,))


def test_a_type_alias_works_like_its_hint() -> None:
    """A type alias works like the hint that it stands for: the array's dtype is checked, its shape is not."""
    floats = Named[np.float64]
    for shape in ((3,), (2, 2), ()):
        check_kind(floats, np.zeros(shape), "the array")
    with pytest.raises(ValueError, match=r"the array is array\(\[0, 0\]\); it must be an array of float64"):
        check_kind(floats, np.zeros(2, dtype=np.int64), "the array")
    with pytest.raises(ValueError, match="the array is 3; it must be an array of float64"):
        check_kind(floats, 3, "the array")
