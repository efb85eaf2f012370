"""Rows of a model as columns, whatever they were given as; lists of tuples, frames, rates and explored states all come here.

A column is checked as a whole. Only if something is wrong are its entries looked at one by one, to say which it is.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from sojourn.data.numbers import finite, listed, shown, unmasked
from sojourn.models.labels import MOST_NAMES, labels_in
from sojourn.models.laws import Constant, Empirical, FlatLaws, Law, as_law, flat, means
from sojourn.models.smdp import SMDP
from sojourn.models.validation import offsets_of, pair_means
from sojourn.rules.arrays import Floats, Ints

Frame: TypeAlias = Any  # of polars, pandas or pyarrow, or columns by name
Column: TypeAlias = Sequence[Any] | npt.NDArray[Any]
Name: TypeAlias = Callable[[int], str]  # what a sentence calls the entry of a row

_NUMBERS = {float, int, bool, np.float64}  # what NumPy reads as we do


class Columns(NamedTuple):
    """The rows of a model, in any order: numbers of states and actions, probabilities, rewards, durations, amounts."""

    state: Ints
    action: Ints
    successor: Ints
    probability: Floats
    reward: Floats | FlatLaws
    duration: Floats | FlatLaws
    amounts: Mapping[str, Floats]


def model_of(
    columns: Columns,
    num_states: int,
    states: Sequence[Hashable] | None,
    actions: Sequence[Hashable] | None,
) -> SMDP:
    """Return the model of these rows, with the labels of its states and actions."""
    key = columns.state * np.int64(columns.action.max() + 1) + columns.action
    order = slice(None) if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
    row_offsets = np.append(begins, len(key))
    chance = columns.probability[order]
    return SMDP(
        pair_offsets=offsets_of(np.bincount(columns.state[order][begins], minlength=num_states)),
        row_offsets=row_offsets,
        successor=columns.successor[order],
        probability=chance,
        action=columns.action[order][begins],
        state_names=states,
        action_names=actions,
        amounts={
            name: pair_means(each[order], chance, row_offsets) for name, each in columns.amounts.items()
        },
        **_means_or_laws("reward", columns.reward, order, row_offsets),
        **_means_or_laws("duration", columns.duration, order, row_offsets),
    )


def _means_or_laws(name: str, given: Floats | FlatLaws, order: Any, row_offsets: Ints) -> dict[str, Any]:
    """Return means of pairs if these are enough, else means of rows, or laws of rows."""
    if isinstance(given, FlatLaws):
        return {f"{name}_law": FlatLaws(given.kind[order], given.parameters[order])}
    values = given[order]
    first = values[row_offsets[:-1]]
    is_same = (values == np.repeat(first, np.diff(row_offsets))).all()
    return {name: first} if is_same else {f"row_{name}": values}


# --- Numbers ------------------------------------------------------------------------------


def numbers_in(values: Sequence[Any], name: Name) -> Floats:
    """Return a column of finite numbers.

    >>> numbers_in([1, 2.5], "the rate of row {}".format)
    array([1. , 2.5])
    """
    if isinstance(values, np.ndarray) or set(map(type, values)) <= _NUMBERS:
        with contextlib.suppress(OverflowError, TypeError, ValueError):
            found = np.array(values, dtype=np.float64)
            if np.isfinite(found).all():
                return found
    return np.array([finite(name(row), value) for row, value in enumerate(values)])


def quantities_in(values: Sequence[Any], name: Name) -> Floats | FlatLaws:
    """Return a column of numbers, or of laws if it has any.

    >>> from sojourn.models.laws import Exponential
    >>> quantities_in([2.0, Exponential(1.0)], "the duration of row {}".format).law(1)
    Exponential(mean=1.0)
    """
    kinds = set() if isinstance(values, np.ndarray) else set(map(type, values))
    if kinds <= _NUMBERS:
        return numbers_in(values, name)
    known: dict[tuple[type, Law | float], int] = {}  # laws of two kinds may be equal as tuples
    laws: list[Law] = []
    places = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        try:
            place = known.get((type(value), value))
        except TypeError:  # an array
            place = None
        if place is None:
            laws.append(as_law(name(row), value))
            place = len(laws) - 1
            if isinstance(value, Law | int | float):
                known[type(value), value] = place
        places[row] = place
    if all(isinstance(law, Constant) for law in laws):
        return np.array([law[0] for law in laws])[places]
    different = flat(laws)
    return FlatLaws(different.kind[places], different.parameters[places])


def amounts_in_rows(rows: Sequence[Mapping[str, Any]], name: Callable[[int, str], str]) -> dict[str, Floats]:
    """Return the mean of each amount in every row, given by name; a row that does not name it has none.

    >>> amounts_in_rows([{"lost": 1}, {}], "row {}: {}".format)
    {'lost': array([1., 0.])}
    """
    found = {}
    for amount in dict.fromkeys(itertools.chain.from_iterable(rows)):
        values: list[Any] = [row.get(amount, 0.0) for row in rows]
        if not set(map(type, values)) <= _NUMBERS:
            values = [mean_of(name(row, amount), value) for row, value in enumerate(values)]
        found[amount] = numbers_in(values, lambda row, amount=amount: name(row, amount))  # type: ignore[misc] # its default
    return found


def mean_of(name: str, quantity: Law | Empirical | float) -> float:
    """Return the mean of a number, a law or samples; the name is for the sentence that refuses anything else.

    >>> from sojourn.models.laws import Exponential
    >>> mean_of("lost", 3), mean_of("lost", Exponential(2.0)), mean_of("lost", Empirical([1.0, 2.0]))
    (3.0, 2.0, 1.5)
    """
    if isinstance(quantity, Empirical):
        return math.fsum(chance * float(value) for chance, value in quantity.shares(name))
    return float(means(flat([as_law(name, quantity)]))[0])


# --- Numbers of labels --------------------------------------------------------------------


class Numbering:
    """The numbers of states or actions that are given by number or by label.

    Labels are numbered in the order of `names` or, without these, in the order in which they first appear. If all are whole
    numbers and there are no names, they are the numbers themselves.
    """

    def __init__(self, what: str, names: Sequence[Hashable] | None, used: Sequence[Column]) -> None:
        self.what = what
        kinds = {kind for column in used for kind in _kinds(column)}
        self._is_whole = all(issubclass(kind, int | np.integer) for kind in kinds)
        if names is not None:
            self.labels = labels_in(f"{what}_names", names, max(MOST_NAMES, *map(len, used)))
        else:
            self.labels = None if self._is_whole else self._first_seen(used)
        if self.labels is None:
            self.count = 1 + max(int(np.max(column)) for column in used)
            self._check_filled(used)
        else:
            self.count = len(self.labels)
        self._by_position = self.labels is None or not any(isinstance(each, int) for each in self.labels)
        self._numbers = {label: number for number, label in enumerate(self.labels or ())}

    def _first_seen(self, used: Sequence[Column]) -> tuple[Hashable, ...]:
        try:
            return labels_in("", dict.fromkeys(itertools.chain(*used)), sum(map(len, used))) or ()
        except TypeError:
            strange = next(each for column in used for each in column if not has_hash(each))
            raise TypeError(
                f"{'an' if self.what == 'action' else 'a'} {self.what} is {shown(strange)}; it must be a number, a name, a "
                "tuple or another value with a hash"
            ) from None

    def _check_filled(self, used: Sequence[Column]) -> None:
        if self.what == "state" and self.count > sum(map(len, used)):
            known = set(itertools.chain(*used))
            idle = next(number for number in itertools.count() if number not in known)
            raise ValueError(
                f"there is a state {shown(self.count - 1)} but no state {idle}; number the states from 0, and give "
                "each an action"
            )

    def numbers(self, column: Column) -> Ints:
        """Return the numbers of the labels in a column."""
        if self._is_whole and self._by_position:
            with contextlib.suppress(OverflowError):
                found = np.array(column, dtype=np.int64)
                if ((found >= 0) & (found < self.count)).all():
                    return found
        try:
            return np.fromiter(map(self._numbers.__getitem__, column), np.int64, len(column))
        except (KeyError, TypeError):
            return np.array([self.number(label) for label in column], dtype=np.int64)

    def number(self, given: Hashable) -> int:
        """Return the number of a state or action."""
        if self._by_position and isinstance(given, int | np.integer):
            if not 0 <= given < self.count:
                raise ValueError(f"{self.what} {shown(given)} is not one of 0 to {self.count - 1}")
            return int(given)
        number = self._numbers.get(given, self._numbers.get(str(given)))
        if number is None:
            raise ValueError(
                f"{self.what} {shown(given)} is not one of {listed(list(map(str, self._numbers)))}"
            )
        return number


def _kinds(column: Column) -> set[type]:
    return {column.dtype.type} if isinstance(column, np.ndarray) else set(map(type, column))


def has_hash(label: object) -> bool:
    """Return whether something can be a label; a tuple with an array in it cannot."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


# --- Frames -------------------------------------------------------------------------------


def columns_by_name(source: Frame) -> dict[str, Any] | None:
    """Return the columns of a frame of polars, pandas or pyarrow, or of columns by name; None if it is something else.

    >>> columns_by_name(pl.DataFrame({"state": [0, 1]}))["state"].to_list()
    [0, 1]
    """
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    names = source.keys() if isinstance(source, Mapping) else getattr(source, "column_names", None)
    names = getattr(source, "columns", None) if names is None else names
    if names is None or not hasattr(source, "__getitem__"):
        return None
    return {str(name): source[name] for name in names}


def column_numbers(name: str, column: Any) -> Floats:
    """Return a column of a frame as numbers; a missing one is refused."""
    unmasked(f"the column {name!r}", column)
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    values = values if hasattr(values, "__len__") else list(values)
    return numbers_in(values, lambda row: f"the {name} of row {row}")


def column_labels(what: str, columns: Sequence[Any]) -> list[Any]:
    """Return columns of labels as numbers, and then the labels by number; None if they are whole numbers themselves.

    >>> column_labels("state", [["up", "down"], ["down", "up"]])
    [array([0, 1]), array([1, 0]), ('up', 'down')]
    """
    sizes = [len(unmasked(f"the column {what!r}", column)) for column in columns]
    parts = [_series(what, column) for column in columns]
    if len({part.dtype for part in parts}) > 1:
        raise TypeError(
            f"the labels of the {what}s have the types {parts[0].dtype} and {parts[1].dtype} in state and next; give both "
            "the same"
        )
    series = pl.concat(parts)
    if series.null_count():
        raise ValueError(f"row {int(series.is_null().arg_max() or 0) % sizes[0]} has no {what}; give it one")
    if series.dtype.is_integer():
        numbers, names = series.to_numpy(), None
    elif series.dtype == pl.String:
        different = series.unique(maintain_order=True)
        numbers = series.cast(pl.Enum(different)).to_physical().to_numpy().astype(np.int64)
        names = tuple(different.to_list())
    else:  # dates, lists, records
        labels = [_label(each) for each in series.to_list()]
        names = tuple(dict.fromkeys(labels))
        place = {label: number for number, label in enumerate(names)}
        numbers = np.array([place[label] for label in labels])
    return [*np.split(np.asarray(numbers), np.cumsum(sizes)[:-1]), names]


def _series(what: str, column: Any) -> pl.Series:
    """Return a column of a frame as polars reads it."""
    values = (
        column.to_numpy() if not isinstance(column, pl.Series) and hasattr(column, "to_numpy") else column
    )
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        values = values.tolist()
    try:
        found = pl.Series(values=values)
    except (TypeError, ValueError, pl.exceptions.PolarsError, OverflowError):
        raise TypeError(
            f"the column {what!r} has labels of several kinds; give numbers or texts, or a list of tuples in place of a frame"
        ) from None
    if found.dtype.is_integer():
        return found.cast(pl.Int64)
    return found.cast(pl.String) if found.dtype in (pl.Categorical, pl.Enum) else found


def _label(given: Any) -> Hashable:
    """Return a label that a frame holds; a list or a record becomes a tuple."""
    if isinstance(given, dict):
        return tuple(map(_label, given.values()))
    return tuple(map(_label, given)) if isinstance(given, list | np.ndarray) else given


def check_lengths(columns: Mapping[str, Iterable[Any]]) -> None:
    """Refuse columns of different lengths."""
    sizes = {len(column) for column in columns.values()}  # type: ignore[arg-type] # columns have lengths
    if len(sizes) > 1:
        raise ValueError(
            f"the columns have {', '.join(map(str, sorted(sizes)))} rows; they must all have the same number"
        )
    if sizes <= {0}:
        raise ValueError("there are no transitions; give at least one")
