"""Kernels: loops that call rules, compiled when they are first called.

`kernel.python` runs the loop interpreted, line by line, in any debugger. A kernel that is called runs compiled instead:
where Numba meets a rule in the kernel's source, it asks the bridge (`sojourn.rules.bridge`) for the function registered
for that type, and inlines it.

Numba is imported only when the first kernel is called, so `import sojourn` is cheap.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Generic

from sojourn.rules.bridge import F, Numba, compiler, is_plain
from sojourn.rules.jit.cache import KERNEL, is_on_disk, named_copy
from sojourn.rules.values import Field, classes


class Kernel(Generic[F]):
    """A loop over rules: `kernel(...)` runs it compiled, `kernel.python(...)` interpreted."""

    def __init__(self, python: F) -> None:
        self.python = python
        self._dispatchers: dict[tuple[Numba, ...], Numba] = {}  # by the types of all arguments
        functools.update_wrapper(self, python)

    if TYPE_CHECKING:
        __call__: F
    else:

        def __call__(self, *args: Field) -> Field:
            """Run the loop, compiled for arguments of these types."""
            return self._dispatcher(args)(*args)

    def prepared(self, *args: Field) -> F:
        """Return the compiled function for arguments like these, without running it.

        This is for kernels so short that looking up the types in every call would cost more
        than the work. It may be called only with arguments of exactly these types.
        """
        # The machine code itself: Numba's dispatcher would look at the types of all arguments in
        # every call, which takes three times as long as the call.
        dispatcher = self._dispatcher(args)
        if is_plain("entry"):
            return dispatcher  # type: ignore[no-any-return]
        (entry,) = (found.entry_point for found in dispatcher.overloads.values())
        function: F = entry
        return function

    def is_at_hand(self, *args: Field) -> bool:
        """Whether the function for arguments like these has been compiled already, or is on disk."""
        if not self._dispatchers and not is_on_disk(self.python):
            return False  # known without the compiler, which takes a while to import
        signature = compiler().signature_of(args)
        return signature in self._dispatchers or is_on_disk(named_copy(self.python, signature, KERNEL))

    def _dispatcher(self, args: tuple[Field, ...]) -> Numba:
        """Return a dispatcher for the types of these arguments alone, compiled."""
        signature = compiler().signature_of(args)
        found = self._dispatchers.get(signature)
        if found is None:
            made = compiler().compiled(self.python, signature, set(classes(args)))
            found = self._dispatchers.setdefault(signature, made)
        return found


def kernel(function: F) -> Kernel[F]:
    """Turn a function into a kernel."""
    return Kernel(function)
