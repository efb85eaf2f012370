"""Files that contain only data: values, numbers, strings and arrays.

An archive is an uncompressed zip of `contents.json` and the arrays as NumPy's .npy. Reading one executes no code: the
classes of values are looked up by name among those that rules are registered for, and arrays of Python objects are
refused. For a user's class, the file also names the module that defines it. That module is not imported; its name
distinguishes classes of the same name, and tells the user what to import. The zip's checksums detect damaged files.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sojourn.agents import bandits, h_learning, intra_option, red_cvar, renewal
from sojourn.agents import baselines as policies
from sojourn.agents import learning as learn
from sojourn.agents import methods as relative
from sojourn.agents.bandits import chosen
from sojourn.agents.exploration import chance, share_of
from sojourn.agents.methods import settled, td_error
from sojourn.agents.planning import episodes, planner
from sojourn.agents.planning.episodes import plan_episode
from sojourn.agents.protocol import draw
from sojourn.agents.step_sizes import sized
from sojourn.agents.values.protocol import read
from sojourn.data.files import parsed_json, write_bytes
from sojourn.data.hints import check_fields, check_kind
from sojourn.data.numbers import shown
from sojourn.rates import catalogue as named
from sojourn.rates import centred, scheduled
from sojourn.rates.protocol import update
from sojourn.rules.values import is_value
from sojourn.worlds.protocol import step

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays: TypeAlias = dict[str, NDArray[np.generic]]
Contents: TypeAlias = dict[str, Any]  # checked when a file is read

# Files give only the names of the classes in these modules, so the modules must be imported before a file is read.
OURS = (
    learn, policies, planner, episodes, bandits, h_learning, intra_option, relative, red_cvar, renewal, named, scheduled,
    centred,
)  # fmt: skip
_RULES = (
    draw, read, td_error, chance, sized, share_of, settled, chosen, plan_episode, update, centred.noted, step,
)  # fmt: skip
_SAVED_AS = {
    "ConstantStepSize": "Constant",
    "PlanHistory": "Course",
}  # classes that files call by other names
_ADDED = {
    "AdaptiveRatio": ("squared_durations", "widest", "all_squared"),
    "PlanHistory": ("tried",),
}  # fields that files of 0.2 lack; they start at their defaults
_CLASSES = {saved: name for name, saved in _SAVED_AS.items()}
_CONTENTS = "contents.json"
_PACKAGE = __name__.partition(".")[0]
_NAME = re.compile(r"[\w.]{1,200}", re.ASCII)
_MOST_JSON = 20_000_000  # bytes
# What reading a damaged file may raise.
_UNREADABLE = (zipfile.BadZipFile, ValueError, EOFError, OSError, MemoryError, RuntimeError)
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(?P<kind>[<|][biuf][1248])', 'fortran_order': (?P<order>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,15}, ?)*(?:\d{1,15})?)\), \} *\n",
    re.DOTALL,
)


def write_archive(path: Path, format_name: str, version: int, contents: Mapping[str, Any]) -> None:
    """Write an archive atomically. `contents` may hold values and arrays at any depth."""
    arrays: Arrays = {}
    data = {"format": format_name, "version": version, "contents": _packed(contents, arrays)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # With a fixed timestamp, the same contents give the same bytes.
        archive.writestr(zipfile.ZipInfo(_CONTENTS), json.dumps(data, indent=1))
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name), part.getvalue())
    write_bytes(path, buffer.getvalue())


def read_archive(path: Path, format_name: str, version: int) -> Contents:
    """Return the contents of an archive, or raise an error that says why it cannot be read."""
    if not path.is_file():
        raise ValueError(f"{path} is not a file; it should be one that was saved by sojourn")
    try:
        parts = _parts(path)
        data: Any = parsed_json(_text(parts.pop(_CONTENTS)))
        check_kind(_Archive, data, "the contents")
        found = data["format"], data["version"]
        if found == (format_name, version):
            arrays = {name: _array(name, part) for name, part in parts.items()}
            return {key: _unpacked(entry, arrays) for key, entry in _table(data["contents"], "dict").items()}
    except _UnknownClassError as error:
        raise ValueError(f"{path} holds {error}") from None
    except _UNREADABLE as error:
        raise ValueError(
            f"{path} is damaged, or was not saved by sojourn ({_reason(error)}); none of it was read"
        ) from None
    if found[0] == format_name:
        if found[1] > version:
            raise ValueError(f"{path} was saved by a newer sojourn; update sojourn to read it")
        raise ValueError(
            f"{path} was saved by an older sojourn, in version {found[1]} of the format; this one reads version "
            f"{version}: load it with the sojourn that saved it, or train and save it again"
        )
    raise ValueError(
        f"{path} holds {found[0]!r} of version {found[1]!r}, not {format_name!r} of version {version}"
    )


def format_of(path: Path) -> str | None:
    """Return an archive's format version, or None if it cannot be read."""
    try:
        data: Any = parsed_json(_text(_parts(path)[_CONTENTS]))
        return str(data["format"])
    except (*_UNREADABLE, KeyError, TypeError):
        return None


class _Archive(TypedDict):
    """What `contents.json` holds."""

    format: str
    version: int
    contents: Contents


class _UnknownClassError(ValueError):
    """A user's class, whose module has not been imported."""


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _parts(path: Path) -> dict[str, bytes]:
    """Return the parts of an archive; none is compressed or duplicated, so together they are no larger than the file."""
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"its part {shown(info.filename)} is not stored as sojourn stores it")
            if info.filename == _CONTENTS and info.file_size > _MOST_JSON:
                raise ValueError(f"its contents are larger than {_MOST_JSON / 1e6:.0f} MB")
        names = {info.filename for info in infos}
        if len(names) < len(infos) or sum(info.file_size for info in infos) > path.stat().st_size:
            raise ValueError("its parts overlap")
        if _CONTENTS not in names:
            raise ValueError(f"it has no {_CONTENTS}")
        return {info.filename: archive.read(info) for info in infos}


def _text(part: bytes) -> str:
    try:
        return part.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"its {_CONTENTS} is not text in UTF-8") from None


def _array(name: str, part: bytes) -> NDArray[np.generic]:
    """Return the array in a part: .npy version 1 as NumPy writes it, parsed without evaluating its header."""
    head = _NPY.match(part)
    if head is None or head.end() != 10 + int.from_bytes(part[8:10], "little"):
        raise ValueError(f"its part {shown(name)} is not an array of numbers as sojourn saves them")
    kind, order = np.dtype(head["kind"].decode()), head["order"] == b"True"
    shape = tuple(int(length) for length in head["shape"].replace(b",", b" ").split())
    if math.prod(shape) * kind.itemsize != len(part) - head.end():
        raise ValueError(f"its part {shown(name)} does not have the size of its shape {shape}")
    numbers: NDArray[np.generic] = np.frombuffer(part, dtype=kind, offset=head.end())
    return numbers.reshape(shape, order="F" if order else "C").copy(order="C")


def _packed(thing: Any, arrays: Arrays) -> Json:
    """Return `thing` as JSON data, and collect its arrays in `arrays`."""
    if is_value(thing):
        cls = type(thing)
        found = [one for one in _classes(cls.__name__) if one.__module__ == cls.__module__]
        if found != [cls]:
            raise ValueError(
                f"{cls.__name__} cannot be saved, because it could not be found again: "
                + ("several classes have that name" if len(found) > 1 else "no rule is registered for it")
            )
        fields = {part: _packed(field, arrays) for part, field in thing._asdict().items()}
        if _is_ours(cls):
            return {"value": _SAVED_AS.get(cls.__name__, cls.__name__), "fields": fields}
        return {"value": cls.__name__, "module": cls.__module__, "fields": fields}
    if isinstance(thing, np.ndarray):
        name = f"{len(arrays)}.npy"
        arrays[name] = thing
        return {"array": name}
    if isinstance(thing, dict):
        return {"dict": {str(key): _packed(entry, arrays) for key, entry in thing.items()}}
    if isinstance(thing, list | tuple):
        return [_packed(entry, arrays) for entry in thing]
    plain: Json = thing.item() if isinstance(thing, np.generic) else thing
    if plain is None or isinstance(plain, bool | int | float | str):
        return plain
    raise TypeError(
        f"{type(thing).__name__} cannot be saved; a file holds only numbers, texts, arrays and values"
    )


def _unpacked(thing: Any, arrays: Arrays) -> Any:
    if isinstance(thing, list):
        return [_unpacked(entry, arrays) for entry in thing]
    if not isinstance(thing, dict):
        return thing
    if "array" in thing:
        name = thing["array"]
        if not isinstance(name, str) or name not in arrays:
            raise ValueError(f"it has no array {shown(name)}")
        return arrays[name]
    if "dict" in thing:
        return {key: _unpacked(entry, arrays) for key, entry in _table(thing, "dict").items()}
    if not isinstance(thing.get("value"), str):
        raise ValueError(f"it holds {shown(thing)}, which is neither a value nor an array")  # noqa: TRY004 - of a file
    cls: Any = _class(thing["value"], thing.get("module"))
    fields = {name: _unpacked(entry, arrays) for name, entry in _table(thing, "fields").items()}
    added = {name: cls._field_defaults[name] for name in _ADDED.get(cls.__name__, ()) if name not in fields}
    fields = {**fields, **added}
    if set(fields) != set(cls._fields):
        raise ValueError(f"its {cls.__name__} does not have the same fields as sojourn's")
    check_fields(cls._make(fields[name] for name in cls._fields))
    try:
        return cls(**fields)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _table(thing: dict[str, Any], key: str) -> dict[str, Any]:
    table = thing.get(key)
    if not isinstance(table, dict):
        raise ValueError(f"it holds {shown(thing)}, which has no table {key!r}")  # noqa: TRY004 - of a file
    return table


def _class(name: str, module: object) -> type:
    """Return the value class of this name; `module` is given for a user's class."""
    name = _CLASSES.get(name, name) if module is None else name
    there = _classes(name)
    if module is None:
        found = [cls for cls in there if _is_ours(cls)] or there
    else:
        users = [cls for cls in there if not _is_ours(cls)]
        found = [cls for cls in users if cls.__module__ == module] or users
    if len(found) == 1:
        return found[0]
    if not found and isinstance(module, str) and _NAME.fullmatch(module) and _NAME.fullmatch(name):
        raise _UnknownClassError(
            f"a {name} from your module {module}, which a file may not import by itself; import it first, "
            f"or add --module {module} to the command"
        )
    raise ValueError(
        f"it holds a {name}, but there {'are several classes' if found else 'is no class'} of that name here; "
        "import the file that defines it first"
    )


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == _PACKAGE


def _classes(name: str) -> list[type]:
    """Return the classes of this name among those that rules are registered for, and their fields' classes."""
    known = {cls for rule in _RULES for cls in rule.types}
    new = known
    while new:
        new = {hint for cls in new for hint in _declared(cls)} - known
        known |= new
    return [cls for cls in known if cls.__name__ == name]


def _declared(cls: type) -> list[type]:
    """Return the value classes that a class declares for its fields."""
    try:
        hints = get_type_hints(cls)
    except (NameError, TypeError):
        return []
    return [
        hint
        for hint in hints.values()
        if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")
    ]
