"""Type aliases for the usual arrays, and arrays that are truly immutable.

NumPy lets the owner of an array make it writable again, and a view shares its memory. So an owned array keeps its
data in a `bytes` object, which Python itself protects: no view, flag or pickle makes it writable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy import sparse

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int32]  # half the memory, for arrays with an entry per row
Sparse: TypeAlias = "sparse.csr_array"  # SciPy ships no types
S = TypeVar("S", bound=np.generic)

MOST_COUNTED = 2**52  # the largest count accepted from a file: counting on stays exact as a float


def owned(array: npt.NDArray[S]) -> npt.NDArray[S]:
    """Return an immutable array with the same content.

    >>> numbers = owned(np.array([1.0, 2.0]))
    >>> numbers.flags.writeable = True
    Traceback (most recent call last):
    ValueError: cannot set WRITEABLE flag to True of this array
    >>> owned(numbers) is numbers
    True
    """
    if _is_owned(array):
        return array
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def _is_owned(array: npt.NDArray[S]) -> bool:
    memory = array.base
    while isinstance(memory, np.ndarray):
        memory = memory.base
    return isinstance(memory, bytes) and array.flags.c_contiguous


def misread(name: str, array: object, kind: type[np.generic], shape: tuple[int | None, ...]) -> str:
    """Return why compiled code, which checks neither types nor bounds, must not read this array; else an empty string.

    A length of None stands for any length except 0.

    >>> misread("moves", np.zeros((2, 0)), np.float64, (2, None))
    'moves is an array of float64 of the shape (2, 0); it must be one of float64 of the shape (2, any)'
    >>> misread("moves", np.zeros((2, 3)), np.float64, (2, None))
    ''
    """
    if isinstance(array, np.ndarray) and array.dtype == kind and array.ndim == len(shape):
        lengths = zip(array.shape, shape, strict=True)
        if all(found == length if length is not None else found > 0 for found, length in lengths):
            return ""
    what = (
        f"an array of {array.dtype} of the shape {array.shape}"
        if isinstance(array, np.ndarray)
        else "not an array"
    )
    wanted = ", ".join("any" if length is None else str(length) for length in shape)
    return (
        f"{name} is {what}; it must be one of {np.dtype(kind)} of the shape "
        f"({wanted}{',' if len(shape) == 1 else ''})"
    )


def outside(name: str, array: npt.NDArray[S], low: float, high: float) -> str:
    """Return a sentence about an entry outside [low, high], NaN included; else an empty string.

    >>> outside("share", np.array([0.5, np.nan]), 0, 1)
    'share has the entry nan; its entries must be 0 to 1'
    """
    numbers: npt.NDArray[np.float64] = array  # type: ignore[assignment] # the dtype does not matter here
    if numbers.min() >= low and numbers.max() <= high:
        return ""
    wrong = numbers[~((numbers >= low) & (numbers <= high))]
    return f"{name} has the entry {wrong[0]}; its entries must be {low:g} to {high:g}"


def infinite(name: str, array: npt.NDArray[np.floating[Any]]) -> str:
    """Return a sentence about an entry that is not finite; else an empty string.

    >>> infinite("weights", np.array([0.5, np.inf]))
    'weights has the entry inf; its entries must be finite'
    """
    wrong = array[~np.isfinite(array)]
    return f"{name} has the entry {wrong[0]}; its entries must be finite" if wrong.size else ""


def flat_floats(name: str, numbers: npt.ArrayLike) -> Floats:
    """Return numbers as a flat array of floats, or refuse them."""
    return np.ascontiguousarray(_flat(name, numbers), dtype=np.float64)


def flat_ints(name: str, numbers: npt.ArrayLike) -> Ints:
    """Return whole numbers as a flat array, or refuse them."""
    return np.ascontiguousarray(_whole(name, _flat(name, numbers)), dtype=np.int64)


def flat_indices(name: str, numbers: npt.ArrayLike) -> Indices:
    """Return whole numbers below 2^31 as a flat array, or refuse them."""
    array = _whole(name, _flat(name, numbers))
    if array.size and array.dtype.itemsize > 4:
        low, high = int(array.min()), int(array.max())
        if low < -(2**31) or high >= 2**31:
            raise ValueError(f"{name} has the entry {low if low < 0 else high}; it must be less than 2^31")
    return np.ascontiguousarray(array, dtype=np.int32)


def _flat(name: str, numbers: npt.ArrayLike) -> npt.NDArray[np.generic]:
    array = np.asarray(numbers)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be a flat sequence of numbers")
    return array


def _whole(name: str, array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    if array.dtype.kind == "f":
        raise TypeError(f"{name} must be whole numbers")
    return array
