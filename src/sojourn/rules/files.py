"""Write files that are either complete or not there at all.

A file is written under a temporary name beside its place, synced, and renamed into place. The
temporary name is `.NAME.RANDOM.partial`: no two writers share one, so that two of them may write the
same file at the same time, and the last to finish wins. A process that is killed leaves its temporary
file behind; `is_leftover` recognises it, and nothing reads it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MOST_TEXT = 50_000_000  # bytes of a text that is read as a whole, which takes ten times as much memory
_SUFFIX = ".partial"
_KEPT = 50  # characters of the name that the temporary one has too


def write_whole(path: Path, write: Callable[[Path], T]) -> None:
    """Write a file so that it is there whole or not at all, even if the power fails.

    `write` is called with a temporary path in the same folder. If it fails, the temporary file is removed
    and the file at `path`, if there is one, stays as it was.
    """
    if path.is_dir() or not path.parent.is_dir():
        wrong = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise OSError(f"{path} cannot be written: {wrong}")
    partial = _temporary(path)
    try:
        try:
            write(partial)
            _sync(partial)
            partial.replace(path)
        except OSError as error:
            # The reader knows the file by its own name, not by the temporary one.
            raise OSError(f"{path} could not be written: {error.strerror or error}") from None
        except Exception as error:
            if type(error).__module__.startswith("polars"):  # which has errors of its own for a full disk
                raise OSError(f"{path} could not be written: {error}") from None
            raise
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def check_readable(path: Path, most: int | None = None) -> None:
    """Refuse what is no file on a disk, for a device or a pipe may have no end, or a file of more bytes than `most`.

    >>> check_readable(Path("/dev/zero"))
    Traceback (most recent call last):
    ValueError: /dev/zero is a device or a pipe; give a file
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file in it")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; see whether its name is right")
    if not path.is_file():
        raise ValueError(f"{path} is a device or a pipe; give a file")
    size = path.stat().st_size
    if most is not None and size > most:
        raise ValueError(
            f"{path} has {size / 1e6:,.0f} MB; at most {most / 1e6:,.0f} MB are read of such a file"
        )


def read_text(path: Path, kind: str) -> str:
    """Return the text in a file of this kind, such as "JSON", or say why there is none."""
    check_readable(path, MOST_TEXT)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not {kind}: it is not text in UTF-8, as its byte {error.start} shows; save it as UTF-8"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def is_leftover(path: Path) -> bool:
    """Whether a path is the temporary name of a file that some process is writing, or was when it was killed.

    >>> is_leftover(Path("out/.sweep.json.5f2c9a1e.partial")), is_leftover(Path("out/sweep.json"))
    (True, False)
    """
    return path.name.startswith(".") and path.name.endswith(_SUFFIX)


def remove_leftovers(path: Path) -> None:
    """Remove what killed writers of the file `path` left behind; nobody may be writing it now."""
    for other in path.parent.iterdir():
        if is_leftover(other) and other.name.startswith(f".{path.name[:_KEPT]}."):
            other.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """Return a new name beside `path`, short enough for file systems that take 255 bytes."""
    return path.with_name(f".{path.name[:_KEPT]}.{secrets.token_hex(4)}{_SUFFIX}")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
