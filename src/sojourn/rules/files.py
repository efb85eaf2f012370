"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that it is there whole or not at all, even if the power fails."""
    if path.is_dir() or not path.parent.is_dir():
        wrong = f"{path} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise OSError(f"{path} cannot be written: {wrong}")
    partial = path.with_name(f".{path.name}.partial")
    try:
        try:
            write(partial)
        except OSError as error:
            # The reader knows the file by its own name, not by that of the part.
            raise OSError(f"{path} could not be written: {error.strerror or error}") from None
        except Exception as error:
            if type(error).__module__.startswith("polars"):  # which has errors of its own for a full disk
                raise OSError(f"{path} could not be written: {error}") from None
            raise
        _sync(partial)
        partial.replace(path)
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
