"""Counts of evidence: sums, the table, and the file that the documentation reads."""

from __future__ import annotations

import doctest
import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import counting


def test_the_examples_run() -> None:
    """The module's doctests pass."""
    assert doctest.testmod(counting) == (0, 2)


def test_what_failed_fails_the_test() -> None:
    """A test that counts a failure, or counts nothing, cannot pass; its counts are recorded anyway."""
    recorded: list[object] = []
    counted = counting.counter(lambda _, counts: recorded.append(counts))
    with pytest.raises(AssertionError, match="1 of 3 failed"):
        counted("a promise", tried=3, failed=1)
    with pytest.raises(AssertionError, match="nothing was tried"):
        counted("a promise", tried=0, failed=0)
    assert recorded == [["a promise", 3, 1], ["a promise", 0, 0]]


def test_part_of_the_evidence_keeps_the_rest(tmp_path: Path) -> None:
    """Running one test of the evidence replaces its own entry; running all replaces the file."""
    file = tmp_path / "evidence.json"
    counting.keep(counting.added_up([("a", 1, 0), ("b", 2, 0)]), file, whole=True)
    counting.keep(counting.added_up([("b", 5, 0)]), file, whole=False)
    kept = json.loads(file.read_text())
    assert {promise: (sums["tried"], sums["failed"]) for promise, sums in kept.items()} == {
        "a": (1, 0),
        "b": (5, 0),
    }
    assert all(date.fromisoformat(sums["on"]) <= datetime.now(UTC).date() for sums in kept.values())
    counting.keep(counting.added_up([("c", 1, 0)]), file, whole=True)
    assert list(json.loads(file.read_text())) == ["c"]
