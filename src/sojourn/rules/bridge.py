"""The functions that kernels may call, which are handed to the compiler when the first kernel is compiled.

Until then they are only listed here, so that a function can be marked without importing the compiler.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

Function: TypeAlias = Callable[..., Any]  # of a rule or a loop; which one is known to the caller
Numba: TypeAlias = Any  # its types, dispatchers, contexts and builders: Numba ships no types
Connect: TypeAlias = Callable[[Function, Function, bool], None]

F = TypeVar("F", bound=Function)
G = TypeVar("G", bound=Function)

PACKAGE = Path(__file__).resolve().parents[1]

_listed: list[tuple[Function, Function, bool]] = []  # what kernels call, types -> function, inline
_connected: list[Connect] = []  # hands them over, once there is a compiler

explainers: list[Function] = []  # say what is wrong with a call that failed; `door` adds itself


def bridge(callee: Function, resolve: Function, inline: bool = True) -> None:
    """Let kernels call `callee`; `resolve` returns the function to compile for the types of the arguments."""
    _listed.append((callee, resolve, inline))
    for connect in _connected:
        connect(callee, resolve, inline)


@functools.cache
def compiler() -> Numba:
    """Return the module that compiles kernels, which imports Numba when the first kernel is called."""
    return importlib.import_module(f"{__package__}.jit.compiler")


def open_bridge(connect: Connect) -> None:
    """Hand everything that is listed to the compiler, and from now on everything that is added."""
    if not _connected:
        for callee, resolve, inline in _listed:
            connect(callee, resolve, inline)
        _connected.append(connect)


def is_ours(function: Function) -> bool:
    """Whether a function is from this package."""
    return PACKAGE in Path(function.__code__.co_filename).resolve().parents


def inlined(function: G) -> G:
    """Make a plain function callable from rules and kernels, compiled into their code.

    >>> @inlined
    ... def half(x: float) -> float:
    ...     return x / 2.0
    >>> half(3.0)  # as it is in Python, and in a rule of yours
    1.5
    """
    if not callable(function):
        given = " ".join(repr(function).split())
        raise TypeError(f"function is {given:.80}; it must be a function, whose source can be compiled")
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


# --- Shortcuts that reach into Numba, each with a way back -----------------------------------

PLAIN = "SOJOURN_PLAIN_NUMBA"  # the variable that names the tricks to do without, separated by commas, or says "all"
TRICKS = {  # what reaches into Numba, and the module of `jit` with the names which Numba does not promise to keep
    "parts": "link",
    "borrowed": "memory",
    "stacks": "columns",
    "lanes": "lanes.instructions",
    "entry": "",
    "files": "code_files",
}


def switched_off() -> list[str]:
    """Return the tricks that the user wants to do without."""
    given = [word.strip() for word in os.environ.get(PLAIN, "").split(",") if word.strip()]
    unknown = next((word for word in given if word != "all" and word not in TRICKS), None)
    if unknown is not None:
        raise ValueError(f"{PLAIN} names {unknown!r}; it may name {', '.join(TRICKS)}, or all")
    return [trick for trick in TRICKS if trick in given or "all" in given]


@functools.cache
def is_plain(trick: str) -> bool:
    """Whether to do without a trick, by means of Numba's public interface: if it is switched off, or this Numba lacks what it needs.

    No number depends on it, only how long it takes to compile and to run.
    """
    if trick in switched_off():
        return True
    try:
        if TRICKS[trick]:
            importlib.import_module(f"{__package__}.jit.{TRICKS[trick]}")
    except (ImportError, AttributeError) as error:
        warnings.warn(
            f"this version of Numba is not known to sojourn ({error}); everything works, but takes longer without "
            f"{trick}; install a version of Numba that sojourn asks for",
            RuntimeWarning,
            stacklevel=2,
        )
        return True
    return False
