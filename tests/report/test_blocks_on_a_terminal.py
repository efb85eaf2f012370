"""Blocks rendered for a terminal."""

from __future__ import annotations

from sojourn.data.hints import as_json, read_record
from sojourn.exact.audit.audit import Limit
from sojourn.report import terminal
from sojourn.report.blocks import (
    Block,
    Column,
    DataTable,
    Facts,
    Heading,
    Note,
    Points,
    Prose,
    numbers,
    texts,
)
from sojourn.report.charts import Axis, Whiskers


def test_a_table_is_in_columns_and_leaves_out_what_does_not_fit() -> None:
    """Text is left-aligned and numbers right-aligned; a missing number is a dash, and a column whose `short` is None is omitted."""
    columns = [
        *texts("agent"),
        Column("tuned", numeric=False, short=None),
        Column("relative gain", short="gain"),
    ]
    rows = [("SMART", "step size 0.1", 0.98766), ("planner", "", None)]
    assert terminal.lines([DataTable("The agents", columns, rows)]) == [
        "The agents",
        "agent      gain",
        "SMART    0.9877",
        "planner       -",
    ]


def test_a_long_table_is_cut_and_its_note_is_wrapped() -> None:
    """The first 60 rows are shown with the number of omitted ones, and no line of the note exceeds 100 characters."""
    table = DataTable("", numbers("x"), [(place,) for place in range(100)], "word " * 60)
    lines = terminal.lines([table])
    assert lines[60].strip() == "59"
    assert lines[61] == "and 40 further rows"
    assert " ".join(lines[62:]) == ("word " * 60).strip()
    assert max(map(len, lines)) <= terminal.WIDTH


def test_paragraphs_have_a_line_each_and_charts_none() -> None:
    """Headings and tables are set off by blank lines, lists have a line per entry, and charts are omitted."""
    chart = Whiskers("chart", Axis("x"), [])
    facts = Facts("Settings", [("seeds", "3")])
    shown: list[Block] = [
        Prose("One."),
        Note("Two."),
        chart,
        Heading("More"),
        Points(["a", "b"]),
        DataTable("", texts("t"), []),
        facts,
    ]
    assert terminal.lines(shown) == ["One.", "Two.", "", "More", "a", "b", "", "t", "", "seeds: 3"]


def test_a_record_of_the_library_is_written_and_read() -> None:
    """NamedTuples are records like dataclasses: infinity becomes null, and missing fields take their defaults."""
    limit = Limit("Odd", ("smart",), rate=float("inf"), error=1.5)
    written = as_json(limit)
    assert written["rate"] is None
    assert written["agents"] == ["smart"]
    assert read_record(Limit, written) == limit._replace(rate=None)
    assert read_record(Limit, {"estimator": "Odd", "agents": []}) == Limit("Odd", ())
