"""Where machine code is kept on disk: in a folder of the user's own that belongs to this very source."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import time
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


@functools.cache
def cache_folder() -> Path:
    """Return the folder for the machine code of this very source, made if necessary."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(os.environ.get("SOJOURN_CACHE_DIR") or Path(home) / "sojourn")
    folder = root / f"kernels-{source_digest()}"
    root.parent.mkdir(parents=True, exist_ok=True)
    for place in (root, folder):
        place.mkdir(mode=0o700, exist_ok=True)
        _refuse_shared(place, root)
    os.utime(folder)
    month_ago = time.time() - 30 * 24 * 3600
    for other in root.glob("kernels-*"):
        with contextlib.suppress(OSError):  # another process may be removing it too
            if other.stat().st_mtime < month_ago:
                shutil.rmtree(other, ignore_errors=True)
    return folder


class SharedFolderError(OSError):
    """A folder of machine code that others could have put theirs into."""


def _refuse_shared(place: Path, root: Path) -> None:
    """Refuse a folder that others own or can write to: Numba would run whatever they put there."""
    found = place.stat() if place == root else place.lstat()
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if place == root and found.st_mode & stat.S_ISVTX:  # as in /tmp, nobody can move what is ours
        others = 0
    theirs = found.st_uid not in (os.geteuid(), 0) or not stat.S_ISDIR(found.st_mode)
    if others or theirs:
        raise SharedFolderError(
            f"{place} {'belongs to somebody else' if theirs else 'can be written to by others'}, so that machine code "
            "is neither kept nor looked for there and all is compiled anew; give SOJOURN_CACHE_DIR a folder of your "
            f"own{'' if theirs else ', or take the right to write from the others (chmod go-w)'}"
        )


@functools.cache
def source_digest() -> str:
    """Return a hash of this package's source."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
