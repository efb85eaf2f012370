"""Tables of events that are too large for memory: read piece by piece, each with all rows of some units, and added up.

The rows of a piece are put in order and checked like those of any table, and become sums by state, action and next state. The last
row of each unit waits until all pieces are read: which unit began next, and which states are ever left, is known only then.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sojourn.data.child import Facts, check_parquet, read_apart
from sojourn.data.files import check_readable
from sojourn.exact.logs.amounts import RowAmount
from sojourn.exact.logs.closing import counted, stopped
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.event_reader import EventReader, Wanted, as_series
from sojourn.exact.logs.fit import LogRows, grouped
from sojourn.exact.logs.log_reader import (
    RowFault,
    Source,
    UsedRows,
    add_fault,
    check_dates,
    named,
    numbered,
    paths_of,
)
from sojourn.exact.logs.sums import products_of
from sojourn.rules.arrays import Flags, Floats, Ints

MOST_ROWS = 10_000_000  # of a table that is kept in memory
PIECE = 10_000_000  # rows of a piece with few columns
_COLUMNS = 6  # which are few
_PLACE = " row"  # no column of a user has this name


# --- Reading ------------------------------------------------------------------------------


class Pieces(NamedTuple):
    """A table of events in Parquet files or in a lazy frame, and the units of each piece: from one, up to another."""

    source: list[Path] | pl.LazyFrame
    columns: Mapping[str, Any]  # their types
    unit: str
    rows: int
    bounds: list[tuple[Any, Any]]

    def ask(self, what: str, **asked: Any) -> pl.DataFrame:
        """Return a part of the table; damaged files are read in a process of their own."""
        return _asked(self.source, what, **asked)[0]


def pieces_of(source: Source | pl.LazyFrame, wanted: Wanted, most: int) -> Pieces | None:
    """Return a source in pieces, or None if it has at most so many rows, or must be read as a whole."""
    files = source if isinstance(source, pl.LazyFrame) else paths_of(source)
    if files is None or wanted.unit is None or wanted.until is not None or wanted.ends == "continue":
        return None
    if not isinstance(files, pl.LazyFrame):
        if any(path.suffix not in (".parquet", ".pq") for path in files):
            return None
        for path in files:
            check_readable(path)
    head, facts = _asked(files, "head")
    if facts["rows"] <= most or not facts["alike"]:
        return None
    kinds = {
        name: head.schema[named(head.schema, name, what)]
        for name, what in ((wanted.unit, "unit"), (wanted.time, "time"))
    }
    if (
        not (kinds[wanted.unit].is_integer() or kinds[wanted.unit] == pl.String)
        or kinds[wanted.time] == pl.String
    ):
        return None
    units = _asked(files, "units", name=wanted.unit)[0].drop_nulls()
    size = PIECE * _COLUMNS // max(head.width, _COLUMNS)
    piece = (units["len"].cum_sum() - 1) // size
    names = units[wanted.unit].to_list()
    first = np.flatnonzero(np.append(True, np.diff(piece.to_numpy()) != 0))[: len(names)].tolist()
    last = [*(at - 1 for at in first[1:]), len(names) - 1]
    bounds = (
        [(names[low], names[high]) for low, high in zip(first, last, strict=True)]
        if names
        else [(None, None)]
    )
    return Pieces(files, head.schema, wanted.unit, facts["rows"], bounds)


def _asked(source: list[Path] | pl.LazyFrame, what: str, **asked: Any) -> tuple[pl.DataFrame, Facts]:
    if isinstance(source, pl.LazyFrame):
        return _answer(source.with_row_index(_PLACE), what, **asked)
    return read_apart(scanned_here, *source, what=what, **asked)


def scanned_here(*paths: Path, what: str, **asked: Any) -> tuple[pl.DataFrame, Facts]:
    """Answer a question about Parquet files in this process."""
    for path in paths:
        check_parquet(path)
    options: dict[str, Any] = {"glob": False, "hive_partitioning": False}
    if what == "head":
        heads = [pl.scan_parquet(path, **options) for path in paths]
        schemas = [one.collect_schema() for one in heads]
        rows = sum(int(one.select(pl.len()).collect().item()) for one in heads)
        return schemas[0].to_frame(), {"rows": rows, "alike": all(one == schemas[0] for one in schemas)}
    table, facts = _answer(pl.scan_parquet(list(paths), row_index_name=_PLACE, **options), what, **asked)
    for column in table:
        check_dates(column)
    return table, facts


def _answer(table: pl.LazyFrame, what: str, **asked: Any) -> tuple[pl.DataFrame, Facts]:
    if what == "head":
        rows = int(table.select(pl.len()).collect().item())
        return table.drop(_PLACE).collect_schema().to_frame(), {"rows": rows, "alike": True}
    column = pl.col(asked["name"])
    if what == "units":
        return table.group_by(column).len().sort(column).collect(engine="streaming"), {}
    if what == "column":
        return table.select(column).collect(), {}
    low, high = asked["bounds"]
    is_mine = column.is_between(pl.lit(low), pl.lit(high))
    return table.filter(is_mine | column.is_null() if asked["is_first"] else is_mine).collect(), {}


# --- Adding up ----------------------------------------------------------------------------


class PieceReader(EventReader):
    """The rows of a piece; what follows the last row of a unit is not known yet."""

    def following(self, state: Ints, trajectory: Ints, order: Ints) -> Ints:
        """Return the state of the unit's next row and, for its last row, its own."""
        self.first = np.flatnonzero(np.append(True, np.diff(self.unit) != 0))
        self.first_state = state[self.first]
        return np.where(self.last, state, np.append(state[1:], state[0]))

    def forget(self) -> None:
        """Keep only what was found, and no rows."""
        nothing = np.zeros(0, dtype=np.int64)
        self.unit = self.rows = self.place = self.first = self.first_state = self.units = nothing
        self.time = self.duration = self.start = np.zeros(0)
        self.usable = self.unfinished = self.last = self.renewed = nothing > 0


class _Units(NamedTuple):
    """The units of a piece: when they began, their order among those that began then, and their first state."""

    began: Floats
    number: Ints
    state: Ints


class _Ends(NamedTuple):
    """The last row of each unit that has rows to use: its unit, its cell, its place in the table, and where the unit began."""

    unit: Ints
    cell: Ints  # [3, row]
    values: Floats
    place: Ints
    is_renewal: Flags
    began: Ints


class _Tally:
    """The sums of the pieces so far."""

    def __init__(self, amounts: tuple[str, ...]) -> None:
        self.names = ("reward", "duration", *amounts)
        self.products = products_of(amounts)
        self.books: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})  # of states and actions
        self.cells: list[tuple[Ints, Floats]] = []
        self.units: list[_Units] = []
        self.ends: list[_Ends] = []
        self.total: PieceReader | None = None

    def add(self, reader: PieceReader) -> None:
        """Add the rows of a piece."""
        if reader.size:
            self._add(reader, reader.used())
        if self.total is None:
            self.total = reader
        else:
            self.total.merge(reader)
        reader.forget()

    def _add(self, reader: PieceReader, used: UsedRows) -> None:
        books = [
            np.array([book.setdefault(label, len(book)) for label in labels] + [-1])  # no label stays -1
            for book, labels in zip(self.books, used.labels, strict=True)
        ]
        unit = reader.unit[reader.first]
        offset = sum(len(one.began) for one in self.units)
        self.units.append(_Units(reader.time[reader.first], reader.units[unit], books[0][reader.first_state]))
        if not len(used.kept):
            return
        rows, changes = used.rows, np.diff(used.trajectory) != 0
        last, first = np.flatnonzero(np.append(changes, True)), np.flatnonzero(np.append(True, changes))
        values = [rows.reward, rows.duration, *(used.amounts[name].values for name in self.names[2:])]
        self.ends.append(
            _Ends(
                offset + np.searchsorted(unit, used.trajectory[last]),
                _moved(np.array([one[last] for one in (rows.state, rows.action, rows.next_state)]), books),
                np.array([one[last] for one in values]),
                reader.place[used.kept[last]],
                reader.last[used.kept[last]],
                books[0][rows.state[first]],
            )
        )
        cell, sums = self._sums((rows.state, rows.action, rows.next_state), values, last)
        self.cells.append((_moved(cell, books), sums))

    def _sums(
        self, cell: Sequence[Ints], values: Sequence[Floats], but: Ints | None = None
    ) -> tuple[Ints, Floats]:
        """Return the sums over the rows, but for some, of each cell: their number, their amounts, and products of these."""
        by_name = dict(zip(self.names, values, strict=True))
        products = (by_name[one] * by_name[two] for one, two in self.products)
        return _added(cell, itertools.chain([None], values, products), but)

    def log(self) -> Log:
        """Return the log of all pieces."""
        assert self.total is not None
        self.total.check()
        if not self.ends:
            raise self.total.nothing_left()
        findings = [*self.total.findings, *self._close()]
        cells = np.concatenate([cell for cell, _ in self.cells], axis=1)
        cell, sums = _added(list(cells), np.concatenate([sums for _, sums in self.cells], axis=1))
        labels, moved = zip(*(numbered(_alike(list(book))) for book in self.books), strict=True)
        count = sums[0].round().astype(np.int64)
        by_name = dict(zip((*self.names, *self.products), sums[1:], strict=True))
        rows = LogRows(
            moved[0][cell[0]], moved[1][cell[1]], by_name["reward"], by_name["duration"], moved[0][cell[2]]
        )
        log = Log(
            rows,
            np.zeros(len(count), dtype=np.int64),
            None,
            labels,
            self.total.refused,
            tuple(findings),
            censored=self.total.censored,
            per=self.total.per,
            amounts={name: RowAmount(by_name[name]) for name in self.names[2:]},
            weight=count,
            began=moved[0][np.concatenate([one.began for one in self.ends])],
        )
        return log._of_sums({pair: by_name[pair] for pair in self.products}, count)  # noqa: SLF001 - the way of `Log.from_sums`

    def _close(self) -> list[str]:
        """Let the last row of each unit lead to where the next one begins, and add these rows."""
        assert self.total is not None
        units = _Units._make(np.concatenate(parts) for parts in zip(*self.units, strict=True))
        piece = np.repeat(np.arange(len(self.units)), [len(one.began) for one in self.units])
        order = np.lexsort((units.number, piece, units.began))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        ends = _Ends._make(np.concatenate(parts, axis=-1) for parts in zip(*self.ends, strict=True))
        sort = np.argsort(rank[ends.unit])
        ends = _Ends._make(one[..., sort] for one in ends)
        following = np.roll(units.state[order], -1)[rank[ends.unit]]
        after = np.where(ends.is_renewal, following, ends.cell[2])
        lost = np.sort(ends.place[after < 0])
        if lost.size:
            add_fault(self.total.faults, "no next state", RowFault(lost.size, lost.tolist()))
            kept = after >= 0
            after, ends = after[kept], _Ends._make(one[..., kept] for one in ends)
        left = np.zeros(len(self.books[0]), dtype=bool)
        for cells, _ in self.cells:
            left[cells[0]] = True
        left[ends.cell[0]] = True
        stops = np.flatnonzero(~left[after[:-1]])
        said = [] if not stops.size else [stopped(stops.size, list(self.books[0])[after[stops[0]]])]
        after[stops] = ends.began[stops + 1]
        self.cells.append(self._sums((*ends.cell[:2], after), list(ends.values)))
        return said


def _moved(cell: Ints, books: Sequence[Ints]) -> Ints:
    """Return cells with the numbers that labels have in the whole table."""
    return np.array([books[0][cell[0]], books[1][cell[1]], books[0][cell[2]]])


def _added(
    cell: Sequence[Ints], columns: Iterable[Floats | None], but: Ints | None = None
) -> tuple[Ints, Floats]:
    """Return the different cells, and the sums of columns over the rows of each; None is a column of ones."""
    sizes = [int(one.max()) + 1 for one in cell]
    key, end = (cell[0] * sizes[1] + cell[1]) * sizes[2] + cell[2], math.prod(sizes)
    if but is not None:
        key[but] = end
    keys, place, _ = grouped(key, end + 1)
    sums = np.array([np.bincount(place, column) for column in columns])
    kept = np.flatnonzero(keys < end)
    return np.array(np.unravel_index(keys[kept], sizes)), sums[:, kept]


def _alike(labels: list[Hashable]) -> list[Hashable]:
    """Return labels in which a number is a float if one of the others is; bins are whole numbers where they can be."""
    if labels and all(isinstance(label, tuple) for label in labels):
        parts = [_alike(list(part)) for part in zip(*labels, strict=True)]
        return list(zip(*parts, strict=True))
    if {type(label) for label in labels} == {int, float}:
        return [float(label) for label in labels]  # type: ignore[arg-type] # a number
    return labels


def summed(pieces: Pieces, wanted: Wanted) -> Log:
    """Return the log of a table in pieces."""
    wanted = wanted.fixed(lambda name: pieces.ask("column", name=named(pieces.columns, name, "state"))[name])
    tally = _Tally(tuple(dict.fromkeys((*wanted.amounts, *wanted.flows))))
    for at, bounds in enumerate(pieces.bounds):
        table = pieces.ask("piece", name=pieces.unit, bounds=bounds, is_first=at == 0)
        place = table.drop_in_place(_PLACE).to_numpy().astype(np.int64) + 1
        table = pl.DataFrame([as_series(column.name, column) for column in table])
        reader = PieceReader(table, wanted, place)
        reader.look(table, wanted)
        del table
        tally.add(reader)
        del reader
    log = tally.log()
    log.findings += (
        f"the table of {counted(pieces.rows, 'row', 'rows')} was read piece by piece and added up; keep_rows=True would keep its rows",
    )
    return log
