"""Kernels that run in Python: for tests whose claim does not depend on compilation.

To compile a kernel takes a second or more for each combination of classes, in which ten thousand steps can be interpreted.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from sojourn.rules.kernel import Kernel
from sojourn.rules.values import canonical, classes, is_value
from sojourn.runs.recording import Course, RunRows

PATIENCE = 1.0  # seconds of processor time; a combination that has taken more is compiled after all
MOST_STEPS = 5_000  # and so is one that is asked for more steps at once

_spent: Counter[tuple[Any, ...]] = Counter()
_call, _prepared = Kernel.__call__, Kernel.prepared


@contextmanager
def interpreted() -> Iterator[None]:
    """Run all kernels of this process in Python; both ways give the same bits."""
    with (
        patch.object(Kernel, "__call__", _called),
        patch.object(Kernel, "prepared", _prepared_in_python),
        patch.object(Kernel, "is_at_hand", lambda *_: True),
    ):
        yield


def _called(kernel: Kernel[Any], *args: Any) -> Any:
    """Run a kernel, and return what its machine code would: no NumPy scalars, no warnings of overflows."""
    key = (kernel, *classes(args))
    if _spent[key] >= PATIENCE or _steps(args) > MOST_STEPS:
        return _call(kernel, *args)
    begun = time.thread_time()
    with np.errstate(all="ignore"):
        returned = kernel.python(*args)
    _spent[key] += time.thread_time() - begun  # type: ignore[assignment] # a Counter of seconds
    with contextlib.suppress(TypeError):  # a plain tuple as a state, for instance
        return canonical(returned) if is_value(returned) else returned
    return returned


def _steps(args: tuple[Any, ...]) -> int:
    """Return how many steps the arguments of a kernel ask for, or 0 if they do not say."""
    until = max((arg.until for arg in args if isinstance(arg, Course)), default=0)
    return int(until) * max((len(arg.which) for arg in args if isinstance(arg, RunRows)), default=1)


def _prepared_in_python(kernel: Kernel[Any], *like: Any) -> Callable[..., Any]:
    """Return a function that takes one step at a time, and is compiled where there are many of them."""
    if _steps(like) > MOST_STEPS:
        prepared: Callable[..., Any] = _prepared(kernel, *like)
        return prepared
    key, found = (kernel, *classes(like)), kernel.python

    def run(*args: Any) -> Any:
        nonlocal found
        if found is not kernel.python:
            return found(*args)
        if _spent[key] >= PATIENCE:
            found = _prepared(kernel, *like)
        return _called(kernel, *args)

    return run
