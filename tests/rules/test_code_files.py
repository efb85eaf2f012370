"""Machine code on disk: whatever happens to it, a program still gives its numbers."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counting import Counted
from sojourn.rules.jit import cache, code_files
from sojourn.rules.kernel import kernel
from sojourn.rules.random import unit

# A kernel that is compiled in a moment, and says whether its numbers are right.
RUN = "import sojourn as sj; print(sj.agents.policy(sj.smart(3, 4, initial=[[0, 2, 1, 0], [0, 0, 0, 1], [5, 4, 3, 2]])))"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, in a process that has not warned yet."""
    monkeypatch.setenv("SOJOURN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "cache_folder", functools.cache(cache.cache_folder.__wrapped__))
    monkeypatch.setattr(cache, "_warned", threading.Event())
    return cache.cache_folder()


def found(number: int = 5) -> tuple[float, int]:
    """Return the result of a kernel that this process has not compiled, and whether its code was found on disk."""
    fresh: Any = kernel(inspect.unwrap(unit))  # without the door that explains wrong arguments
    said = fresh(np.uint64(number))
    (jit,) = fresh._dispatchers.values()
    return said, len(jit.stats.cache_hits)


def the_file(folder: Path) -> Path:
    (path,) = (path for path in folder.iterdir() if ".unit-kernel-" in path.name)
    return path


def child(cache: Path, code: str = RUN) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )


def flipped(data: bytes, bit: int) -> bytes:
    return data[: bit // 8] + bytes([data[bit // 8] ^ (1 << bit % 8)]) + data[bit // 8 + 1 :]


def replaced(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "cut in the hash": lambda path: path.write_bytes(path.read_bytes()[:20]),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\x80\x04garbage" * 100),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "flipped in the hash": lambda path: path.write_bytes(flipped(path.read_bytes(), 5)),
    "flipped in the pickle": lambda path: path.write_bytes(flipped(path.read_bytes(), 8 * 40)),
    "flipped in the machine code": lambda path: path.write_bytes(
        flipped(path.read_bytes(), 8 * (path.read_bytes().index(b"\x7fELF") + 100))
    ),
    "of another name": lambda path: path.write_bytes(
        code_files._hash_of(path.with_name("other"), path.read_bytes()[32:]) + path.read_bytes()[32:]
    ),
    "a pipe": lambda path: replaced(path, os.mkfifo),
    "a link": lambda path: replaced(path, lambda gone: gone.symlink_to(gone.parent)),
    "a folder": lambda path: replaced(path, Path.mkdir),
    "written to by others": lambda path: path.chmod(0o622),
    "not a pickle": lambda path: path.write_bytes(code_files._hash_of(path, b"no") + b"no"),
    "a pickle of something else": lambda path: path.write_bytes(code_files._hash_of(path, b"N.") + b"N."),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_machine_code_costs_a_compilation(damage: str, folder: Path) -> None:
    """One warning names the file, the number is right, and the repaired file is found from then on."""
    right = found()
    assert (right[1], found()) == (0, (right[0], 1))
    path = the_file(folder)
    DAMAGES[damage](path)
    with pytest.warns(RuntimeWarning) as said:
        assert found() == right
    assert found()[0] == right[0], "and no second warning, which would be an error here"
    assert [str(path) in str(one.message) for one in said] == [True]
    assert found()[1] == (damage != "a folder"), "the file is written anew, where it can be"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_planted_file_is_not_read(folder: Path) -> None:
    """A file planted while a folder was writable by others is not run after the permissions are fixed."""
    right = found()
    os.chown(the_file(folder), 12345, -1)
    with pytest.warns(RuntimeWarning, match="another user may have written it"):
        assert found() == right


def test_a_damaged_kernel_does_not_end_a_program(tmp_path: Path) -> None:
    """A program whose cached files are all damaged gives the same output after one warning, and repairs them."""
    first = child(tmp_path)
    for path in tmp_path.rglob("*.code"):
        path.write_bytes(flipped(path.read_bytes(), 8 * 1000))
    second, third = child(tmp_path), child(tmp_path)
    assert first.stdout == second.stdout == third.stdout != ""
    assert [done.stderr.count("Warning") for done in (first, second, third)] == [0, 1, 0]


def test_a_full_disk_costs_only_time(tmp_path: Path) -> None:
    """If files cannot be written, a program runs after one warning, and leaves no partial files behind."""
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    done = child(tmp_path, full + RUN)
    assert (done.stdout, done.stderr.count("Warning")) == (child(tmp_path).stdout, 1)
    assert "machine code cannot be kept" in done.stderr
    assert "File too large" in done.stderr
    done = child(tmp_path, "import pathlib\n" + full + RUN)
    assert done.stderr == "", "what is there can still be read"


def test_machine_code_is_read_from_a_folder_that_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a read-only disk, cached code is used silently; anything else is compiled, with one warning."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    right = found()
    for module, name in ((os, "utime"), (code_files, "_write_own")):
        monkeypatch.setattr(module, name, refuse)
    cache.cache_folder.cache_clear()
    assert found() == (right[0], 1)
    the_file(folder).unlink()
    with pytest.warns(RuntimeWarning, match=r"cannot be kept \(.*Read-only file system\)") as said:
        assert found() == right
    assert found() == right, "and no second warning, which would be an error here"
    assert len(said) == 1


def test_a_program_that_is_killed_while_it_writes_leaves_nothing_half_written(tmp_path: Path) -> None:
    """A cached file is complete or absent, and temporary files are removed a day later."""
    killed = child(
        tmp_path,
        "import os, pathlib, signal\n"
        "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n" + RUN,
    )
    assert killed.returncode == -signal.SIGKILL
    (left,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert left.suffix == ".partial"
    again = child(tmp_path)
    assert again.stderr == ""
    assert left.exists(), "another process may be writing it now"
    os.utime(left, (0.0, time.time() - 25 * 3600))
    assert child(tmp_path).stdout == again.stdout
    assert not left.exists()


def test_two_programs_can_compile_at_once(tmp_path: Path) -> None:
    """Two processes that compile the same function at once both give the right numbers, and a third can use the result."""
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", RUN],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(2)
    ]
    said = [one.communicate(timeout=120) for one in both]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.code")}
    third = child(tmp_path)
    assert {*said} == {(third.stdout, "")}
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.code")} != {}


@pytest.mark.parametrize("home", ["none", "a file"])
def test_without_a_home_folder_nothing_is_cached(
    home: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without a home folder, as in a container, gets one warning and the right numbers."""
    cache.cache_folder.cache_clear()
    monkeypatch.delenv("SOJOURN_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "file").write_text("")

    def place() -> Path:
        if home == "none":
            raise RuntimeError("Could not determine home directory.")
        return tmp_path / "file"

    monkeypatch.setattr(Path, "home", place)
    with pytest.warns(RuntimeWarning, match="machine code cannot be kept .*SOJOURN_CACHE_DIR") as said:
        assert found() == found()
    assert len(said) == 1


def test_a_relative_folder_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that changes its working directory keeps finding its machine code."""
    monkeypatch.setenv("SOJOURN_CACHE_DIR", "cache")
    monkeypatch.chdir(tmp_path)
    assert tmp_path in cache.cache_folder.__wrapped__().parents


@pytest.mark.evidence
def test_no_damage_to_machine_code_goes_unnoticed(folder: Path, counted: Counted) -> None:
    """None of thousands of files with flipped bits, truncations or swapped bytes is accepted as machine code."""
    found()
    path, chance = the_file(folder), random.Random(28)
    right = path.read_bytes()
    failed = tried = 0
    for tried in range(1, 20_001):
        place = chance.randrange(len(right))
        match tried % 4:
            case 0:
                damaged = right[:place]
            case 1:
                damaged = right[:place] + chance.randbytes(64) + right[place + 64 :]
            case _:
                damaged = flipped(right, 8 * place + chance.randrange(8))
        path.write_bytes(damaged)
        try:
            code_files._read_own(path)
            failed += damaged != right
        except ValueError:
            pass
    counted("damaged files of machine code", tried=tried, failed=failed)


@pytest.mark.evidence
def test_no_damage_to_machine_code_ends_a_program(tmp_path: Path, counted: Counted) -> None:
    """Whatever is damaged on disk, and whenever a program is killed, the next one gives the same output as the first."""
    right, chance, failed = child(tmp_path).stdout, random.Random(28), 0
    for _ in range(60):
        files = sorted(path for path in tmp_path.rglob("*.code"))
        for path in chance.sample(files, 5):
            data = path.read_bytes()
            place = chance.randrange(len(data))
            path.write_bytes(flipped(data, 8 * place) if chance.random() < 0.7 else data[:place])
        killed = subprocess.Popen(
            [sys.executable, "-c", RUN],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path)},
        )
        time.sleep(chance.uniform(0.2, 1.2))
        killed.kill()
        killed.wait()
        failed += child(tmp_path).stdout != right
    counted("programs with damaged machine code", tried=60, failed=failed)
