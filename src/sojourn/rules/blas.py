"""Limits BLAS to one thread for systems that are too small to parallelise.

OpenBLAS, which NumPy and SciPy ship with, starts a thread per core, and the threads wait for each other many times in
a solve. With a few hundred unknowns that gains nothing, and on a busy machine each wait may last as long as another
process holds a core: 1 s of work has taken minutes.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import threading
from collections.abc import Callable, Iterator

_LOADED_BY = ("numpy.linalg._umath_linalg", "scipy.sparse.linalg._dsolve._superlu")
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")
_lock = threading.Lock()
_before: list[int] = []
_inside = 0


@functools.cache
def controls() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """Return the getter and the setter for the number of threads of each OpenBLAS that is loaded."""
    found = []
    for module in _LOADED_BY:
        with contextlib.suppress(ImportError, OSError, AttributeError, TypeError):
            library = ctypes.CDLL(importlib.import_module(module).__file__)
            for name in _NAMES:
                with contextlib.suppress(AttributeError):
                    found.append((library[name.format("get")], library[name.format("set")]))
                    break
    return tuple(found)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to the calling thread inside this context, and restore its threads afterwards.

    >>> with one_thread():
    ...     [count() for count, _ in controls()] == [1] * len(controls())
    True
    """
    global _inside
    with (
        _lock
    ):  # the setting is global to the process, so the last to leave restores what the first one found
        if _inside == 0:
            _before[:] = [count() for count, _ in controls()]
            for _, use in controls():
                use(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for (_, use), number in zip(controls(), _before, strict=True):
                    use(number)
