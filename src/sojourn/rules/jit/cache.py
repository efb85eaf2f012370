"""Keeps machine code on disk, in a folder of the user's own that belongs to exactly one version of the source.

Kernels are kept, and so is each of their parts that is ours alone, so that a new agent or world
compiles only what is new about it. A kernel with a user's rules is kept if it has a `fingerprint`.

The folder only saves time. If what is in it is damaged or may be another user's, or if nothing can be written to it, the
code is compiled again, and one warning says so.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import stat
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType

from sojourn.rules.bridge import PACKAGE, PLAIN, Function, Numba, is_ours, is_plain

_USERS_KERNELS = 200  # so many are kept: one for each of a user's agents, worlds and edits
_CODE = ".code"  # ends the names of files

_HERE = Path(__file__).resolve().parent
KERNEL = "kernel"  # in the name of machine code that can be run by itself


@functools.cache
def cache_folder() -> Path:
    """Return the folder for the machine code of exactly this source, created if necessary."""
    root = Path(os.environ.get("SOJOURN_CACHE_DIR") or _users_caches() / "sojourn").absolute()
    # What is compiled without some shortcuts (`bridge.is_plain`) is other machine code.
    without = re.findall(r"\w+", os.environ.get(PLAIN, ""))
    folder = root / "-".join(["kernels", compiled_digest(), *sorted(without)])
    root.parent.mkdir(parents=True, exist_ok=True)
    for place in (root, folder):
        place.mkdir(mode=0o700, exist_ok=True)
        _refuse_shared(place, root)
    # They may be read-only, or another process may be removing things, too.
    with contextlib.suppress(OSError):
        os.utime(folder)
        _remove_old(root, folder)
    return folder


def _users_caches() -> Path:
    """Return where programs keep what they can make again."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # as in a container whose user has no name
        raise OSError("there is no home folder to keep machine code in") from None


def _remove_old(root: Path, folder: Path) -> None:
    """Remove the folders of sources that nobody has used for a month, and what killed writers left behind."""
    day_ago = time.time() - 24 * 3600
    for other in root.glob("kernels-*"):
        if other.stat().st_mtime < day_ago - 29 * 24 * 3600:
            shutil.rmtree(other, ignore_errors=True)
    for file in folder.iterdir():
        if not file.name.endswith(_CODE) and file.stat().st_mtime < day_ago:
            file.unlink(missing_ok=True)


class SharedFolderError(OSError):
    """Raised for a folder into which others could have put machine code of their own."""


def _refuse_shared(place: Path, root: Path) -> None:
    """Refuse a folder that others own or can write to: Numba would run whatever they put there."""
    found = place.stat() if place == root else place.lstat()
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if place == root and found.st_mode & stat.S_ISVTX:  # as in /tmp, nobody can move what is ours
        others = 0
    theirs = found.st_uid not in (os.geteuid(), 0) or not stat.S_ISDIR(found.st_mode)
    if others or theirs:
        raise SharedFolderError(
            f"{place} {'belongs to somebody else' if theirs else 'can be written to by others'}, so machine code "
            "is neither kept nor looked for there, and everything is compiled again; set SOJOURN_CACHE_DIR to a folder of "
            f"your own{'' if theirs else ', or forbid others to write to this one (chmod go-w)'}"
        )


# --- This package's source ---------------------------------------------------------------


@functools.cache
def source_digest() -> str:
    """Return a hash of this package's source."""
    return _digest(PACKAGE.rglob("*.py"))


@functools.cache
def compiled_digest() -> str:
    """Return a hash of the files of this package that machine code is made from."""
    return _digest(compiled_files())


def _digest(files: Iterable[Path]) -> str:
    return hash_of_files({path.relative_to(PACKAGE).as_posix(): path for path in files})


def hash_of_files(files: Mapping[str, Path]) -> str:
    """Return a hash of files and their names."""
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


_HAS_RULES = re.compile(r"^@(kernel|rule|inlined|compiled_apart|[\w.]+\.register)\b", re.MULTILINE)
_IMPORTS = re.compile(r"^\s*from sojourn\.?([\w.]*) import ([\w, ]+|\([^)]*\))", re.MULTILINE)


def compiled_files() -> set[Path]:
    """Return the files of this package that machine code is made from.

    These are the files with rules or kernels, everything that those import, since a function can reach nothing else, and
    what compiles them. After an edit anywhere else, all machine code can still be used.
    """
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found: set[Path] = set()
    waiting = [path for path, source in sources.items() if _HAS_RULES.search(source) or _HERE in path.parents]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [other for other in _imported(sources[path]) if other in sources]
    return found


def _imported(source: str) -> Iterator[Path]:
    """Yield the files that a source may import from this package."""
    for module, names in _IMPORTS.findall(source):
        place = PACKAGE.joinpath(*module.split(".")) if module else PACKAGE
        yield from (place.with_suffix(".py"), place / "__init__.py")
        yield from (place / f"{name}.py" for name in re.findall(r"\w+", names))


# --- What is kept -------------------------------------------------------------------

_open = threading.local()  # the folder to keep code in, while this thread compiles
_warned = threading.Event()


@contextlib.contextmanager
def kept_on_disk() -> Iterator[None]:
    """Keep everything compiled in this context in the folder of this source, if there can be one."""
    _open.folder = None
    try:
        _open.folder = cache_folder()
    except OSError as error:
        warn_once(error)
    try:
        yield
    finally:
        _open.folder = None


def open_folder() -> Path | None:
    """Return the folder to keep code in, inside `kept_on_disk`, or None."""
    return getattr(_open, "folder", None)


def warn_once(reason: str | OSError) -> None:
    """Say why code is compiled again, once per process, however many files are concerned; an error is one of writing."""
    if _warned.is_set():
        return
    _warned.set()
    if isinstance(reason, OSError) and not isinstance(reason, SharedFolderError):
        reason = (
            f"machine code cannot be kept ({reason}), so every process compiles again; make room or give rights there, "
            "or set SOJOURN_CACHE_DIR to another folder of your own"
        )
    warnings.warn(str(reason), RuntimeWarning, stacklevel=3)


def name_on_disk(function: Function, key: str) -> str:
    """Return the name of a file with a function's machine code; the key tells machines and versions apart."""
    return f"{function.__module__}.{function.__qualname__}-{key}{_CODE}"


def is_on_disk(function: Function) -> bool:
    """Whether there is machine code on disk for a function, or for a copy of it named after what it is compiled for."""
    try:
        return any(cache_folder().glob(name_on_disk(function, "*")))
    except OSError:
        return False


_MAIN = "__sojourn_main__"  # the name of the main program in machine code on disk


@contextlib.contextmanager
def main_found_again(classes: Iterable[type]) -> Iterator[None]:
    """Let another process that reads the machine code find the classes of the main program by name.

    Numba would store a class of `__main__` as a copy, which in another process is another class.
    """
    own = [cls for cls in classes if cls.__module__ == "__main__"]
    sys.modules[_MAIN] = sys.modules["__main__"]
    try:
        for cls in own:
            cls.__module__ = _MAIN
        yield
    finally:
        for cls in own:
            cls.__module__ = "__main__"


def remove_oldest(folder: Path) -> None:
    """Remove the oldest machine code of users' rules, since every edit of a rule makes a new kernel."""
    with contextlib.suppress(OSError):  # another process may be removing it too
        files = [(path.stat().st_mtime, path) for path in folder.glob("*kernel-of-users*")]
        for _, path in sorted(files)[:-_USERS_KERNELS]:
            path.unlink(missing_ok=True)


def can_be_kept(function: Function, signature: Iterable[Numba]) -> bool:
    """Whether a part of a kernel can be kept: the function and all types that it works on are ours."""
    ours = all(
        cls.__module__.partition(".")[0] == __package__.partition(".")[0] for cls in _classes(signature)
    )
    return open_folder() is not None and is_ours(function) and ours


def part_copy(function: Function, signature: Iterable[Numba]) -> Function | None:
    """Return a part of a kernel under its name on disk, or None if it cannot be kept.

    With the parts on disk, a new agent or world compiles in half the time.
    """
    kept = can_be_kept(function, signature) and not is_plain("files")
    return named_copy(function, signature, "part") if kept else None


def named_copy(function: Function, signature: Iterable[Numba], use: str) -> Function:
    """Return a copy of a function whose name says what it is compiled for: its use, and the types.

    There is one file for each name. And code that was compiled as a part of a kernel cannot be called from Python.
    """
    signature = tuple(signature)
    told = [*map(str, signature), *(f"{cls.__module__}.{cls.__qualname__}" for cls in _classes(signature))]
    digest = hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__qualname__ = f"{function.__qualname__}-{use}-{digest}"
    copy.__module__ = function.__module__
    return copy


def _classes(signature: Iterable[Numba]) -> Iterator[type]:
    """Yield the classes of the named tuples in a signature, including those inside others."""
    for kind in signature:
        if hasattr(kind, "instance_class"):
            yield kind.instance_class
        yield from _classes(getattr(kind, "types", ()))


def keep(dispatcher: Numba, users: bool = False) -> None:
    """Let Numba keep the machine code of a function of ours, if there is a folder; with users' rules, only the newest is kept."""
    folder, function = open_folder(), dispatcher.py_func
    if folder is None or not is_ours(function) or is_plain("files"):
        return
    from sojourn.rules.jit.code_files import CodeFile

    dispatcher._cache = CodeFile(function, lambda key: folder / name_on_disk(function, key), warn_once)
    if users:
        remove_oldest(folder)
