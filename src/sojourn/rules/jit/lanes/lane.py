"""Lanes: many values of one type side by side, so that one SIMD instruction serves several of them.

A stack of lanes is a value whose arrays have the lane as their last axis: a number of the value becomes an array [lane],
a table an array [state, action, lane]. `one_lane` reads the value of a lane and `put_lane` writes it back.
Rules are called with that value as with any other: a table of a lane is indexed as a table, a stream as a stream.

    opened(stack, actions)            the stack in the form that `one_lane` needs; `actions` is a tuple with an entry for each
    one_lane(stack, lane)             the value of one lane
    put_lane(stack, lane, value)      writes it back
    for_each_lane(work, count)        calls in_lane(work, lane), a rule for the type of `work`, for each lane

In Python all this is plain NumPy and a loop. In compiled code, `for_each_lane` tells the compiler that no lane reads what
another writes, so the compiler can combine the same instruction of several lanes into one vector instruction. All
branches become selections, so there must be no loop whose length is known only at run time.
"""

from __future__ import annotations

import numpy as np

from sojourn.rules.arrays import Ints
from sojourn.rules.bridge import Function, Numba, bridge, written_out
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import LANES, Field, V, Value, is_value, with_arrays

_NUM_ROWS = {1: 1, 2: 4, 3: 0}  # of a number, a stream, and a table, which is stored separately


def in_lanes(stack: V, which: Ints) -> V:
    """Return at most `LANES` entries of a stack as a stack of lanes, padded with the last entry.

    Everything except tables is in one array, which compiled code indexes by row number.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: np.ndarray
    >>> in_lanes(Point(np.array([1.0, 2.0, 3.0])), np.array([0, 2])).x[:4]
    array([1., 3., 3., 3.])
    """
    rows = np.zeros((_num_rows(stack), LANES))
    entries = which[np.minimum(np.arange(LANES), len(which) - 1)]
    taken = 0

    def turned(array: Field) -> Field:
        nonlocal taken
        if array.ndim == 3:
            return np.ascontiguousarray(np.moveaxis(array[entries], 0, -1))
        count = _NUM_ROWS[array.ndim]
        place = rows[taken : taken + count].reshape(-1).view(array.dtype)[: count * LANES]
        taken += count
        place = place if array.ndim == 1 else place.reshape(count, LANES)
        place[:] = array[entries].T
        return place

    return with_arrays(stack, turned)


def _num_rows(stack: Field) -> int:
    """Return the number of rows that the numbers and streams of a stack take."""
    if is_value(stack):
        return sum(map(_num_rows, stack))
    return _NUM_ROWS[stack.ndim]


def opened(stack: Field, actions: tuple[int, ...]) -> Field:
    """Return a stack of lanes in the form that `one_lane` needs; in Python, it stays the same."""
    return stack


def one_lane(stack: Field, lane: int) -> Field:
    """Return the value of one lane; writing into its arrays writes into the stack.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: np.ndarray
    >>> one_lane(Point(np.array([1.0, 2.0])), 1)
    Point(x=2.0)
    """
    if isinstance(stack, tuple):
        return type(stack)._make(one_lane(field, lane) for field in stack)  # type: ignore[attr-defined]
    entry = stack[..., lane]
    return entry if entry.ndim else entry.item()


def put_lane(stack: Field, lane: int, value: Field) -> None:
    """Write the numbers of a value into a lane; its arrays are views of the stack and need no writing."""
    if is_value(stack):
        for column, field in zip(stack, value, strict=True):
            put_lane(column, lane, field)
    elif stack.ndim == 1:
        stack[lane] = value


@rule()
def in_lane(work: Value, lane: int) -> None:
    """Do the work in one lane."""
    raise no_rule("in_lane", work)


_in_lane = in_lane.bare


def for_each_lane(work: Value, count: int) -> None:
    """Call in_lane(work, lane) for the lanes 0 to count - 1; no lane may read what another writes."""
    for lane in range(count):
        _in_lane(work, lane)


def alike(one: Field, other: Field) -> bool:
    """Whether all numbers of two values of one type are the same; arrays are not compared.

    >>> from typing import NamedTuple
    >>> class Place(NamedTuple):
    ...     t: int
    >>> alike(Place(1), Place(1)), alike(Place(1), Place(2))
    (True, False)
    """
    if isinstance(one, tuple):
        return all(alike(a, b) for a, b in zip(one, other, strict=True))
    return isinstance(one, np.ndarray) or bool(one == other)


def chosen(choices: tuple[float, ...], place: int) -> float:
    """Return one entry of a tuple; compiled code selects it without a branch.

    >>> chosen((2.5, 4.0), 1)
    4.0
    """
    return choices[place]


# --- The same, generated for compiled code ------------------------------------------------


def _resolve_opened(stack: Numba, actions: Numba) -> Function:
    """Generated for the whole stack, so that rows are numbered in the order of `in_lanes`."""
    from sojourn.rules.jit.lanes.instructions import row_of, table_of

    names: dict[str, Function] = {"row_of": row_of, "table_of": table_of}
    rows: list[str] = []  # the path of the array that each row belongs to

    def written(kind: Numba, path: str) -> str:
        cls = getattr(kind, "instance_class", None)
        if cls is not None:
            names[cls.__name__] = cls
            fields = zip(cls._fields, kind.types, strict=True)
            parts = [f"{name}={written(part, path + '.' + name)}" for name, part in fields]
            return f"{cls.__name__}({', '.join(parts)})"
        if kind.ndim == 3:
            return f"table_of({path}, actions)"
        place = len(rows)
        rows.extend([path] * _NUM_ROWS[kind.ndim])
        return f"row_of({path}, {rows[0]}, {place})"

    return written_out(f"def function(stack, actions):\n    return {written(stack, 'stack')}\n", names)


def _resolve_one_lane(stack: Numba, lane: Numba) -> Function:
    from sojourn.rules.jit.lanes.instructions import lane_of, number_of

    cls = getattr(stack, "instance_class", None)
    if cls is None:
        return number_of if stack.ndim == 1 else lane_of
    fields = ", ".join(f"{name}=one_lane(stack.{name}, lane)" for name in cls._fields)
    return written_out(
        f"def function(stack, lane):\n    return cls({fields})\n", {"cls": cls, "one_lane": one_lane}
    )


def _resolve_put_lane(stack: Numba, lane: Numba, value: Numba) -> Function:
    from sojourn.rules.jit.lanes.instructions import put_number

    cls = getattr(stack, "instance_class", None)
    if cls is None:
        return put_number if stack.ndim == 1 else _put_nothing
    lines = "".join(f"    put_lane(stack.{name}, lane, value.{name})\n" for name in cls._fields)
    return written_out(f"def function(stack, lane, value):\n{lines}    pass\n", {"put_lane": put_lane})


def _put_nothing(stack: Field, lane: int, value: Field) -> None:
    pass


def _resolve_for_each(work: Numba, count: Numba) -> Function:
    from sojourn.rules.jit.lanes.instructions import each_lane

    return written_out(
        "def function(work, count):\n    each_lane(in_lane, work, count)\n",
        {"each_lane": each_lane, "in_lane": _in_lane},
    )


def _resolve_alike(one: Numba, other: Numba) -> Function:
    cls = getattr(one, "instance_class", None)
    if cls is None:
        return _always if hasattr(one, "ndim") else _equal
    compared = " and ".join(f"alike(one.{name}, other.{name})" for name in cls._fields) or "True"
    return written_out(f"def function(one, other):\n    return {compared}\n", {"alike": alike})


def _always(one: Field, other: Field) -> bool:
    return True


def _equal(one: Field, other: Field) -> bool:
    return one == other


def _resolve_chosen(choices: Numba, place: Numba) -> Function:
    from sojourn.rules.jit.lanes.instructions import select

    lines = "".join(
        f"    found = select(place == {i}, choices[{i}], found)\n" for i in range(1, choices.count)
    )
    return written_out(
        f"def function(choices, place):\n    found = choices[0]\n{lines}    return found\n",
        {"select": select},
    )


bridge(opened, _resolve_opened)
bridge(one_lane, _resolve_one_lane)
bridge(put_lane, _resolve_put_lane)
bridge(for_each_lane, _resolve_for_each)
bridge(alike, _resolve_alike)
bridge(chosen, _resolve_chosen)
