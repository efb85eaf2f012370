"""How often a promise was tried, and how often it failed: what evidence counts, prints and keeps.

A long test says it through the fixture `counted`, as often as it likes:

    @pytest.mark.evidence
    def test_killed_at_random_moments(counted: Counted) -> None:
        ...
        counted("kills of sweep", tried=1000, failed=0)

Counts of one name are added up. `make evidence` prints them at its end and writes them to docs/data/evidence.json,
from which the page on promises takes its figures (docs/promises.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeAlias

KEPT = Path(__file__).resolve().parents[1] / "docs" / "data" / "evidence.json"
PROPERTY = "counted"  # of a test's report, which pytest carries from its workers to where it is summed up

Counts: TypeAlias = dict[str, dict[str, int]]


class Counted(Protocol):
    """The fixture: counts what a test has tried, and fails the test if any of it failed."""

    def __call__(self, promise: str, *, tried: int, failed: int) -> None:
        """Count so many trials of a promise, and how many of them failed."""


def counter(record: Callable[[str, object], None]) -> Counted:
    """Return a function that records counts, and fails the test that counts a failure."""

    def count(promise: str, *, tried: int, failed: int) -> None:
        record(PROPERTY, [promise, tried, failed])
        assert tried > 0, f"{promise}: nothing was tried"
        assert failed == 0, f"{promise}: {failed} of {tried} failed"

    return count


def added_up(found: Iterable[tuple[str, int, int]]) -> Counts:
    """Return the counts of each promise, by name.

    >>> added_up([("kills of sweep", 3, 0), ("kills of train", 1, 0), ("kills of sweep", 4, 1)])
    {'kills of sweep': {'tried': 7, 'failed': 1}, 'kills of train': {'tried': 1, 'failed': 0}}
    """
    counts: Counts = {}
    for promise, tried, failed in sorted(found):
        sums = counts.setdefault(promise, {"tried": 0, "failed": 0})
        sums["tried"] += tried
        sums["failed"] += failed
    return counts


def lines(counts: Counts) -> list[str]:
    r"""Return a table for the terminal.

    >>> print(*lines({"kills of sweep": {"tried": 1000, "failed": 0}}), sep="\n")
    promise            tried   failed
    kills of sweep     1,000        0
    """
    width = max(map(len, counts), default=0)
    head = f"{'promise':{width}} {'tried':>9} {'failed':>8}"
    return [
        head,
        *(f"{name:{width}} {sums['tried']:9,} {sums['failed']:8,}" for name, sums in counts.items()),
    ]


def keep(counts: Counts, path: Path = KEPT, *, whole: bool) -> None:
    """Write counts and today's date to the file; those of a part of the evidence replace their own entries only."""
    known = {} if whole or not path.exists() else json.loads(path.read_text(encoding="utf-8"))
    today = {
        promise: {**sums, "on": datetime.now(UTC).date().isoformat()} for promise, sums in counts.items()
    }
    path.write_text(json.dumps(known | today, indent=1, sort_keys=True) + "\n", encoding="utf-8")
