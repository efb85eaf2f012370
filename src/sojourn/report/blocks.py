"""The parts of a page as plain data, which `html`, `markdown` and `terminal` render.

A section is a title and blocks. Blocks hold plain text and no HTML, so text is escaped in one place, and no section
can forget to do it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sojourn.data.moved import moved_names
from sojourn.report.words import EMPTY, number

if TYPE_CHECKING:
    from sojourn.report import charts

__getattr__ = moved_names(__name__)

Cell = str | float | bool | None  # a row of a table


class Heading(NamedTuple):
    """A heading within a section, or below another heading."""

    text: str
    level: int = 3


class Prose(NamedTuple):
    """A paragraph; *stress*, **strong** and `code` are marked as in Markdown."""

    text: str


class Points(NamedTuple):
    """A numbered list of findings."""

    items: Sequence[str]


class Note(NamedTuple):
    """A paragraph that a reader must not miss."""

    text: str


class Facts(NamedTuple):
    """Names and values: settings, data, hashes."""

    title: str
    items: Sequence[tuple[str, str]]


def made_by(version: str, folder: Path, seconds: float | None = None) -> list[tuple[str, str]]:
    """Return the facts that end a list of settings."""
    took = "" if seconds is None else f" in {seconds:.0f} s"
    return [("made by", f"Sojourn {version}{took}"), ("folder", folder.name)]


class Verdicts(NamedTuple):
    """Statements, the verdict on each, and whether it holds: "yes", "no", "partly", "open", or "" for no mark."""

    items: Sequence[tuple[str, str, str]]


class Column(NamedTuple):
    """A column of a table: whether it holds numbers or text, and how many digits are shown."""

    name: str
    numeric: bool = True
    digits: int = 4
    unit: str = ""  # "%" formats a share in percent
    short: str | None = ""  # the heading on a terminal, by default the name; None omits the column there


def texts(*names: str) -> list[Column]:
    """Return text columns."""
    return [Column(name, numeric=False) for name in names]


def numbers(*names: str, digits: int = 4, unit: str = "") -> list[Column]:
    """Return numeric columns, all with this many digits."""
    return [Column(name, digits=digits, unit=unit) for name in names]


def cell_text(column: Column, value: Cell) -> str:
    """Return what a cell of a table shows, as plain text.

    >>> cell_text(Column("share", digits=0, unit="%"), 0.5), cell_text(Column("gain"), 2.10416)
    ('50 %', '2.104')
    """
    if not column.numeric:
        return "" if value is None else str(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return EMPTY if value is None or isinstance(value, float) else str(value)
    return f"{100 * value:.{column.digits}f} %" if column.unit == "%" else number(value, column.digits)


class DataTable(NamedTuple):
    """A table that can be sorted, and filtered if it is long."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""  # such as what was left out
    searched: bool = False


class Charts(NamedTuple):
    """Charts side by side if there is room; small charts fit more in a row."""

    items: Sequence[charts.Chart]
    small: bool = False


Block: TypeAlias = "Heading | Prose | Points | Note | Facts | Verdicts | DataTable | charts.Chart | Charts"


class Section(NamedTuple):
    """One answer, the part of the page for one folder: one sentence and one picture first, then the details."""

    kind: str
    title: str
    lead: str  # the result in one sentence
    picture: charts.Chart | Charts | None
    blocks: Sequence[Block]
    synthetic: bool = False


class Budget(NamedTuple):
    """The largest number of rows in a table, and of points in all lines of a chart together."""

    rows: int = 300
    points: int = 160_000
