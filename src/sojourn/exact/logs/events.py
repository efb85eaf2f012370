"""Read a table of events: a unit (a machine, a ticket, a cab), a time stamp, what was seen there, and what was done.

The rows of a unit are put in the order of time. Each lasts until the unit's next row, which has the next state. What follows a
unit's last row is not in the table, so the caller says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from sojourn.data.child import is_number
from sojourn.data.numbers import nearest, shown, unmasked
from sojourn.exact.logs.amounts import RowAmount, checked_names
from sojourn.exact.logs.bins import Bins
from sojourn.exact.logs.censoring import LAWS
from sojourn.exact.logs.closing import counted
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.log_reader import (
    Columns,
    Labels,
    LogReader,
    Source,
    columns_of,
    named,
    numbered,
    taken,
    together,
)
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.door import told

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
_FEW, _SMALL = 5, 20  # rows of a state; rows of a log that is clearly too small for anything
_ONLY = "go on"  # the action of a log that names none


@told
def read_events(  # one argument for each column, as in `read_log`
    source: Source,
    *,
    unit: str | None = "unit",
    time: str = "time",
    state: Part | Sequence[Part] = "state",
    action: Columns | None = None,
    reward: Amount | None = None,
    earning: Amount | None = None,
    amounts: Mapping[str, Amount] | None = None,
    flows: Mapping[str, Amount] | None = None,
    ends: str = "censored",
    until: Any = None,
    durations: str = LAWS[0],
    per: str | None = None,
) -> Log:
    """Return the log in a table of events: files, frames, or columns by name, as for `read_log`.

    `unit` and `time` name columns; the time is a date, a time stamp, ISO text or a number. Each row lasts until the next row of
    its unit, in the unit `per`: "second", "minute", "hour", "day" (for dates and time stamps if nothing else is said), "week",
    "month" (30.436875 days) or "year". Numbers are taken as they are or, with `per`, as seconds.

    `state` names one or several columns; `sj.bins` cuts a column into bins. `action` names the column of what was done, or
    several; a table without an action has only one. `reward` is paid in each row, `earning` per unit of time while it lasts.
    Either is a column, a number, or a function of the row such as `lambda row: -2.0 * row["miles"]`. It is called once with whole
    columns, or, if it cannot compute with them, once for each row. If neither is given, the column "reward" is used. `amounts` and
    `flows` are further amounts by name, such as {"energy": "kwh"}: `amounts` are there in each row, `flows` come per unit of time.
    Answers have their rates, too, and the log's model counts them.

    `ends` says what follows the last row of a unit: "censored", not seen; "renew", the
    unit ends there at once and the unit that began next follows (after the last one, the first); "continue", the row lasts until the
    next unit begins, as on one clock; or it names a column that is true where a unit has ended ("renew") and false where it was
    lost from sight ("censored").

    A censored row is left out and counted, unless `until` says when its unit was last watched: a time, or the column that has it.
    The row then lasts longer than that, which says something of `durations`: they are estimated by "kaplan-meier", which
    assumes no law, or as "weibull" or "exponential" (`sojourn.exact.logs.censoring`). Being lost from sight must have no reasons
    that the states leave out.

    >>> log = read_events({
    ...     "bus": [7, 7, 7, 8, 8], "date": ["2024-01-01", "2024-01-03", "2024-01-04", "2024-01-01", "2024-01-02"],
    ...     "wear": [0, 1, 0, 0, 0], "done": ["run", "mend", "run", "run", "run"], "cost": [2, 5, 2, 1, 2],
    ... }, unit="bus", time="date", state="wear", action="done", reward=lambda row: -row["cost"])
    >>> log, log.censored, log.behaviour.observed  # 2 + 5 + 1 in 2 + 1 + 1 days
    (Log(3 rows, 2 states, 2 actions; 2 censored), 2, -2.0)
    """
    table = _frame(source)
    reader = EventReader(table, unit, time, per)
    table = reader.ordered(table)
    reader.columns["state"] = _labels(table, state)
    done = action or ("action" if "action" in table.columns else None)
    columns = {name: table[name] for name in table.columns}
    reader.columns["action"] = (
        pl.repeat(_ONLY, len(table), eager=True) if done is None else taken(columns, done, "action")
    )
    if reward is None and earning is None:
        reward = "reward"
    for name, amount in (("reward", reward), ("earning", earning)):
        if amount is not None:
            reader.columns[name] = _amount(table, amount, name)
    for kept, given in ((reader.amounts, amounts), (reader.flows, flows)):
        for name, one in checked_names("amounts" if kept is reader.amounts else "flows", given).items():
            kept[name] = _amount(table, one, name)
    reader.end(table, ends, until)
    reader.law = durations
    del table, columns  # they may be large
    log = reader.log()
    log.findings += tuple(_thin(log))
    return log


def _thin(log: Log) -> Iterator[str]:
    """Say where a log has too little for advice."""
    if len(log.actions) == 1:
        yield (
            f"the log has only one action, {shown(log.actions[0])}; it says what that earns, and nothing about others"
        )
    seldom = int(np.count_nonzero(log.fit.visits < _FEW))
    if 2 * seldom > len(log.states) and len(log) > _SMALL:
        yield (
            f"{seldom:,} of {len(log.states):,} states have fewer than {_FEW} rows, too few for advice; cut their columns into "
            "fewer bins (sj.bins)"
        )


# --- Columns ------------------------------------------------------------------------------


def _frame(source: Source) -> pl.DataFrame:
    """Return a source as a frame of polars."""
    columns = [_series(name, column) for name, column in columns_of(source).items()]
    sizes = {len(column) for column in columns}
    if len(sizes) > 1:
        raise ValueError(
            f"the columns of the log have {', '.join(map(str, sorted(sizes)))} rows; they must all have the same number"
        )
    if sizes <= {0}:
        raise ValueError("the log has no rows; give at least one")
    return pl.DataFrame(columns)


def _series(name: str, column: Any) -> pl.Series:
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


def _labels(table: pl.DataFrame, state: Part | Sequence[Part]) -> Labels:
    """Return the states: one column is a label itself, several make tuples."""
    parts = [state] if isinstance(state, str | Bins) else list(state)
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


class EventReader(LogReader):
    """The rows of a table of events, put in order: units as they began, and the rows of each by their time."""

    def __init__(self, table: pl.DataFrame, unit: str | None, time: str, per: str | None) -> None:
        columns = {name: table[name] for name in table.columns}
        clock, is_dated = _clock(table[named(columns, time, "time")])
        super().__init__({"time": clock})
        self.flows: dict[str, Labels] = {}
        if per is not None and per not in SECONDS:
            raise ValueError(f"per is {shown(per)}; it must be one of {', '.join(SECONDS)}")
        self.per = per or ("day" if is_dated else "unit time")
        self.scale = SECONDS.get(self.per, 1.0)
        stamps = clock.fill_null(math.nan).to_numpy()
        number = np.zeros(len(table), dtype=np.int64)
        if unit is not None:
            number = numbered(taken(columns, unit, "unit"))[1]
            self.refuse(number < 0, "no unit")
        self.refuse(~np.isfinite(stamps), "no time that can be read")
        self._sort(table, number, stamps)

    def _sort(self, table: pl.DataFrame, unit: Ints, stamps: Floats) -> None:
        rows = np.flatnonzero(self.usable)
        if not rows.size:
            raise self.nothing_left()
        began = np.full(int(unit.max()) + 1, np.inf)
        np.minimum.at(began, unit[rows], stamps[rows])
        rank = np.empty(len(began), dtype=np.int64)
        rank[np.argsort(began, kind="stable")] = np.arange(len(began))
        keys = pl.DataFrame({"unit": rank[unit[rows]], "time": stamps[rows], "row": rows})
        keys = keys.sort("unit", "time", maintain_order=True)
        self.unit, self.time, self.rows = (keys[name].to_numpy() for name in ("unit", "time", "row"))
        moved = int(np.count_nonzero((np.diff(self.unit) == 0) & (np.diff(self.rows) < 0)))
        if moved:
            self.notes.append(
                f"{counted(moved, 'row was', 'rows were')} not in the order of time in {'its' if moved == 1 else 'their'} "
                "unit; all were sorted"
            )
        self._drop_repeated(table)
        self.place = self.rows + 1
        self.size = len(self.rows)
        self.columns = {}
        self.usable, self.unfinished = np.ones(self.size, dtype=bool), np.zeros(self.size, dtype=bool)
        self.last = np.append(np.diff(self.unit) != 0, True)

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
        tied = int(np.count_nonzero(self._same_time()))
        if tied:
            self.notes.append(
                f"{counted(tied, 'row has', 'rows have')} the time of the row before, which takes no time; such rows stay in "
                "the order of the table"
            )

    def _same_time(self) -> Flags:
        return np.asarray((np.diff(self.unit) == 0) & (np.diff(self.time) == 0.0))

    def ordered(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the rows in the order of the log."""
        if len(table) == self.size and bool((np.diff(self.rows) == 1).all()):
            return table
        return table[self.rows]

    def end(self, table: pl.DataFrame, ends: str, until: Any) -> None:
        """Set how long rows last, and what follows the last row of each unit."""
        units = int(np.count_nonzero(self.last))
        self.duration = np.append(np.diff(self.time), 0.0) / self.scale
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
        if len(unseen):
            self.notes.append(
                f"{counted(len(unseen), 'row is', 'rows are')} censored: the last of a unit, and what followed was not seen"
            )
        if self.censored == self.size:  # also those that were watched
            raise ValueError(
                f"every row is censored: {counted(units, 'unit has', 'units have')} one row each, and what follows is not known; "
                'say it by ends="renew" or ends="continue", or give units with more rows'
            )
        single = int(np.count_nonzero(np.diff(at, prepend=-1) == 1))
        if single and units > 1:
            self.notes.append(f"{counted(single, 'unit has', 'units have')} only one row")

    def _watch(self, table: pl.DataFrame, last: Ints, until: Any) -> Ints:
        """Let these rows last until their units were last watched, and return those of which that says nothing."""
        if isinstance(until, str) and until in table.columns:
            stamps, said = (
                _clock(table[until])[0].fill_null(math.nan).to_numpy()[last],
                f"in the column {until!r}",
            )
        else:
            stamps, said = np.full(len(last), _clock(_series("until", [until]))[0][0] or math.nan), "until"
            if not np.isfinite(stamps).all():
                raise ValueError(
                    f"until is {shown(until)}; it must be a time, or the name of a column of times"
                )
        watched = (stamps - self.time[last]) / self.scale
        early = np.zeros(self.size, dtype=bool)
        early[last[watched < 0.0]] = True
        self.refuse(early, f"a time after its unit was last watched ({said})")
        seen = last[watched > 0.0]
        self.duration[seen] = watched[watched > 0.0]
        self.unfinished[seen] = True
        if len(seen):
            self.notes.append(
                f"{counted(len(seen), 'row is', 'rows are')} censored: the last of a unit, and its end had not come when the unit "
                "was last watched"
            )
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
