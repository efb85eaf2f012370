"""Reads other people's tables in a separate process, which may crash on them.

On some damaged files Polars panics, raising an error that is not an `Exception`; others crash the whole process. So
foreign files are parsed by a reader, a child process that is started on first use and reused for the next file. Its
memory and time are limited. It returns a table as an uncompressed Arrow file that it writes itself. If the reader
dies, the caller reports it in one sentence.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
from polars.datatypes import DataTypeClass

from sojourn.data.files import Json

Facts: TypeAlias = dict[str, Any]  # what a reader returns besides the table
Reading: TypeAlias = Callable[..., tuple[pl.DataFrame, Facts]]

MEMORY = "SOJOURN_READ_MB"  # the environment variable that sets a reader's memory limit, in MB
_LEAST_MB, _MB_FOR_EACH = 500, 24  # the default limit: a base, plus a multiple of the file's size
_KEPT_FOR_MB = 10  # after a larger file, the reader is stopped
_LEAST_SECONDS = 20.0  # the time limit: this, plus a second for each MB
_CODE = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from sojourn.data.child import serve; serve()"
)
_ERRORS: dict[str, type[Exception]] = {kind.__name__: kind for kind in (ValueError, TypeError, OSError)}


def read_apart(reading: Reading, *paths: Path, **asked: Json) -> tuple[pl.DataFrame, Facts]:
    """Call `reading(*paths, **asked)` in the child process and return its result; `reading` is a module-level function.

    A ValueError, TypeError or OSError raised there is raised here again. Anything else becomes a ValueError.
    """
    if os.getpid() != _reader.owner:
        _reader.__init__()  # type: ignore[misc] # a forked process must not use its parent's reader
    with _reader.lock:
        return _reader.read(reading, paths, asked)


def read_table(path: Path) -> pl.DataFrame:
    """Return the table in a Parquet file, which may be damaged or not Parquet at all.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.parquet")
    ...     pl.DataFrame({"seed": [0, 1]}).write_parquet(file)
    ...     read_table(file)["seed"].to_list()
    [0, 1]
    """
    return read_apart(table_here, path)[0]


def table_here(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Read the table of a Parquet file in this process."""
    check_parquet(path)
    return pl.read_parquet(path, glob=False, hive_partitioning=False), {}


def check_parquet(path: Path) -> None:
    """Refuse a file without Parquet's magic bytes at both ends."""
    with path.open("rb") as handle:
        begin = handle.read(4)
        handle.seek(max(os.fstat(handle.fileno()).st_size - 4, 4))
        if begin != b"PAR1" or handle.read() != b"PAR1":
            raise ValueError(f"{path} is not a whole Parquet file; fetch or make it again")


def check_columns(
    path: Path, schema: Mapping[str, pl.DataType], texts: Iterable[str], numbers: Iterable[str]
) -> None:
    """Refuse a table that lacks one of these columns, or has one of the wrong type.

    >>> check_columns(Path("table.parquet"), pl.Schema({"rate": pl.String()}), [], ["rate"])
    Traceback (most recent call last):
    ValueError: table.parquet is damaged or of another version: its column 'rate' is of type String, not of numbers
    """
    for name, is_text in (*((name, True) for name in texts), *((name, False) for name in numbers)):
        if name not in schema:
            raise ValueError(f"{path} is damaged or of another version: it has no column {name!r}")
        kind = schema[name]
        if not (kind == pl.String if is_text else is_number(kind)):
            wanted = "texts" if is_text else "numbers"
            raise ValueError(
                f"{path} is damaged or of another version: its column {name!r} is of type {kind}, not of {wanted}"
            )


def is_number(kind: pl.DataType | DataTypeClass) -> bool:
    """Whether a column of this type holds numbers that Python and JSON can represent."""
    return kind.is_float() or (kind.is_integer() and kind not in (pl.Int128, pl.UInt128))


def brief(error: BaseException) -> str:
    """Return what an error says, in one short line."""
    text = " ".join(str(error).partition("{")[0].split())  # the rest is for Polars developers
    return text if len(text) <= 100 else f"{text[:100]}..."


# --- The caller's side --------------------------------------------------------------


class _Reader:
    """The child process, once it has been started."""

    def __init__(self) -> None:
        self.owner, self.lock = os.getpid(), threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.late = False  # whether it was killed for taking too long

    def read(
        self, reading: Reading, paths: Sequence[Path], asked: Mapping[str, Json]
    ) -> tuple[pl.DataFrame, Facts]:
        size = sum(path.stat().st_size for path in paths) / 1e6
        memory = _memory(size)
        handle, into = tempfile.mkstemp(suffix=".arrow")
        os.close(handle)
        wanted = {
            "module": reading.__module__,
            "function": reading.__qualname__,
            "paths": list(map(str, paths)),
            "asked": asked,
            "folder": str(Path.cwd()),
            "into": into,
            "memory": memory,
        }
        try:
            answer = self._request(json.dumps(wanted).encode() + b"\n", _LEAST_SECONDS + size)
            if answer is None:
                raise ValueError(
                    f"{paths[0]} cannot be read: the process that read it {self._exit_reason()}, with {memory} MB of memory; "
                    f"fetch or make the file again, or set {MEMORY} to allow more"
                )
            if "error" in answer:
                raise _ERRORS[answer["error"]](answer["says"])
            return pl.read_ipc(into), answer["facts"]
        finally:
            Path(into).unlink()
            if size > _KEPT_FOR_MB:
                self.stop()  # it may still hold memory that would count against the next file's limit

    def _request(self, question: bytes, seconds: float) -> dict[str, Any] | None:
        """Return the answer to a question, or None if there is none."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018 - both are pipes
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(question)
                process.stdin.flush()
            line = b""
            while not line.endswith(b"\n"):
                if not select.select([process.stdout], [], [], seconds)[0]:
                    self.late = True
                    process.kill()
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    return None
                line += part
        except BaseException:  # an interrupt: the pending answer would later be taken for the next file's
            self.stop()
            raise
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self.stop()
            self.process = subprocess.Popen(  # noqa: S603 - this Python, with code of ours
                [sys.executable, "-P", "-c", _CODE, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # Polars would print its own tracebacks there
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for the caller
            )
        return self.process

    def _exit_reason(self) -> str:
        """Return how the process ended."""
        code, late = 0 if self.process is None else self.process.wait(), self.late
        self.stop()
        if late:
            return "took too long"
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"stopped with code {code}"

    def stop(self) -> None:
        """Stop the process, if it is running."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process, self.late = None, False


def _memory(size: float) -> int:
    """Return the memory limit, in MB, for a file of `size` MB."""
    given = os.environ.get(MEMORY, "")
    if given and not given.isdecimal():
        raise ValueError(f"{MEMORY} is {given!r}; it must be a whole number of MB")
    return int(given or _LEAST_MB + _MB_FOR_EACH * size)


_reader = _Reader()


@atexit.register
def _stop() -> None:
    if os.getpid() == _reader.owner:
        _reader.stop()


# --- The reader's side --------------------------------------------------------------


def serve() -> None:
    """Answer requests from standard input until it closes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # discard everything else that is printed
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        answers.write(json.dumps(_answer(json.loads(line))).encode() + b"\n")
        answers.flush()


def _answer(wanted: dict[str, Any]) -> dict[str, Any]:
    os.chdir(wanted["folder"])  # the caller's, which may have changed since this process began
    paths = list(map(Path, wanted["paths"]))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = wanted["memory"] * 1_000_000
    resource.setrlimit(
        resource.RLIMIT_DATA, (limit if most == resource.RLIM_INFINITY else min(limit, most), most)
    )
    reading: Reading = getattr(importlib.import_module(wanted["module"]), wanted["function"])
    try:
        table, facts = reading(*paths, **wanted["asked"])
        table.write_ipc(wanted["into"], compression="uncompressed")
    except (ValueError, TypeError, OSError) as error:
        kind = next(name for name, kind in _ERRORS.items() if isinstance(error, kind))
        return {"error": kind, "says": str(error)}
    except MemoryError:
        os.abort()
    except BaseException as error:  # noqa: BLE001 - Polars has its own errors, and panics
        return {
            "error": "ValueError",
            "says": f"{paths[0]} is damaged ({brief(error)}); fetch or make it again",
        }
    return {"facts": facts}
