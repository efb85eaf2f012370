"""Options by name: what a user wrote is converted to what a constructor takes, according to its annotations.

An option is written in TOML, as `--option key=value`, or in Python. `fitted` reads the annotation of
each of the constructor's parameters and converts what was written to it:

    int               3 and 3.0 become 3
    float             3 becomes 3.0
    bool              true and "yes" become True, false and "no" become False
    str, Literal      a word stays as it is
    a NamedTuple      a table of its fields becomes one: { start = 0.2, factor = 0.999 } becomes a `Decay`
    tuple, Sequence   a list stays a list, or becomes a tuple for a tuple
    a | b             whichever of them fits

Anything that does not fit is refused with a sentence. A parameter without an annotation, or with `Any`, is
taken to have the type of its default.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union

from sojourn.data.numbers import nearest, shown

Record: TypeAlias = Mapping[str, float | str]  # the fields of a NamedTuple, or an estimator by name
Choice: TypeAlias = bool | int | float | str | Record  # one value of an option
Options: TypeAlias = Mapping[str, Choice]
# What TOML and JSON can hold; a NamedTuple is a sequence.
Given: TypeAlias = "Choice | Sequence[Given] | Mapping[str, Given] | None"
Constructor: TypeAlias = Callable[..., Any]

_PLAIN: dict[Any, str] = {bool: "yes or no", int: "a whole number", float: "a number", str: "a word"}
_ANYTHING = (inspect.Parameter.empty, Any)


def fitted(
    constructor: Constructor, options: Mapping[str, Given], *, besides: Collection[str] = ()
) -> dict[str, Given]:
    """Return options as the constructor takes them, or say in one sentence what does not fit.

    `besides` names parameters that are not options, since the caller sets them.

    >>> def queue(capacity: int, paid: bool = False, patience: float | None = None): ...
    >>> fitted(queue, {"capacity": 3.0, "paid": "yes", "patience": 2})
    {'capacity': 3, 'paid': True, 'patience': 2.0}
    >>> fitted(queue, {"capacity": 3.5})
    Traceback (most recent call last):
    TypeError: capacity is 3.5; it must be a whole number
    >>> fitted(queue, {"paid": False})
    Traceback (most recent call last):
    ValueError: the option 'capacity' is missing
    """
    kinds = option_kinds(constructor)
    known = [name for name in kinds if name not in besides]
    for name in options:
        if name not in known:
            hint = nearest(name, known) if known else "; it has none"
            raise ValueError(f"unknown option {shown(name)}{hint}")
    for name in _needed(constructor):
        if name not in options and name not in besides:
            raise ValueError(f"the option {name!r} is missing")
    return {name: fit(name, kinds[name], given) for name, given in options.items()}


@functools.cache
def option_kinds(constructor: Constructor) -> dict[str, Any]:
    """Return the annotation of each parameter of a constructor, by name.

    >>> def queue(capacity: int = 5): ...
    >>> option_kinds(queue)
    {'capacity': <class 'int'>}
    """
    hints: dict[str, Any] = {}
    try:
        parameters = inspect.signature(constructor, eval_str=True).parameters.values()
        if isinstance(constructor, type):
            hints = typing.get_type_hints(constructor)
    except NameError:  # an annotation with a name that is imported for the type checker only
        parameters = inspect.signature(constructor).parameters.values()
    return {
        parameter.name: _kind(hints.get(parameter.name, parameter.annotation), parameter.default)
        for parameter in parameters
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


@functools.cache
def _needed(constructor: Constructor) -> list[str]:
    """Return the parameters that have no default."""
    return [
        parameter.name
        for parameter in inspect.signature(constructor).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _kind(annotation: Any, default: Any) -> Any:
    """Return the type of a parameter: that of its annotation, else that of its default."""
    if annotation in _ANYTHING or isinstance(annotation, str | typing.ForwardRef):
        return type(default) if default not in (None, inspect.Parameter.empty) else Any
    return annotation


def wants_list(kind: Any) -> bool:
    """Whether an annotation takes lists and nothing else.

    >>> wants_list(Sequence[float]), wants_list(str | tuple[int, int])
    (True, False)
    """
    return all(_is_list(member) for member in _members(kind))


def fit(name: str, kind: Any, given: Given) -> Given:
    """Return one option as its annotation says; `name` is its name in an error message.

    >>> fit("size", int, 3.0), fit("repair", bool, "yes"), fit("goal", str | tuple[int, int], [1, 2])
    (3, True, (1, 2))
    """
    members = _members(kind)
    records = [member for member in members if _is_record(member)]
    if records and isinstance(given, Mapping):
        # Of several, take the one that has all these fields; if none has, the first says what is wrong.
        suits = [record for record in records if set(given) <= set(record._fields)]
        return _record(name, (suits or records)[0], given)
    for member in members:
        try:
            return _converted(member, given)
        except _MisfitError:
            continue
        except OverflowError:
            raise ValueError(f"{name} is too large for a float") from None
    wanted = " or ".join(dict.fromkeys(_words(member) for member in members if member is not NoneType))
    is_other_word = isinstance(given, str) and any(typing.get_origin(member) is Literal for member in members)
    raise (ValueError if is_other_word else TypeError)(f"{name} is {shown(given)}; it must be {wanted}")


class _MisfitError(Exception):
    """What was given is not of this kind."""


def _converted(kind: Any, given: Given) -> Given:
    """Return what was given as this kind, which is not a union; kinds that are not listed above take anything."""
    match given:
        case bool() if kind is bool:
            return given
        case "yes" | "no" if kind is bool:
            return given == "yes"
        case bool():
            pass
        case int() if kind is int:
            return given
        case float() if kind is int and given.is_integer():
            return int(given)
        case int() | float() if kind is float:
            return float(given)
        case str() if kind is str:
            return given
        case list() | tuple() if _is_list(kind):
            return tuple(given) if typing.get_origin(kind) is tuple else given
    if typing.get_origin(kind) is Literal:
        fits = given in typing.get_args(kind)
    elif kind is NoneType:
        fits = given is None
    elif _is_record(kind):
        fits = isinstance(given, kind)
    else:
        fits = not (kind in _PLAIN or _is_list(kind))
    if not fits:
        raise _MisfitError
    return given


def _record(name: str, kind: Any, parts: Mapping[str, Given]) -> Given:
    """Return the NamedTuple with these fields."""
    fields: dict[str, Any] = typing.get_type_hints(kind)
    for part in parts:
        if part not in fields:
            raise ValueError(f"{name} has the unknown key {shown(part)}{nearest(part, fields)}")
    for field in fields:
        if field not in parts and field not in kind._field_defaults:
            raise ValueError(f"{name} lacks the key {field!r}")
    made: Given = kind(**{part: fit(f"{name}.{part}", fields[part], given) for part, given in parts.items()})
    return made


def _members(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (Union, UnionType) else (kind,)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_list(kind: Any) -> bool:
    origin = typing.get_origin(kind) or kind
    return (
        isinstance(origin, type)
        and issubclass(origin, Sequence)
        and origin is not str
        and not _is_record(kind)
    )


def _words(kind: Any) -> str:
    """Return the words for a kind in a message."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if typing.get_origin(kind) is Literal:
        return " or ".join(map(str, typing.get_args(kind)))
    if _is_record(kind):
        return f"a table of {' and '.join(', '.join(kind._fields).rsplit(', ', 1))}"
    return "a list"
