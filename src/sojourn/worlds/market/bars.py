"""Bars: the open and close of an instrument in every interval, read from a file.

A file is CSV (plain or .gz) or Parquet. Whatever is wrong in it is repaired by a documented rule, reported or refused
(docs/bars.md); nothing is changed silently.
"""

from __future__ import annotations

import filecmp
import hashlib
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn.data.child import brief, check_parquet, read_apart
from sojourn.data.files import check_readable, own_folder, write_whole
from sojourn.data.numbers import unmasked, whole
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.door import told
from sojourn.worlds.market.bar_files import (
    BLANK,
    ENDINGS,
    FINE,
    RAGGED,
    TEXT,
    UNTIMED,
    UNTRADED,
    WRONG,
    rows_here,
)

DATASET = "swaptr/bitcoin-historical-data"  # the paper's, on Kaggle

_JUMP = 10.0
_REFUSED = {
    RAGGED: "line with more or fewer fields than the header",
    UNTIMED: "timestamp that cannot be read",
    TEXT: "text instead of a price",
    WRONG: "price that is zero, negative or infinite",
}
_DROPPED = {BLANK: "blank line", UNTRADED: "minute without a close"}


@dataclass(frozen=True)
class Finding:
    """A problem in a file, and what was done about it."""

    what: str  # such as "duplicate timestamp"
    count: int
    first: str  # where the first one is
    remedy: str  # what was done, or what it means
    dropped: int = 0  # rows dropped for this reason
    filled: int = 0  # bars added that are in no row of the file


@told
@dataclass(frozen=True, eq=False)
class Bars:
    """Bars in order of time, every price finite and greater than 0.

    Bars from a file account for every row of it: bars = rows - dropped + filled.

    >>> prices = np.array([4.0, 4.5, 4.5])
    >>> bars = Bars("mine", "", 60 * np.arange(3), open=prices, close=prices[::-1].copy())
    >>> len(bars), bars.interval, bars.dropped, bars.filled
    (3, 60, 0, 0)
    >>> Bars("mine", "", 60 * np.arange(3), open=prices, close=-prices)
    Traceback (most recent call last):
    ValueError: mine: close is -4.0 in bar 0; prices must be finite and greater than 0
    """

    name: str  # of the file, or "synthetic" and the like
    sha256: str  # SHA-256 of the file's bytes, or of the prices if there is no file
    timestamp: Ints  # seconds since 1970, UTC, at the start of the interval
    open: Floats
    close: Floats
    synthetic: bool = False
    findings: list[Finding] = field(default_factory=list)
    rows: int | None = None  # rows of the file, blank lines included; None if there is no file

    def __post_init__(self) -> None:
        """Check the lengths, the order, the prices and the number of bars."""
        unmasked(self.name, (self.timestamp, self.open, self.close))
        if not len(self.timestamp) == len(self.open) == len(self.close):
            raise ValueError(f"{self.name}: timestamp, open and close must have the same length")
        if (backward := np.flatnonzero(np.diff(self.timestamp) <= 0)).size:
            raise ValueError(f"{self.name}: bar {backward[0] + 1} is not later than the one before it")
        for side in ("open", "close"):
            prices = getattr(self, side)
            if (wrong := np.flatnonzero(~((prices > 0.0) & (prices < np.inf)))).size:
                place = f"{side} is {prices[wrong[0]]} in bar {wrong[0]}"
                raise ValueError(f"{self.name}: {place}; prices must be finite and greater than 0")
        if self.rows is not None and self.rows - self.dropped + self.filled != len(self):
            counts = f"{self.rows} rows - {self.dropped} dropped + {self.filled} filled"
            raise ValueError(f"{self.name}: {counts} are not {len(self)} bars; the counts must add up")

    def __len__(self) -> int:
        return len(self.close)

    @property
    def dropped(self) -> int:
        """The number of rows of the file that are not bars."""
        return sum(finding.dropped for finding in self.findings)

    @property
    def filled(self) -> int:
        """The number of bars that were added to fill gaps."""
        return sum(finding.filled for finding in self.findings)

    @cached_property
    def interval(self) -> int:
        """Seconds from bar to bar: the most common number, or the smallest if there are several; 60 for a single bar."""
        return most_common(np.diff(self.timestamp)) if len(self) > 1 else 60


def segments(num_bars: int, length: int) -> list[tuple[int, int]]:
    """Return the start and end of consecutive segments; the last one may be shorter.

    >>> segments(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    num_bars, length = whole("num_bars", num_bars, least=0), whole("length", length)
    return [(begin, min(begin + length, num_bars)) for begin in range(0, num_bars, length)]


@told
def load_bars(path: str | Path, *, fill: int = 0, repair: bool = False) -> Bars:
    r"""Read the bars of a file; the documentation's page on minute bars has the rules.

    Gaps of at most `fill` bars are filled. Rows that cannot be read or have impossible prices are
    an error; with `repair`, they count as missing minutes.

    >>> import tempfile
    >>> text = "timestamp,open,close\n1700000000,10,12\n1700000060,12,11\n1700000180,11,13\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "bars.csv").write_text(text)
    ...     bars = load_bars(Path(folder, "bars.csv"), fill=1)
    >>> bars.close, bars.filled, bars.interval
    (array([12., 11., 11., 13.]), 1, 60)
    """
    return read_bars(Path(path), fill, repair, digest)


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    check_readable(Path(path))
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_bars(path: Path, fill: int, repair: bool, digested: Callable[[str], str]) -> Bars:
    """Read the bars of a file; `digested` returns its SHA-256, which the caller may have cached."""
    fill = whole("fill", fill, least=0)
    table, report = _read(path)
    if report.unended:
        remedy = "kept; if the file was cut off, its last number may be too"
        report.findings.append(Finding("last line without an end", 1, report.place(len(table) - 1), remedy))
    at, unit, opening, close, kind = (
        table[name].to_numpy() for name in ("at", "unit", "open", "close", "kind")
    )
    judge(report, kind, repair)

    row = np.flatnonzero(kind == FINE)
    if not row.size:
        raise ValueError(f"{path} has no row with a timestamp and a close; there is nothing to read")
    exact, opening, close, unit = at[row], opening[row], close[row], unit[row]
    at = np.floor(exact).astype(np.int64)
    if at.min() >= 19_000_000 and at.max() < 22_000_000:
        place = report.place(row[0])
        raise ValueError(
            f"{path}: the timestamps look like dates without dashes ({at[0]} in {place}); "
            "write them as 2012-01-31 or as seconds since 1970"
        )
    usual = unit == most_common(unit)
    report.note("timestamp in another unit", ~usual, row, at, "read by its magnitude")
    report.note("fraction of a second in a timestamp", exact != at, row, at, "cut off")

    report.note("row out of order", at < np.maximum.accumulate(at), row, at, "sorted by timestamp")
    order = np.argsort(at, kind="stable")
    row, at, opening, close = row[order], at[order], opening[order], close[order]
    again = repeated(report, row, at, opening, close)
    row, at, opening, close = row[~again], at[~again], opening[~again], close[~again]

    lacking = np.isnan(opening)
    what = "no open" if report.opens else "no column for the open"
    report.note(what, lacking, row, at, "opens at the close before it, the first bar at its own")
    opening = np.where(lacking, np.concatenate((close[:1], close[:-1])), opening)

    with np.errstate(over="ignore"):
        ratio = close[1:] / close[:-1]
    jumps = np.concatenate(([False], (ratio > _JUMP) | (ratio < 1.0 / _JUMP)))
    report.note(
        f"close more than {_JUMP:g} times the one before, or less than a tenth", jumps, row, at, "kept"
    )

    at, opening, close = fill_gaps(report, row, at, opening, close, fill)
    return Bars(path.name, digested(str(path)), at, opening, close, findings=report.findings, rows=len(table))


def _read(path: Path) -> tuple[pl.DataFrame, FileReport]:
    """Read a file in a child process, since reading may crash, or raise an error that says why it cannot be read."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; sojourn data fetch downloads the paper's data")
    check_readable(path)
    if not path.name.lower().endswith(ENDINGS):
        raise ValueError(
            f"{path} is not a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file; only these are read"
        )
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; fetch or export it again")
    if path.name.lower().endswith(ENDINGS[-1]):
        check_parquet(path)
    table, facts = read_apart(rows_here, path)
    return table, FileReport(path, **facts)


def describe(bars: Bars) -> dict[str, Any]:
    """Return a description of the bars as JSON data."""
    return {
        "name": bars.name,
        "sha256": bars.sha256,
        "rows": bars.rows,
        "dropped": bars.dropped,
        "filled": bars.filled,
        "bars": len(bars),
        "first": moment(bars.timestamp[0]),
        "last": moment(bars.timestamp[-1]),
        "interval": bars.interval,
        "lowest": float(min(bars.open.min(), bars.close.min())),
        "highest": float(max(bars.open.max(), bars.close.max())),
        "unmoved": float(np.mean(bars.open == bars.close)),
        "findings": [asdict(finding) for finding in bars.findings],
    }


# --- What is wrong with the rows of a file, and what is done about it: docs/bars.md -------


@dataclass(frozen=True)
class FileReport:
    """The findings in one file, and what is known about it apart from its numbers."""

    path: Path
    word: str  # "line" for a CSV file, "row" for others
    offset: int  # the line or row number of the first row
    opens: bool  # whether there is a column for the open
    unended: bool  # whether the last number may have been truncated
    firsts: dict[str, dict[str, Any]]  # the first row of each kind that is not a bar
    findings: list[Finding] = field(default_factory=list)

    def place(self, row: int, at: float | None = None) -> str:
        """Return the name of a row in messages."""
        number = f"{self.word} {row + self.offset:,}"
        return number if at is None else f"{number} ({moment(at)})"

    def note(
        self, what: str, found: Flags, row: Ints, at: Floats | Ints, remedy: str, drop: bool = False
    ) -> None:
        """Report the rows marked in `found`, if any."""
        if count := int(np.count_nonzero(found)):
            first = np.argmax(found)
            place = self.place(row[first], at[first])
            self.findings.append(Finding(what, count, place, remedy, dropped=count if drop else 0))


def judge(report: FileReport, kind: Ints, repair: bool) -> None:
    """Report the rows that are not bars, or refuse the file because of them."""
    wrong = []
    for code, what in (_DROPPED | _REFUSED).items():
        found = np.flatnonzero(kind == code)
        if not found.size:
            continue
        first = report.firsts[str(code)]
        place = report.place(found[0], first["at"] if code not in (BLANK, RAGGED) else None)
        if code in _REFUSED:
            place += f": {_fault(first)}"
            wrong.append(f"{what}, {_times(found.size)}, first in {place}")
        remedy = "dropped" if code == BLANK else "dropped: a missing minute"
        report.findings.append(Finding(what, found.size, place, remedy, dropped=found.size))
    if wrong and not repair:
        advice = "correct the file, or set --repair (repair=True) to count such rows as missing minutes"
        raise ValueError(f"{report.path}: {'; '.join(wrong)}; {advice}")


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


def repeated(report: FileReport, row: Ints, at: Ints, opening: Floats, close: Floats) -> Flags:
    """Return which rows repeat the one before them; refuse those that contradict it."""
    again = np.concatenate(([False], at[1:] == at[:-1]))
    same_open = (opening[1:] == opening[:-1]) | (np.isnan(opening[1:]) & np.isnan(opening[:-1]))
    differs = again & ~np.concatenate(([True], same_open & (close[1:] == close[:-1])))
    if differs.any():
        one = int(np.argmax(differs))
        places = f"{report.place(row[one - 1])} and {report.place(row[one], at[one])}"
        raise ValueError(
            f"{report.path}: one timestamp with different prices, {_times(int(np.count_nonzero(differs)))}, "
            f"first in {places}; keep only the right row for each timestamp"
        )
    report.note(
        "duplicate timestamp", again, row, at, "the prices are the same: the later is dropped", drop=True
    )
    return again


def fill_gaps(
    report: FileReport, row: Ints, at: Ints, opening: Floats, close: Floats, fill: int
) -> tuple[Ints, Floats, Floats]:
    """Report gaps and bars off the grid, and fill the gaps that are short enough."""
    if len(at) < 2:
        return at, opening, close
    step = np.diff(at)
    interval = most_common(step)
    phase = most_common(at % interval)
    report.note(f"timestamp off the grid of {interval} s", at % interval != phase, row, at, "kept as it is")

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
    remedy = (
        f"{number}, the longest of {between[longest]:,} after {report.place(row[longest], at[longest])}; "
    )
    remedy += (
        f"{filled:,} filled with the close before" if filled else "none filled: bars just follow each other"
    )
    place = f"after {report.place(row[gaps[0]], at[gaps[0]])}"
    report.findings.append(Finding("missing bar", missing, place, remedy, filled=filled))

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


# --- The paper's data ---------------------------------------------------------------


def fetch_bars(folder: str | Path, download: Callable[[str], str]) -> list[Path]:
    """Copy the files of the paper's data set into a folder; `download` is that of kagglehub."""
    folder = Path(folder)
    page = f"https://www.kaggle.com/datasets/{DATASET}"
    try:
        source = Path(download(DATASET))
    except Exception as error:
        reason = f"{type(error).__name__}: {brief(error)}"
        advice = f"see whether {page} can be reached, or download it there by hand"
        raise OSError(f"{DATASET} could not be fetched from Kaggle ({reason}); {advice}") from error
    # Copied, not moved: kagglehub expects its cache to stay intact.
    files = sorted(file for file in source.rglob("*") if file.name.lower().endswith(ENDINGS))
    if not files:
        raise ValueError(f"{source} has no {', '.join(ENDINGS)} file in it; look at {page}")
    targets = [folder / file.relative_to(source) for file in files]
    for file, target in zip(files, targets, strict=True):
        if not target.exists():
            folder.mkdir(parents=True, exist_ok=True)
            if target.parent != folder:
                own_folder(target.parent)
            with file.open("rb") as source_file:
                write_whole(target, partial(shutil.copyfileobj, source_file))
        elif not filecmp.cmp(file, target, shallow=False):
            raise ValueError(
                f"{target} exists and is not what Kaggle has now; move it away, or use another folder"
            )
    return targets
