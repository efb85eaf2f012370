"""Blocks as lines for a terminal."""

from __future__ import annotations

from sojourn.data.records import as_json, read_record
from sojourn.exact.audit.audit import Limit
from sojourn.report import terminal
from sojourn.report.blocks import Column, DataTable, Facts, Heading, Note, Points, Prose, numbers, texts
from sojourn.report.charts import Axis, Whiskers


def test_a_table_is_in_columns_and_leaves_out_what_does_not_fit() -> None:
    """Text is on the left, numbers on the right; a missing number is a dash, and a column without a short name is gone."""
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
    """The first 60 rows are shown, the number of others is said, and no line of the note is longer than 100 characters."""
    table = DataTable("", numbers("x"), [(place,) for place in range(100)], "word " * 60)
    lines = terminal.lines([table])
    assert lines[60].strip() == "59"
    assert lines[61] == "and 40 further rows"
    assert " ".join(lines[62:]) == ("word " * 60).strip()
    assert max(map(len, lines)) <= terminal.WIDTH


def test_paragraphs_have_a_line_each_and_charts_none() -> None:
    """Headings and tables stand apart, lists have a line for each entry, and a chart is for the page."""
    chart = Whiskers("chart", Axis("x"), [])
    facts = Facts("Settings", [("seeds", "3")])
    shown = [
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
    """A NamedTuple is a record like a dataclass: what is infinite is null, and what is missing has its default."""
    limit = Limit("Odd", ("smart",), rate=float("inf"), error=1.5)
    written = as_json(limit)
    assert written["rate"] is None
    assert written["agents"] == ["smart"]
    assert read_record(Limit, written) == limit._replace(rate=None)
    assert read_record(Limit, {"estimator": "Odd", "agents": []}) == Limit("Odd", ())
