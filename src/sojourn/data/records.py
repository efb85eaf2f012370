"""Records: frozen dataclasses and NamedTuples that are written as JSON and read back, with every entry checked.

A study writes its answer as a record, and a page reads it again. Whatever is missing in a file or of the
wrong kind is found here and named by its place, so that no other code has to check.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tomllib
import types
from collections.abc import Mapping
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from sojourn.data.files import read_text, write_text
from sojourn.data.numbers import as_float, shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
else:
    Json = Any  # a type that refers to itself cannot be resolved when a record is read
Options: TypeAlias = dict[str, Json]

_Record = TypeVar("_Record")
_WORDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def as_json(record: DataclassInstance | NamedTuple) -> dict[str, Json]:
    """Return a record in the form of JSON; a number that is not finite becomes null.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     at: tuple[float, ...]
    ...     name: str = ""
    >>> as_json(Point((1.0, math.inf)))
    {'at': [1.0, None], 'name': ''}
    """
    return {name: plain(getattr(record, name)) for name in _fields(type(record))}


def _fields(kind: Any) -> dict[str, bool]:
    """Return the names of a record's fields, and whether each may be left out."""
    if hasattr(kind, "_fields"):  # a NamedTuple
        return {name: name in kind._field_defaults for name in kind._fields}
    missing = dataclasses.MISSING
    return {
        field.name: field.default is not missing or field.default_factory is not missing
        for field in dataclasses.fields(kind)
    }


def plain(value: Any) -> Json:
    """Return a value made of records, lists, dictionaries, texts and numbers in the form of JSON."""
    if _is_record(type(value)):
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


def write_json(path: Path, data: dict[str, Json]) -> None:
    """Write data as a JSON file, whole or not at all."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def load_json(path: Path) -> dict[str, Json]:
    """Return the object in a JSON file."""
    text = read_text(path, "JSON")
    try:
        content = parsed_json(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it does not hold an object")  # noqa: TRY004 - a file's content, not an argument
    return content


def parsed_json(text: str) -> Json:
    r"""Return what a JSON text holds; half a character, which JSON can express but UTF-8 cannot, is refused.

    >>> parsed_json('"\\ud83d\\ude00"') == chr(0x1F600)
    True
    >>> parsed_json('"\\ud83d"')
    Traceback (most recent call last):
    ValueError: it holds half a character
    """
    found: Json = json.loads(text)
    if re.search(r"\\ud[89a-f]", text, re.IGNORECASE):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half a character") from None
    return found


def check_lengths(record: DataclassInstance, *names: str) -> None:
    """Refuse a record whose parts with these names differ in length; its `__post_init__` calls this."""
    lengths = [len(getattr(record, name)) for name in names]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"{', '.join(names)} have {', '.join(map(str, lengths))} entries; they must have equally many"
        )


def load_toml(path: Path) -> dict[str, Any]:
    """Return the table in a TOML file, which may hold dates besides what JSON holds."""
    text = read_text(path, "TOML")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    except ValueError as error:  # a date that does not exist, or a number with more digits than Python reads
        raise ValueError(f"{path} holds something that cannot be read: {error}") from None


def read_record(kind: type[_Record], data: Json) -> _Record:
    """Return the record that JSON describes; other keys are ignored.

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
    ValueError: no 'at'
    """
    found: _Record = _record(kind, data, "")
    return found


def _record(kind: Any, data: Json, place: str) -> Any:
    if not isinstance(data, dict):
        raise _wrong(place, data, "an object")
    hints, entries = get_type_hints(kind), {}
    for field, optional in _fields(kind).items():
        name = f"{place}.{field}" if place else field
        if field in data:
            entries[field] = _value(hints[field], data[field], name)
        elif not optional:
            raise ValueError(f"no {name!r}")
    return kind(**entries)


def _is_record(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


def _value(hint: Any, data: Json, place: str) -> Any:
    """Return what is at a place of a file, if it is of the kind that the hint says."""
    if _is_record(hint):
        return _record(hint, data, place)
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _WORDS:
        return _simple(hint, data, place)
    if origin is tuple:
        if not isinstance(data, list):
            raise _wrong(place, data, "a list")
        return tuple(_value(inner[0], part, f"{place}[{at}]") for at, part in enumerate(data))
    if origin in (dict, Mapping):
        if not isinstance(data, dict):
            raise _wrong(place, data, "an object")
        return {key: _value(inner[1], part, f"{place}.{key}") for key, part in data.items()}
    if origin in (Union, types.UnionType) and len(inner) == 2 and type(None) in inner:
        present = next(part for part in inner if part is not type(None))
        return None if data is None else _value(present, data, place)
    if hint is Any:
        return data
    raise TypeError(f"{place} is declared as {hint}, which cannot be read from a file")


def _simple(kind: type, data: Json, place: str) -> bool | int | float | str:
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        return as_float(place, data)
    if isinstance(data, bool | int | str) and type(data) is kind:
        return data
    raise _wrong(place, data, _WORDS[kind])


def _wrong(place: str, data: Json, wanted: str) -> ValueError:
    return ValueError(f"{place or 'the content'} is {shown(data)}; it must be {wanted}")
