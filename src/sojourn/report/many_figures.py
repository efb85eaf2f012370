"""Draw many figures at once, some in this process and some in others that are started for it.

Another process takes a second until it can draw. So it is started when a study begins to compute its tables, and is
ready when there is something to draw:

    with drawing(jobs, formats) as write_sheets:
        found = ...
        write_sheets(sheets(found), folder)

The others only draw. This process writes their drawings as whole files, so they can be ended at any moment. A sheet that
another process could not draw is drawn by this one, so at worst the figures take as long as without the others.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from sojourn.report import figures
from sojourn.report.charts import Sheet

MOST_OTHERS = 3  # processes; with more, everything would be drawn before the last of them had started

WriteSheets: TypeAlias = Callable[[Mapping[str, Sheet], Path], None]
_Other: TypeAlias = "subprocess.Popen[bytes]"
_Left: TypeAlias = deque[tuple[Path, Sheet]]

# This does not use `multiprocessing`, whose processes would run the user's program again unless it has a main guard.
_COMMAND = f"from {__name__} import serve; serve()"


@contextmanager
def drawing(jobs: int | None = None, formats: Sequence[str] = figures.FORMATS) -> Iterator[WriteSheets]:
    """Yield a function that writes sheets by name into a folder, with `jobs` processes (by default one per core).

    The files are the same, byte for byte, for any number of processes.
    """
    width = min(jobs or os.cpu_count() or 1, MOST_OTHERS + 1) if formats else 1
    with _others(width - 1) as others:

        def write_sheets(sheets: Mapping[str, Sheet], folder: Path) -> None:
            if formats:
                _write(deque((folder / name, sheet) for name, sheet in sheets.items()), formats, others)

        yield write_sheets


def _write(left: _Left, formats: Sequence[str], others: Sequence[_Other]) -> None:
    """Write all sheets; each process takes one after the other from the same queue until none is left."""
    with ThreadPoolExecutor(max(1, len(others))) as threads:
        waiting = [threads.submit(_write_elsewhere, left, formats, other) for other in others]
        try:
            _write_here(left, formats)
            for each in waiting:
                each.result()
        except BaseException:
            left.clear()
            for other in others:
                other.kill()  # ends the thread that waits for it
            raise
    _write_here(left, formats)  # sheets that the others could not draw


def _write_here(left: _Left, formats: Sequence[str]) -> None:
    while left:
        path, sheet = left.popleft()
        figures.write(sheet, path, formats)


def _write_elsewhere(left: _Left, formats: Sequence[str], other: _Other) -> None:
    """Have sheets drawn by another process; a sheet that it does not draw goes back to the queue."""
    assert other.stdin is not None
    assert other.stdout is not None
    while left:
        try:
            path, sheet = left.popleft()
        except IndexError:  # another process was quicker
            return
        try:
            pickle.dump((figures.settings(), sheet, tuple(formats)), other.stdin)
            other.stdin.flush()
            files: dict[str, bytes] = pickle.load(other.stdout)
        except (OSError, EOFError, pickle.PickleError):  # the other process has ended
            left.append((path, sheet))
            return
        figures.write_files(files, path)


@contextmanager
def _others(count: int) -> Iterator[list[_Other]]:
    """Yield processes that draw what they are sent; none if the machine cannot start them."""
    others: list[_Other] = []
    try:
        with suppress(OSError):
            others.extend(_other() for _ in range(count))
        yield others
    finally:
        for other in others:
            other.kill()  # nothing is lost
            other.communicate()


def _other() -> _Other:
    """Start a process in its own session, which Ctrl-C does not reach; this process ends it instead."""
    pipe = subprocess.PIPE
    return subprocess.Popen(  # noqa: S603 - Python itself, with our own arguments
        [sys.executable, "-P", "-c", _COMMAND], stdin=pipe, stdout=pipe, start_new_session=True
    )


def serve() -> None:
    """Draw the sheets that come in until there are no more; the other processes run this."""
    # After an error, the process that asked draws the sheet itself and meets the same error.
    with suppress(Exception):
        while True:
            settings, sheet, formats = pickle.load(sys.stdin.buffer)
            with figures.set_as(settings):
                files = figures.files_of(sheet, formats)
            pickle.dump(files, sys.stdout.buffer)
            sys.stdout.buffer.flush()
