"""Compiles kernels and the functions that they call.

This module itself uses only Numba's public interface. It imports Numba, so it is imported only when the first kernel
is called.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Iterator
from typing import TypeAlias

import numba
from numba import extending

from sojourn.rules.bridge import Connect, Function, Numba, is_plain, open_bridge
from sojourn.rules.jit.cache import KERNEL, keep, kept_on_disk, main_found_again, named_copy
from sojourn.rules.jit.identity import fingerprint
from sojourn.rules.rule import mark_compiled, users_rules
from sojourn.rules.values import Field

Signature: TypeAlias = tuple[Numba, ...]  # the types of all arguments

_lock = threading.Lock()


def signature_of(args: tuple[Field, ...]) -> Signature:
    """Return Numba's types for these arguments."""
    return tuple(map(numba.typeof, args))


def compiled(python: Function, signature: Signature, types: set[type]) -> Numba:
    """Return a dispatcher with a function compiled for one signature, which contains values of these classes."""
    mark_compiled(types)
    options: Numba = {"nogil": True, "error_model": "numpy"}
    if not is_plain("entry"):
        options["no_cfunc_wrapper"] = True
    with _lock, _without_collection(), notice_if_slow(), kept_on_disk():
        open_bridge(_connect())
        users = users_rules()
        known = "" if types.isdisjoint(users) else fingerprint(types, users)
        use = f"{KERNEL}-of-users-{known}" if known else KERNEL
        dispatcher = numba.njit(**options)(named_copy(python, signature, use))
        if known is not None:
            keep(dispatcher, users=bool(known))
        try:
            with main_found_again(types):
                dispatcher.compile(signature)
        except Exception as error:
            if not type(error).__module__.startswith("numba."):
                raise
            names = ", ".join(sorted(cls.__name__ for cls in types & users.keys())) or "these values"
            raise TypeError(
                f"the rules for {names} cannot be compiled: {_reason(error)} (with compiled=False they run in Python)"
            ) from None
        return dispatcher


def _reason(error: Exception) -> str:
    """Return the innermost message of a Numba error, which says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    layers = [index for index, line in enumerate(lines) if "mode pipeline (step:" in line]
    innermost = lines[layers[-1] + 1 :] if layers else lines
    return innermost[0].rstrip(".") if innermost else type(error).__name__


def _connect() -> Connect:
    """Return what makes functions callable from kernels: linking them in, or else Numba's public `overload`."""
    if is_plain("parts"):
        return _overload
    from sojourn.rules.jit.link import connect

    return connect


def _overload(callee: Function, resolve: Function, inline: bool) -> None:
    options: Numba = {"forceinline": inline, "error_model": "numpy"}
    extending.overload(callee, jit_options=options, strict=False)(resolve)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Pause garbage collection: Numba allocates millions of objects, few become garbage, and collecting takes a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_freeze_count() == 0:
                # They grow old at once: the next collection of young objects would look at all of them, which takes as long.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


_PATIENCE = 1.0  # seconds before the notice
_noticed = threading.Event()


@contextlib.contextmanager
def notice_if_slow(patience: float = _PATIENCE) -> Iterator[None]:
    """If a compile is slow, print one notice per process, and only at a terminal, a prompt or a notebook."""
    if _noticed.is_set() or not _is_interactive():
        yield
        return
    timer = threading.Timer(patience, _notice)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _notice() -> None:
    _noticed.set()
    print("sojourn: compiling; the machine code is kept for the next time ...", file=sys.stderr, flush=True)  # noqa: T201 - a user is waiting


def _is_interactive() -> bool:
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal or hasattr(sys, "ps1") or "ipykernel" in sys.modules
