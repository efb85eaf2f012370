"""Caches machine code on disk, in a private folder of the user for exactly one version of the source.

Kernels are cached, and so are those of their parts that hold only our code, so that a new agent or world compiles
only what is new about it. A kernel with a user's rules is cached if it has a `fingerprint`.

The cache only saves time. If a file is damaged or may be another user's, or if nothing can be written, the code is
compiled again, and one warning says so.
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

_USERS_KERNELS = 200  # kernels kept at most: one for each of a user's agents, worlds and edits
_CODE = ".code"  # the suffix of cached files

_HERE = Path(__file__).resolve().parent
KERNEL = "kernel"  # marks machine code that can be run by itself


@functools.cache
def cache_folder() -> Path:
    """Return the cache folder for exactly this source, created if necessary."""
    root = Path(os.environ.get("SOJOURN_CACHE_DIR") or _users_caches() / "sojourn").absolute()
    # Code compiled without some of the shortcuts (`bridge.is_plain`) is different machine code.
    without = re.findall(r"\w+", os.environ.get(PLAIN, ""))
    folder = root / "-".join(["kernels", compiled_digest(), *sorted(without)])
    root.parent.mkdir(parents=True, exist_ok=True)
    for place in (root, folder):
        place.mkdir(mode=0o700, exist_ok=True)
        _refuse_shared(place, root)
    # They may be read-only, or another process may be removing them.
    with contextlib.suppress(OSError):
        os.utime(folder)
        _remove_old(root, folder)
    return folder


def _users_caches() -> Path:
    """Return the user's cache folder."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # as in a container whose user has no entry in the password file
        raise OSError("there is no home folder to keep machine code in") from None


def _remove_old(root: Path, folder: Path) -> None:
    """Remove folders that have not been used for a month, and temporary files of killed writers."""
    day_ago = time.time() - 24 * 3600
    for other in root.glob("kernels-*"):
        if other.stat().st_mtime < day_ago - 29 * 24 * 3600:
            shutil.rmtree(other, ignore_errors=True)
    for file in folder.iterdir():
        if not file.name.endswith(_CODE) and file.stat().st_mtime < day_ago:
            file.unlink(missing_ok=True)


class SharedFolderError(OSError):
    """Raised for a folder where other users could plant machine code."""


def _refuse_shared(place: Path, root: Path) -> None:
    """Refuse a folder that other users own or can write to: Numba would run whatever they put there."""
    found = place.stat() if place == root else place.lstat()
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if place == root and found.st_mode & stat.S_ISVTX:  # sticky, as /tmp is: nobody else can move our files
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
    """Return a hash of the files of this package that are compiled."""
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
    """Return the files of this package that are compiled.

    These are the files with rules or kernels, everything that they import (a function can reach nothing else),
    and the compiler's own. After an edit anywhere else, all cached code remains valid.
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


# --- What is cached -----------------------------------------------------------------

_open = threading.local()  # the cache folder, while this thread compiles
_warned = threading.Event()


@contextlib.contextmanager
def kept_on_disk() -> Iterator[None]:
    """Cache everything compiled in this context in the folder of this source, if there can be one."""
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
    """Return the cache folder inside `kept_on_disk`, else None."""
    return getattr(_open, "folder", None)


def warn_once(reason: str | OSError) -> None:
    """Warn once per process that code is compiled again, and why; an `OSError` means that it could not be written."""
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
    """Return the file name of a function's machine code; the key identifies the machine and the versions."""
    return f"{function.__module__}.{function.__qualname__}-{key}{_CODE}"


def is_on_disk(function: Function) -> bool:
    """Whether there is machine code on disk for a function, or for a `named_copy` of it."""
    try:
        return any(cache_folder().glob(name_on_disk(function, "*")))
    except OSError:
        return False


_MAIN = "__sojourn_main__"  # what `__main__` is called in machine code on disk


@contextlib.contextmanager
def main_found_again(classes: Iterable[type]) -> Iterator[None]:
    """Let another process find the main program's classes by name when it reads the machine code.

    Numba would pickle a class of `__main__` by value, which makes it a different class in another process.
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
    """Evict the oldest machine code of users' rules, since every edit of a rule makes a new kernel."""
    with contextlib.suppress(OSError):  # another process may be removing it too
        files = [(path.stat().st_mtime, path) for path in folder.glob("*kernel-of-users*")]
        for _, path in sorted(files)[:-_USERS_KERNELS]:
            path.unlink(missing_ok=True)


def can_be_kept(function: Function, signature: Iterable[Numba]) -> bool:
    """Whether a part of a kernel can be cached: the function and all types that it works on are ours."""
    ours = all(
        cls.__module__.partition(".")[0] == __package__.partition(".")[0] for cls in _classes(signature)
    )
    return open_folder() is not None and is_ours(function) and ours


def part_copy(function: Function, signature: Iterable[Numba]) -> Function | None:
    """Return a part of a kernel under its name in the cache, or None if it cannot be cached.

    With the parts on disk, a new agent or world compiles in half the time.
    """
    kept = can_be_kept(function, signature) and not is_plain("files")
    return named_copy(function, signature, "part") if kept else None


def named_copy(function: Function, signature: Iterable[Numba], use: str) -> Function:
    """Return a copy of a function whose name encodes its use and its argument types.

    There is one file per name; and code that was compiled as a part of a kernel cannot be called from Python.
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
    """Let Numba cache a function's machine code, if there is a folder; of code with users' rules, only the newest is kept."""
    folder, function = open_folder(), dispatcher.py_func
    if folder is None or not is_ours(function) or is_plain("files"):
        return
    from sojourn.rules.jit.code_files import CodeFile

    dispatcher._cache = CodeFile(function, lambda key: folder / name_on_disk(function, key), warn_once)
    if users:
        remove_oldest(folder)
