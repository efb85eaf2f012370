"""The functions that kernels may call, which are handed to the compiler when the first kernel is compiled.

Until then they are only listed here, so that a function can be marked without importing the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

Function: TypeAlias = Callable[..., Any]  # of a rule or a loop; which one is known to the caller
Connect: TypeAlias = Callable[[Function, Function, bool], None]

G = TypeVar("G", bound=Function)

_listed: list[tuple[Function, Function, bool]] = []  # what kernels call, types -> function, inline
_connected: list[Connect] = []  # hands them over, once there is a compiler


def bridge(callee: Function, resolve: Function, inline: bool = True) -> None:
    """Let kernels call `callee`; `resolve` returns the function to compile for the types of the arguments."""
    _listed.append((callee, resolve, inline))
    for connect in _connected:
        connect(callee, resolve, inline)


def open_bridge(connect: Connect) -> None:
    """Hand everything that is listed to the compiler, and from now on everything that is added."""
    if not _connected:
        for callee, resolve, inline in _listed:
            connect(callee, resolve, inline)
        _connected.append(connect)


def inlined(function: G) -> G:
    """Make a plain function callable from rules and kernels, compiled into their code.

    >>> @inlined
    ... def half(x: float) -> float:
    ...     return x / 2.0
    >>> half(3.0)  # as it is in Python, and in a rule of yours
    1.5
    """
    bridge(function, lambda *_: function)
    return function


def compiled_apart(function: G) -> G:
    """Make a long function callable from kernels, compiled as a function of its own."""
    bridge(function, lambda *_: function, inline=False)
    return function


def written_out(source: str, names: dict[str, Function], known_as: str = "function") -> Function:
    """Return the function that a source defines; it counts as one of this module, so that its machine code can be kept.

    It is kept under the name `known_as` and the types of its arguments; no other function may have the same.
    """
    namespace: dict[str, Function | str] = {**names, "__name__": __name__}
    exec(compile(source, __file__, "exec"), namespace)  # noqa: S102 - field names only
    function = namespace["function"]
    assert callable(function)
    function.__qualname__ = known_as
    return function
