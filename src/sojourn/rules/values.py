"""Values: the immutable records that rules work on.

A *value* is a `NamedTuple` whose fields are numbers, arrays and further values. It can be
printed, compared, pickled and passed to compiled code, and nothing can be changed in it
except the contents of its arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np

V = TypeVar("V")


class Value(Protocol):
    """An instance of a NamedTuple class."""

    @property
    def _fields(self) -> tuple[str, ...]: ...
    def _asdict(self) -> dict[str, Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


Column: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


def is_value(thing: Any) -> TypeGuard[Value]:
    """Whether `thing` is an instance of a NamedTuple class."""
    return isinstance(thing, tuple) and hasattr(thing, "_fields")


def checked(**checks: Callable[[str, Any], Any]) -> Callable[[type[V]], type[V]]:
    """Make a NamedTuple class refuse bad fields: `@checked(step_size=fraction)`.

    Every construction makes all fields canonical and runs the checks that are named.
    """

    def decorate(cls: type[V]) -> type[V]:
        plain: Any = cls.__new__

        @functools.wraps(plain)
        def checked_new(new_cls: type[V], *args: Any, **kwargs: Any) -> V:
            value = plain(new_cls, *args, **kwargs)
            for name, check in checks.items():
                check(f"{cls.__name__}.{name}", getattr(value, name))
            return canonical(value)  # type: ignore[no-any-return]

        cls.__new__ = checked_new  # type: ignore[method-assign, assignment]
        return cls

    return decorate


def canonical(value: Any) -> Any:
    """Return `value` with every field as compiled code expects it.

    NumPy scalars become Python numbers, whole numbers in fields declared `float` become
    floats, arrays become contiguous. Anything else that a value cannot hold is refused.

    >>> from typing import NamedTuple
    >>> class Sum(NamedTuple):
    ...     total: float
    ...     count: int
    >>> canonical(Sum(0, np.int64(3)))
    Sum(total=0.0, count=3)
    """
    cls: Any = type(value)
    floats = _float_fields(cls)
    return cls._make(
        field if type(field) is float else _canonical_field(cls, name, name in floats, field)
        for name, field in zip(cls._fields, value, strict=True)
    )


@functools.cache
def _float_fields(cls: type) -> frozenset[str]:
    """Return the fields declared `float`, whether by the class or by its name."""
    hints = {name: getattr(hint, "__forward_arg__", hint) for name, hint in cls.__annotations__.items()}
    return frozenset(name for name, hint in hints.items() if hint in (float, "float"))


def _canonical_field(cls: type, name: str, is_float: bool, field: Any) -> Any:
    if is_float and isinstance(field, bool | int | np.bool_ | np.integer):
        return float(field)
    if isinstance(field, bool | np.bool_):
        return bool(field)
    if isinstance(field, int | np.integer):
        return int(field)
    if isinstance(field, float | np.floating):
        return float(field)
    if isinstance(field, np.ndarray) and field.dtype.kind in "biuf":
        return np.ascontiguousarray(field)
    if is_value(field):
        return canonical(field)
    raise TypeError(
        f"{cls.__name__}.{name} is {field!r}; a value holds only numbers, numeric arrays and values"
    )


def validated(value: Any) -> Any:
    """Return `value` built anew by its constructors, so that all their checks have run."""
    return canonical(type(value)(*(validated(field) if is_value(field) else field for field in value)))


def replaced(value: V, **fields: Any) -> V:
    """Return `value` with some of its fields replaced."""
    plain: Any = value
    return plain._replace(**fields)  # type: ignore[no-any-return]


def frozen(value: Any) -> Any:
    """Return `value` with arrays that cannot be written into; their contents are shared."""
    return type(value)._make(_frozen_field(field) for field in value)


def _frozen_field(field: Any) -> Any:
    if isinstance(field, np.ndarray):
        view = field.view()
        view.flags.writeable = False
        return view
    return frozen(field) if is_value(field) else field


def copied(value: Any) -> Any:
    """Return `value` with arrays of its own, so that rules may write into them."""
    cls = type(value)
    return cls._make(
        np.array(field, order="C")
        if isinstance(field, np.ndarray)
        else copied(field)
        if is_value(field)
        else field
        for field in value
    )


def stacked(values: list[Any]) -> Any:
    """Return values of one type as one value with an array of entries in every field.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    >>> stacked([Point(1.0), Point(2.0)])
    Point(x=array([1., 2.]))
    """
    cls = type(values[0])
    return cls._make(
        stacked(list(column)) if is_value(column[0]) else np.array(column)
        for column in zip(*values, strict=True)
    )


def classes(thing: Any) -> Iterator[type]:
    """Yield the classes of all values in `thing`, outermost first."""
    if is_value(thing):
        yield type(thing)
    if isinstance(thing, tuple):
        for field in thing:
            yield from classes(field)


def same(one: Any, other: Any) -> bool:
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
