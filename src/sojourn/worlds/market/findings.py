"""What is wrong with the rows of a file of bars, and what is done about it: the rules of docs/bars.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.worlds.market.bar_files import BLANK, RAGGED, TEXT, UNTIMED, UNTRADED, WRONG

_REFUSED = {
    RAGGED: "line with more or fewer fields than the header",
    UNTIMED: "timestamp that cannot be read",
    TEXT: "text instead of a price",
    WRONG: "price that is zero, negative or infinite",
}
_DROPPED = {BLANK: "blank line", UNTRADED: "minute without a close"}


@dataclass(frozen=True)
class Finding:
    """Something in a file that is not as it should be, and what was done about it."""

    what: str  # such as "duplicate timestamp"
    count: int
    first: str  # where the first of them is
    remedy: str  # what was done, or what it means
    dropped: int = 0  # rows of the file that are not bars for this reason
    filled: int = 0  # bars that are in no row of the file


@dataclass(frozen=True)
class Sheet:
    """The findings in one file, and how to say where they are."""

    path: Path
    word: str  # "line" for a CSV file, "row" for others
    offset: int  # the number of the first row
    findings: list[Finding]

    def place(self, row: int, at: float | None = None) -> str:
        """Return the name of a row in messages."""
        number = f"{self.word} {row + self.offset:,}"
        return number if at is None else f"{number} ({moment(at)})"

    def note(
        self, what: str, found: Flags, row: Ints, at: Floats | Ints, remedy: str, drop: bool = False
    ) -> None:
        """Report the rows that are marked in `found`, if there are any."""
        if count := int(np.count_nonzero(found)):
            first = np.argmax(found)
            place = self.place(row[first], at[first])
            self.findings.append(Finding(what, count, place, remedy, dropped=count if drop else 0))


def judge(sheet: Sheet, firsts: Mapping[str, dict[str, Any]], kind: Ints, repair: bool) -> None:
    """Report the rows that are not bars, or refuse the file because of them."""
    wrong = []
    for code, what in (_DROPPED | _REFUSED).items():
        found = np.flatnonzero(kind == code)
        if not found.size:
            continue
        first = firsts[str(code)]
        place = sheet.place(found[0], first["at"] if code not in (BLANK, RAGGED) else None)
        if code in _REFUSED:
            place += f": {_fault(first)}"
            wrong.append(f"{what}, {_times(found.size)}, first in {place}")
        remedy = "dropped" if code == BLANK else "dropped: a missing minute"
        sheet.findings.append(Finding(what, found.size, place, remedy, dropped=found.size))
    if wrong and not repair:
        advice = "correct the file, or set --repair (repair=True) to count such rows as missing minutes"
        raise ValueError(f"{sheet.path}: {'; '.join(wrong)}; {advice}")


def _fault(row: dict[str, Any]) -> str:
    """Return the part of a row that is wrong."""
    if row["kind"] == RAGGED:
        return f"it has {row['fields']}"
    if row["kind"] == UNTIMED:
        if row["at_text"] is not None:
            return f"it is {row['at_text'][:40]!r}"
        return "it is missing" if row["number"] is None else f"it is {row['number']}"
    for side in ("close", "open"):
        text, number = row[f"{side}_text"], row[side]
        if row["kind"] == TEXT and text is not None:
            return f"{side} is {text[:40]!r}"
        if row["kind"] == WRONG and number is not None and not 0.0 < number < np.inf:
            return f"{side} is {number}"
    raise AssertionError(f"nothing is wrong with {row}")


def repeated(sheet: Sheet, row: Ints, at: Ints, opening: Floats, close: Floats) -> Flags:
    """Return which rows repeat the one before them; refuse those that contradict it."""
    again = np.concatenate(([False], at[1:] == at[:-1]))
    same_open = (opening[1:] == opening[:-1]) | (np.isnan(opening[1:]) & np.isnan(opening[:-1]))
    differs = again & ~np.concatenate(([True], same_open & (close[1:] == close[:-1])))
    if differs.any():
        one = int(np.argmax(differs))
        places = f"{sheet.place(row[one - 1])} and {sheet.place(row[one], at[one])}"
        raise ValueError(
            f"{sheet.path}: one timestamp with different prices, {_times(int(np.count_nonzero(differs)))}, "
            f"first in {places}; keep only the right row for each timestamp"
        )
    sheet.note(
        "duplicate timestamp", again, row, at, "the prices are the same: the later is dropped", drop=True
    )
    return again


def fill_gaps(
    sheet: Sheet, row: Ints, at: Ints, opening: Floats, close: Floats, fill: int
) -> tuple[Ints, Floats, Floats]:
    """Report gaps and bars off the grid, and fill the gaps that are short enough."""
    if len(at) < 2:
        return at, opening, close
    step = np.diff(at)
    interval = most_common(step)
    phase = most_common(at % interval)
    sheet.note(f"timestamp off the grid of {interval} s", at % interval != phase, row, at, "kept as it is")

    # The points of the grid between two bars; bars off the grid that follow closely leave no gap.
    cell = (at - phase) // interval
    between = np.where(step > interval, (at[1:] - phase - 1) // interval - cell[:-1], 0)
    gaps = np.flatnonzero(between > 0)
    if not gaps.size:
        return at, opening, close
    short = gaps[between[gaps] <= fill]
    filled, missing = int(between[short].sum()), int(between.sum())
    longest = gaps[np.argmax(between[gaps])]
    number = f"{gaps.size:,} {'gap' if gaps.size == 1 else 'gaps'}"
    remedy = f"{number}, the longest of {between[longest]:,} after {sheet.place(row[longest], at[longest])}; "
    remedy += (
        f"{filled:,} filled with the close before" if filled else "none filled: bars just follow each other"
    )
    place = f"after {sheet.place(row[gaps[0]], at[gaps[0]])}"
    sheet.findings.append(Finding("missing bar", missing, place, remedy, filled=filled))

    copies = np.ones(len(at), dtype=np.int64)
    copies[short] += between[short]
    source = np.repeat(np.arange(len(at)), copies)
    nth = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)  # 0 for the bar itself
    added = nth > 0
    times = np.where(added, (cell[source] + nth) * interval + phase, at[source])
    return times, np.where(added, close[source], opening[source]), close[source]


def most_common(numbers: Ints) -> int:
    """Return the most common of some numbers, the smallest if there are several."""
    return int(pl.Series(numbers).mode().min())  # type: ignore[arg-type]


def moment(seconds: float) -> str:
    """Return a time in readable form, in UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
