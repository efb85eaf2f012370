"""Files of machine code: one for each function and its argument types; each begins with a hash of the rest.

They replace Numba's own cache, which watches only the file that defines a function, runs whatever it reads, and
raises an error if it cannot write.

This module imports Numba, so it is imported only when the first kernel is compiled.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numba
from numba.core import compiler, serialize

if TYPE_CHECKING:
    from sojourn.rules.bridge import Function, Numba

Warn: TypeAlias = Callable[[str | OSError], None]

_HASH_SIZE = hashlib.sha256().digest_size


class CodeFile:
    """The machine code of a function, with the interface of a Numba cache.

    `place` returns the file for a key that identifies the machine and the versions. `warn` is called with the
    reason why the code has to be compiled again: an exception, if it could not be written.
    """

    def __init__(self, function: Function, place: Callable[[str], Path], warn: Warn) -> None:
        self._function, self._place, self._warn = function, place, warn
        self.cache_path = ""

    def load_overload(self, signature: Numba, target: Numba) -> Numba:
        """Return the compiled function, or None if it must be compiled."""
        target.refresh()
        path = self._path(target.codegen())
        try:
            types, code = pickle.loads(_read_own(path))
            return compiler.CompileResult._rebuild(target, *code) if types == signature else None
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever went wrong, we can still compile
            self._warn(
                f"the machine code in {path} cannot be used and is compiled again: {error or type(error).__name__}"
            )
            return None

    def save_overload(self, signature: Numba, compiled: Numba) -> None:
        """Write the compiled function, unless it contains addresses of this process."""
        if compiled.library.has_dynamic_globals:
            return
        path, code = self._path(compiled.codegen), serialize.dumps((signature, compiled._reduce()))
        try:
            _write_own(path, _hash_of(path, code) + code)
        except OSError as error:
            self._warn(error)

    def _path(self, codegen: Numba) -> Path:
        """Return the path of the code for this machine and these versions of Python and Numba."""
        source = self._function.__code__
        inner = serialize.dumps(tuple(cell.cell_contents for cell in self._function.__closure__ or ()))
        versions = (numba.__version__, sys.version, codegen.magic_tuple())
        told = repr((*versions, source.co_firstlineno, source.co_code, inner))
        return self._place(hashlib.sha256(told.encode()).hexdigest()[:12])


def _write_own(path: Path, data: bytes) -> None:
    """Write a file atomically, but without syncing: a file cut short by a power failure is detected when it is read."""
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        new = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(new, "wb") as file:
            file.write(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _read_own(path: Path) -> bytes:
    """Return the code in a file of ours; refuse one that is damaged or that another user may have written."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError("another user may have written it")
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a plain file")
        kept, code = file.read(_HASH_SIZE), file.read()
    if kept != _hash_of(path, code):
        raise ValueError("it is damaged")
    return code


def _hash_of(path: Path, code: bytes) -> bytes:
    """Return a hash of a file's name and code, so that no file can be swapped for another."""
    return hashlib.sha256(path.name.encode() + b"\0" + code).digest()
