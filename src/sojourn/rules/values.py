"""Values: the immutable records that rules work on.

A *value* is a `NamedTuple` whose fields are numbers, arrays and further values. It can be printed, compared, pickled
and passed to compiled code, and only the contents of its arrays can change.

A *stack* is many values of one type as a struct of arrays: one value with an array of entries in every field; `take`
and `put` read and write one entry. They work in Python and in compiled code alike, and so does `replaced`, which
changes some fields of a value and keeps the others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np

from sojourn.data.moved import moved_names
from sojourn.rules.bridge import Function, Numba, bridge, is_plain, written_out

Field: TypeAlias = Any  # a number, a numeric array or a value


class Value(Protocol):
    """An instance of a NamedTuple class."""

    @property
    def _fields(self) -> tuple[str, ...]: ...
    def _asdict(self) -> dict[str, Field]: ...
    def __iter__(self) -> Iterator[Field]: ...


V = TypeVar("V")
Column: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


def is_value(thing: Field) -> TypeGuard[Value]:
    """Whether `thing` is an instance of a NamedTuple class."""
    return isinstance(thing, tuple) and hasattr(thing, "_fields")


def checked(**checks: Callable[[str, Field], Field]) -> Callable[[type[V]], type[V]]:
    """Make a NamedTuple class validate its fields: `@checked(step_size=fraction)`.

    Every construction makes all fields canonical and runs the named checks. A check returns its field, converted.
    """

    def decorate(cls: type[V]) -> type[V]:
        plain: Callable[..., V] = cls.__new__

        @functools.wraps(plain)
        def checked_new(new_cls: type[V], *args: Field, **kwargs: Field) -> V:
            value = plain(new_cls, *args, **kwargs)
            cleaned = {
                name: check(f"{cls.__name__}.{name}", getattr(value, name)) for name, check in checks.items()
            }
            return canonical(_made(cls, (cleaned.get(name, field) for name, field in named_fields(value))))

        cls.__new__ = checked_new  # type: ignore[method-assign, assignment]
        return cls

    return decorate


def canonical(value: V) -> V:
    """Return `value` with every field as compiled code expects it.

    NumPy scalars become Python numbers, ints in fields declared `float` become floats, arrays become contiguous.
    Anything that a value cannot hold is refused.

    >>> from typing import NamedTuple
    >>> class Sum(NamedTuple):
    ...     total: float
    ...     count: int
    >>> canonical(Sum(0, np.int64(3)))
    Sum(total=0.0, count=3)
    """
    cls: type = type(value)
    floats = _float_fields(cls)

    def clean(name: str, field: Field) -> Field:
        return field if type(field) is float else _canonical_field(cls, name, name in floats, field)

    return _made(type(value), (clean(name, field) for name, field in named_fields(value)))


def named_fields(value: Field) -> Iterator[tuple[str, Field]]:
    """Yield the name of each field of a value, and the field."""
    return zip(value._fields, value, strict=True)


def fields_of(value: Field) -> tuple[Field, ...]:
    """Return the fields of a value."""
    return tuple(value)


def _made(cls: type[V], fields: Iterable[Field]) -> V:
    """Construct a value from all its fields, without its checks."""
    make: Callable[[Iterable[Field]], V] = getattr(cls, "_make")  # noqa: B009 - type checkers do not know it
    return make(fields)


@functools.cache
def _float_fields(cls: type) -> frozenset[str]:
    """Return the fields declared `float`, whether by the class or by its name."""
    hints = {name: getattr(hint, "__forward_arg__", hint) for name, hint in cls.__annotations__.items()}
    return frozenset(name for name, hint in hints.items() if hint in (float, "float"))


def _canonical_field(cls: type, name: str, is_float: bool, field: Field) -> Field:
    if is_float and isinstance(field, bool | int | np.bool_ | np.integer):
        try:
            return float(field)
        except OverflowError:
            raise ValueError(f"{cls.__name__}.{name} is too large for a float") from None
    if isinstance(field, bool | np.bool_):
        return bool(field)
    if isinstance(field, int | np.integer):
        if not -(2**63) <= field < 2**63:
            raise ValueError(f"{cls.__name__}.{name} is too large; a whole number must be less than 2^63")
        return int(field)
    if isinstance(field, float | np.floating):
        return float(field)
    if isinstance(field, np.ndarray) and field.dtype.kind in "biuf" and field.dtype.itemsize <= 8:
        return np.ascontiguousarray(field, dtype=field.dtype.newbyteorder("="))
    if is_value(field):
        return canonical(field)
    raise TypeError(
        f"{cls.__name__}.{name} is {repr(field).partition(chr(10))[0][:80]}; a value holds only numbers, numeric arrays and values"
    )


def validated(value: V) -> V:
    """Return `value` rebuilt by its constructors, so that all their checks have run."""
    fields = (validated(field) if is_value(field) else field for _, field in named_fields(value))
    return canonical(type(value)(*fields))


def with_fields(value: V, **fields: Field) -> V:
    """Return `value` with some fields replaced, without the checks of its class; `replaced` runs them."""
    return _made(type(value), (fields.pop(name, field) for name, field in named_fields(value)))


def copied(value: V) -> V:
    """Return `value` with copies of its arrays, so that rules may write into them."""
    return with_arrays(value, lambda array: np.array(array, order="C"))


def with_arrays(value: V, change: Callable[[Field], Field]) -> V:
    """Return `value` with every array in it, at any depth, changed.

    >>> from typing import NamedTuple
    >>> class Row(NamedTuple):
    ...     x: np.ndarray
    >>> with_arrays(Row(np.array([1, 2])), lambda array: array + 1)
    Row(x=array([2, 3]))
    """

    def changed(field: Field) -> Field:
        if isinstance(field, np.ndarray):
            return change(field)
        return with_arrays(field, change) if is_value(field) else field

    return _made(type(value), (changed(field) for _, field in named_fields(value)))


def stacked(values: list[V]) -> V:
    """Return values as a stack; they may differ only in numbers.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    >>> stacked([Point(1.0), Point(2.0)])
    Point(x=array([1., 2.]))
    """
    first = layout(values[0])
    for other in values[1:]:
        if layout(other) != first:
            raise ValueError(
                f"{_difference(values[0], other)}; values in a stack may differ only in numbers of the same type and shape"
            )
    return _stacked(values)


def _stacked(values: list[V]) -> V:
    columns: Iterator[tuple[Field, ...]] = zip(*map(fields_of, values), strict=True)
    return _made(
        type(values[0]),
        (_stacked(list(column)) if is_value(column[0]) else np.array(column) for column in columns),
    )


def layout(value: Field) -> Hashable:
    """Return the structure of a value without its numbers: the classes at every depth, the types of numbers, the shapes of arrays.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    >>> layout(Point(1.0)) == layout(Point(2.0)), layout(Point(1.0)) == layout(Point(2))
    (True, False)
    """
    return type(value), tuple(_layout(type(value), name, field) for name, field in named_fields(value))


def _layout(cls: type, name: str, field: Field) -> Hashable:
    if is_value(field):
        return layout(field)
    entries = np.asarray(field)
    if entries.dtype.kind not in "biuf":
        raise TypeError(
            f"{cls.__name__}.{name} is {field!r}; a stack holds only numbers, numeric arrays and values"
        )
    return entries.dtype, entries.shape


def _difference(one: Field, other: Field) -> str:
    """Describe the first field in which two values of different layouts differ."""
    if type(one) is not type(other):
        return f"{type(one).__name__} is stacked with {type(other).__name__}"
    for (name, mine), theirs in zip(named_fields(one), other, strict=True):
        kinds = [_layout(type(one), name, field) for field in (mine, theirs)]
        if kinds[0] != kinds[1]:
            if is_value(mine) and type(mine) is type(theirs):
                return _difference(mine, theirs)
            return f"{type(one).__name__}.{name} is {_kind(mine)} in one and {_kind(theirs)} in another"
    raise AssertionError("values without a difference have the same layout")


def _kind(field: Field) -> str:
    """Describe a field, apart from its numbers."""
    if is_value(field):
        return type(field).__name__
    entries = np.asarray(field)
    return f"{entries.dtype} of shape {entries.shape}" if entries.ndim else str(entries.dtype)


def classes(thing: Field) -> Iterator[type]:
    """Yield the classes of all values in `thing`, outermost first."""
    if is_value(thing):
        yield type(thing)
    if isinstance(thing, tuple):
        for field in thing:
            yield from classes(field)


def same(one: Field, other: Field) -> bool:
    """Whether two values are equal bit for bit (NaN equals NaN)."""
    if type(one) is not type(other):
        return False
    if is_value(one):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return bool(alike and one.tobytes() == other.tobytes())
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    return bool(one == other)


def arrays_in(value: Value, name: str = "") -> Iterator[tuple[str, np.ndarray[Any, np.dtype[np.generic]]]]:
    """Yield every array that a value holds, at any depth, with the path to it.

    >>> from typing import NamedTuple
    >>> class Sums(NamedTuple):
    ...     totals: np.ndarray
    ...     count: int = 0
    >>> class Pair(NamedTuple):
    ...     here: Sums
    ...     there: Sums
    >>> [name for name, _ in arrays_in(Pair(Sums(np.zeros(2)), Sums(np.zeros(3))))]
    ['here.totals', 'there.totals']
    """
    for field_name, field in named_fields(value):
        path = f"{name}.{field_name}" if name else field_name
        if is_value(field):
            yield from arrays_in(field, path)
        elif isinstance(field, np.ndarray):
            yield path, field


# --- In Python and in compiled code ---------------------------------------------------

LANES = 32  # lanes of a stack (`jit.lanes`); a compile-time constant, so that addresses are constants


def replaced(value: V, /, **fields: Field) -> V:
    """Return a value with some fields replaced; the class checks all of them, as in every construction.

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


def _resolve_replaced(value: Numba, /, **fields: Numba) -> Function | None:
    """Return the same for compiled code, generated for this class and these fields."""
    cls = getattr(value, "instance_class", None)
    if cls is None or not fields.keys() <= set(cls._fields):
        return None
    parts = ", ".join(name if name in fields else f"_value.{name}" for name in cls._fields)
    source = f"def function(_value, {', '.join(fields)}):\n    return cls({parts})\n"
    return written_out(source, {"cls": cls}, known_as=f"replaced-{'-'.join(fields)}")


def take(stack: Field, index: int) -> Field:
    """Return one value of a stack.

    Entries that are arrays are not copied: writing into them writes into the stack.
    """
    if isinstance(stack, tuple):
        # In one expression, because this takes half the time of interpreted steps.
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
    """Write a value into one entry of a stack; read-only arrays are constants and are skipped."""
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


bridge(replaced, _resolve_replaced)
bridge(take, _resolve_take)
bridge(put, _resolve_put)

__getattr__ = moved_names(__name__)
