"""Atomic files, with concurrent and malicious writers."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest

from sojourn.data.files import (
    is_leftover,
    open_to_append,
    own_folder,
    remove_leftovers,
    write_text,
    write_whole,
)


def test_two_writers_of_one_file_do_not_collide(tmp_path: Path) -> None:
    """Each writes under its own temporary name; the final file is complete and comes from one of them."""
    path, both_at_it = tmp_path / "table.csv", threading.Barrier(2)
    names: list[Path] = []

    def write(text: str) -> None:
        def slowly(handle: BinaryIO) -> None:
            handle.write(text[:5].encode())
            both_at_it.wait(timeout=10)
            names.extend(tmp_path.iterdir())
            both_at_it.wait(timeout=10)
            handle.write(text[5:].encode())

        write_whole(path, slowly)

    texts = ["a" * 10, "b" * 10]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, texts))
    assert len(set(names)) == 2
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    """Whatever goes wrong while writing, the earlier file stays and the temporary one is removed."""
    path = tmp_path / "kept.txt"
    write_text(path, "old")

    def fail(handle: BinaryIO) -> None:
        handle.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"kept\.txt could not be written: No space left on device$"):
        write_whole(path, fail)

    def stop(handle: BinaryIO) -> None:
        handle.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, stop)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_leftovers_are_recognised_by_name(tmp_path: Path) -> None:
    """Only the temporary files of the named file are removed, including those of earlier versions."""
    path = tmp_path / "a.txt"
    seen: list[Path] = []

    def write(handle: BinaryIO) -> None:
        seen.extend(tmp_path.iterdir())

    write_whole(path, write)
    assert is_leftover(seen[0])
    assert not is_leftover(path)
    others = [tmp_path / ".b.txt.1234.partial", tmp_path / "a.txt.partial", tmp_path / ".a.txt"]
    for left in (seen[0], tmp_path / ".a.txt.partial", *others):
        left.touch()
    remove_leftovers(path)
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    """A file whose name has 255 bytes can be written, although its temporary name cannot be longer."""
    path = tmp_path / ("é" * 127 + "x")
    write_text(path, "long")
    assert path.read_text() == "long"
    with pytest.raises(OSError, match="too long"):
        write_text(tmp_path / ("x" * 256), "longer")


def test_links_cannot_redirect_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links planted at a file's path, its temporary name, a log or a folder cannot redirect a write."""
    outside, folder = tmp_path / "outside.txt", tmp_path / "out"
    outside.write_text("mine")
    folder.mkdir()
    (folder / "report.html").symlink_to(outside)
    write_text(folder / "report.html", "page")
    assert (folder / "report.html").read_text() == "page"
    assert not (folder / "report.html").is_symlink()
    monkeypatch.setattr("secrets.token_hex", lambda _: "00")  # somebody has guessed the name
    (folder / ".table.csv.00.partial").symlink_to(outside)
    with pytest.raises(OSError, match="could not be written: File exists"):
        write_text(folder / "table.csv", "1,2")
    (folder / "sweep.log").symlink_to(outside)
    (folder / "hard.log").hardlink_to(outside)
    (folder / "new.log").symlink_to(tmp_path / "made.txt")
    for name in ("sweep.log", "hard.log", "new.log"):
        with pytest.raises(OSError, match=f"{name} is a link to another place"):
            open_to_append(folder / name)
    (folder / "figures").symlink_to(tmp_path)
    with pytest.raises(OSError, match="figures is a link to another place"):
        own_folder(folder / "figures")
    assert outside.read_text() == "mine"
    assert not (tmp_path / "made.txt").exists()


def test_only_regular_files_are_appended_to(tmp_path: Path) -> None:
    """A pipe without a reader, and a folder, are refused at once; a regular file is appended to."""
    os.mkfifo(tmp_path / "sweep.log")
    with pytest.raises(OSError, match=r"sweep\.log"):
        open_to_append(tmp_path / "sweep.log")
    with pytest.raises(OSError, match="Is a directory"):
        open_to_append(tmp_path)
    for line in ("one\n", "two\n"):
        with open_to_append(tmp_path / "grows.log") as log:
            log.write(line)
    assert (tmp_path / "grows.log").read_text() == "one\ntwo\n"


def test_a_swapped_name_cannot_redirect_a_write(tmp_path: Path) -> None:
    """Data goes to the file that was opened, even if its name is replaced by a link in the meantime."""
    outside, path = tmp_path / "outside.txt", tmp_path / "out" / "table.csv"
    outside.write_text("mine")
    path.parent.mkdir()

    def swapped(handle: BinaryIO) -> None:
        (partial,) = path.parent.iterdir()
        partial.unlink()
        partial.symlink_to(outside)
        handle.write(b"half")

    write_whole(path, swapped)
    assert outside.read_text() == "mine"
