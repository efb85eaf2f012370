from __future__ import annotations

import contextlib
import doctest
import gzip
import hashlib
import io
import json
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import sojourn.worlds.market.bars
from sojourn.cli import commands
from sojourn.worlds.market.bars import Bars, Finding, describe, fetch_bars, load_bars, segments
from sojourn.worlds.market.instruments import identity, instrument

RECORDED = Path(__file__).parents[2] / "../shared/data/btcusd_1min.parquet"
HEADER = "Timestamp,Open,High,Low,Close,Volume"
START, NUM = 1_325_412_060, 120  # 2012-01-01 10:01

Row = tuple[int, float, float]


def good_rows(seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    prices = (100.0 + rng.normal(size=(NUM, 2)).cumsum(axis=0)).round(2)
    return [(START + 60 * i, float(o), float(c)) for i, (o, c) in enumerate(prices)]


def good_lines(rows: list[Row]) -> list[str]:
    return [f"{t}.0,{o},{max(o, c)},{min(o, c)},{c},{i}.25" for i, (t, o, c) in enumerate(rows)]


def text_of(lines: list[str], header: str = HEADER) -> bytes:
    return "".join(f"{line}\n" for line in [header, *lines]).encode()


def rows_of(bars: Bars) -> list[Row]:
    return list(zip(bars.timestamp.tolist(), bars.open.tolist(), bars.close.tolist(), strict=True))


def load(folder: Path, content: bytes | str, name: str = "bars.csv", **options: Any) -> Bars:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_bars(path, **options)


def finding(bars: Bars, what: str) -> Finding:
    (only,) = [entry for entry in bars.findings if entry.what.startswith(what)]
    return only


def test_doctests() -> None:
    """The module's doctests pass."""
    assert doctest.testmod(sojourn.worlds.market.bars).failed == 0


# --- Layouts ------------------------------------------------------------------------


def csv_with(header: str, time: Callable[[int], str], separator: str = ",") -> bytes:
    lines = [f"{time(t)}{separator}{o}{separator}{c}" for t, o, c in good_rows()]
    return text_of(lines, header)


def iso(t: int, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return str(np.datetime64(t, "s").astype("O").strftime(form))


@pytest.mark.parametrize(
    "content",
    [
        text_of(good_lines(good_rows())),
        text_of(good_lines(good_rows()), HEADER.upper()),
        text_of(good_lines(good_rows()), HEADER.lower()),
        text_of(good_lines(good_rows()), " Timestamp , Open,High,Low, Close ,Volume"),
        b"\xef\xbb\xbf" + text_of(good_lines(good_rows())),
        text_of(good_lines(good_rows())).replace(b"\n", b"\r\n"),
        text_of([",".join(f'"{x}"' for x in s.split(",")) for s in good_lines(good_rows())]),
        csv_with("unix;open;close", str, ";"),
        csv_with("Open time\topen\tclose", str, "\t"),
        csv_with("Unix Timestamp|open|close", str, "|"),
        csv_with("timestamp,open,close", lambda t: f"{t}000"),
        csv_with("timestamp,open,close", lambda t: f"{t}000000"),
        csv_with("timestamp,open,close", lambda t: f"{t}000000000"),
        csv_with("timestamp,open,close", lambda t: f"{t:.6e}" if t % 1000 == 0 else f"{t}.000"),
        csv_with("date,open,close", iso),
        csv_with("date,open,close", lambda t: iso(t, "%Y-%m-%dT%H:%M:%SZ")),
        csv_with("date,open,close", lambda t: iso(t, "%Y-%m-%d %H:%M")),
        csv_with("date,open,close", lambda t: iso(t, "%Y-%m-%d %H:%M:%S UTC")),
        csv_with("datetime,open,close", lambda t: iso(t, "%Y-%m-%d %H:%M:%S.000")),
        csv_with("datetime,open,close", lambda t: iso(t + 7200, "%Y-%m-%d %H:%M:%S+02:00")),
        csv_with("datetime,open,close", lambda t: iso(t - 19800, "%Y-%m-%dT%H:%M:%S -0530")),
        csv_with("datetime,open,close", lambda t: iso(t + 7200, "%Y-%m-%d %H:%M+02")),
    ],
)
def test_published_layouts_give_the_same_bars(tmp_path: Path, content: bytes) -> None:
    """Column names, separators, line endings, quotes, time units and time formats do not matter, gzipped or not."""
    for name, stored in (("bars.csv", content), ("bars.csv.gz", gzip.compress(content))):
        bars = load(tmp_path, stored, name)
        assert rows_of(bars) == good_rows()
        assert bars.findings == []
        assert (bars.name, bars.interval, bars.rows) == (name, 60, NUM)
        assert bars.sha256 == hashlib.sha256(stored).hexdigest()


def parquet(times: pl.Series, **more: Any) -> bytes:
    _, opening, close = zip(*good_rows(), strict=True)
    buffer = io.BytesIO()
    pl.DataFrame({"Timestamp": times, "open": opening, "close": close, **more}).write_parquet(buffer)
    return buffer.getvalue()


SECONDS = pl.Series([row[0] for row in good_rows()])


@pytest.mark.parametrize(
    "times",
    [
        SECONDS,
        SECONDS.cast(pl.Float64),
        SECONDS.cast(pl.Int32),
        SECONDS * 1000,
        pl.from_epoch(SECONDS),
        pl.from_epoch(SECONDS).cast(pl.Datetime("ns")),
        pl.from_epoch(SECONDS).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Kolkata"),
        SECONDS.cast(pl.String),
    ],
)
def test_parquet_types_give_the_same_bars(tmp_path: Path, times: pl.Series) -> None:
    """Neither the Parquet type of the timestamps nor further columns matter."""
    bars = load(tmp_path, parquet(times, filled=[False] * NUM), "bars.parquet")
    assert rows_of(bars) == good_rows()
    assert bars.findings == []


def test_days(tmp_path: Path) -> None:
    """Dates count as midnights, and the interval is a day."""
    assert load(tmp_path, "date,close\n2012-01-31,4\n2012-02-01,5\n2012-02-02,6\n").interval == 86_400
    days = io.BytesIO()
    pl.DataFrame({"date": pl.Series([15370, 15371]).cast(pl.Date), "close": [1, 2]}).write_parquet(days)
    assert load(tmp_path, days.getvalue(), "d.parquet").timestamp.tolist() == [15370 * 86400, 15371 * 86400]


@pytest.mark.skipif(not RECORDED.is_file(), reason="the recorded minutes are not here")
def test_recorded_bars() -> None:
    """The recorded minutes are read completely, and their two long gaps are found."""
    bars = load_bars(RECORDED)
    assert len(bars) == bars.rows == 6_449_937
    assert bars.interval == 60
    assert [(entry.what, entry.count) for entry in bars.findings] == [("missing bar", 102_056)]


# --- Rules --------------------------------------------------------------------------


def test_segments() -> None:
    """Segments are consecutive and cover everything, and only the last may be shorter."""
    assert segments(9, 3) == [(0, 3), (3, 6), (6, 9)]
    assert segments(2, 5) == [(0, 2)]
    assert segments(0, 5) == []
    with pytest.raises(ValueError, match="length is 0"):
        segments(3, 0)


def test_gaps_are_reported_and_filled(tmp_path: Path) -> None:
    """A short enough gap is filled with the preceding close; the report has the number and the place of gaps."""
    content = "time,open,close\n60,1,2\n120,2,3\n300,4,5\n360,5,6\n480,6,7\n"
    bars = load(tmp_path, content)
    gap = finding(bars, "missing bar")
    assert (gap.count, gap.filled, gap.first) == (3, 0, "after line 3 (1970-01-01 00:02:00)")
    assert gap.remedy.startswith("2 gaps, the longest of 2 after line 3 (1970-01-01 00:02:00)")
    assert len(bars) == bars.rows == 5
    bars = load(tmp_path, content, fill=1)
    assert rows_of(bars) == [(60, 1, 2), (120, 2, 3), (300, 4, 5), (360, 5, 6), (420, 6, 6), (480, 6, 7)]
    bars = load(tmp_path, content, fill=2)
    assert rows_of(bars)[2:4] == [(180, 3, 3), (240, 3, 3)]
    assert (len(bars), bars.rows, bars.filled) == (8, 5, 3)


def test_missing_prices(tmp_path: Path) -> None:
    """A minute without a close is missing; a bar without an open opens at the preceding close."""
    content = "time,open,close\n60,,2\n120,2,NaN\n180,,3\n240,5,null\n300,nan,4\n360,4,5\n"
    bars = load(tmp_path, content)
    assert rows_of(bars) == [(60, 2, 2), (180, 2, 3), (300, 3, 4), (360, 4, 5)]
    assert finding(bars, "minute without a close").dropped == 2
    assert finding(bars, "no open").count == 3
    bars = load(tmp_path, "time,close\n60,2\n120,3\n")
    assert rows_of(bars) == [(60, 2, 2), (120, 2, 3)]
    assert finding(bars, "no column for the open").count == 2


def test_off_the_grid(tmp_path: Path) -> None:
    """A bar between two minutes is kept and counted, and does not create a spurious gap."""
    times = [60, 120, 150, 180, 240, 330, 420, 480, 540]
    bars = load(tmp_path, "time,close\n" + "".join(f"{t},1\n" for t in times), fill=9)
    assert finding(bars, "timestamp off the grid of 60 s").count == 2
    assert bars.timestamp.tolist() == [60, 120, 150, 180, 240, 300, 330, 360, 420, 480, 540]
    bars = load(tmp_path, "time,close\n1325412060.25,1\n1325412120.25,1\n")
    assert finding(bars, "fraction of a second").count == 2


def test_mixed_units_and_jumps_are_reported(tmp_path: Path) -> None:
    """A file that changes from milliseconds to microseconds is read and the change reported, and so are large jumps."""
    bars = load(tmp_path, "time,close\n1735689480000,1\n1735689540000,1\n1735689600000000,200\n")
    assert np.diff(bars.timestamp).tolist() == [60, 60]
    assert finding(bars, "timestamp in another unit").first == "line 4 (2025-01-01 00:00:00)"
    assert finding(bars, "close more than 10 times").count == 1


def test_one_bar(tmp_path: Path) -> None:
    """A single bar has the interval of a minute."""
    assert load(tmp_path, "time,close\n60,1\n").interval == 60


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("a.csv", "\n \n", "only blank lines"),
        ("a.csv", HEADER, "no rows below"),
        ("a.csv", "time,close\n60,\n", "no row with a timestamp and a close"),
        ("a.csv", "time,price\n60,1\n", "no column 'close', only 'time', 'price';"),
        ("a.csv", "60,1,2,3,4,5\n", "no column for the timestamp, only '60', "),
        ("a.csv", "time,close,Close\n60,1,1\n", "2 columns 'close'"),
        ("a.csv", "time,close\r60,1\r", "carriage return"),
        ("a.csv", "time,close\n60,1\n".encode("utf-16"), "not text in UTF-8"),
        ("a.csv", "time;close\n60;1,5\n", "line 2 (1970-01-01 00:01:00): close is '1,5'; correct"),
        ("a.csv", "date,close\n20120131,1\n20120201,1\n", "look like dates without dashes"),
        ("a.csv", "date,close\n31/01/2012,1\n", "line 2: it is '31/01/2012'"),
        ("a.csv", "date,close\n201201312359,1\n", "line 2: it is 201201312359"),
        ("a.csv", "date,close\n,1\n60,1\n", "line 2: it is missing"),
        (
            "a.csv",
            "time,open,close\n60,-1,1\n120,0,1\n",
            "2 times, first in line 2 (1970-01-01 00:01:00): open is -1",
        ),
        ("a.csv", "time,close\n60,1\n60,2\n", "different prices, once, first in line 2 and line 3"),
        ("a.csv.gz", "time,close\n60,1\n", "not a whole gzip file"),
        ("a.parquet", "time,close\n60,1\n", "not a whole Parquet file"),
        ("a.parquet", "PAR1", "not a whole Parquet file"),
        ("a.parquet", b"PAR1" + bytes(50) + b"PAR1", "is damaged"),
        ("a.parquet", parquet(SECONDS > 0), "type Boolean"),
        ("a.xlsx", "time,close\n60,1\n", "is not a .csv, .csv.gz or .parquet file"),
    ],
)
def test_refusals(tmp_path: Path, name: str, content: bytes | str, words: str) -> None:
    """An unreadable file is refused in one sentence that names the file and what is wrong."""
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        load(tmp_path, content, name)
    assert words in str(caught.value)
    assert name in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    """A folder or a missing file raises an OSError."""
    with pytest.raises(OSError, match="is a folder"):
        load_bars(tmp_path)
    with pytest.raises(OSError, match="does not exist"):
        load_bars(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="fill is -1"):
        load_bars(tmp_path, fill=-1)


def test_bars_hold_what_they_promise() -> None:
    """Bars that are out of order, lack a price or do not account for all rows cannot be constructed."""
    one, two = np.array([1.0, 1.0]), np.array([60, 120])
    wrongs: list[dict[str, Any]] = [
        {"timestamp": two[::-1]},
        {"open": np.array([1.0, np.nan])},
        {"close": one[:1]},
        {"rows": 3},
        {"rows": 2, "findings": [Finding("a", 1, "", "", dropped=1)]},
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"^x: "):
            Bars(**{"name": "x", "sha256": "", "timestamp": two, "open": one, "close": one, **wrong})


# --- Damage -------------------------------------------------------------------------


class Case(NamedTuple):
    """A damaged file, and the expected outcome."""

    content: bytes
    name: str = "bars.csv"
    strict: Any = None  # the rows that are right; "refused"; a number of rows that may differ; or None
    repaired: Any = None  # the same with repair
    found: str = ""  # what must be among the findings


def pick(rng: np.random.Generator, count: int = 5) -> list[int]:
    return sorted(rng.choice(np.arange(1, NUM - 1), size=count, replace=False).tolist())


def without(rows: list[Row], gone: list[int]) -> list[Row]:
    return [row for i, row in enumerate(rows) if i not in gone]


def field_damage(column: int, text: str, refused: bool) -> Callable[[np.random.Generator], Case]:
    def damage(rng: np.random.Generator) -> Case:
        rows, where = good_rows(), pick(rng)
        cells = [line.split(",") for line in good_lines(rows)]
        for i in where:
            cells[i][column] = text
        content = text_of([",".join(line) for line in cells])
        if column == 1 and not refused:
            rows = [(t, rows[i - 1][2] if i in where else o, c) for i, (t, o, c) in enumerate(rows)]
            return Case(content, strict=rows, repaired=rows, found="no open")
        rest = without(rows, where)
        return Case(content, strict="refused" if refused else rest, repaired=rest, found="missing bar")

    return damage


def line_damage(change: Callable[[str], str], blank: bool = False) -> Callable[[np.random.Generator], Case]:
    def damage(rng: np.random.Generator) -> Case:
        rows, where = good_rows(), pick(rng)
        lines = [change(line) if i in where else line for i, line in enumerate(good_lines(rows))]
        if blank:
            return Case(text_of(lines), strict=rows, repaired=rows, found="blank line")
        return Case(
            text_of(lines), strict="refused", repaired=without(rows, where), found="line with more or fewer"
        )

    return damage


def shuffled(rng: np.random.Generator) -> Case:
    lines = good_lines(good_rows())
    rng.shuffle(lines)
    return Case(text_of(lines), strict=good_rows(), repaired=good_rows(), found="row out of order")


def duplicated(rng: np.random.Generator) -> Case:
    lines = good_lines(good_rows())
    lines += [lines[i] for i in pick(rng)]
    return Case(text_of(lines), strict=good_rows(), repaired=good_rows(), found="duplicate timestamp")


def contradicted(rng: np.random.Generator) -> Case:
    lines = good_lines(good_rows())
    i = pick(rng)[0]
    lines.insert(i, lines[i].replace(".0,", ".0,1", 1))
    return Case(text_of(lines), strict="refused", repaired="refused")


def deleted(rng: np.random.Generator) -> Case:
    rows, where = good_rows(), pick(rng)
    lines = [line for i, line in enumerate(good_lines(rows)) if i not in where]
    return Case(
        text_of(lines), strict=without(rows, where), repaired=without(rows, where), found="missing bar"
    )


def cut(rng: np.random.Generator) -> Case:
    content = text_of(good_lines(good_rows()))
    return Case(content[: rng.integers(40, len(content))], strict="prefix", repaired="prefix")


def cut_in_the_close(rng: np.random.Generator) -> Case:
    content = csv_with("time,open,close", str)
    return Case(content[: rng.integers(20, len(content))], strict="prefix", repaired="prefix")


def flipped(rng: np.random.Generator) -> Case:
    content = bytearray(text_of(good_lines(good_rows())))
    for place in rng.integers(len(HEADER) + 1, len(content), size=3):
        content[place] ^= 1 << int(rng.integers(8))
    return Case(bytes(content), strict=6, repaired=6)  # a flip joins two lines or splits one


def joined(rng: np.random.Generator) -> Case:
    lines, i = good_lines(good_rows()), pick(rng)[0]
    lines[i : i + 2] = [lines[i] + lines[i + 1]]
    rest = without(good_rows(), [i, i + 1])
    return Case(text_of(lines), strict="refused", repaired=rest, found="line with more or fewer")


def header_damaged(rng: np.random.Generator) -> Case:
    wrong = [
        "Timestamp,Open,High,Low,Clos,Volume",
        "Tim\xe9,Open,High,Low,Close,Volume",
        "#",
        HEADER.replace(",", ":"),
    ]
    lines = good_lines(good_rows())
    content = (
        text_of(lines, wrong[int(rng.integers(4))])
        if rng.random() < 0.8
        else text_of(lines)[len(HEADER) + 1 :]
    )
    return Case(content, strict="refused", repaired="refused")


def foreign_bytes(rng: np.random.Generator) -> Case:
    lines, i = [line.encode() for line in good_lines(good_rows())], pick(rng)[0]
    lines[i] = lines[i].replace(b".0,", b".0,\xe9\xff", 1)
    content = b"\n".join([HEADER.encode(), *lines, b""])
    return Case(
        content, strict="refused", repaired=without(good_rows(), [i]), found="text instead of a price"
    )


def stray_quote(rng: np.random.Generator) -> Case:
    lines = good_lines(good_rows())
    for i in pick(rng):
        lines[i] = lines[i].replace(",", ',"', int(rng.integers(1, 6)))
    return Case(text_of(lines), strict=good_rows(), repaired=good_rows())


def encoded(encoding: str) -> Callable[[np.random.Generator], Case]:
    def damage(rng: np.random.Generator) -> Case:
        return Case(
            text_of(good_lines(good_rows())).decode().encode(encoding), strict="refused", repaired="refused"
        )

    return damage


def zeros(rng: np.random.Generator) -> Case:
    content = bytearray(text_of(good_lines(good_rows())))
    place = int(rng.integers(len(content) - 50))
    content[place : place + 40] = bytes(40)
    return Case(bytes(content), strict="refused", repaired="refused")


def gzip_cut(rng: np.random.Generator) -> Case:
    packed = gzip.compress(text_of(good_lines(good_rows())))
    return Case(packed[: rng.integers(1, len(packed))], "bars.csv.gz", strict="refused", repaired="refused")


def gzip_flipped(rng: np.random.Generator) -> Case:
    packed = bytearray(gzip.compress(text_of(good_lines(good_rows()))))
    packed[rng.integers(10, len(packed))] ^= 1 << int(rng.integers(8))
    return Case(bytes(packed), "bars.csv.gz", strict="refused", repaired="refused")


def parquet_cut(rng: np.random.Generator) -> Case:
    content = parquet(SECONDS)
    return Case(
        content[: rng.integers(1, len(content))], "bars.parquet", strict="refused", repaired="refused"
    )


def parquet_flipped(rng: np.random.Generator) -> Case:
    content = bytearray(parquet(SECONDS))
    content[rng.integers(4, len(content) - 4)] ^= 1 << int(rng.integers(8))
    return Case(bytes(content), "bars.parquet")  # Parquet has no checksum: a wrong price can look right


def noise(name: str) -> Callable[[np.random.Generator], Case]:
    return lambda rng: Case(rng.bytes(3000), name, strict="refused", repaired="refused")


DAMAGES: dict[str, Callable[[np.random.Generator], Case]] = {
    "close text": field_damage(4, "abc", True),
    "close date": field_damage(4, "2012-01-01", True),
    "close negative": field_damage(4, "-3.5", True),
    "close zero": field_damage(4, "0.0", True),
    "close infinite": field_damage(4, "-inf", True),
    "close too large": field_damage(4, "1e999", True),
    "close NaN": field_damage(4, "NaN", False),
    "close empty": field_damage(4, "", False),
    "open text": field_damage(1, "4.5.6", True),
    "open zero": field_damage(1, "0", True),
    "open NaN": field_damage(1, "nan", False),
    "open empty": field_damage(1, " ", False),
    "time text": field_damage(0, "yesterday", True),
    "time empty": field_damage(0, "", True),
    "time negative": field_damage(0, "-1325412060", True),
    "time too large": field_damage(0, "13254120600", True),
    "time impossible": field_damage(0, "2012-02-30 10:00:00", True),
    "separator": line_damage(lambda line: line.replace(",", ";")),
    "field more": line_damage(lambda line: f"{line},1"),
    "field less": line_damage(lambda line: line.rpartition(",")[0]),
    "comma in quotes": line_damage(lambda line: line.replace(",", ',"1,000",', 1)),
    "blank": line_damage(lambda line: f"{line}\n", blank=True),
    "white": line_damage(lambda line: f" \r\n{line}", blank=True),
    "shuffled": shuffled,
    "duplicated": duplicated,
    "contradicted": contradicted,
    "deleted": deleted,
    "cut": cut,
    "cut in the close": cut_in_the_close,
    "flipped": flipped,
    "joined": joined,
    "header": header_damaged,
    "foreign bytes": foreign_bytes,
    "stray quote": stray_quote,
    "utf-16": encoded("utf-16"),
    "utf-16 without a mark": encoded("utf-16-le"),
    "utf-32": encoded("utf-32"),
    "zeros": zeros,
    "gzip cut": gzip_cut,
    "gzip flipped": gzip_flipped,
    "parquet cut": parquet_cut,
    "parquet flipped": parquet_flipped,
    "noise.csv": noise("noise.csv"),
    "noise.csv.gz": noise("noise.csv.gz"),
    "noise.parquet": noise("noise.parquet"),
}


def attempt(path: Path, repair: bool) -> Bars | str:
    try:
        return load_bars(path, repair=repair)
    except (ValueError, OSError) as error:
        return str(error)


def check(path: Path, case: Case, repair: bool) -> None:
    truth = case.repaired if repair else case.strict
    bars = attempt(path, repair)
    if isinstance(bars, str):
        assert not isinstance(truth, list), bars
        assert "\n" not in bars
        assert "Traceback" not in bars
        assert path.name in bars
        return
    assert truth != "refused", bars.findings
    for prices in (bars.open, bars.close):
        assert np.isfinite(prices).all()
        assert (prices > 0).all()
    assert (np.diff(bars.timestamp) > 0).all()
    assert bars.rows is not None
    assert bars.rows - bars.dropped + bars.filled == len(bars) > 0
    if path.suffix == ".csv":
        assert bars.rows == len(case.content.removesuffix(b"\n").split(b"\n")) - 1
    assert case.found in "; ".join(entry.what for entry in bars.findings)
    assert all(entry.count > 0 and entry.first and entry.remedy for entry in bars.findings)
    got, good = rows_of(bars), good_rows()
    if isinstance(truth, list):
        assert got == truth
    elif isinstance(truth, int):
        assert len(set(got) - set(good)) <= truth
        assert len(set(good) - set(got)) <= truth
    elif truth == "prefix":
        warned = any(entry.what == "last line without an end" for entry in bars.findings)
        sure = got[:-1] if warned else got
        assert sure == good[: len(sure)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_files(tmp_path: Path, kind: str, seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    """A damaged file is refused in one sentence, or gives correct bars and accounts for every row."""
    case = DAMAGES[kind](np.random.default_rng([seed, list(DAMAGES).index(kind)]))
    path = tmp_path / case.name
    path.write_bytes(case.content)
    for repair in (False, True):
        check(path, case, repair)
    assert capfd.readouterr().err == ""


# --- Commands -----------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str:
    """Run a command; return 0 or its error message."""
    monkeypatch.setattr(sys, "argv", ["sojourn", *arguments])
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # which commands change
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        code = commands.run()
    return errors.getvalue().strip() if code else 0


def test_check_command(tmp_path: Path) -> None:
    """The command describes a file with all findings, as lines or as JSON, or prints one error sentence."""
    command = [str(Path(sys.executable).with_name("sojourn")), "data", "check"]
    path = tmp_path / "bars.csv"
    path.write_text("time,open,close\n60,1,2\n180,2,2\n240,2,2\n300,2,-1\n360,2,2\n420,2,2\n")
    refused = subprocess.run([*command, path], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "line 5 (1970-01-01 00:05:00): close is -1.0" in refused.stderr
    options = ["--repair", "--fill", "1"]
    lines = subprocess.run([*command, path, *options], capture_output=True, text=True, check=True).stdout
    assert "7 = 6 rows - 1 dropped + 2 filled" in lines
    assert "1970-01-01 00:01:00 to 1970-01-01 00:07:00 UTC, every 60 s" in lines
    assert "85.7% of the bars do not move" in lines
    assert "price that is zero, negative or infinite: 1" in lines
    text = subprocess.run(
        [*command, path, *options, "--json"], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(text) == describe(load_bars(path, repair=True, fill=1))


def test_fetch_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without kagglehub, fetching says how to install it."""
    monkeypatch.setitem(sys.modules, "kagglehub", None)
    assert run(monkeypatch, "data", "fetch") == (
        "sojourn: kagglehub is not installed; install it with: pip install 'sojourn[kaggle]'"
    )


def kagglehub(download: Callable[[str], str]) -> types.ModuleType:
    module = types.ModuleType("kagglehub")
    module.dataset_download = download  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize("error", [ConnectionError, RuntimeError])
def test_fetch_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: type[Exception]) -> None:
    """Any failure at Kaggle is reported in one sentence with the reason, and no folder is created."""

    def fail(handle: str) -> str:
        raise error(f"Max retries\nexceeded for {handle}" + "x" * 500)

    monkeypatch.setitem(sys.modules, "kagglehub", kagglehub(fail))
    message = run(monkeypatch, "data", "fetch", "--out", str(tmp_path / "data"))
    assert isinstance(message, str)
    assert message.startswith("sojourn: swaptr/bitcoin-historical-data could not be fetched from Kaggle (")
    assert f"({error.__name__}: Max retries exceeded" in message
    assert "\n" not in message
    assert not (tmp_path / "data").exists()


def test_fetch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The readable files are copied completely, and the command says what to run next."""
    cache, out = tmp_path / "cache", tmp_path / "data"
    cache.mkdir()
    (cache / "about.txt").write_text("not data")
    with pytest.raises(ValueError, match=r"has no \.csv"):
        fetch_bars(out, lambda _: str(cache))
    (cache / "btc.csv").write_bytes(text_of(good_lines(good_rows())))
    monkeypatch.setitem(sys.modules, "kagglehub", kagglehub(lambda _: str(cache)))
    out.mkdir()
    elsewhere = tmp_path / "elsewhere.txt"
    (out / ".btc.csv.partial").symlink_to(elsewhere)  # which an earlier version would have written through
    assert run(monkeypatch, "data", "fetch", "--out", str(out)) == 0
    assert not elsewhere.exists()
    (out / ".btc.csv.partial").unlink()
    assert f"sojourn data check {out / 'btc.csv'}" in capsys.readouterr().out
    assert [file.name for file in out.iterdir()] == ["btc.csv"]
    assert rows_of(load_bars(out / "btc.csv")) == good_rows()
    assert run(monkeypatch, "data", "fetch", "--out", str(out)) == 0  # again, with the same files
    (out / "btc.csv").write_text("mine")
    with pytest.raises(ValueError, match="exists and is not what Kaggle has now"):
        fetch_bars(out, lambda _: str(cache))


def test_a_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identifying and reading a file both need its digest, but its bytes are hashed only once."""
    path = tmp_path / "bars.csv"
    path.write_text("timestamp,open,close\n1700000000,10,12\n1700000060,12,11\n")
    hashed = []
    whole_digest = hashlib.file_digest

    def counted(file: Any, name: str) -> Any:
        hashed.append(file.name)
        return whole_digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    assert identity(str(path)) == f"sha256:{instrument(str(path)).sha256}"
    assert instrument(str(path), fill=1).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert hashed == [str(path)]
