"""Checks that data from a file is of the kind that a type hint says: typed dictionaries, lists, arrays, values.

Code that has passed a type checker relies on its hints. Data from a file has passed no type checker, so it is
compared with the same hints before any code relies on them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from sojourn.data.numbers import shown
from sojourn.rules.values import is_value, named_fields

_WORDS: dict[Any, str] = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text", type(None): "nothing",
}  # fmt: skip


def check_kind(hint: Any, data: Any, place: str) -> None:
    """Raise a ValueError that names the place if data is not of the kind that a hint says.

    >>> class Point(typing.TypedDict):
    ...     at: list[float]
    >>> check_kind(Point, {"at": [1.0, 2]}, "the point")
    >>> check_kind(Point, {"at": [1.0, "2"]}, "the point")
    Traceback (most recent call last):
    ValueError: at[1] of the point is '2'; it must be a number
    """
    wrong = misfit_of(hint, data)
    if wrong:
        where, is_wrong = wrong
        raise ValueError(f"{where.lstrip('.')} of {place} {is_wrong}" if where else f"{place} {is_wrong}")


def check_fields(value: Any) -> None:
    """Raise a ValueError if a field of a value is not of the kind that its class declares."""
    try:
        hints = typing.get_type_hints(type(value))
    except (NameError, TypeError):
        return  # a user's class with a hint that only a type checker can read
    for name, field in named_fields(value):
        check_kind(hints.get(name, Any), field, f"{type(value).__name__}.{name}")


def spelled_out(hint: Any) -> Any:
    """Return what a hint stands for if it is only a name for another, as NumPy's are from Python 3.12 on."""
    if not hasattr(hint, "__value__"):
        return hint
    arguments = get_args(hint)
    return spelled_out(hint.__value__[arguments] if arguments else hint.__value__)


def misfit_of(hint: Any, data: Any) -> tuple[str, str] | None:
    """Return where in data something is wrong, and what; None if everything is as the hint says."""
    hint = spelled_out(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return None
    if hint in _WORDS:
        fits = type(data) is hint or (hint is float and type(data) is int and abs(data) < 2**1023)
        return None if fits else ("", _must_be(data, _WORDS[hint]))
    if typing.is_typeddict(hint):
        return _misfit_of_table(hint, data)
    if origin in (Union, types.UnionType):
        return _misfit_of_any(inner, data)
    if origin is Literal:
        return None if data in inner else ("", _must_be(data, " or ".join(map(repr, inner))))
    if origin is np.ndarray:
        return _misfit_of_array(inner, data)
    if origin in (list, Sequence, tuple):
        return _misfit_of_list(origin, inner, data)
    if origin in (dict, Mapping):
        if not isinstance(data, dict):
            return "", _must_be(data, "a table")
        return _first((f".{key}", inner[1], part) for key, part in data.items())
    if getattr(hint, "_is_protocol", False):  # such as an agent; which one is checked elsewhere
        return None if is_value(data) else ("", _must_be(data, "one of Sojourn's values"))
    return None if isinstance(data, hint) else ("", _must_be(data, f"a {hint.__name__}"))


def _misfit_of_table(hint: Any, data: Any) -> tuple[str, str] | None:
    if not isinstance(data, dict):
        return "", _must_be(data, "a table")
    hints = typing.get_type_hints(hint)
    for name in hints:
        if name not in data:
            return "", f"has no {name!r}"
    return _first((f".{name}", kind, data[name]) for name, kind in hints.items())


def _misfit_of_any(kinds: Sequence[Any], data: Any) -> tuple[str, str] | None:
    """Compare with the kinds of a union: with the table of the same `kind` if there is one, else with each."""
    found = [misfit_of(kind, data) for kind in kinds]
    if None in found:
        return None
    deepest = [wrong for wrong in found if wrong is not None and wrong[0] not in ("", ".kind")]
    if deepest:
        return deepest[0]
    words = [
        _WORDS.get(kind, "a table" if typing.is_typeddict(kind) else "a value of the declared kind")
        for kind in kinds
    ]
    return "", _must_be(data, " or ".join(dict.fromkeys(words)))


def _misfit_of_array(inner: Sequence[Any], data: Any) -> tuple[str, str] | None:
    (number,) = get_args(inner[1]) or (np.generic,)
    kind = number if isinstance(number, type) else np.generic
    lengths = get_args(spelled_out(inner[0]))
    if not isinstance(data, np.ndarray) or not issubclass(data.dtype.type, kind):
        return "", _must_be(data, f"an array of {kind.__name__}")
    if Ellipsis not in lengths and data.ndim != len(lengths):
        return "", f"has the shape {data.shape}; the number of its dimensions must be {len(lengths)}"
    return None


def _misfit_of_list(origin: Any, inner: Sequence[Any], data: Any) -> tuple[str, str] | None:
    if not isinstance(data, list | tuple):
        return "", _must_be(data, "a list")
    if origin is tuple and Ellipsis not in inner:
        if len(data) != len(inner):
            return "", f"has {len(data)} entries; it must have {len(inner)}"
        return _first(
            (f"[{at}]", kind, part) for at, (kind, part) in enumerate(zip(inner, data, strict=True))
        )
    return _first((f"[{at}]", inner[0], part) for at, part in enumerate(data))


def _first(parts: typing.Iterable[tuple[str, Any, Any]]) -> tuple[str, str] | None:
    for place, hint, data in parts:
        wrong = misfit_of(hint, data)
        if wrong:
            return place + wrong[0], wrong[1]
    return None


def _must_be(data: Any, wanted: str) -> str:
    return f"is {shown(data)}; it must be {wanted}"
