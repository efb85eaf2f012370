"""The rows of a table of events: columns as states and amounts, time stamps as durations, and rows in the order of their units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from sojourn.data.child import is_number
from sojourn.data.numbers import nearest, shown, unmasked
from sojourn.exact.logs.amounts import RowAmount
from sojourn.exact.logs.bins import Bins
from sojourn.exact.logs.closing import counted
from sojourn.exact.logs.log_reader import (
    Columns,
    Labels,
    LogReader,
    add_fault,
    named,
    numbered,
    taken,
    together,
)
from sojourn.rules.arrays import Flags, Floats, Ints

Part: TypeAlias = str | Bins
Amount: TypeAlias = "str | float | Callable[[Any], Any]"

ENDS = ("censored", "renew", "continue")
_DAY = 86_400.0
SECONDS = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": _DAY,
    "week": 7.0 * _DAY,
    "month": 365.2425 / 12.0 * _DAY,
    "year": 365.2425 * _DAY,
}
_ZONE = r"\s?(Z|[+-]\d{2}:?\d{2})$"
_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%Y%m%d %H%M%S", "%Y%m%d")
_ONLY = "go on"  # the action of a log that names none


class Wanted(NamedTuple):
    """What is wanted of a table of events; `read_events` describes its arguments."""

    unit: str | None
    time: str
    state: tuple[Part, ...]
    action: Columns | None
    reward: Amount | None
    earning: Amount | None
    amounts: Mapping[str, Amount]
    flows: Mapping[str, Amount]
    ends: str
    until: Any
    durations: str
    per: str | None

    def fixed(self, column: Callable[[str], pl.Series]) -> Wanted:
        """Return the same with bins that do not depend on which rows of their columns are looked at."""
        parts = (part if isinstance(part, str) else part.fixed(column) for part in self.state)
        return self._replace(state=tuple(parts))

    def needed(self, columns: list[str]) -> list[str]:
        """Return which columns matter once rows are in order: all, if a function may ask for any, or if one is missing."""
        amounts = (self.reward, self.earning, *self.amounts.values(), *self.flows.values())
        done = (
            ("action",)
            if self.action is None
            else (self.action,)
            if isinstance(self.action, str)
            else self.action
        )
        found = [part if isinstance(part, str) else part.column for part in self.state]
        found += [one for one in amounts if isinstance(one, str)]
        found += [] if self.action is None and "action" not in columns else done
        found += [one for one in (self.ends, self.until) if isinstance(one, str) and one in columns]
        is_known = set(found) <= set(columns) and (self.ends in ENDS or self.ends in columns)
        return list(dict.fromkeys(found)) if is_known and not any(map(callable, amounts)) else columns

    def reader(self, table: pl.DataFrame) -> EventReader:
        """Return the reader of a table, which has looked at all of its columns."""
        made = EventReader(table, self)
        made.look(table, self.fixed(lambda name: table[named(table.columns, name, "state")]))
        made.check()
        return made


# --- Columns ------------------------------------------------------------------------------


def as_series(name: str, column: Any) -> pl.Series:
    """Return a column of any frame as one of polars; dates and times of Python become ISO text, with their zones."""
    if isinstance(column, pl.Series):
        return (column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column).alias(name)
    values = unmasked(f"the column {name!r} of the log", column)
    if hasattr(values, "to_numpy"):
        array = values.to_numpy()
        if array.dtype.kind in "iufbMm":
            return pl.Series(name, array)
    listed = taken({name: values}, name, name)
    return pl.Series(
        name, [each.isoformat() if isinstance(each, date) else each for each in listed], strict=False
    )


def _labels(table: pl.DataFrame, parts: Sequence[Part]) -> Labels:
    """Return the states: one column is a label itself, several make tuples."""
    if not parts:
        raise ValueError("state names no column; give at least one")
    columns = {name: table[name] for name in table.columns}
    found: list[Labels] = []
    for part in parts:
        if isinstance(part, str):
            found.append(taken(columns, part, "state"))
        else:
            found.append(part.labels(table[named(columns, part.column, "state")]))
    return found[0] if len(found) == 1 else together(found)


def _amount(table: pl.DataFrame, given: Amount, name: str) -> Labels:
    """Return an amount of each row: a column, a number for all, or a function of the row."""
    if isinstance(given, str):
        return taken({column: table[column] for column in table.columns}, given, name)
    if not callable(given):
        return pl.repeat(float(given), len(table), eager=True)
    try:
        found = given(_Row(table.columns))
        return (
            table.select(found.cast(pl.Float64).alias(name)).to_series()
            if isinstance(found, pl.Expr)
            else pl.repeat(float(found), len(table), eager=True)
        )
    except (TypeError, pl.exceptions.PolarsError):  # it asks what is in a row
        return [given(row) for row in table.iter_rows(named=True)]


class _Row:
    """Stands for every row: its entries are whole columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> pl.Expr:
        if name not in self._names:
            raise ValueError(f"the log has no column {name!r}{nearest(name, self._names)}")
        return pl.col(name)


# --- Time -----------------------------------------------------------------------------------


def _clock(values: pl.Series) -> tuple[pl.Series, bool]:
    """Return times in seconds, or as the numbers they are, and whether they come from a calendar."""
    kind, name = values.dtype, values.name
    if kind == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        if numbers.null_count() == values.null_count():
            return numbers, False
        return _from_text(values), True
    if kind == pl.Duration:
        return values.dt.total_microseconds().cast(pl.Float64) / 1e6, True
    if kind in (pl.Date, pl.Datetime):
        return values.cast(pl.Datetime("us")).dt.timestamp("us").cast(pl.Float64) / 1e6, True
    if not is_number(kind):
        raise TypeError(
            f"the column {name!r} of the log is of type {kind}; it must have dates, times or numbers"
        )
    return values.cast(pl.Float64).fill_nan(None), False


def _from_text(texts: pl.Series) -> pl.Series:
    """Return the seconds of ISO texts. All or none of them must have a time zone."""
    zone = texts.str.extract(_ZONE).str.replace("Z", "+0000").str.replace(":", "")
    zoned = zone.is_not_null() & texts.str.contains(r"\d[T ]?\d{2}:?\d{2}")  # not the end of a date
    local = texts.str.replace(_ZONE, "").str.replace("T", " ").str.strip_chars()
    local = pl.select(pl.when(zoned).then(local).otherwise(texts.str.replace("T", " "))).to_series()
    parsed = [local.str.to_datetime(form, time_unit="us", strict=False) for form in _FORMATS]
    found = pl.select(pl.coalesce(parsed)).to_series().dt.timestamp("us").cast(pl.Float64) / 1e6
    if found.is_null().all() and not texts.is_null().all():
        raise ValueError(
            f"the column {texts.name!r} of the log has texts such as {texts.drop_nulls()[0]!r}, which are not times of ISO 8601; write "
            "them like 2024-01-31 18:30:00, for example by str.to_datetime of polars or to_datetime of pandas"
        )
    with_zone, without = int(zoned.sum()), int((~zoned & found.is_not_null()).sum())
    if with_zone and without:
        raise ValueError(
            f"the column {texts.name!r} of the log mixes time zones: {counted(with_zone, 'row has', 'rows have')} a zone and "
            f"{without:,} have none; give all of them one, or none"
        )
    if not with_zone:
        return found
    minutes = zone.str.slice(1, 2).cast(pl.Float64) * 60.0 + zone.str.slice(3, 2).cast(pl.Float64)
    signed = pl.select(pl.when(zone.str.starts_with("-")).then(-minutes).otherwise(minutes)).to_series()
    return found - 60.0 * signed


# --- Rows ---------------------------------------------------------------------------------


def _unsorted(count: int) -> str:
    rows = counted(count, "row was", "rows were")
    return f"{rows} not in the order of time in {'its' if count == 1 else 'their'} unit; all were sorted"


def _unsorted_alone(count: int) -> str:
    rows = counted(count, "row was", "rows were")
    return f"{rows} not in the order of time; all were sorted, as those of one unit: if there are several, name the column `unit`"


def _tied(count: int) -> str:
    rows = counted(count, "row has", "rows have")
    return f"{rows} the time of the row before, which takes no time; such rows stay in the order of the table"


def _not_seen(count: int) -> str:
    return (
        f"{counted(count, 'row is', 'rows are')} censored: the last of a unit, and what followed was not seen"
    )


def _watched(count: int) -> str:
    rows = counted(count, "row is", "rows are")
    return f"{rows} censored: the last of a unit, and its end had not come when the unit was last watched"


def _single(count: int) -> str:
    return f"{counted(count, 'unit has', 'units have')} only one row"


class EventReader(LogReader):
    """The rows of a table of events, put in order: units as they began, and the rows of each by their time."""

    def __init__(self, table: pl.DataFrame, wanted: Wanted, place: Ints | None = None) -> None:
        unit, time, per = wanted.unit, wanted.time, wanted.per
        columns = {name: table[name] for name in table.columns}
        clock, is_dated = _clock(table[named(columns, time, "time")])
        super().__init__({"time": clock})
        self.place = self.place if place is None else place
        self.flows: dict[str, Labels] = {}
        if per is not None and per not in SECONDS:
            raise ValueError(f"per is {shown(per)}; it must be one of {', '.join(SECONDS)}")
        self.per = per or ("day" if is_dated else "unit time")
        self.scale, self.law = SECONDS.get(self.per, 1.0), wanted.durations
        stamps = clock.fill_null(math.nan).to_numpy()
        number = np.zeros(len(table), dtype=np.int64)
        if unit is not None:
            number = numbered(taken(columns, unit, "unit"))[1]
            self.refuse(number < 0, "no unit")
        self.refuse(~np.isfinite(stamps), "no time that can be read")
        self.is_alone = unit is None  # all rows are those of one unit
        self._sort(table, number, stamps)

    def look(self, table: pl.DataFrame, wanted: Wanted) -> None:
        """Take the columns of the table, and what follows the last row of each unit."""
        if not self.size:
            self.num_units = self.num_rows = self.num_censored = 0
            return
        table = self._ordered(table.select(wanted.needed(table.columns)))
        columns = {name: table[name] for name in table.columns}
        self.columns["state"] = _labels(table, wanted.state)
        done = wanted.action or ("action" if "action" in columns else None)
        self.columns["action"] = (
            pl.repeat(_ONLY, len(table), eager=True) if done is None else taken(columns, done, "action")
        )
        for name, amount in (("reward", wanted.reward), ("earning", wanted.earning)):
            if amount is not None:
                self.columns[name] = _amount(table, amount, name)
        for kept, given in ((self.amounts, wanted.amounts), (self.flows, wanted.flows)):
            kept.update({name: _amount(table, one, name) for name, one in given.items()})
        self._end(table, wanted.ends, wanted.until)

    def _sort(self, table: pl.DataFrame, unit: Ints, stamps: Floats) -> None:
        rows = np.flatnonzero(self.usable)
        began = np.full(int(unit.max()) + 1, np.inf)
        np.minimum.at(began, unit[rows], stamps[rows])
        rank = np.empty(len(began), dtype=np.int64)
        self.units = np.argsort(began, kind="stable")  # as they began
        rank[self.units] = np.arange(len(began))
        if (np.diff(stamps[rows]) < 0.0).any():
            rows = rows[np.argsort(stamps[rows], kind="stable")]
        small = rank.astype(np.min_scalar_type(len(rank)))  # numbers of 16 bits are sorted in one go
        self.rows = rows[np.argsort(small[unit[rows]], kind="stable")]
        self.unit, self.time = rank[unit[self.rows]], stamps[self.rows]
        moved = int(np.count_nonzero((np.diff(self.unit) == 0) & (np.diff(self.rows) < 0)))
        self.note(_unsorted_alone if self.is_alone else _unsorted, moved)
        self._drop_repeated(table)
        self.place = self.place[self.rows]
        self.size = len(self.rows)
        self.columns = {}
        self.usable, self.unfinished = np.ones(self.size, dtype=bool), np.zeros(self.size, dtype=bool)
        self.last = np.append(np.diff(self.unit) != 0, True)[: self.size]

    def _drop_repeated(self, table: pl.DataFrame) -> None:
        """Refuse rows that repeat another one in every column, and count those that share a time."""
        same = self._same_time()
        if not same.any():
            return
        near = np.flatnonzero(np.append(False, same) | np.append(same, False))
        first = table[self.rows[near]].select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
        wrong = np.zeros(len(self.usable), dtype=bool)
        wrong[self.rows[near[~first]]] = True
        self.refuse(wrong, "the same entries as another row of the unit")
        kept = np.ones(len(self.rows), dtype=bool)
        kept[near[~first]] = False
        self.unit, self.time, self.rows = self.unit[kept], self.time[kept], self.rows[kept]
        self.note(_tied, int(np.count_nonzero(self._same_time())))

    def _same_time(self) -> Flags:
        return np.asarray((np.diff(self.unit) == 0) & (np.diff(self.time) == 0.0))

    def _ordered(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the rows in the order of the log."""
        if len(table) == self.size and bool((np.diff(self.rows) == 1).all()):
            return table
        return table[self.rows]

    def _end(self, table: pl.DataFrame, ends: str, until: Any) -> None:
        """Set how long rows last, and what follows the last row of each unit."""
        units = int(np.count_nonzero(self.last))
        self.duration = np.append(np.diff(self.time), 0.0)[: self.size] / self.scale
        at = np.flatnonzero(self.last)
        if ends in ENDS:
            self.renewed = np.full(units, ends == "renew")
        elif ends in table.columns:
            flags = table[ends].cast(pl.Boolean, strict=False)
            self.renewed = flags.fill_null(False).to_numpy()[at]
        else:
            raise ValueError(
                f"ends is {shown(ends)}; it must be {', '.join(map(repr, ENDS))}, or a column{nearest(ends, table.columns)}"
            )
        self.duration[at] = 0.0
        if ends == "continue":
            self.duration[at[:-1]] = (self.time[at[:-1] + 1] - self.time[at[:-1]]) / self.scale
            self.renewed[:-1] = True
            self.refuse(self.duration < 0.0, "a time after the beginning of the next unit, which overlaps")
        unseen = at[~self.renewed & self.usable[at]]
        self.censored = len(unseen)
        if until is not None:
            unseen = self._watch(table, unseen, until)
        self.usable[unseen] = False
        self.note(_not_seen, len(unseen))
        self.note(_single, int(np.count_nonzero(np.diff(at, prepend=-1) == 1)))
        self.num_units, self.num_rows, self.num_censored = units, self.size, self.censored

    def _watch(self, table: pl.DataFrame, last: Ints, until: Any) -> Ints:
        """Let these rows last until their units were last watched, and return those of which that says nothing."""
        if isinstance(until, str) and until in table.columns:
            stamps, said = (
                _clock(table[until])[0].fill_null(math.nan).to_numpy()[last],
                f"in the column {until!r}",
            )
        else:
            try:
                asked = float(_clock(as_series("until", [until]))[0][0])
            except (TypeError, ValueError):
                asked = math.nan
            if not math.isfinite(asked):
                raise ValueError(
                    f"until is {shown(until)}; it must be a time, or the name of a column of times"
                )
            stamps, said = np.full(len(last), asked), "until"
        watched = (stamps - self.time[last]) / self.scale
        early = np.zeros(self.size, dtype=bool)
        early[last[watched < 0.0]] = True
        self.refuse(early, f"a time after its unit was last watched ({said})")
        seen = last[watched > 0.0]
        self.duration[seen] = watched[watched > 0.0]
        self.unfinished[seen] = True
        self.note(_watched, len(seen))
        return np.asarray(last[~(watched > 0.0)])

    def earnings(self) -> tuple[Floats, Floats]:
        """Return the rewards and the durations."""
        reward = np.zeros(self.size)
        if "reward" in self.columns:
            reward = reward + self.number("reward")
        self.start = reward
        if "earning" in self.columns:
            reward = reward + self.number("earning") * self.duration
        self.check_sizes(reward, self.duration)
        return reward, self.duration

    def further(self) -> dict[str, RowAmount]:
        """Return the further amounts, of which those per row are there from the beginning."""
        lumps = {name: one.values for name, one in super().further().items()}
        found = {name: RowAmount(values, values) for name, values in lumps.items()}
        for name, values in self.flows.items():
            lump, flow = lumps.get(name, np.zeros(self.size)), self.number(name, values)
            found[name] = RowAmount(lump + flow * self.duration, lump)
        self.flows = {}
        return found

    def trajectories(self) -> Ints:
        """Return the unit of each row."""
        return self.unit

    def following(self, state: Ints, trajectory: Ints, order: Ints) -> Ints:
        """Return the state of the unit's next row or, where a unit is renewed, the first state of the unit that began next."""
        return np.append(state[1:], state[0])

    def merge(self, other: EventReader) -> None:
        """Add what was found in another piece of the table."""
        for name, fault in other.faults.items():
            add_fault(self.faults, name, fault)
        for note, count in other.notes.items():
            self.note(note, count)
        self.num_units, self.num_rows = self.num_units + other.num_units, self.num_rows + other.num_rows
        self.num_censored, self.censored = (
            self.num_censored + other.num_censored,
            self.censored + other.censored,
        )

    def check(self) -> None:
        """Refuse a table of which nothing is known; a single unit with one row is no finding."""
        if not self.num_rows:
            raise self.nothing_left()
        if self.num_censored == self.num_rows:  # also those that were watched
            raise ValueError(
                f"every row is censored: {counted(self.num_units, 'unit has', 'units have')} one row each, and what follows is not "
                'known; say it by ends="renew" or ends="continue", or give units with more rows'
            )
        if self.num_units == 1:
            self.notes.pop(_single, None)
