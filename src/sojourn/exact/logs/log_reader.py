"""Read a log, or only its rewards and durations: a file or a frame with one row for each decision that was made.

Rows that cannot be used are left out, counted and explained: rows without a state, with text as a reward, or with a negative
duration. Rows are counted from 1; the heading of a file does not count.
"""

from __future__ import annotations

import contextlib
import glob
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from sojourn.data.child import Facts, brief, is_number, read_apart, table_here
from sojourn.data.files import check_readable
from sojourn.data.numbers import listed, nearest, shown, unmasked
from sojourn.exact.logs.amounts import RowAmount, checked_names
from sojourn.exact.logs.censoring import LAWS, Unfinished
from sojourn.exact.logs.closing import counted
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.fit import LogRows
from sojourn.models.rows import Frame, columns_by_name
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.door import told

Columns: TypeAlias = str | Sequence[str]
Labels: TypeAlias = list[Hashable] | pl.Series
Note: TypeAlias = Callable[[int], str]  # what is said of so many rows
Source: TypeAlias = "str | Path | Sequence[str | Path] | Sequence[Mapping[str, Any]] | Frame"

_DECIMAL_COMMA = r"^([+-]?\d+),(\d+)$"
_SHOWN = 5  # row numbers in a sentence
_FIRST_DAY, _LAST_DAY, _LONGEST = -719_162, 2_932_896, 999_999_999  # that Python has; from 1970 on
_LARGEST_INTEGER = (1 << 63) - 1
_TICKS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}  # of a second
_LARGEST_KEY = 1 << 62  # of several columns as one whole number
_NONE: Mapping[str, Labels] = {}
_LARGEST = 1e60  # a reward or a duration, whose fourth power must fit a float; 1 over it is the smallest duration above 0


@told
def read_log(  # one argument for each column of a log
    source: Source,
    *,
    state: Columns = "state",
    action: Columns = "action",
    reward: str = "reward",
    duration: str = "duration",
    next_state: Columns | None = None,
    trajectory: str | None = None,
    probability: str | None = None,
    censored: str | None = None,
    durations: str = LAWS[0],
    amounts: Mapping[str, str] | None = None,
) -> Log:
    """Return the log in CSV or Parquet files, a frame of polars or pandas, columns by name, or rows as dictionaries.

    Files are a path, a list of paths, or a pattern such as "2026-*.parquet". Anything that has the Arrow interface, such as a
    relation of DuckDB, is a frame, too. Every argument names a column. `state`, `action` and `next_state` may name several columns; the labels are then tuples.
    Labels may be anything. If `next_state`, `trajectory` or `probability` is not given, the column of that name is used, if
    there is one. Without next states, the state of the next row of the same trajectory is taken. `probability` is the
    probability with which the action was chosen. Durations must be 0 or more.

    `censored` is a column that is true where the end of a row was not seen: it lasts longer than its duration, and its next state is
    not known. `durations` are then estimated by "kaplan-meier", which assumes no law, or as "weibull" or "exponential"
    (`sojourn.exact.logs.censoring`).

    `amounts` are further columns by the name of an amount, such as {"energy": "kwh"}. Answers have their rates, too, and the log's
    model counts them.

    Rows that cannot be used are left out; `refused` has a sentence for each reason.

    >>> log = read_log({
    ...     "state": ["idle", "busy", "idle", "busy", "idle"], "action": ["wait", "work", "wait", "work", "wait"],
    ...     "reward": [0.0, 6.0, 0.0, "?", 0.0], "duration": [1.0, 2.0, 1.0, 2.0, 1.0],
    ... })
    >>> log
    Log(3 rows, 2 states, 2 actions; 1 refused)
    >>> log.refused
    ('1 row has a text where the reward belongs (row 4)',)
    """
    given: dict[str, Columns] = {"state": state, "action": action, "reward": reward, "duration": duration}
    optional = {"next_state": next_state, "trajectory": trajectory, "probability": probability}
    found = columns_of(source)
    given |= {name: column or name for name, column in optional.items() if column or name in found}
    given |= {} if censored is None else {"censored": censored}
    further = checked_names("amounts", amounts)
    reader = LogReader(
        {name: taken(found, column, name) for name, column in given.items()},
        {name: taken(found, column, name) for name, column in further.items()},
    )
    reader.law = durations
    if censored is not None:
        reader.mark()
    return reader.log()


class TimedRewards(NamedTuple):
    """Rewards and durations in the order of the rows; how many rows were left out, and a sentence for each reason."""

    rewards: Floats
    durations: Floats
    refused: tuple[str, ...]
    left_out: int = 0


def read_earnings(source: Source, *, reward: str = "reward", duration: str = "duration") -> TimedRewards:
    """Return the rewards and durations in a CSV or Parquet file, a frame, or columns by name.

    >>> read_earnings({"reward": [1.0, "?", 3.0], "duration": [2.0, 2.0, -1.0]}).refused
    ('1 row has a text where the reward belongs (row 2)', '1 row has a negative duration (row 3)')
    """
    found = columns_of(source)
    given = {"reward": reward, "duration": duration}
    reading = LogReader({name: taken(found, column, name) for name, column in given.items()})
    rewards, durations = reading.earnings()
    if not reading.usable.any():
        raise reading.nothing_left()
    usable = reading.usable
    left_out = int(np.count_nonzero(~usable))
    return TimedRewards(rewards[usable], durations[usable], reading.refused, left_out)


# --- Columns ------------------------------------------------------------------------------


def columns_of(source: Source) -> Mapping[str, Iterable[Any]]:
    """Return the columns of a source by name."""
    paths = paths_of(source)
    if paths is not None:
        source = _files(paths)
    elif hasattr(source, "__arrow_c_stream__") and not hasattr(source, "iloc"):  # which pandas has
        source = pl.DataFrame(source)
    elif isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        source = _of_rows(source)
    columns = columns_by_name(source)
    if columns is None:
        raise TypeError(f"the log is {shown(source)}; it must be a file, a frame, columns by name, or rows")
    return columns


def _of_rows(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns of a list of dictionaries."""
    names = list(rows[0])
    for number, row in enumerate(rows, start=1):
        if row.keys() != rows[0].keys():
            raise ValueError(
                f"row {number} of the log has {listed(list(row))}, but the first row has {listed(names)}"
            )
    return {name: [row[name] for row in rows] for name in names}


def paths_of(source: Source) -> list[Path] | None:
    """Return the files that a source names; None if it is something else."""
    if isinstance(source, str | Path):
        paths = sorted(glob.glob(str(source))) if glob.has_magic(str(source)) else [str(source)]  # noqa: PTH207 - also absolute
        if not paths:
            raise FileNotFoundError(f"no file has a name like {source}; give the path of the log")
        return list(map(Path, paths))
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | Path) for one in source):
        return list(map(Path, source))
    return None


def _files(paths: Sequence[Path]) -> pl.DataFrame:
    """Return the table in one or several files, one below the other."""
    tables = []
    for path in paths:
        check_readable(path)
        tables.append(read_apart(table_in_file, path)[0])
        if tables[-1].columns != tables[0].columns:
            raise ValueError(f"{path} has other columns than {paths[0]}; files of one log must have the same")
    return tables[0] if len(tables) == 1 else pl.concat(tables, how="vertical_relaxed")


def table_in_file(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Return the table in a CSV or Parquet file, read in this process."""
    if path.suffix in (".parquet", ".pq"):
        table, facts = table_here(path)
        for column in table:
            check_dates(column)
        return table, facts
    separator = _separator(path)
    try:
        table = pl.read_csv(path, infer_schema_length=None, separator=separator)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} cannot be read as a table: {brief(error)}") from None
    if separator != ",":
        table = table.with_columns(pl.col(pl.String).str.replace(_DECIMAL_COMMA, "$1.$2"))
    return table, {}


def _separator(path: Path) -> str:
    """Return the separator between the columns of a file.

    It is a comma, unless the first line has semicolons or tabs and no comma. Spreadsheets write such files in countries where
    numbers have a decimal comma.
    """
    with path.open("rb") as file:
        beginning = file.read(65_536)
    try:
        first = beginning.partition(b"\n")[0].decode()
    except UnicodeDecodeError:  # compressed, or not a table
        return ","
    return next((mark for mark in (";", "\t") if mark in first and "," not in first), ",")


def check_dates(column: pl.Series) -> None:
    """Refuse a column with a date that Python cannot represent; polars panics over it."""
    kind = column.dtype
    if kind != pl.Date and not isinstance(kind, pl.Datetime | pl.Duration):
        return
    day = 86_400 * _TICKS[kind.time_unit] if isinstance(kind, pl.Datetime | pl.Duration) else 1
    first, last = (-_LONGEST, _LONGEST) if isinstance(kind, pl.Duration) else (_FIRST_DAY, _LAST_DAY)
    low, high = max(first * day, -_LARGEST_INTEGER), min((last + 1) * day - 1, _LARGEST_INTEGER)
    if not column.to_physical().is_between(low, high).all():
        raise ValueError(
            f"the column {column.name!r} of the log holds something that cannot be read: a date or a time too far away"
        )


def named(columns: Iterable[str], wanted: str, name: str) -> str:
    """Return the name of a column, which must be there."""
    if wanted not in columns:
        raise ValueError(
            f"the log has no column {wanted!r} for the {name.replace('_', ' ')}{nearest(wanted, columns)}"
        )
    return wanted


def taken(columns: Mapping[str, Iterable[Any]], wanted: Columns, name: str) -> Labels:
    """Return the values of a column, or the tuples of several."""
    if not isinstance(wanted, str):
        if not wanted:
            raise ValueError(f"{name} names no column; give at least one")
        return together([taken(columns, each, name) for each in wanted])
    named(columns, wanted, name)
    column: Any = unmasked(f"the column {wanted!r} of the log", columns[wanted])
    if isinstance(column, pl.Series) and (column.dtype in (pl.String, pl.Boolean) or is_number(column.dtype)):
        return column
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow; polars and pandas; NumPy
        if hasattr(column, method):
            return _listed(wanted, getattr(column, method))
    return _listed(wanted, lambda: column)


def together(parts: list[Labels]) -> Labels:
    """Return the tuples of several columns."""
    if all(isinstance(part, pl.Series) for part in parts):
        return pl.DataFrame([pl.Series(str(at), part) for at, part in enumerate(parts)]).to_struct()
    return list(zip(*parts, strict=True))


def _listed(name: str, values: Callable[[], Iterable[Any]]) -> list[Hashable]:
    """Return the values of a column; some that a file can hold, such as a date in the year 50,000, Python cannot represent."""
    try:
        return list(values())
    except TypeError:
        raise TypeError(f"the column {name!r} of the log is not a list of values") from None
    except (pl.exceptions.PanicException, OverflowError, ValueError) as error:
        raise ValueError(
            f"the column {name!r} of the log holds something that cannot be read: {brief(error)}"
        ) from None


def _is_missing(label: Hashable) -> bool:
    if isinstance(label, tuple):
        return any(map(_is_missing, label))
    try:
        return label is None or bool(label != label)  # a float that is not a number
    except TypeError:  # NA of pandas is neither equal nor unequal to itself
        return True


def _numbers(values: Labels) -> tuple[Floats, Flags]:
    """Return values as numbers, with NaN for missing ones, and flags for those that are text instead."""
    texts = np.zeros(len(values), dtype=bool)
    if isinstance(values, pl.Series) and values.dtype != pl.String:
        return values.cast(pl.Float64).fill_null(math.nan).to_numpy(), texts
    numbers = np.full(len(values), np.nan)
    for row, given in enumerate(values):
        if type(given) is float:
            numbers[row] = given
        elif not _is_missing(given) and given != "":
            try:
                numbers[row] = float(given)
            except OverflowError:
                numbers[row] = math.inf
            except (TypeError, ValueError):
                texts[row] = True
    return numbers, texts


# --- Rows ---------------------------------------------------------------------------------


class RowFault(NamedTuple):
    """How many rows have it, and the first of them."""

    total: int
    rows: list[int]

    def sentence(self, fault: str) -> str:
        """Say what is wrong with these rows."""
        listed = ", ".join(map(str, self.rows)) + (", ..." if self.total > len(self.rows) else "")
        one = f"1 row has {fault} (row {listed})"
        return one if self.total == 1 else f"{self.total:,} rows have {fault} (rows {listed})"


def add_fault(faults: dict[str, RowFault], name: str, more: RowFault) -> None:
    """Add rows to those that have a fault."""
    total, rows = faults.get(name, RowFault(0, []))
    faults[name] = RowFault(total + more.total, sorted(rows + more.rows)[:_SHOWN])


def _censored(count: int) -> str:
    return f"{counted(count, 'row is', 'rows are')} censored: the end was not seen, and comes later"


class UsedRows(NamedTuple):
    """The rows of a log that can be used: their places among all, and what is in them."""

    kept: Ints
    rows: LogRows
    trajectory: Ints
    probability: Floats | None
    labels: tuple[tuple[Hashable, ...], tuple[Hashable, ...]]  # of states and actions
    amounts: dict[str, RowAmount]


class LogReader:
    """The columns of a log while they are read and checked."""

    def __init__(self, columns: dict[str, Labels], amounts: Mapping[str, Labels] = _NONE) -> None:
        sizes = {len(values) for values in (*columns.values(), *amounts.values())}
        if sizes == {0}:
            raise ValueError("the log has no rows; give at least one")
        if len(sizes) > 1:
            raise ValueError(
                f"the columns of the log have {', '.join(map(str, sorted(sizes)))} rows; they must all have the same number"
            )
        self.columns, self.amounts = columns, dict(amounts)
        self.size = len(next(iter(columns.values())))
        self.usable = np.ones(self.size, dtype=bool)
        self.place = np.arange(1, self.size + 1)  # of each row in the source
        self.faults: dict[str, RowFault] = {}
        self.notes: dict[Note, int] = {}
        self.censored, self.per, self.law = 0, "unit time", LAWS[0]
        self.unfinished = np.zeros(self.size, dtype=bool)  # rows that last longer than their duration
        self.start: Floats | None = None  # the part of rewards that is paid at the beginning, if it is known
        self.watched: Floats | None = None  # how long rows were watched, if their durations have more to them

    @property
    def refused(self) -> tuple[str, ...]:
        """A sentence for each reason why rows are left out."""
        return tuple(found.sentence(fault) for fault, found in self.faults.items())

    @property
    def findings(self) -> tuple[str, ...]:
        """A sentence for each thing that was noted."""
        return tuple(note(count) for note, count in self.notes.items())

    def refuse(self, wrong: Flags, fault: str) -> None:
        """Leave out the rows that are wrong, and note what is wrong with them."""
        at = np.flatnonzero(wrong & self.usable)
        if at.size:
            self.usable[at] = False
            add_fault(self.faults, fault, RowFault(len(at), np.sort(self.place[at])[:_SHOWN].tolist()))

    def note(self, note: Note, count: int) -> None:
        """Note that something is so in this many rows, if there are any."""
        if count:
            self.notes[note] = self.notes.get(note, 0) + count

    def flags(self, name: str) -> Flags:
        """Return a column of flags, or of 0 and 1; other rows are refused."""
        values = self.columns[name]
        numbers, texts = _numbers(
            values if isinstance(values, list) else values.cast(pl.Float64, strict=False)
        )
        self.refuse(
            texts | ~((numbers == 0.0) | (numbers == 1.0)),
            f"neither true nor false where it says whether it is {name}",
        )
        return np.asarray(numbers == 1.0)

    def mark(self) -> None:
        """Set which rows are censored."""
        self.unfinished = self.flags("censored")
        self.censored = int(np.count_nonzero(self.unfinished & self.usable))
        self.note(_censored, self.censored)

    def number(self, name: str, values: Labels | None = None) -> Floats:
        """Return a column of numbers; rows without a finite number are refused."""
        numbers, texts = _numbers(self.columns[name] if values is None else values)
        self.refuse(texts, f"a text where the {name} belongs")
        self.refuse(np.isnan(numbers), f"no {name}")
        self.refuse(np.isinf(numbers), f"an infinite {name}")
        return numbers

    def earnings(self) -> tuple[Floats, Floats]:
        """Return the rewards and the durations; rows with a negative duration, or with sizes that no sum can hold, are refused."""
        reward, duration = self.number("reward"), self.number("duration")
        self.refuse(duration < 0.0, "a negative duration")
        self.check_sizes(reward, duration)
        return reward, duration

    def further(self) -> dict[str, RowAmount]:
        """Return the further amounts."""
        return {name: RowAmount(self.number(name, values)) for name, values in self.amounts.items()}

    def check_sizes(self, reward: Floats, duration: Floats) -> None:
        """Refuse rows with sizes that no sum can hold."""
        tiny = (duration > 0.0) & (duration < 1.0 / _LARGEST)
        self.refuse(np.abs(reward) > _LARGEST, "a reward too large or too small to compute with")
        self.refuse(tiny | (duration > _LARGEST), "a duration too large or too small to compute with")

    def nothing_left(self) -> ValueError:
        """Return the error for a log that has no usable row."""
        return ValueError(f"the log has no row that can be used: {'; '.join(self.refused)}")

    def used(self) -> UsedRows:
        """Return the rows that can be used."""
        labels, state, after = self.states()
        actions, action = numbered(self.columns["action"])
        self.refuse(state < 0, "no state")
        self.refuse(action < 0, "no action")
        reward, duration = self.earnings()
        probability = None
        if "probability" in self.columns:
            probability = self.number("probability")
            wrong = ~((probability > 0.0) & (probability <= 1.0))
            self.refuse(wrong, "a probability that is not above 0 and at most 1")
        amounts = self.further()
        trajectory = self.trajectories()
        order = np.argsort(trajectory, kind="stable")
        order = order[trajectory[order] >= 0]
        if after is None:
            after = self.following(state, trajectory, order)
        if self.unfinished.any():
            after = np.where(self.unfinished, state, after)  # it stays where it was seen
        self.refuse(after < 0, "no next state")
        kept = order[self.usable[order]]
        self.columns, self.amounts = {}, {}  # they may be large
        rows = LogRows(state, action, reward, duration, after)
        if len(kept) < self.size or (np.diff(kept) != 1).any():
            rows, trajectory = LogRows._make(one[kept] for one in rows), trajectory[kept]
            probability = None if probability is None else probability[kept]
            amounts = {name: amount.at(kept) for name, amount in amounts.items()}
        return UsedRows(kept, rows, trajectory, probability, (labels, actions), amounts)

    def log(self, weight: Ints | None = None) -> Log:
        """Return the log of the usable rows, each of which stands for `weight` rows if these are sums."""
        kept, rows, trajectory, chances, labels, amounts = self.used()
        if not kept.size:
            raise self.nothing_left()
        if self.unfinished[kept].all():
            raise ValueError(
                f"every row is censored: none of {counted(len(kept), 'row', 'rows')} was seen to end, so the log does not say "
                "how long anything lasts nor where it leads"
            )
        return Log(
            rows,
            trajectory,
            chances,
            labels,
            self.refused,
            self.findings,
            censored=self.censored,
            per=self.per,
            unfinished=self._unfinished(kept),
            amounts=amounts,
            weight=None if weight is None else weight[kept],
        )

    def _unfinished(self, kept: Ints) -> Unfinished | None:
        """Return what is known of the rows that were not seen to end; None if all were."""
        if self.law not in LAWS:
            raise ValueError(f"durations is {shown(self.law)}; it must be {', '.join(map(repr, LAWS))}")
        if not self.unfinished[kept].any():
            return None
        start, watched = (None if one is None else one[kept] for one in (self.start, self.watched))
        return Unfinished(~self.unfinished[kept], start, self.law, watched)

    def trajectories(self) -> Ints:
        """Return the number of the trajectory of each row, -1 if it is missing."""
        if "trajectory" not in self.columns:
            return np.zeros(self.size, dtype=np.int64)
        trajectory = numbered(self.columns["trajectory"])[1]
        self.refuse(trajectory < 0, "no trajectory")
        return trajectory

    def states(self) -> tuple[tuple[Hashable, ...], Ints, Ints | None]:
        """Return the labels of the states, the states and the next states by number; None if these are not given."""
        if "next_state" not in self.columns:
            return *numbered(self.columns["state"]), None
        here, after = self.columns["state"], self.columns["next_state"]
        if isinstance(here, pl.Series) and isinstance(after, pl.Series) and here.dtype == after.dtype:
            labels, both = numbered(pl.concat([here, after]))
        else:
            labels, both = numbered([*_unpacked(here), *_unpacked(after)])
        return labels, both[: self.size], both[self.size :]

    def following(self, state: Ints, trajectory: Ints, order: Ints) -> Ints:
        """Return the state of the next row of the same trajectory; the last row has none, which is not refused."""
        after = np.full(self.size, -1, dtype=np.int64)
        after[order[:-1]] = state[order[1:]]
        last = order[np.diff(trajectory[order], append=-1) != 0]
        after[last] = -1
        self.usable[last[~self.unfinished[last]]] = False
        return after


def numbered(values: Labels) -> tuple[tuple[Hashable, ...], Ints]:
    """Return the different labels, and the number of the label in each row, -1 if it is missing.

    Labels are numbered in sorted order or, if they cannot be sorted, in order of appearance.
    """
    if isinstance(values, pl.Series):
        return _numbered_quickly(values)
    known = [None if _is_missing(label) else label for label in values]
    try:
        different = [label for label in dict.fromkeys(known) if label is not None]
    except TypeError:
        strange = next((label for label in known if label.__hash__ is None), known[0])
        raise TypeError(
            f"a label of the log is {shown(strange)}; labels must be texts, numbers or several columns"
        ) from None
    with contextlib.suppress(TypeError):  # labels of several kinds have no order
        different = sorted(different)  # type: ignore[type-var]
    numbers: dict[Hashable, int] = {label: number for number, label in enumerate(different)}
    return tuple(different), np.array([numbers.get(label, -1) for label in known], dtype=np.int64)


def _numbered_quickly(values: pl.Series) -> tuple[tuple[Hashable, ...], Ints]:
    """Return the same for a column of numbers or texts, or for a record of several, without looking at single rows."""
    if values.dtype == pl.Struct:
        parts = [_numbered_quickly(part) for part in values.struct.unnest()]
        sizes = [max(len(labels), 1) for labels, _ in parts]
        if math.prod(sizes) >= _LARGEST_KEY:
            return numbered(_unpacked(values))
        numbers = np.array([number for _, number in parts])
        key = np.where((numbers < 0).any(axis=0), -1, np.ravel_multi_index([*np.maximum(numbers, 0)], sizes))
        keys, found = np.unique(key, return_inverse=True)
        known = keys[keys >= 0]
        columns = zip(parts, np.unravel_index(known, sizes), strict=True)
        labels = zip(*([labels[at] for at in where] for (labels, _), where in columns), strict=True)
        return tuple(labels), found - (len(keys) - len(known))
    values = values.fill_nan(None) if values.dtype.is_float() else values
    different = values.drop_nulls().unique().sort()
    number = values.replace_strict(different, pl.int_range(len(different), eager=True), default=-1)
    return tuple(different.to_list()), number.cast(pl.Int64).to_numpy()


def _unpacked(values: Labels) -> list[Hashable]:
    """Return labels as a list; records become tuples."""
    if isinstance(values, pl.Series) and values.dtype == pl.Struct:
        return list(values.to_frame().unnest(values.name).iter_rows())
    return list(values)
