"""Shows the progress of long-running work, and stops it.

On a terminal, progress is a bar; in a notebook it is a line that is written over; elsewhere it is a line soon after the start
and then every few seconds.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from sojourn.data.text import printable
from sojourn.rules.arrays import Flags


class Advance(Protocol):
    """The callback that long-running work calls whenever some of it is finished."""

    def __call__(self, steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
        """Count finished steps and failed runs.

        Steps done `earlier`, before a restart, do not count towards the speed. A note is shown beside the speed.
        """


_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_UPDATES = 0.25  # of a line that is written over
_SECONDS_TO_FIRST_LINE = 0.5  # seconds of silence, for work that fails or finishes at once
_TELLING = 0.05  # the share of the work that must be done before the remaining time is estimated


def no_progress(steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
    """Show nothing."""


@contextlib.contextmanager
def progress(label: str, total: float, unit: str = "steps") -> Iterator[Advance]:
    """Yield a callback for finished work."""
    shown = _bar if sys.stderr.isatty() else _lines
    with shown(printable(label), total, unit) as advance:
        yield advance


@contextlib.contextmanager
def _bar(label: str, total: float, unit: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}", markup=False),
    )
    begin, failed, now_done = time.monotonic(), 0, 0.0
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, speed="", failures="")

        def advance(steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
            nonlocal failed, now_done
            failed += failures
            now_done += 0 if earlier else steps
            speed = _speed(now_done, time.monotonic() - begin, unit)
            bar.update(task, advance=steps, speed=speed, failures=f"{failed} failed" if failed else note)

        yield advance


@contextlib.contextmanager
def _lines(label: str, total: float, unit: str) -> Iterator[Advance]:
    begin = last = time.monotonic()
    done = now_done = 0.0
    failed = 0
    is_notebook = "ipykernel" in sys.modules
    pause = _SECONDS_BETWEEN_UPDATES if is_notebook else _SECONDS_BETWEEN_LINES

    def show(line: str, *, is_last: bool = False) -> None:
        text, end = (f"\r{line:<100}", "\n" * is_last) if is_notebook else (line, "\n")
        print(text, end=end, file=sys.stderr, flush=True)  # noqa: T201 - this is what it is for

    first = threading.Timer(_SECONDS_TO_FIRST_LINE, show, [f"{label}: {_amount(total, unit)} to do"])
    first.daemon = True
    first.start()

    def advance(steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
        nonlocal last, done, failed, now_done
        done, failed, now_done = done + steps, failed + failures, now_done + (0 if earlier else steps)
        now = time.monotonic()
        if now_done and (now - last >= pause or done >= total):
            first.cancel()
            last = now
            left = (now - begin) / now_done * max(total - done, 0.0)
            # The first steps waited for compilation, so they say nothing about the rest.
            ahead = f"{left:.0f} s left" if done >= _TELLING * total else "time left not yet known"
            show(
                f"{label}: {min(100 * done / total, 100):.0f} % of {_amount(total, unit)}, "
                f"{_speed(now_done, now - begin, unit)}, {ahead}, {note or f'{failed} failed'}",
                is_last=done >= total,
            )

    try:
        yield advance
    finally:
        first.cancel()


def _amount(total: float, unit: str) -> str:
    return f"{total:,.0f} steps" if unit == "steps" else f"{total:,.6g} units of time"


def _speed(done: float, seconds: float, unit: str) -> str:
    speed = done / max(seconds, 1e-9)
    if unit == "steps" and speed >= 1e6:
        return f"{speed / 1e6:.1f} million steps/s"
    return f"{speed:,.0f} {unit}/s" if unit == "steps" else f"{speed:.3g} units of time/s"


# --- Stopping -----------------------------------------------------------------------


class StopFlag:
    """Stops one piece of work, such as a sweep: its compiled loops check `flag` every few million steps.

    A copy in another process is never set: whoever started that process must stop the work there.

    >>> stop = StopFlag()
    >>> stop.set()
    >>> stop.is_set
    True
    """

    def __init__(self) -> None:
        self.flag: Flags = np.zeros(1, dtype=np.bool_)

    def set(self) -> None:
        """Stop all loops that check this flag."""
        self.flag[0] = True

    @property
    def is_set(self) -> bool:
        """Whether the loops have been told to stop."""
        return bool(self.flag[0])
