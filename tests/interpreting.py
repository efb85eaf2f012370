"""Kernels that run in Python for a while: for tests whose claim does not depend on compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from sojourn.rules.kernel import Kernel
from sojourn.rules.values import canonical, is_value


@contextmanager
def interpreted() -> Iterator[None]:
    """Run all kernels of this process in Python, where a new combination of classes costs nothing and a step a thousand times as much."""
    with (
        patch.object(Kernel, "__call__", _in_python),
        patch.object(Kernel, "prepared", _of_python),
        patch.object(Kernel, "is_at_hand", lambda *_: True),
    ):
        yield


def _in_python(kernel: Kernel[Any], *args: Any) -> Any:
    """Run a kernel's loop, and return what its machine code would: no NumPy scalars, no warnings of overflows."""
    with np.errstate(all="ignore"):
        returned = kernel.python(*args)
    return canonical(returned) if is_value(returned) else returned


def _of_python(kernel: Kernel[Any], *_: Any) -> Callable[..., Any]:
    return lambda *args: _in_python(kernel, *args)
