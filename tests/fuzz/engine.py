"""One engine that spoils files: by their bytes, by their text, and by the structure that their format has.

A corpus of whole files goes in, and for each number one spoiled file comes out, always the same for the same number.
"""

from __future__ import annotations

import copy
import datetime as dt
import gzip
import io
import json
import math
import random
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

T = TypeVar("T")

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 70_000, 2**31, 2**63, 2**64, 999_999_999, 10**30, 10**400, 0.0, -0.0, 0.5, -0.5,
    1.0, 1e-320, 1e308, 1e30, math.inf, -math.inf, math.nan, "", "0", "1", "x", "up", "idle", "nan", "é", "\x1b[31m", "a\nb",
    "\ud800", "/dev/zero", "..", [], [[]], [0], [1, 2], ["x"], {}, {"x": 1}, {"law": "gamma"}, {"linspace": [0, 1, 3_000_000]},
    {"logspace": [1, 2, 3]}, {"start": 0.2, "factor": 0.9}, {"0": 1.0}, {"array": "0.npy"}, {"dict": 3}, {"value": "Params"},
    dt.date(2020, 1, 1),
]  # fmt: skip
WORDS = [
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b",", b";", b'"', b"'", b"nan", b"inf", b"-", b"1e999", b"9" * 400, b"{",
    b"}", b"[", b"]", b"[[", b"=", b"#", b"\\", b"\\ud800", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"None", b"null",
    b"(((((", b"0", b"9", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\xff\xff\xff\x7f",
]  # fmt: skip
DTYPES = [
    pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Boolean, pl.Date, pl.Datetime("us"), pl.Datetime("ns"),
    pl.Duration("ms"), pl.Time, pl.Binary, pl.Categorical, pl.List(pl.Int64), pl.Decimal(20, 2), pl.Null,
]  # fmt: skip


class Spoiler:
    """Spoils files of a corpus; all that it does follows from its seed."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)

    def spoiled(self, file: Path) -> bytes:
        """Return a file's content, spoiled in one to three places, mostly within its format."""
        data = file.read_bytes()
        if self.rng.random() < 0.35:
            return self.times(self.bytes_, data)
        name = file.name
        if name.endswith(".toml"):
            return toml_text(self.times(self.tree, tomllib.loads(data.decode()))).encode("utf-8", "replace")
        if name.endswith(".json"):
            return json.dumps(self.times(self.tree, json.loads(data)), default=str).encode()
        if name.endswith(".csv"):
            return self.times(self.csv, data)
        if name.endswith(".csv.gz"):
            return gzip.compress(self.times(self.csv, gzip.decompress(data)), mtime=0)
        if name.endswith(".parquet"):
            return self.parquet(data)
        if name.endswith(".zip"):
            return self.zip_(data)
        return self.times(self.bytes_, data)

    def times(self, spoil: Callable[[T], T], thing: T) -> T:
        """Spoil something once, twice or three times."""
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            thing = spoil(thing)
        return thing

    def bytes_(self, data: bytes) -> bytes:
        """Flip, replace, remove, repeat or insert bytes, or cut the end off."""
        rng, at = self.rng, self.rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 4, 16, 200)))
        match rng.randrange(7):
            case 0:
                return data[:at]
            case 1:
                return data[:at] + data[end:]
            case 2:
                return data[:end] + data[at:end] + data[end:]
            case 3:
                return data[:at] + rng.choice(WORDS) + data[at:]
            case 4:
                return data[:at] + rng.choice(WORDS) + data[end:]
            case _:
                if at == len(data):
                    return data + rng.randbytes(1)
                flipped = rng.randrange(256) if rng.random() < 0.5 else data[at] ^ (1 << rng.randrange(8))
                return data[:at] + bytes([flipped]) + data[at + 1 :]

    def tree(self, tree: Any) -> Any:
        """Replace, remove, rename, copy or wrap one entry of nested lists and tables."""
        rng = self.rng
        places = list(_places(tree))
        if not places:
            return rng.choice(ODD)
        holder, key = rng.choice(places)
        match rng.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[rng.choice((f"{key}x", "kind", "next", "law", "0", "", "é"))] = holder.pop(key)
            case 2:
                other, there = rng.choice(places)
                holder[key] = (
                    json.loads(json.dumps(other[there], default=str)) if there in _keys(other) else 0
                )
            case 3:
                holder[key] = rng.choice(([holder[key]], {"x": holder[key]}, str(holder[key])))
            case 4 if isinstance(holder, list):
                holder.insert(key, holder[key])
            case 5 if isinstance(holder[key], int | float) and abs(holder[key]) < 1e300:
                holder[key] = rng.choice((-holder[key], holder[key] * 2, holder[key] + 1, holder[key] / 2))
            case _:
                holder[key] = copy.deepcopy(rng.choice(ODD))
        return tree

    def csv(self, data: bytes) -> bytes:
        """Change a field, a line or the header of a table of text."""
        rng, lines = self.rng, data.split(b"\n")
        at = rng.randrange(len(lines))
        fields = lines[at].split(b",")
        odd = str(rng.choice(ODD)).encode("utf-8", "replace")
        match rng.randrange(7):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                lines[at] = lines[at].replace(b",", rng.choice((b";", b"\t", b",,", b"|")))
            case 3:
                lines = [line.replace(b",", b";") for line in lines]
            case 4:
                lines[at] = b",".join([*fields, odd])
            case _:
                fields[rng.randrange(len(fields))] = rng.choice(
                    (odd, rng.choice(WORDS), b"2020-01-01 00:00:00")
                )
                lines[at] = b",".join(fields)
        return b"\n".join(lines)

    def parquet(self, data: bytes) -> bytes:
        """Change a column of a table: its name, its type, some of its entries; or rows; or how it is written."""
        rng, table = self.rng, pl.read_parquet(io.BytesIO(data))
        for _ in range(rng.choice((1, 1, 2))):
            name = rng.choice(table.columns)
            column = pl.col(name)
            match rng.randrange(8):
                case 0:
                    table = table.drop(name) if table.width > 1 else table
                case 1:
                    new = rng.choice((f"{name}x", name.upper(), "close", "cell", "error"))
                    table = table.rename({name: new}) if new not in table.columns else table
                case 2:
                    table = table.sample(rng.randrange(table.height + 1), seed=1, with_replacement=True)
                case 3:
                    table = table.head(0)
                case 4:
                    odd = rng.choice([x for x in ODD if x is None or isinstance(x, bool | float | str)])
                    odd = "?" if odd == "\ud800" else odd
                    table = table.with_columns(pl.lit(odd).alias(name))
                case 5:
                    table = table.with_columns(
                        pl.when(pl.int_range(pl.len()) % 2 == 0).then(column).alias(name)
                    )
                case _:
                    table = table.with_columns(_cast(table[name], rng.choice(DTYPES)).alias(name))
        buffer = io.BytesIO()
        table.write_parquet(buffer, compression=rng.choice(("zstd", "uncompressed", "snappy")))
        written = buffer.getvalue()
        return self.bytes_(written) if rng.random() < 0.3 else written

    def zip_(self, data: bytes) -> bytes:
        """Change the contents, an array or a name in an archive."""
        rng = self.rng
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {info.filename: archive.read(info) for info in archive.infolist()}
        arrays = [name for name in parts if name.endswith(".npy")]
        if rng.random() < 0.7:
            tree = self.times(self.tree, json.loads(parts["contents.json"]))
            parts["contents.json"] = json.dumps(tree, default=str).encode()
        else:
            name = rng.choice(arrays)
            match rng.randrange(4):
                case 0:
                    parts[name] = self.times(self.bytes_, parts[name])
                case 1:
                    parts[rng.choice(("x.npy", *arrays))] = parts.pop(name)
                case _:
                    parts[name] = _npy(self.array(np.load(io.BytesIO(parts[name]))))
        buffer = io.BytesIO()
        with zipfile.ZipFile(
            buffer, "w", rng.choice((zipfile.ZIP_STORED,) * 9 + (zipfile.ZIP_DEFLATED,))
        ) as archive:
            for name, part in parts.items():
                archive.writestr(zipfile.ZipInfo(name), part)
        return buffer.getvalue()

    def array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return an array of another type, shape, order or length, or with an odd number in it."""
        rng = self.rng
        match rng.randrange(7):
            case 0:
                with np.errstate(all="ignore"):  # infinite numbers as whole ones: odd is what is wanted
                    return array.astype(rng.choice(("f4", ">f8", "i8", "u1", "?", "u8", "i4")))
            case 1:
                return array[: rng.randrange(len(array) + 1)]
            case 2:
                return np.asfortranarray(array.T)
            case 3:
                return np.concatenate([array, array])
            case 4:
                return array.reshape(-1)
            case _:
                changed = array.copy().reshape(-1)
                if changed.size:
                    odd = rng.choice((math.nan, math.inf, -math.inf, 1e300, -1, 10**6, 0))
                    with np.errstate(all="ignore"):
                        changed[rng.randrange(changed.size)] = np.array(odd).astype(array.dtype)
                return changed.reshape(array.shape)


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


def _cast(column: pl.Series, dtype: Any) -> pl.Series:
    try:
        return column.cast(dtype, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return pl.Series(column.name, [None] * len(column), dtype=pl.Null)


def _places(tree: Any) -> Any:
    """Yield every entry of nested lists and tables, as what holds it and its key."""
    if isinstance(tree, dict | list):
        for key in _keys(tree):
            yield tree, key
            yield from _places(tree[key])


def _keys(holder: Any) -> list[Any]:
    return list(holder) if isinstance(holder, dict) else list(range(len(holder)))


def toml_text(tree: Any) -> str:
    """Return a table as TOML, each value on one line."""
    if not isinstance(tree, dict):
        return f"x = {_toml(tree)}\n"
    return "".join(f"{json.dumps(str(key))} = {_toml(value)}\n" for key, value in tree.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    return "''" if value is None else str(value)
