"""`replaced`: a value with some of its fields replaced, in Python and in compiled code.

A rule that changes a few fields of a value says only which; the others stay, however many the class has or will have.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sojourn.rules.bridge import Function, bridge, written_out
from sojourn.rules.values import Field, V, named_fields

Numba: TypeAlias = Any  # its types: Numba ships none of its own


def replaced(value: V, /, **fields: Field) -> V:
    """Return a value with some of its fields replaced; the class checks all of them, as it does in every construction.

    >>> from typing import NamedTuple
    >>> class Sum(NamedTuple):
    ...     total: float
    ...     count: int = 0
    >>> replaced(Sum(1.0), count=3)
    Sum(total=1.0, count=3)
    """
    made = type(value)(*[fields.pop(name, field) for name, field in named_fields(value)])
    if fields:
        raise TypeError(f"{type(value).__name__} has no field {', '.join(fields)}")
    return made


def _resolve(value: Numba, /, **fields: Numba) -> Function | None:
    """Return the same for compiled code, written out for this class and these fields."""
    cls = getattr(value, "instance_class", None)
    if cls is None or not fields.keys() <= set(cls._fields):
        return None
    parts = ", ".join(name if name in fields else f"_value.{name}" for name in cls._fields)
    source = f"def function(_value, {', '.join(fields)}):\n    return cls({parts})\n"
    return written_out(source, {"cls": cls}, known_as=f"replaced-{'-'.join(fields)}")


bridge(replaced, _resolve)
