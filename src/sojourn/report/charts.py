"""Charts as typed values, computed once from tables and drawn by two renderers.

`figures` draws charts with matplotlib, `markup` hands them to the page's script. Neither computes anything:
all that is shown, including ranges and labels, is in the value.

    Lines      lines, points and bars over an axis, with ranges around them
    Heatmap    a number for each pair, as a colour
    Whiskers   a row for each name: a value and its interval
    Choosable  several charts, of which the reader of the page chooses one
    Sheet      charts in rows, for a figure on paper
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from sojourn.report.looks import Look

Numbers = Sequence[float | None]  # None where there is nothing to draw


class Axis(NamedTuple):
    """An axis: its label, its scale, and its ends unless the data decides them."""

    label: str = ""
    short: str = ""  # the label for places with little room, such as beside the pointer
    unit: str = ""
    log: bool = False
    reverse: bool = False
    whole: bool = False  # ticks at whole numbers only
    ends: tuple[float | None, float | None] = (None, None)


class Series(NamedTuple):
    """Numbers drawn as a line, a line of steps, points with whiskers, or wide bars from low to high."""

    name: str
    look: Look
    x: Sequence[float]
    y: Numbers
    low: Numbers = ()  # with `high` the range around y; none if empty
    high: Numbers = ()
    kind: Literal["line", "steps", "points", "bars"] = "line"
    weight: Literal["normal", "thin", "wide"] = "normal"
    shift: float = 0.0  # of the marks, in units of x, so that marks at the same x do not hide each other


class Vertical(NamedTuple):
    """A vertical line with a name."""

    name: str
    look: Look
    x: float


class Span(NamedTuple):
    """A shaded part of the background between two places on an axis; None is the end of the axis."""

    label: str
    colour: int
    start: float | None
    end: float | None
    axis: Literal["x", "y"] = "x"


class Lines(NamedTuple):
    """Series over a common axis; those in `hidden` are not shown until the reader switches them on."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    verticals: Sequence[Vertical] = ()
    spans: Sequence[Span] = ()
    hidden: Sequence[str] = ()
    note: str = ""  # how to read the chart
    height: int = 380  # the largest on the page


class Labels(NamedTuple):
    """The axis of a heatmap: a label, and the value that each row or column stands for."""

    label: str
    values: Sequence[float | str]
    short: str = ""


class Colours(NamedTuple):
    """The meaning of a heatmap's colours: the name of the number, its range and its unit."""

    name: str
    low: float
    high: float
    unit: str = ""
    palette: Literal["sequential", "diverging"] = "sequential"


class Heatmap(NamedTuple):
    """A number for each pair, `values[row][column]`, with the first row at the bottom.

    Each cell may have a label in place of its number, and a smaller text below it.
    """

    title: str
    x: Labels
    y: Labels
    colours: Colours
    values: Sequence[Numbers]
    labels: Sequence[Sequence[str]] = ()
    texts: Sequence[Sequence[str]] = ()
    text: str = ""  # what the texts are
    note: str = ""


class Whisker(NamedTuple):
    """A row: its name, a value and an interval around it."""

    name: str
    look: Look
    value: float | None
    low: float | None = None
    high: float | None = None


class Whiskers(NamedTuple):
    """Rows of values with intervals, and perhaps a reference to compare them with."""

    title: str
    x: Axis
    rows: Sequence[Whisker]
    interval: str = "interval"  # the kind of interval
    reference: float | None = None
    note: str = ""


class Choice(NamedTuple):
    """Something to choose on the page; choices with the same link change together."""

    label: str
    values: Sequence[str]
    start: int = 0
    link: str = ""


class Choosable(NamedTuple):
    """A chart for each combination of choices, found by the positions of the chosen options.

    All of them have the title and the note of the first. A series that several charts share is sent to the
    page once, if it is the same object.
    """

    choices: Sequence[Choice]
    charts: Mapping[tuple[int, ...], Lines | Heatmap]

    @property
    def start(self) -> tuple[int, ...]:
        """The positions of the options that are chosen at first."""
        return tuple(choice.start for choice in self.choices)

    @property
    def first(self) -> Lines | Heatmap:
        """The chart that is shown at first."""
        return self.charts[self.start]


Plain = Lines | Heatmap | Whiskers  # charts that can be drawn on paper
Chart = Plain | Choosable


class Sheet(NamedTuple):
    """Charts in rows on one sheet of paper, and its width and height in inches.

    There is one legend below all charts, unless each has its own series.
    """

    rows: Sequence[Sequence[Plain]]
    size: tuple[float, float]
    title: str = ""
    titles: Sequence[Sequence[str]] = ()  # of the charts, in place of their own
    outer_labels: bool = False  # axes are labelled only at the edges of the sheet
    same_scales: bool = False  # all horizontal axes have the same range, as do the vertical ones of a row
    legends: Literal["below", "inside"] = "below"
