"""Kernels: loops that call rules, compiled when they are first called.

`kernel.python` runs the loop interpreted, line by line, in any debugger. Calling the kernel runs it compiled: where
Numba meets a rule in the source, it asks the bridge (`sojourn.rules.bridge`) for the function registered for that
type, and inlines it.

Numba is imported only when the first kernel is called, so `import sojourn` is cheap.

Compiling a kernel takes a second or more, in which thousands of steps can be interpreted. So a kernel that takes one
step at a time is run `gradually`: interpreted for a while, then compiled if there are still more steps. Both give the
same bits. Cached machine code is used at once. Rules from outside this package are compiled at once, because the
equality of bits has not been tested for them.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from sojourn.rules.bridge import F, Numba, compiler, is_plain
from sojourn.rules.jit.cache import KERNEL, is_on_disk, named_copy
from sojourn.rules.rule import is_ours_alone
from sojourn.rules.values import Field, classes


class Kernel(Generic[F]):
    """A loop over rules: `kernel(...)` runs it compiled, `kernel.python(...)` interpreted."""

    def __init__(self, python: F) -> None:
        self.python = python
        self._dispatchers: dict[tuple[Numba, ...], Numba] = {}  # by signature
        functools.update_wrapper(self, python)

    if TYPE_CHECKING:
        __call__: F
    else:

        def __call__(self, *args: Field) -> Field:
            """Run the loop, compiled for arguments of these types."""
            return self._dispatcher(args)(*args)

    def prepared(self, *args: Field) -> F:
        """Return the compiled function for arguments like these, without running it.

        This is for kernels so short that dispatching on types in every call would cost more than the work.
        The function may be called only with arguments of exactly these types.
        """
        # The machine code itself: Numba's dispatcher would examine all argument types in every call, which
        # takes three times as long as the call.
        dispatcher = self._dispatcher(args)
        if is_plain("entry"):
            return dispatcher  # type: ignore[no-any-return]
        (entry,) = (found.entry_point for found in dispatcher.overloads.values())
        function: F = entry
        return function

    def is_at_hand(self, *args: Field) -> bool:
        """Whether the function for arguments like these is already compiled, in memory or on disk."""
        if not self._dispatchers and not is_on_disk(self.python):
            return False  # answered without importing the compiler, which is slow
        signature = compiler().signature_of(args)
        return signature in self._dispatchers or is_on_disk(named_copy(self.python, signature, KERNEL))

    def _dispatcher(self, args: tuple[Field, ...]) -> Numba:
        """Return a dispatcher compiled for exactly these argument types."""
        signature = compiler().signature_of(args)
        found = self._dispatchers.get(signature)
        if found is None:
            made = compiler().compiled(self.python, signature, set(classes(args)))
            found = self._dispatchers.setdefault(signature, made)
        return found


def kernel(function: F) -> Kernel[F]:
    """Turn a function into a kernel."""
    return Kernel(function)


# --- One step at a time ---------------------------------------------------------------

PATIENCE = 0.5  # CPU seconds for which a kernel is interpreted, per set of classes

_spent: dict[tuple[object, ...], float] = {}  # CPU seconds so far, by kernel and classes


def gradually(kernel: Kernel[F], like: tuple[Field, ...], use: Callable[[F], None], cost: float = 1.0) -> F:
    """Return a function that runs a kernel with arguments like these; once compiled, the compiled function is passed to `use`.

    `cost` is how many times as long as usual the kernel takes to compile.

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
        with np.errstate(all="ignore"):  # compiled code ignores overflows, too
            returned = kernel.python(*arguments)
        _spent[key] = _spent.get(key, 0.0) + time.thread_time() - begun
        if _spent[key] >= patience:
            use(kernel.prepared(*like))
        return returned

    function: F = interpreted  # type: ignore[assignment]
    return function
