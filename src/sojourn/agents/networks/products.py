"""Products of matrices, in two ways: plain loops for float64, BLAS for float32.

Plain loops add in a fixed order, so they give the same bits on every machine, interpreted or compiled. BLAS is three to
four times faster, but does not promise that: it may add in another order on another processor. The type of a network's
numbers alone decides which of the two it uses.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sojourn.rules.bridge import Function, bridge

Reals: TypeAlias = NDArray[np.floating[Any]]  # of single or double precision
Numba: TypeAlias = Any  # a type of Numba's, which has no annotations


def times(x: Reals, w: Reals, out: Reals) -> None:
    """Write x w into `out`.

    >>> out = np.zeros((1, 1))
    >>> times(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]), out)
    >>> out
    array([[11.]])
    """
    (_times_blas if out.dtype == np.float32 else _times_plain)(x, w, out)


def times_transposed(x: Reals, w: Reals, out: Reals) -> None:
    """Write x w' into `out`, where w' is the transpose of w."""
    (_times_transposed_blas if out.dtype == np.float32 else _times_transposed_plain)(x, w, out)


def transposed_times(x: Reals, w: Reals, out: Reals) -> None:
    """Write x' w into `out`."""
    (_transposed_times_blas if out.dtype == np.float32 else _transposed_times_plain)(x, w, out)


def _times_plain(x: Reals, w: Reals, out: Reals) -> None:
    for i in range(x.shape[0]):
        for j in range(w.shape[1]):
            out[i, j] = 0.0
        for k in range(x.shape[1]):
            factor = x[i, k]
            for j in range(w.shape[1]):
                out[i, j] += factor * w[k, j]


def _times_transposed_plain(x: Reals, w: Reals, out: Reals) -> None:
    for i in range(x.shape[0]):
        for k in range(w.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j] * w[k, j]
            out[i, k] = total


def _transposed_times_plain(x: Reals, w: Reals, out: Reals) -> None:
    for k in range(x.shape[1]):
        for j in range(w.shape[1]):
            out[k, j] = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            factor = x[i, k]
            for j in range(w.shape[1]):
                out[k, j] += factor * w[i, j]


def _times_blas(x: Reals, w: Reals, out: Reals) -> None:
    np.dot(x, w, out)


def _times_transposed_blas(x: Reals, w: Reals, out: Reals) -> None:
    np.dot(x, w.T, out)


def _transposed_times_blas(x: Reals, w: Reals, out: Reals) -> None:
    np.dot(x.T, w, out)


def _by_precision(single: Function, double: Function) -> Function:
    """Return how compiled code chooses a function: by the type of the numbers that are written."""

    def resolve(x: Numba, w: Numba, out: Numba) -> Function:
        return single if str(out.dtype) == "float32" else double

    return resolve


bridge(times, _by_precision(_times_blas, _times_plain), inline=False)
bridge(times_transposed, _by_precision(_times_transposed_blas, _times_transposed_plain), inline=False)
bridge(transposed_times, _by_precision(_transposed_times_blas, _transposed_times_plain), inline=False)
