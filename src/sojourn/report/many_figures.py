"""Many figures at once: some drawn by this process, some by others that are started for it.

Another process takes a second until it can draw. So it is started when a study begins to work out its tables, and is
ready when there is something to draw:

    with drawing(jobs, formats) as write_sheets:
        found = ...
        write_sheets(sheets(found), folder)

The others only draw. What they have drawn is written here, in whole files, so that they can be ended at any moment. A
sheet that another process could not draw is drawn by this one: at worst the figures take as long as without it.
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

MOST_OTHERS = 3  # processes: more of them would be starting while these have drawn everything

WriteSheets: TypeAlias = Callable[[Mapping[str, Sheet], Path], None]
_Other: TypeAlias = "subprocess.Popen[bytes]"
_Left: TypeAlias = deque[tuple[Path, Sheet]]

# Not by `multiprocessing`, whose new processes run the user's program again as far as it is not under a main guard.
_COMMAND = f"from {__name__} import serve; serve()"


@contextmanager
def drawing(jobs: int | None = None, formats: Sequence[str] = figures.FORMATS) -> Iterator[WriteSheets]:
    """Yield a function that writes sheets into a folder, each under its name, by `jobs` processes (one for each core).

    The files are the same, byte for byte, however many processes there are.
    """
    width = min(jobs or os.cpu_count() or 1, MOST_OTHERS + 1) if formats else 1
    with _others(width - 1) as others:

        def write_sheets(sheets: Mapping[str, Sheet], folder: Path) -> None:
            if formats:
                _write(deque((folder / name, sheet) for name, sheet in sheets.items()), formats, others)

        yield write_sheets


def _write(left: _Left, formats: Sequence[str], others: Sequence[_Other]) -> None:
    """Take one sheet after the other, all processes from the same heap, until there are none left."""
    with ThreadPoolExecutor(max(1, len(others))) as threads:
        waiting = [threads.submit(_write_elsewhere, left, formats, other) for other in others]
        try:
            _write_here(left, formats)
            for each in waiting:
                each.result()
        except BaseException:
            left.clear()
            for other in others:
                other.kill()  # whoever waits for it then waits no longer
            raise
    _write_here(left, formats)  # what others could not draw


def _write_here(left: _Left, formats: Sequence[str]) -> None:
    while left:
        path, sheet = left.popleft()
        figures.write(sheet, path, formats)


def _write_elsewhere(left: _Left, formats: Sequence[str], other: _Other) -> None:
    """Have sheets drawn by another process; what it does not draw goes back to the heap."""
    assert other.stdin is not None
    assert other.stdout is not None
    while left:
        try:
            path, sheet = left.popleft()
        except IndexError:  # somebody else was quicker
            return
        try:
            pickle.dump((figures.settings(), sheet, tuple(formats)), other.stdin)
            other.stdin.flush()
            files: dict[str, bytes] = pickle.load(other.stdout)
        except (OSError, EOFError, pickle.PickleError):  # it has ended
            left.append((path, sheet))
            return
        figures.write_files(files, path)


@contextmanager
def _others(count: int) -> Iterator[list[_Other]]:
    """Yield processes that draw what they are sent; none if the machine has no room for them."""
    others: list[_Other] = []
    try:
        with suppress(OSError):
            others.extend(_other() for _ in range(count))
        yield others
    finally:
        for other in others:
            other.kill()  # it keeps nothing that could be lost
            other.communicate()


def _other() -> _Other:
    """Start a process in a session of its own, which Ctrl-C does not reach: this process ends it then."""
    pipe = subprocess.PIPE
    return subprocess.Popen(  # noqa: S603 - Python itself, with words of ours
        [sys.executable, "-P", "-c", _COMMAND], stdin=pipe, stdout=pipe, start_new_session=True
    )


def serve() -> None:
    """Draw what comes in, as the other processes do, until there is nothing more."""
    # The process that asked draws what this one could not, and then sees what is wrong.
    with suppress(Exception):
        while True:
            settings, sheet, formats = pickle.load(sys.stdin.buffer)
            with figures.set_as(settings):
                files = figures.files_of(sheet, formats)
            pickle.dump(files, sys.stdout.buffer)
            sys.stdout.buffer.flush()
