"""Reads text, JSON and TOML; writes files atomically, and never through a link.

A file is written under a temporary name in the same folder, synced, and renamed into place. The temporary name is
`.NAME.RANDOM.partial`. No two writers share one, so two of them may write the same file at the same time; the last to
finish wins. A killed process leaves its temporary file behind, which is never read; `is_leftover` recognises it.

Other users with write access to the folder cannot redirect a write: the writer always creates a new file, never opens
an existing one, and writes to the open file whatever becomes of its name. Renaming replaces a symbolic link instead
of following it. Files opened for appending, and subfolders that we create, may not be links.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
else:
    Json = Any  # a recursive type cannot be resolved when a record is read
JsonObject: TypeAlias = dict[str, Json]

MOST_TEXT = 50_000_000  # bytes of a text that is read into memory at once, which takes ten times its size
_SUFFIX = ".partial"
_KEPT = 50  # characters of the name that the temporary name keeps
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, because opening a pipe would wait for its reader.
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically: it is complete or absent, even after a power failure.

    `write` is called with a new open file in the same folder. If it fails, that file is removed, and any file at
    `path` stays as it was.
    """
    if path.is_dir() or not path.parent.is_dir():
        wrong = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise OSError(f"{path} cannot be written: {wrong}")
    partial = _temporary(path)
    try:
        try:
            with os.fdopen(os.open(partial, os.O_RDWR | _NEW, 0o666), "wb") as handle:
                write(handle)
                handle.flush()
                os.fsync(handle.fileno())
            partial.replace(path)
        except OSError as error:
            # The user knows the file by its own name, not by the temporary one.
            raise OSError(f"{path} could not be written: {error.strerror or error}") from None
        except Exception as error:
            if type(error).__module__.startswith("polars"):  # it has its own errors for a full disk
                raise OSError(f"{path} could not be written: {error}") from None
            raise
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    write_whole(path, lambda handle: handle.write(data))


def check_readable(path: Path, most: int | None = None) -> None:
    """Refuse anything but a regular file of at most `most` bytes; a device or a pipe may never end.

    >>> check_readable(Path("/dev/zero"))
    Traceback (most recent call last):
    ValueError: /dev/zero is a device or a pipe; give a file
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file in it")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check its name")
    if not path.is_file():
        raise ValueError(f"{path} is a device or a pipe; give a file")
    size = path.stat().st_size
    if most is not None and size > most:
        raise ValueError(
            f"{path} has {size / 1e6:,.0f} MB; such a file may have at most {most / 1e6:,.0f} MB"
        )


def read_text(path: Path, kind: str) -> str:
    """Return the text of a file; `kind`, such as "JSON", names it in error messages."""
    check_readable(path, MOST_TEXT)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not {kind}: it is not text in UTF-8, as its byte {error.start} shows; save it as UTF-8"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, text.encode())


def write_json(path: Path, data: JsonObject) -> None:
    """Write data as a JSON file, atomically."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def load_json(path: Path) -> JsonObject:
    """Return the object in a JSON file."""
    text = read_text(path, "JSON")
    try:
        content = parsed_json(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it does not hold an object")  # noqa: TRY004 - a file's content, not an argument
    return content


def parsed_json(text: str) -> Json:
    r"""Parse JSON; a lone surrogate (half a character), which JSON can express but UTF-8 cannot, is refused.

    >>> parsed_json('"\\ud83d\\ude00"') == chr(0x1F600)
    True
    >>> parsed_json('"\\ud83d"')
    Traceback (most recent call last):
    ValueError: it holds half a character
    """
    found: Json = json.loads(text)
    if re.search(r"\\ud[89a-f]", text, re.IGNORECASE):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half a character") from None
    return found


def load_toml(path: Path) -> dict[str, Any]:
    """Return the table in a TOML file, which unlike JSON may contain dates."""
    text = read_text(path, "TOML")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    except ValueError as error:  # a date that does not exist, or a number with more digits than Python reads
        raise ValueError(f"{path} holds something that cannot be read: {error}") from None


def open_to_append(path: Path) -> TextIO:
    """Open a text file for appending, such as a log; it must be a regular file, not a link."""
    try:
        handle = os.fdopen(os.open(path, _APPEND, 0o666), "a", encoding="utf-8")
    except OSError as error:
        if path.is_symlink():
            raise _is_link(path) from None
        raise OSError(f"{path} could not be written: {error.strerror or error}") from None
    found = os.fstat(handle.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        handle.close()
        raise (
            _is_link(path)
            if stat.S_ISREG(found.st_mode)
            else OSError(f"{path} is not a plain file; remove it, and a new one is made")
        )
    return handle


def own_folder(path: Path) -> Path:
    """Return a subfolder of a folder of ours, created if necessary; a link is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     own_folder(Path(place) / "figures").is_dir()
    True
    """
    if path.is_symlink():
        raise _is_link(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def _is_link(path: Path) -> OSError:
    return OSError(f"{path} is a link to another place, and nothing is written through links; remove it")


def is_leftover(path: Path) -> bool:
    """Whether a path is the temporary name of a file that a process is writing, or was writing when it was killed.

    >>> is_leftover(Path("out/.sweep.json.5f2c9a1e.partial")), is_leftover(Path("out/sweep.json"))
    (True, False)
    """
    return path.name.startswith(".") and path.name.endswith(_SUFFIX)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files that killed writers of `path` left behind; no process may be writing it now."""
    for other in path.parent.iterdir():
        if is_leftover(other) and other.name.startswith(f".{path.name[:_KEPT]}."):
            other.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """Return a new name beside `path`, short enough for file systems with a limit of 255 bytes."""
    return path.with_name(f".{path.name[:_KEPT]}.{secrets.token_hex(4)}{_SUFFIX}")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
