"""Stacks: many values of one type as one value, with an array of entries in every field.

`take` and `put` read and write one place of a stack, in Python and in compiled code alike.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sojourn.rules.bridge import Function, bridge, written_out
from sojourn.rules.values import Field

Numba: TypeAlias = Any  # its types: Numba ships none of its own


def take(stack: Field, index: int) -> Field:
    """Return one value of a stack, which is a value with an array of entries in every field.

    Entries that are themselves arrays are not copied: to write into them is to write into
    the stack.
    """
    if isinstance(stack, tuple):
        return type(stack)._make(take(field, index) for field in stack)  # type: ignore[attr-defined]
    entry = stack[index]
    return entry if entry.ndim else entry.item()


def _resolve_take(stack: Numba, index: Numba) -> Function:
    """For compiled code: the same, written out for this type."""
    cls = getattr(stack, "instance_class", None)
    if cls is None:
        return lambda stack, index: stack[index]
    fields = ", ".join(f"{name}=take(stack.{name}, index)" for name in cls._fields)
    return written_out(f"def function(stack, index):\n    return cls({fields})\n", {"cls": cls, "take": take})


def put(stack: Field, index: int, value: Field) -> None:
    """Write a value into one place of a stack; arrays that cannot be written are constants and stay."""
    for column, field in zip(stack, value, strict=True):
        if isinstance(column, tuple):
            put(column, index, field)
        elif column.flags.writeable:
            column[index] = field


def _resolve_put(stack: Numba, index: Numba, value: Numba) -> Function:
    """For compiled code: the same, written out for this type."""
    cls = getattr(stack, "instance_class", None)
    if cls is None:
        if stack.ndim == 1:
            return _put_number
        if not stack.mutable:
            return _put_nothing
        return {2: _put_row, 3: _put_table, 4: _put_tables}.get(stack.ndim, _put_array)
    lines = "".join(f"    put(stack.{name}, index, value.{name})\n" for name in cls._fields)
    return written_out(f"def function(stack, index, value):\n{lines}    pass\n", {"put": put})


def _put_number(stack: Field, index: int, value: Field) -> None:
    stack[index] = value


# Rules mostly write into the array that they were given, and then there is nothing to do. Entry by
# entry, because `stack[index] = value` takes Numba three times as long to compile as all the rest.


def _put_row(stack: Field, index: int, value: Field) -> None:
    if stack[index].ctypes.data != value.ctypes.data:
        if stack.shape[1] != value.shape[0]:
            raise ValueError("a rule returned an array of another shape")
        for i in range(value.shape[0]):
            stack[index, i] = value[i]


def _put_table(stack: Field, index: int, value: Field) -> None:
    if stack[index].ctypes.data != value.ctypes.data:
        if stack.shape[1] != value.shape[0] or stack.shape[2] != value.shape[1]:
            raise ValueError("a rule returned an array of another shape")
        for i in range(value.shape[0]):
            for j in range(value.shape[1]):
                stack[index, i, j] = value[i, j]


def _put_tables(stack: Field, index: int, value: Field) -> None:
    if stack[index].ctypes.data != value.ctypes.data:
        if stack.shape[1:] != value.shape:
            raise ValueError("a rule returned an array of another shape")
        for i in range(value.shape[0]):
            for j in range(value.shape[1]):
                for k in range(value.shape[2]):
                    stack[index, i, j, k] = value[i, j, k]


def _put_array(stack: Field, index: int, value: Field) -> None:
    if stack[index].ctypes.data != value.ctypes.data:
        stack[index] = value


def _put_nothing(stack: Field, index: int, value: Field) -> None:
    pass


bridge(take, _resolve_take)
bridge(put, _resolve_put)
