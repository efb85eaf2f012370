"""Interprets type hints: what data must be, and what it is converted to.

Type-checked code relies on its hints. Data from a file, a user's options or a caller has passed no type checker, so
it is checked against the same hints first. There are three ways to read it:

    as data in a file     `check_kind` checks it, `read_record` builds a record from it
    as a user's options   `fitted` and `fit` convert values from TOML, `--option key=value` or Python:

        int               3 and 3.0 become 3
        float             3 becomes 3.0
        bool              true and "yes" become True, false and "no" become False
        str, Literal      a word stays as it is
        a NamedTuple      a table of its fields becomes one: { start = 0.2, factor = 0.999 } becomes a `Decay`
        tuple, Sequence   a list stays a list, or becomes a tuple for a tuple
        a | b             the first of them that fits

    as an argument        `fits` is lenient: NumPy's numbers, arrays and ranges can stand for numbers and lists

Errors name the place of what does not fit, in one sentence.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import operator
import os
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.files import Json, JsonObject
from sojourn.data.numbers import as_float, nearest, shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record: TypeAlias = Mapping[str, float | str]  # the fields of a NamedTuple, or an estimator by name
Choice: TypeAlias = bool | int | float | str | Record  # one value of an option
Options: TypeAlias = Mapping[str, Choice]
# What TOML and JSON can hold; a NamedTuple is a sequence.
Given: TypeAlias = "Choice | Sequence[Given] | Mapping[str, Given] | None"
Constructor: TypeAlias = Callable[..., Any]

_Record = TypeVar("_Record")


class MisfitError(Exception):
    """Raised for data that does not match its hint: where it is, what is wrong, and which error to raise."""

    def __init__(self, where: str, wrong: str, error: type[Exception] = ValueError) -> None:
        self.where, self.wrong, self.error = where, wrong, error


class _Interpreter:
    """Walks a hint together with the data that should match it; this one reads data from a file."""

    error: type[Exception] = ValueError
    words: Mapping[Any, str] = {
        bool: "true or false", int: "a whole number", float: "a number", str: "a text", "table": "a table",
    }  # fmt: skip

    def read(self, hint: Any, data: Any, where: str) -> Any:
        """Return data converted as a hint says, or raise an error that names its place."""
        hint = alias_target(hint)
        origin, inner = get_origin(hint), get_args(hint)
        if isinstance(hint, TypeVar):
            return self.read(hint.__bound__ or Any, data, where)
        if hint in (Any, object) or (origin is Literal and any(_equals(data, one) for one in inner)):
            return data
        if hint in self.words:
            return self.simple(hint, data, where)
        if origin in _UNIONS:
            return self.union(hint, inner, data, where)
        if origin is Literal:
            raise self.misfit(hint, data, where)
        if _is_list(hint):
            return self.listed(hint, data, where)
        if origin in (dict, Mapping):
            return self.table(hint, data, where)
        if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
            return self.record(hint, data, where)
        return self.other(hint, data, where)

    def accepts(self, hint: Any, data: Any) -> bool:
        """Whether data matches a hint."""
        try:
            self.read(hint, data, "")
        except MisfitError:
            return False
        return True

    def misfit(self, hint: Any, data: Any, where: str) -> MisfitError:
        """Return the error for data that does not match the hint."""
        is_other_word = isinstance(data, str) and "Literal[" in str(hint)
        wrong = f"is {shown(data)}; it must be {self.said(hint)}"
        return MisfitError(where, wrong, ValueError if is_other_word else self.error)

    def simple(self, kind: type, data: Any, where: str) -> Any:
        """Read a number, a string or a bool."""
        if type(data) is not kind and (kind is not float or type(data) is not int):
            raise self.misfit(kind, data, where)
        try:
            return float(data) if kind is float else data  # type: ignore[arg-type]
        except OverflowError:
            raise MisfitError(where, "is too large for a float") from None

    def union(self, hint: Any, members: Sequence[Any], data: Any, where: str) -> Any:
        """Read data that matches one of several hints; an error about a part is reported rather than one about the whole."""
        if data is None and NoneType in members:
            return None
        misfits = []
        for member in members:
            try:
                if member is not NoneType:
                    return self.read(member, data, where)
            except MisfitError as misfit:
                misfits.append(misfit)
        if len(misfits) == 1:
            raise misfits[0]
        elsewhere = (misfit for misfit in misfits if misfit.where not in (where, _joined(where, "kind")))
        raise next(elsewhere, self.misfit(hint, data, where))

    def listed(self, hint: Any, data: Any, where: str) -> Any:
        """Read a list, entry by entry."""
        origin, inner = get_origin(hint), get_args(hint)
        if not isinstance(data, list | tuple):
            raise self.misfit(hint, data, where)
        if origin is not tuple or Ellipsis in inner:
            inner = (inner[0] if inner else Any,) * len(data)
        if len(data) != len(inner):
            raise MisfitError(where, f"has {len(data)} entries; it must have {len(inner)}")
        made = [self.read(kind, data[at], f"{where}[{at}]") for at, kind in enumerate(inner)]
        return tuple(made) if origin is tuple else made

    def table(self, hint: Any, data: Any, where: str) -> Any:
        """Read a dictionary, entry by entry."""
        if not isinstance(data, Mapping):
            raise self.misfit(hint, data, where)
        kind = get_args(hint)[1]
        return {key: self.read(kind, part, _joined(where, key)) for key, part in data.items()}

    def record(self, hint: Any, data: Any, where: str) -> Any:
        """Read a table with given keys; others are ignored."""
        if not isinstance(data, Mapping):
            raise self.misfit(dict[str, Any], data, where)
        kinds = typing.get_type_hints(hint)
        missing = [name for name in kinds if name not in data and name not in _optional(hint)]
        if missing:
            raise MisfitError(where, f"lacks the key {missing[0]!r}")
        given = {name: kind for name, kind in kinds.items() if name in data}
        return hint(
            **{name: self.read(kind, data[name], _joined(where, name)) for name, kind in given.items()}
        )

    def other(self, hint: Any, data: Any, where: str) -> Any:
        """Read an array, a value, or an instance of a class."""
        if get_origin(hint) is np.ndarray:
            if not _is_array_of(hint, data):
                raise self.misfit(hint, data, where)
            lengths = get_args(alias_target(get_args(hint)[0]))
            if Ellipsis not in lengths and data.ndim != len(lengths):
                wrong = f"has the shape {data.shape}; the number of its dimensions must be {len(lengths)}"
                raise MisfitError(where, wrong)
        elif getattr(hint, "_is_protocol", False):  # such as an agent; its class is checked elsewhere
            if not _is_named_tuple(type(data)):
                raise MisfitError(where, f"is {shown(data)}; it must be one of Sojourn's values")
        elif _is_named_tuple(hint) and isinstance(data, Mapping):
            return self.record(hint, data, where)
        elif not isinstance(data, hint):
            raise self.misfit(hint, data, where)
        return data

    def said(self, hint: Any) -> str:
        """Return a hint in words; None is mentioned only if it is among `words`."""
        hint = alias_target(hint)
        origin, inner = get_origin(hint), get_args(hint)
        if hint in self.words:
            return self.words[hint]
        if isinstance(hint, TypeVar) and hint.__bound__ is not None:
            return self.said(hint.__bound__)
        if origin in _UNIONS:
            kinds = [one for one in inner if one is not NoneType or one in self.words]
            return " or ".join(dict.fromkeys(map(self.said, kinds)))
        if origin is Literal:
            return " or ".join(map(repr, inner))
        if _is_list(hint):
            return "a list"
        if origin in (dict, Mapping) or typing.is_typeddict(hint):
            return self.words["table"]
        if origin is np.ndarray:
            kind = _number_kind(hint)
            return "an array" if kind is np.generic else f"an array of {kind.__name__}"
        name = getattr(origin or hint, "__name__", "of another kind")
        has_vowel = name[0] in "AEIO" or (name[0] == "S" and name[1:2].isupper())
        return f"{'an' if has_vowel else 'a'} {name}"


class _OptionInterpreter(_Interpreter):
    """Reads a user's options; entries of lists, and types not listed above, are left to the constructor."""

    error = TypeError
    words: Mapping[Any, str] = {**_Interpreter.words, bool: "yes or no", str: "a word"}

    def simple(self, kind: type, data: Any, where: str) -> Any:
        if kind is bool and isinstance(data, str) and data in ("yes", "no"):
            return data == "yes"
        if kind is int and isinstance(data, float) and data.is_integer():
            return int(data)
        if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
            return as_float(where, data)
        return data if kind is str and isinstance(data, str) else super().simple(kind, data, where)

    def union(self, hint: Any, members: Sequence[Any], data: Any, where: str) -> Any:
        records = [member for member in members if _is_named_tuple(member)]
        if records and isinstance(data, Mapping):
            # Of several records, take the one with the most of these fields; its error names the others.
            likest = max(records, key=lambda record: len(set(data) & set(record._fields)))
            return self.other(likest, data, where)
        return super().union(hint, members, data, where)

    def listed(self, hint: Any, data: Any, where: str) -> Any:
        if not isinstance(data, list | tuple):
            raise self.misfit(hint, data, where)
        return tuple(data) if get_origin(hint) is tuple else data

    def table(self, hint: Any, data: Any, where: str) -> Any:
        return data

    def record(self, hint: Any, data: Any, where: str) -> Any:
        return super().record(hint, data, where) if _is_named_tuple(hint) else data

    def other(self, hint: Any, data: Any, where: str) -> Any:
        if not _is_named_tuple(hint) or isinstance(data, hint):
            return data
        if not isinstance(data, Mapping):
            raise self.misfit(hint, data, where)
        for name in data:
            if name not in hint._fields:
                raise MisfitError(where, f"has the unknown key {shown(name)}{nearest(name, hint._fields)}")
        return self.record(hint, data, where)

    def said(self, hint: Any) -> str:
        if _is_named_tuple(hint):
            return f"a table of {' and '.join(', '.join(hint._fields).rsplit(', ', 1))}"
        return super().said(hint)


class _ArgumentInterpreter(_Interpreter):
    """Reads the arguments of a call; it refuses only what cannot work."""

    words: Mapping[Any, str] = {
        **_Interpreter.words, bool: "True or False", NoneType: "None", Path: "a path", "table": "a dictionary",
    }  # fmt: skip

    def simple(self, kind: type, data: Any, where: str) -> Any:
        if not _FITTING[kind](data):
            raise self.misfit(kind, data, where)
        return data

    def union(self, hint: Any, members: Sequence[Any], data: Any, where: str) -> Any:
        others = _beside_arrays(members)
        if others is not None and _is_numbers(data):
            return data
        return super().union(hint, members if others is None else others, data, where)

    def listed(self, hint: Any, data: Any, where: str) -> Any:
        inner = get_args(hint)
        is_list = hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, Mapping)
        if not is_list or not _is_several(data):
            raise self.misfit(hint, data, where)
        if get_origin(hint) is tuple and inner and Ellipsis not in inner:
            return super().listed(hint, tuple(data), where)
        return self._each(inner, data, where)

    def _each(self, inner: Sequence[Any], data: Iterable[Any], where: str) -> Any:
        """Read the first thousand entries."""
        for part in itertools.islice(iter(data), 1000 if inner else 0):
            self.read(inner[0], part, where)
        return data

    def record(self, hint: Any, data: Any, where: str) -> Any:
        if not typing.is_typeddict(hint):
            return self.other(hint, data, where)
        if not (isinstance(data, Mapping) and set(hint.__annotations__) <= set(data)):
            raise self.misfit(hint, data, where)
        return data

    def other(self, hint: Any, data: Any, where: str) -> Any:
        cls = get_origin(hint) or hint
        if cls is np.ndarray:
            fitting = _is_array_of(hint, data) and not isinstance(data, np.ma.MaskedArray)
        elif getattr(cls, "_is_protocol", False):
            fitting = all(hasattr(data, name) for name in _protocol_names(cls))
        else:
            fitting = not isinstance(cls, type) or isinstance(data, cls)
        if not fitting or (cls is Iterable and not _is_several(data)):
            raise self.misfit(hint, data, where)
        return (
            self._each(get_args(hint), data, where) if cls is Iterable and hasattr(data, "__len__") else data
        )

    def said(self, hint: Any) -> str:
        hint = alias_target(hint)
        origin, inner = get_origin(hint), get_args(hint)
        others = _beside_arrays(inner) if origin in _UNIONS else None
        if others is not None:
            return " or ".join(["numbers", *map(self.said, others)])
        if _is_list(hint) and inner and not get_origin(inner[0]):
            return f"a list, each entry {self.said(inner[0])}"
        return {Iterable: "something to iterate over", Callable: "a function"}.get(origin) or super().said(
            hint
        )


_in_file, _written, _argument = _Interpreter(), _OptionInterpreter(), _ArgumentInterpreter()


# --- What a hint is ---------------------------------------------------------------------

_UNIONS = (Union, UnionType)


def alias_target(hint: Any) -> Any:
    """Resolve a type alias, as NumPy's hints are from Python 3.12 on."""
    if not hasattr(hint, "__value__"):
        return hint
    arguments = get_args(hint)
    return alias_target(hint.__value__[arguments] if arguments else hint.__value__)


def _is_list(hint: Any) -> bool:
    return (get_origin(hint) or hint) in (list, tuple, Sequence)


def _is_named_tuple(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def _number_kind(hint: Any) -> type:
    """Return the dtype class of an array hint."""
    inner = get_args(hint)
    given = get_args(inner[1]) if len(inner) > 1 else ()
    kinds = [kind for kind in given if isinstance(kind, type) and issubclass(kind, np.generic)]  # not Any
    return kinds[0] if kinds else np.generic


def _optional(hint: Any) -> Collection[str]:
    """Return the optional fields of a record."""
    if typing.is_typeddict(hint):
        return frozenset(hint.__optional_keys__)
    if not dataclasses.is_dataclass(hint):
        return getattr(hint, "_field_defaults", ())
    missing, fields = dataclasses.MISSING, dataclasses.fields(hint)
    return [one.name for one in fields if one.default is not missing or one.default_factory is not missing]


def _protocol_names(protocol: type) -> set[str]:
    """Return the names that a protocol requires."""
    parts = [vars(cls) for cls in protocol.__mro__ if getattr(cls, "_is_protocol", False)]
    names = {name for part in parts for name in (*part, *part.get("__annotations__", ()))}
    return {name for name in names if name in ("_fields", "__call__") or not name.startswith("_")}


_ARRAY_LIKE = frozenset(get_args(alias_target(ArrayLike)))


def _beside_arrays(members: Sequence[Any]) -> list[Any] | None:
    """Return the members of a union outside NumPy's ArrayLike, itself a union; None if the union does not contain it."""
    if ArrayLike not in members and not set(members) >= _ARRAY_LIKE:
        return None
    return [member for member in members if member not in _ARRAY_LIKE and member is not ArrayLike]


# --- What data is ---------------------------------------------------------------------------


def _joined(where: str, name: str) -> str:
    return f"{where}.{name}" if where else str(name)


def _equals(data: Any, one: Any) -> bool:
    return isinstance(data, type(one)) and data == one


def _is_array_of(hint: Any, data: Any) -> bool:
    return isinstance(data, np.ndarray) and issubclass(data.dtype.type, _number_kind(hint))


def _is_several(data: Any) -> bool:
    return not isinstance(data, str | bytes) and getattr(data, "ndim", 1) != 0


def _is_numbers(data: Any) -> bool:
    is_array = _converts(np.asanyarray, data) and not isinstance(data, np.ma.MaskedArray)
    return is_array and np.asanyarray(data).dtype.kind in "biuf"


def _converts(convert: Callable[[Any], object], data: Any) -> bool:
    try:
        convert(data)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


_FITTING: dict[Any, Callable[[Any], bool]] = {
    bool: lambda data: isinstance(data, bool | np.bool_),
    int: lambda data: _converts(operator.index, data),
    float: lambda data: not isinstance(data, str | bytes) and _converts(float, data),
    str: lambda data: isinstance(data, str),
    NoneType: lambda data: data is None,
    Path: lambda data: isinstance(data, os.PathLike),
}


# --- Arguments ------------------------------------------------------------------------------


def fits(hint: Any, thing: Any) -> bool:
    """Whether an argument suits a hint; more kinds of numbers and lists do than a type checker accepts.

    >>> import numpy as np
    >>> fits(float, np.float32(1.0)), fits(Sequence[int], range(3)), fits(Sequence[int], [1, "x"]), fits(int | None, 0.5)
    (True, True, False, False)
    """
    return _argument.accepts(hint, thing)


def in_words(hint: Any) -> str:
    """Return in words what an argument with this hint must be.

    >>> in_words(Sequence[float] | None)
    'a list, each entry a number or None'
    """
    return _argument.said(hint)


# --- Data in a file --------------------------------------------------------------------------


def check_kind(hint: Any, data: Any, place: str) -> None:
    """Raise a ValueError that names the place where data does not match a hint.

    >>> class Point(typing.TypedDict):
    ...     at: list[float]
    >>> check_kind(Point, {"at": [1.0, 2]}, "the point")
    >>> check_kind(Point, {"at": [1.0, "2"]}, "the point")
    Traceback (most recent call last):
    ValueError: at[1] of the point is '2'; it must be a number
    """
    try:
        _in_file.read(hint, data, "")
    except MisfitError as misfit:
        where = f"{misfit.where} of {place}" if misfit.where else place
        raise ValueError(f"{where} {misfit.wrong}") from None


def is_of_kind(hint: Any, data: Any) -> bool:
    """Whether data matches a hint, without conversion.

    >>> is_of_kind(list[float], [1, 2.5]), is_of_kind(list[float], [1, "2"])
    (True, False)
    """
    return _in_file.accepts(hint, data)


def check_fields(value: Any) -> None:
    """Raise a ValueError if a field of a value does not match the hint that its class declares."""
    try:
        hints = typing.get_type_hints(type(value))
    except (NameError, TypeError):
        return  # a user's class with a hint that only a type checker can resolve
    for name, field in zip(value._fields, value, strict=True):
        check_kind(hints.get(name, Any), field, f"{type(value).__name__}.{name}")


def read_record(kind: type[_Record], data: Json) -> _Record:
    """Return the dataclass or NamedTuple that JSON describes; unknown keys are ignored.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     at: tuple[float, ...]
    ...     name: str = ""
    >>> read_record(Point, {"at": [1, 2.5]})
    Point(at=(1.0, 2.5), name='')
    >>> read_record(Point, {"at": [1, "2"]})
    Traceback (most recent call last):
    ValueError: at[1] is '2'; it must be a number
    >>> read_record(Point, {"name": "here"})
    Traceback (most recent call last):
    ValueError: the content lacks the key 'at'
    """
    try:
        found: _Record = _in_file.read(kind, data, "")
    except MisfitError as misfit:
        raise ValueError(f"{misfit.where or 'the content'} {misfit.wrong}") from None
    return found


def as_json(record: DataclassInstance | NamedTuple) -> JsonObject:
    """Return a record as JSON data; a number that is not finite becomes null.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     at: tuple[float, ...]
    ...     name: str = ""
    >>> as_json(Point((1.0, math.inf)))
    {'at': [1.0, None], 'name': ''}
    """
    names = getattr(record, "_fields", None) or [field.name for field in dataclasses.fields(record)]  # type: ignore[arg-type] # it is one or the other
    return {name: plain(getattr(record, name)) for name in names}


def plain(value: Any) -> Json:
    """Return records, lists, dictionaries, strings and numbers as JSON data."""
    if _is_named_tuple(type(value)) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return as_json(value)
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{shown(value)} cannot be written as JSON")


def check_lengths(record: DataclassInstance, *names: str) -> None:
    """Refuse a record if these fields differ in length; its `__post_init__` calls this."""
    lengths = [len(getattr(record, name)) for name in names]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"{', '.join(names)} have {', '.join(map(str, lengths))} entries; they must have equally many"
        )


# --- A user's options --------------------------------------------------------------------------


def fitted(
    constructor: Constructor, options: Mapping[str, Given], *, besides: Collection[str] = ()
) -> dict[str, Given]:
    """Return options converted as the constructor takes them, or raise an error that says what does not fit.

    A parameter without an annotation, or annotated `Any`, takes its type from its default. `besides` names
    parameters that are not options because the caller sets them.

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
    for parameter in _parameters(constructor):
        needed = parameter.default is parameter.empty and parameter.name not in besides
        if needed and parameter.name not in options:
            raise ValueError(f"the option {parameter.name!r} is missing")
    return {name: fit(name, kinds[name], given) for name, given in options.items()}


def fit(name: str, kind: Any, given: Given) -> Given:
    """Return one option converted as its annotation says; `name` is its name in error messages.

    >>> fit("size", int, 3.0), fit("repair", bool, "yes"), fit("goal", str | tuple[int, int], [1, 2])
    (3, True, (1, 2))
    """
    try:
        made: Given = _written.read(kind, given, name)
    except MisfitError as misfit:
        raise misfit.error(f"{misfit.where} {misfit.wrong}") from None
    return made


@functools.cache
def option_kinds(constructor: Constructor) -> dict[str, Any]:
    """Return the annotation of each parameter of a constructor, by name.

    >>> def queue(capacity: int = 5): ...
    >>> option_kinds(queue)
    {'capacity': <class 'int'>}
    """
    hints: dict[str, Any] = {}
    try:
        parameters = list(_parameters(constructor, eval_str=True))
        if isinstance(constructor, type):
            hints = typing.get_type_hints(constructor)
    except NameError:  # an annotation with a name imported only for the type checker
        parameters = list(_parameters(constructor))
    return {
        parameter.name: _kind(hints.get(parameter.name, parameter.annotation), parameter.default)
        for parameter in parameters
    }


def _parameters(constructor: Constructor, eval_str: bool = False) -> Iterator[inspect.Parameter]:
    """Yield the named parameters."""
    for parameter in inspect.signature(constructor, eval_str=eval_str).parameters.values():
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield parameter


def _kind(annotation: Any, default: Any) -> Any:
    """Return the type of a parameter: its annotation, else the type of its default."""
    nothing = inspect.Parameter.empty
    if annotation in (nothing, Any) or isinstance(annotation, str | typing.ForwardRef):
        return type(default) if default not in (None, nothing) else Any
    return annotation


def wants_list(kind: Any) -> bool:
    """Whether an annotation takes lists and nothing else.

    >>> wants_list(Sequence[float]), wants_list(str | tuple[int, int])
    (True, False)
    """
    return all(map(_is_list, get_args(kind) if get_origin(kind) in _UNIONS else (kind,)))
