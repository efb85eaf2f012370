"""Ctrl-C that ends the work between two steps, not in the middle of one."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

_STORM = 1.0  # seconds: a key that is held down gives many signals, which count as one


class _Asking:
    """Notes that Ctrl-C was pressed, and interrupts if it is pressed again more than a second later."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._first = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self._first = time.monotonic()
        elif time.monotonic() - self._first > _STORM:
            raise KeyboardInterrupt
        self.asked.append(number)


@contextlib.contextmanager
def interruptible() -> Iterator[list[int]]:
    """Yield a list that is empty until Ctrl-C is pressed; a second press, more than a second later, interrupts at once.

    Inside another such block, the list is the same.
    """
    outer = signal.getsignal(signal.SIGINT)
    if isinstance(outer, _Asking) and threading.current_thread() is threading.main_thread():
        yield outer.asked
        return
    asking = _Asking()
    with _handled_by(asking):
        try:
            yield asking.asked
        finally:
            noted = getattr(outer, "noted", None)  # of the command line, which then ignores more signals
            if asking.asked and noted is not None:
                noted()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C while something short is finished, such as a file."""
    with _handled_by(lambda number, frame: None):
        yield


@contextlib.contextmanager
def _handled_by(handler: signal._HANDLER) -> Iterator[None]:
    """Let another handler handle Ctrl-C for a while; only the main thread is ever interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
