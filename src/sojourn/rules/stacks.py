"""Stacks: many values of one type as one value, with an array of entries in every field.

`take` and `put` read and write one place of a stack, in Python and in compiled code alike.
"""

from __future__ import annotations

from sojourn.rules.bridge import Function, Numba, bridge, is_plain, written_out
from sojourn.rules.values import Field

LANES = 32  # entries of a stack that are taken side by side (`jit.lanes`); compiled code knows it, so that addresses are constants


def take(stack: Field, index: int) -> Field:
    """Return one value of a stack, which is a value with an array of entries in every field.

    Entries that are themselves arrays are not copied: writing into them writes into the stack.
    """
    if isinstance(stack, tuple):
        # In one expression, since this takes half of the time when steps are interpreted.
        return tuple.__new__(
            type(stack),
            [
                take(field, index)
                if isinstance(field, tuple)
                else field.item(index)
                if field.ndim == 1
                else field[index]
                for field in stack
            ],
        )
    return stack.item(index) if stack.ndim == 1 else stack[index]


def _resolve_take(stack: Numba, index: Numba) -> Function:
    """For compiled code: the same, written for this type."""
    cls = getattr(stack, "instance_class", None)
    if cls is None:
        return lambda stack, index: stack[index]
    if not is_plain("stacks"):
        from sojourn.rules.jit.columns import can_be_taken, taking

        if can_be_taken(stack):
            source = "def function(stack, index):\n    return inner(stack, index)\n"
            return written_out(source, {"inner": taking()}, known_as="take")
    fields = ", ".join(f"{name}=take(stack.{name}, index)" for name in cls._fields)
    return written_out(f"def function(stack, index):\n    return cls({fields})\n", {"cls": cls, "take": take})


def put(stack: Field, index: int, value: Field) -> None:
    """Write a value into one place of a stack; read-only arrays are constants, and stay as they are."""
    for column, field in zip(stack, value, strict=True):
        if isinstance(column, tuple):
            put(column, index, field)
        elif column.flags.writeable:
            column[index] = field


def _resolve_put(stack: Numba, index: Numba, value: Numba) -> Function:
    """For compiled code: the same, written for this type."""
    cls = getattr(stack, "instance_class", None)
    if not is_plain("stacks"):
        from sojourn.rules.jit.columns import can_be_put, can_be_taken, putting

        if can_be_taken(stack) and can_be_put(stack, value):
            source = "def function(stack, index, value):\n    inner(stack, index, value)\n"
            return written_out(source, {"inner": putting()}, known_as="put")
    if cls is None:
        return _put_entry if stack.ndim == 1 or stack.mutable else _put_nothing
    lines = "".join(f"    put(stack.{name}, index, value.{name})\n" for name in cls._fields)
    return written_out(f"def function(stack, index, value):\n{lines}    pass\n", {"put": put})


def _put_entry(stack: Field, index: int, value: Field) -> None:
    stack[index] = value


def _put_nothing(stack: Field, index: int, value: Field) -> None:
    pass


bridge(take, _resolve_take)
bridge(put, _resolve_put)
