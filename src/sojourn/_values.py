"""Values: the immutable records that rules work on, and the checks that keep them right.

A *value* is a `NamedTuple` whose fields are numbers, arrays and further values. It can be
printed, compared, pickled and passed to compiled code, and nothing can be changed in it
except the contents of its arrays.
"""

from __future__ import annotations

import difflib
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

V = TypeVar("V")


# --- One number ---------------------------------------------------------------------


def finite(name: str, number: Any) -> float:
    """Return `number` as a finite float, or say in one sentence why it is none."""
    result = _as_float(name, number)
    if not math.isfinite(result):
        raise ValueError(f"{name} is {result}; it must be a finite number")
    return result


def positive(name: str, number: Any) -> float:
    """Return `number` as a finite float greater than zero."""
    result = _as_float(name, number)
    if not 0.0 < result < math.inf:
        raise ValueError(f"{name} is {result}; it must be finite and greater than 0")
    return result


def fraction(name: str, number: Any) -> float:
    """Return `number` as a float in (0, 1], as a step size is."""
    result = _as_float(name, number)
    if not 0.0 < result <= 1.0:
        raise ValueError(f"{name} is {result}; it must be greater than 0 and at most 1")
    return result


def proper_fraction(name: str, number: Any) -> float:
    """Return `number` as a float in (0, 1)."""
    result = _as_float(name, number)
    if not 0.0 < result < 1.0:
        raise ValueError(f"{name} is {result}; it must be greater than 0 and less than 1")
    return result


def probability(name: str, number: Any) -> float:
    """Return `number` as a float in [0, 1]."""
    result = _as_float(name, number)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"{name} is {result}; it must be at least 0 and at most 1")
    return result


def whole(name: str, number: Any, least: int = 1) -> int:
    """Return `number` as an int that is not below `least`."""
    try:
        result = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}; it must be a whole number") from None
    if result < least:
        raise ValueError(f"{name} is {result}; it must be at least {least}")
    return int(result)


def several(name: str, things: Any) -> list[Any]:
    """Return a sequence as a list that is not empty, or say in one sentence why it is none."""
    if isinstance(things, str) or not hasattr(things, "__len__"):
        raise TypeError(f"{name} is {shown(things)}; it must be a list")
    if not len(things):
        raise ValueError(f"{name} is empty; give at least one")
    return list(things)


def within(name: str, number: Any, size: int) -> int:
    """Return `number` as an index of something that has `size` places."""
    result = whole(name, number, least=0)
    if result >= size:
        raise ValueError(f"{name} is {result}; it must be one of 0 to {size - 1}")
    return result


def _as_float(name: str, number: Any) -> float:
    if isinstance(number, str | bytes):
        raise TypeError(f"{name} is {number!r}; it must be a number")
    try:
        return float(number)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {number!r}; it must be a number") from None
    except OverflowError:
        raise ValueError(f"{name} is too large for a float") from None


def shown(thing: Any) -> str:
    """Return what `thing` looks like, on one line and not too long, for a sentence.

    >>> shown(np.zeros((2, 2)))
    'array([[0., 0.], [0., 0.]])'
    """
    text = " ".join(repr(thing).split())
    return text if len(text) <= 80 else text[:77] + "..."


# --- Whole values -------------------------------------------------------------------


def is_value(thing: Any) -> bool:
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


def nearest(word: str, words: Any) -> str:
    """Return a hint at the word that was perhaps meant."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(words)}"
