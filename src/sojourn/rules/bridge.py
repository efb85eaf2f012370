"""Registers the functions that kernels may call; the compiler gets them when the first kernel is compiled.

Until then they are only listed here, so marking a function does not import the compiler.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

Function: TypeAlias = Callable[..., Any]  # a rule or a loop, whose signature the caller knows
Numba: TypeAlias = Any  # its types, dispatchers, contexts and builders: Numba ships no types
Connect: TypeAlias = Callable[[Function, Function, bool], None]

F = TypeVar("F", bound=Function)
G = TypeVar("G", bound=Function)

PACKAGE = Path(__file__).resolve().parents[1]

_listed: list[tuple[Function, Function, bool]] = []  # what kernels call, types -> function, inline
_connected: list[Connect] = []  # passes them to the compiler, once it is imported

explainers: list[Function] = []  # explain why a call failed; `door` registers itself


def bridge(callee: Function, resolve: Function, inline: bool = True) -> None:
    """Let kernels call `callee`; `resolve` returns the function to compile for the types of the arguments."""
    _listed.append((callee, resolve, inline))
    for connect in _connected:
        connect(callee, resolve, inline)


@functools.cache
def compiler() -> Numba:
    """Return the module that compiles kernels; it is imported, and Numba with it, when the first kernel is called."""
    return importlib.import_module(f"{__package__}.jit.compiler")


def open_bridge(connect: Connect) -> None:
    """Pass everything registered so far to the compiler, and from now on everything that is added."""
    if not _connected:
        for callee, resolve, inline in _listed:
            connect(callee, resolve, inline)
        _connected.append(connect)


def is_ours(function: Function) -> bool:
    """Whether a function is from this package."""
    return PACKAGE in Path(function.__code__.co_filename).resolve().parents


def inlined(function: G) -> G:
    """Make a plain function callable from rules and kernels, and inline it there.

    >>> @inlined
    ... def half(x: float) -> float:
    ...     return x / 2.0
    >>> half(3.0)  # in Python, and in your rules
    1.5
    """
    if not callable(function):
        given = " ".join(repr(function).split())
        raise TypeError(f"function is {given:.80}; it must be a function, whose source can be compiled")
    bridge(function, lambda *_: function)
    return function


def compiled_apart(function: G) -> G:
    """Make a long function callable from kernels, without inlining it."""
    bridge(function, lambda *_: function, inline=False)
    return function


def written_out(source: str, names: dict[str, Function], known_as: str = "function") -> Function:
    """Return the function that a source defines, as a function of this module, so that its machine code can be cached.

    The cache key is the name `known_as` and the argument types, so the name must be unique.
    """
    namespace: dict[str, Function | str] = {**names, "__name__": __name__}
    exec(compile(source, __file__, "exec"), namespace)  # noqa: S102 - field names only
    function = namespace["function"]
    assert callable(function)
    function.__qualname__ = known_as
    return function


# --- Shortcuts that use Numba's private interface, each with a fallback ------------------------

PLAIN = "SOJOURN_PLAIN_NUMBA"  # lists the shortcuts to switch off, separated by commas, or "all"
TRICKS = {  # each shortcut, and the module of `jit` that uses Numba's private names for it
    "parts": "link",
    "borrowed": "memory",
    "stacks": "columns",
    "lanes": "lanes.instructions",
    "entry": "",
    "files": "code_files",
}


def switched_off() -> list[str]:
    """Return the shortcuts that the user has switched off."""
    given = [word.strip() for word in os.environ.get(PLAIN, "").split(",") if word.strip()]
    unknown = next((word for word in given if word != "all" and word not in TRICKS), None)
    if unknown is not None:
        raise ValueError(f"{PLAIN} names {unknown!r}; it may name {', '.join(TRICKS)}, or all")
    return [trick for trick in TRICKS if trick in given or "all" in given]


@functools.cache
def is_plain(trick: str) -> bool:
    """Whether a shortcut is switched off, or unsupported by this version of Numba, so that the public interface replaces it.

    The numbers are the same either way; only compilation and running take longer.
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
