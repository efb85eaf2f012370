"""Reads the rows of a file of bars, valid or not: CSV, plain or gzipped, and Parquet.

Every line of a CSV file is a row, regardless of quotes, so a stray quote cannot swallow the lines below it.
`sojourn.worlds.market.bars` decides which rows are bars, and what happens to the others.
"""

from __future__ import annotations

import contextlib
import gzip
import mmap
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from sojourn.data.child import Facts

ENDINGS = (".csv", ".csv.gz", ".parquet")
# Names of the timestamp column, best first, in lower case and with spaces for underscores.
_TIMES = (
    "timestamp", "unix timestamp", "unix time", "unix", "open time", "opentime",
    "datetime", "date time", "time", "date",
)  # fmt: skip
_MISSING = ("", "nan", "null", "none", "na", "n/a", "<na>")
_FORMATS = (
    "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%d %H:%M%z",
)  # fmt: skip
_LATEST = 7_258_118_400  # 2200-01-01: a larger number is in another unit, or not a time
_EARLIEST = 2.2e11  # in milliseconds, 1976-12-21: a smaller number may be a date such as 201201312359

# What a row is: a bar, or the first reason why it is not one.
FINE, BLANK, RAGGED, UNTIMED, UNTRADED, TEXT, WRONG = range(7)

# A gzipped file may unpack to this many bytes plus this many times its own size.
_MOST_UNPACKED, _MOST_RATIO = 30_000_000, 30
_SEPARATORS, _AROUND = ",;\t|", " \t\r\"'"


def rows_here(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Read a file in this process, which may crash; return its numbers, and the facts for `bars.FileReport`.

    The table has for each row the columns `at` in seconds, `open` and `close`, null where there is no number, the
    `unit` of the timestamp and the `kind` of row. `firsts` has the first row of each kind except `FINE`, with
    everything found in it: the number of `fields`; the texts `at_text`, `open_text` and `close_text` where they are
    not numbers; the unscaled `number` of the timestamp.
    """
    table, facts = _read_parquet(path) if path.name.lower().endswith(ENDINGS[-1]) else _read_csv(path)
    if table.is_empty():
        raise ValueError(f"{path} has no rows below the names of its columns; fetch or export it again")
    for name in ("at", "open", "close"):
        table = _settle(table, name)
    table = _judged(_timed(table))
    numbers = table.select("at", "open", "close", pl.col("unit", "kind").cast(pl.Int8))
    kinds = numbers["kind"]
    firsts = {
        str(kind): table.row(int((kinds == kind).arg_max() or 0), named=True)
        for kind in kinds.unique()
        if kind != FINE
    }
    return numbers, {**facts, "firsts": firsts}


def _read_csv(path: Path) -> tuple[pl.DataFrame, Facts]:
    with _contents(path) as data:
        above, header = _header(path, data)
        ended = data[-1:] == b"\n"
        source = data if isinstance(data, bytes) else path
    separator = max(_SEPARATORS, key=header.count)
    names = [cell.strip(_AROUND) for cell in header.split(separator)]
    columns = _columns(path, names)
    # No line has the separator \x01 in it, so each line is one field and none is left out.
    lines = pl.scan_csv(
        source,
        has_header=False,
        separator="\x01",
        quote_char=None,
        schema={"line": pl.String},
        encoding="utf8-lossy",
        glob=False,
    )
    line = pl.col("line")
    fields = line.str.count_matches(separator, literal=True).cast(pl.Int64) + 1
    blank = line.str.strip_chars().fill_null("") == ""
    kind = pl.when(blank).then(BLANK).when(fields != len(names)).then(RAGGED).otherwise(FINE)
    parts = line.str.split_exact(separator, max(columns.values()))
    # In steps, because Polars would split the lines again for every column.
    rows = lines.slice(above + 1).select(fields.alias("fields"), kind.alias("kind"), parts.alias("parts"))
    texts = [pl.col(f"field_{index}").alias(f"{name}_text") for name, index in columns.items()]
    rows = rows.unnest("parts").select("fields", "kind", *texts)
    rows = rows.with_columns(_number(name) for name in columns)
    rows = rows.with_columns(
        pl.when(pl.col(name).is_null()).then(pl.col(f"{name}_text")).alias(f"{name}_text") for name in columns
    )
    unended = not ended and len(names) - 1 in columns.values()
    facts = {"word": "line", "offset": above + 2, "opens": "open" in columns, "unended": unended}
    return rows.collect(engine="streaming"), facts


@contextlib.contextmanager
def _contents(path: Path) -> Iterator[bytes | mmap.mmap]:
    """Return the bytes of a text file, unpacked."""
    with path.open("rb") as handle:
        if not path.name.lower().endswith(".gz"):
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield data
            return
        unpacked = _unpacked(path, handle)
    if not unpacked:
        raise ValueError(f"{path} is empty; fetch or export it again")
    yield unpacked


def _unpacked(path: Path, handle: BinaryIO) -> bytes:
    """Return the content of a gzipped file, or refuse it if it is far larger than bars would be."""
    most = _MOST_UNPACKED + _MOST_RATIO * os.fstat(handle.fileno()).st_size
    try:
        with gzip.open(handle) as content:
            unpacked = content.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{path} is not a whole gzip file; fetch it again") from None
    if len(unpacked) > most:
        raise ValueError(
            f"{path} unpacks to more than {most / 1e6:,.0f} MB, too much for bars in a file of its size; if it is "
            "right all the same, unpack it with gunzip and give the .csv"
        )
    return unpacked


def _header(path: Path, data: bytes | mmap.mmap) -> tuple[int, str]:
    """Return the number of lines above the header, and the header."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data.find(b"\x00") >= 0 or data.find(b"\x01") >= 0:
        raise ValueError(f"{path} is not text in UTF-8; export it again as CSV in UTF-8")
    begin, above = 3 if data[:3] == b"\xef\xbb\xbf" else 0, 0
    while True:
        end = data.find(b"\n", begin)
        line = data[begin : end if end >= 0 else len(data)].strip(b"\r")
        if line.strip():
            break
        if end < 0:
            raise ValueError(f"{path} has only blank lines; fetch or export it again")
        begin, above = end + 1, above + 1
    if b"\r" in line:
        raise ValueError(
            f"{path} has lines that end in a carriage return alone; save it with the usual line ends"
        )
    return above, line.decode("utf-8", "replace")


def _read_parquet(path: Path) -> tuple[pl.DataFrame, Facts]:
    rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    schema = rows.collect_schema()
    columns = _columns(path, schema.names())
    wanted = [pl.lit(len(schema)).alias("fields"), pl.lit(FINE).alias("kind")]
    for name, index in columns.items():
        original = schema.names()[index]
        column, dtype = pl.col(original), schema[original]
        number, text = pl.lit(None, pl.Float64), pl.lit(None, pl.String)
        if dtype.is_numeric():
            number = column.cast(pl.Float64).fill_nan(None)
        elif dtype in (pl.String, pl.Categorical, pl.Enum):
            text = column.cast(pl.String)
        elif name == "at" and dtype in (pl.Date, pl.Datetime):
            moment = column.cast(pl.Datetime("us")) if dtype == pl.Date else column
            number = _in_range(moment.dt.timestamp("us") / 1e6)
        else:
            raise ValueError(f"{path}: the column {original!r} is of type {dtype}; it must have numbers")
        wanted += [number.alias(name), text.alias(f"{name}_text")]
    table = rows.select(wanted).collect(engine="streaming")
    return table, {"word": "row", "offset": 1, "opens": "open" in columns, "unended": False}


def _columns(path: Path, names: list[str]) -> dict[str, int]:
    """Return the indices of the columns `at`, `open` (if there is one) and `close`."""
    plain = [" ".join(name.replace("_", " ").lower().split()) for name in names]
    found = {}
    for name, options in {"at": _TIMES, "open": ("open",), "close": ("close",)}.items():
        best = next((option for option in options if option in plain), None)
        if best is not None:
            found[name] = plain.index(best)
            if plain.count(best) > 1:
                raise ValueError(f"{path} has {plain.count(best)} columns {best!r}; keep only one of them")
        elif name != "open":
            wanted = "no column for the timestamp" if name == "at" else "no column 'close'"
            shown = ", ".join(repr(name[:40]) for name in names[:12]) + (", ..." if len(names) > 12 else "")
            advice = "name the columns as in Timestamp,Open,Close"
            raise ValueError(f"{path} has {wanted}, only {shown}; {advice}")
    return found


def _number(name: str) -> pl.Expr:
    return pl.col(f"{name}_text").cast(pl.Float64, strict=False).fill_nan(None).alias(name)


def _settle(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Parse numbers in quotes or spaces, and drop strings that stand for a missing number."""
    label = f"{name}_text"
    if name not in table.columns:
        return table.with_columns(pl.lit(None, pl.Float64).alias(name), pl.lit(None, pl.String).alias(label))
    number, text = table[name], table[label]
    left = text.is_not_null().arg_true()
    if left.len():
        rest = text.gather(left).str.strip_chars(_AROUND).to_frame(label).with_columns(_number(name))
        none = pl.col(name).is_not_null() | pl.col(label).str.to_lowercase().is_in(_MISSING)
        rest = rest.with_columns(pl.when(~none).then(pl.col(label)).alias(label))
        table = table.with_columns(number.scatter(left, rest[name]), text.scatter(left, rest[label]))
    return table


def _timed(table: pl.DataFrame) -> pl.DataFrame:
    """Convert timestamps to seconds; null where that is impossible."""
    number = pl.col("at")
    unit: Any = pl.when(number.is_between(0, _LATEST, closed="left")).then(0)
    for power in (3, 6, 9):
        low, high = _EARLIEST * 10.0 ** (power - 3), _LATEST * 10.0**power
        unit = unit.when(number.is_between(low, high, closed="left")).then(power)
    table = table.with_columns(number.alias("number"), unit.otherwise(None).cast(pl.Int64).alias("unit"))
    # Divided, not multiplied by a power below 1, so that a whole second stays whole.
    table = table.with_columns(number / pl.lit(10.0).pow(pl.col("unit")), pl.col("unit").fill_null(0))
    written = table["at_text"].is_not_null().arg_true()
    if written.len():
        moments = _moments(table["at_text"].gather(written))
        table = table.with_columns(table["at"].scatter(written, moments))
    return table


def _moments(text: pl.Series) -> pl.Series:
    """Return ISO times in seconds since 1970, null where there is none; without a zone they are UTC."""
    # In most files all times have one format; the rest is the slow path.
    with_t = str(text[0])[10:11] == "T"
    seconds = _parsed(text, _FORMATS[0].replace(" ", "T") if with_t else _FORMATS[0])
    rest = seconds.is_null().arg_true()
    plain = text.gather(rest).str.replace(r"^(\d{4}-\d\d-\d\d)T", "${1} ")
    plain = plain.str.replace(r"\s*(?:Z|UTC|GMT)$", "+00:00")
    plain = plain.str.replace(r"(:\d\d(?:\.\d+)?)\s*([+-]\d\d)$", "${1}${2}:00")
    plain = plain.str.replace(r"(:\d\d(?:\.\d+)?)\s+([+-]\d\d:?\d\d)$", "${1}${2}")
    for pattern in _FORMATS:
        left = seconds.gather(rest).is_null().arg_true()
        if left.len():
            seconds = seconds.scatter(rest.gather(left), _parsed(plain.gather(left), pattern))
    return seconds.to_frame("at").select(_in_range(pl.col("at"))).to_series()


def _parsed(text: pl.Series, pattern: str) -> pl.Series:
    return text.str.to_datetime(pattern, time_unit="us", strict=False).dt.timestamp("us") / 1e6


def _in_range(seconds: pl.Expr) -> pl.Expr:
    return pl.when(seconds.is_between(0, _LATEST, closed="left")).then(seconds)


def _judged(table: pl.DataFrame) -> pl.DataFrame:
    """Add a column with the kind of each row."""
    close, opening = pl.col("close"), pl.col("open")
    kind = (
        pl.when(pl.col("kind") != FINE).then(pl.col("kind"))
        .when(pl.col("at").is_null()).then(UNTIMED)
        .when(pl.col("close_text").is_not_null()).then(TEXT)
        .when(close.is_null()).then(UNTRADED)
        .when(pl.col("open_text").is_not_null()).then(TEXT)
        .when((close <= 0.0) | close.is_infinite() | (opening <= 0.0) | opening.is_infinite()).then(WRONG)
        .otherwise(FINE)
    )  # fmt: skip
    return table.with_columns(kind.cast(pl.Int64).alias("kind"))
