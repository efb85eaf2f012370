"""Kernels that take one step at a time: interpreted at first, and compiled once that is worth it.

Compiling a kernel takes a second or more, in which thousands of steps can be interpreted. So it is interpreted for a
while, and compiled if there are still more steps. Both give the same bits. Machine code that is on disk is used at once.

Rules from outside this package are compiled at once, since nobody has tested whether both give the same bits for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn.rules.bridge import F
from sojourn.rules.kernel import Kernel
from sojourn.rules.rule import is_ours_alone
from sojourn.rules.values import Field, classes

PATIENCE = 0.5  # seconds of processor time for which a kernel is interpreted, for values of the same classes

_spent: dict[tuple[object, ...], float] = {}  # these seconds so far, by kernel and classes


def gradually(kernel: Kernel[F], like: tuple[Field, ...], use: Callable[[F], None], cost: float = 1.0) -> F:
    """Return a function that runs a kernel with arguments like these; once compiled, the machine code is passed to `use`.

    `cost` is how many times as long as usual the kernel takes to compile.

    >>> from sojourn.rules.kernel import kernel
    >>> @kernel
    ... def double(column):
    ...     column[0] *= 2.0
    >>> column = np.ones(1)
    >>> run = gradually(double, (column,), use=print)  # nothing is printed: the first steps are interpreted
    >>> run(column)
    >>> column
    array([2.])
    """
    types = tuple(classes(like))
    key, patience = (kernel, *types), PATIENCE * cost
    if _spent.get(key, 0.0) >= patience or not is_ours_alone(types) or kernel.is_at_hand(*like):
        compiled = kernel.prepared(*like)
        use(compiled)
        return compiled

    def interpreted(*arguments: Field) -> Any:
        begun = time.thread_time()
        with np.errstate(all="ignore"):  # compiled code is silent about overflows, too
            returned = kernel.python(*arguments)
        _spent[key] = _spent.get(key, 0.0) + time.thread_time() - begun
        if _spent[key] >= patience:
            use(kernel.prepared(*like))
        return returned

    function: F = interpreted  # type: ignore[assignment]
    return function
