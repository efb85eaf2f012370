"""Files that are there whole or not at all, whoever else writes them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sojourn.rules.files import is_leftover, remove_leftovers, write_text, write_whole


def test_two_writers_of_one_file_do_not_collide(tmp_path: Path) -> None:
    """Each writes under a name of its own; the file is in the end that of one of them, whole."""
    path, both_at_it = tmp_path / "table.csv", threading.Barrier(2)
    names = []

    def write(text: str) -> None:
        def slowly(partial: Path) -> None:
            names.append(partial)
            partial.write_text(text[:5])
            both_at_it.wait(timeout=10)
            partial.write_text(text)

        write_whole(path, slowly)

    texts = ["a" * 10, "b" * 10]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, texts))
    assert len(set(names)) == 2
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    """Whatever goes wrong while writing, the earlier file stays and the temporary one goes."""
    path = tmp_path / "kept.txt"
    write_text(path, "old")

    def fail(partial: Path) -> None:
        partial.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"kept\.txt could not be written: No space left on device$"):
        write_whole(path, fail)

    def stop(partial: Path) -> None:
        partial.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, stop)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_leftovers_are_told_by_their_name(tmp_path: Path) -> None:
    """Only the temporary files of the named file are removed, those of earlier versions included."""
    path = tmp_path / "a.txt"
    seen: list[Path] = []

    def write(partial: Path) -> None:
        seen.append(partial)
        partial.touch()

    write_whole(path, write)
    assert is_leftover(seen[0])
    assert not is_leftover(path)
    others = [tmp_path / ".b.txt.1234.partial", tmp_path / "a.txt.partial", tmp_path / ".a.txt"]
    for left in (seen[0], tmp_path / ".a.txt.partial", *others):
        left.touch()
    remove_leftovers(path)
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    """A name of 255 bytes leaves no room for a longer temporary one, and needs none."""
    path = tmp_path / ("é" * 127 + "x")
    write_text(path, "long")
    assert path.read_text() == "long"
    with pytest.raises(OSError, match="too long"):
        write_text(tmp_path / ("x" * 256), "longer")
