"""Files that hold data and nothing else: values, numbers, texts and arrays.

An archive is a zip of `contents.json` and the arrays as NumPy's .npy, uncompressed. Reading one
executes nothing: the classes of values are looked up by name among those that rules are
registered for, and an array of Python objects is refused. The zip's checksums tell a damaged
file from a whole one.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sojourn.agents import bandits, h_learning, learn, policies, relative
from sojourn.agents.bandits import chosen
from sojourn.agents.errors import td_error
from sojourn.agents.exploration import chance
from sojourn.agents.protocol import draw
from sojourn.agents.relative import settled
from sojourn.agents.step_sizes import sized
from sojourn.agents.ties import share_of
from sojourn.agents.values.protocol import read
from sojourn.rates import centred, named, scheduled
from sojourn.rates.protocol import update
from sojourn.rules.files import write_whole
from sojourn.rules.values import is_value
from sojourn.worlds.protocol import step

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays: TypeAlias = dict[str, NDArray[np.generic]]
Contents: TypeAlias = dict[str, Any]  # whoever reads a file looks at what is in it

# Files name the classes of these by name alone, so they must have been imported before one is read.
OURS = (learn, policies, bandits, h_learning, relative, named, scheduled, centred)
_RULES = (draw, read, td_error, chance, sized, share_of, settled, chosen, update, step)
_CONTENTS = "contents.json"
_MOST_JSON = 50_000_000  # bytes


def write_archive(path: Path, format_name: str, version: int, contents: Mapping[str, Any]) -> None:
    """Write an archive whole or not at all. `contents` may hold values and arrays at any depth."""
    arrays: Arrays = {}
    data = {"format": format_name, "version": version, "contents": _packed(contents, arrays)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # With a fixed time, the same contents are the same bytes.
        archive.writestr(zipfile.ZipInfo(_CONTENTS), json.dumps(data, indent=1))
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name), part.getvalue())
    write_whole(path, lambda partial: partial.write_bytes(buffer.getvalue()))


def read_archive(path: Path, format_name: str, version: int) -> Contents:
    """Return the contents of an archive, or say in one sentence why it cannot be read."""
    if not path.is_file():
        raise ValueError(f"{path} is not a file; it should be one that was saved by sojourn")
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {info.filename: _read(archive, info) for info in archive.infolist()}
        data = json.loads(parts.pop(_CONTENTS))
        found = data["format"], data["version"]
        if found == (format_name, version):
            return dict(_unpacked(data["contents"], {name: _array(part) for name, part in parts.items()}))
    except (
        zipfile.BadZipFile, KeyError, TypeError, ValueError, EOFError, OSError, MemoryError, RuntimeError,
    ) as error:  # fmt: skip
        raise ValueError(
            f"{path} is damaged, or was not saved by sojourn ({_reason(error)}); nothing of it was read"
        ) from None
    if found[0] == format_name and isinstance(found[1], int):
        if found[1] > version:
            raise ValueError(f"{path} was saved by a newer sojourn; update sojourn to read it")
        raise ValueError(
            f"{path} was saved by an older sojourn, in version {found[1]} of the format; this one reads version "
            f"{version}: load it with the sojourn that saved it, or train and save it again"
        )
    raise ValueError(
        f"{path} holds {found[0]!r} of version {found[1]!r}, not {format_name!r} of version {version}"
    )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    # What is not compressed cannot unfold into more than the file's own size.
    if info.compress_type != zipfile.ZIP_STORED or (
        info.filename == _CONTENTS and info.file_size > _MOST_JSON
    ):
        raise ValueError(f"its part {info.filename!r} is not stored as sojourn does")
    return archive.read(info)


def _array(part: bytes) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.lib.format.read_array(io.BytesIO(part), allow_pickle=False)
    return array


def _packed(thing: Any, arrays: Arrays) -> Json:
    """Return `thing` as JSON, with its arrays put aside."""
    if is_value(thing):
        name = type(thing).__name__
        if _classes(name) != [type(thing)]:
            raise ValueError(
                f"{name} cannot be saved, because it could not be found again: "
                + (
                    "several classes have that name"
                    if len(_classes(name)) > 1
                    else "no rule is registered for it"
                )
            )
        fields = {part: _packed(field, arrays) for part, field in thing._asdict().items()}
        return {"value": name, "fields": fields}
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
        return arrays[thing["array"]]
    if "dict" in thing:
        return {key: _unpacked(entry, arrays) for key, entry in thing["dict"].items()}
    cls: Any = _class(thing["value"])
    fields = {name: _unpacked(entry, arrays) for name, entry in thing["fields"].items()}
    if set(fields) != set(cls._fields):
        raise ValueError(f"its {cls.__name__} has other fields than sojourn's")
    return cls(**fields)


def _class(name: str) -> type:
    """Return the class of values of this name."""
    found = _classes(name)
    if len(found) != 1:
        raise ValueError(
            f"it holds a {name}, but there {'are several classes' if found else 'is no class'} of that name here; "
            "import the file that defines it first"
        )
    return found[0]


def _classes(name: str) -> list[type]:
    """Return the classes of this name, of those that rules are registered for and their parts."""
    known = {cls for rule in _RULES for cls in rule.types}
    new = known
    while new:
        new = {hint for cls in new for hint in _parts(cls)} - known
        known |= new
    return [cls for cls in known if cls.__name__ == name]


def _parts(cls: type) -> list[type]:
    """Return the classes of values that a class declares as its fields."""
    try:
        hints = get_type_hints(cls)
    except (NameError, TypeError):
        return []
    return [
        hint
        for hint in hints.values()
        if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")
    ]
