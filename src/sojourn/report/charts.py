"""Charts as typed values, computed once from tables and drawn by two renderers.

`figures` draws charts with matplotlib, `html` passes them to the page's script. Neither computes anything: everything
shown, including ranges and labels, is in the value.

    Lines      lines, points and bars over an axis, with ranges around them
    Heatmap    a number for each pair, as a colour
    Regions    one of a few names for each pair, as a colour
    Whiskers   a row for each name: a value and its interval
    Choosable  several charts, of which the reader of the page chooses one
    Sheet      charts in rows, for a figure on paper
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from sojourn.data.moved import moved_names
from sojourn.report.looks import Look

if TYPE_CHECKING:
    import polars as pl

__getattr__ = moved_names(__name__)

Numbers = Sequence[float | None]  # None leaves a gap


class Axis(NamedTuple):
    """An axis: its label, its scale, and its limits unless they follow from the data."""

    label: str = ""
    short: str = ""  # a shorter label for small spaces, such as the tooltip
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
    low: Numbers = ()  # with `high`, the range around y; none if empty
    high: Numbers = ()
    kind: Literal["line", "steps", "points", "bars"] = "line"
    weight: Literal["normal", "thin", "wide"] = "normal"
    shift: float = 0.0  # of the marks, in units of x, so that marks at the same x do not overlap


def series_of(name: str, look: Look, table: pl.DataFrame, *columns: str) -> Series:
    """Return a series from columns of a table: x, y and, if there is a range around y, low and high."""
    x, y, *ends = (table[column].to_list() for column in columns)
    low, high = ends or ((), ())
    return Series(name, look, x, y, low, high)


class Vertical(NamedTuple):
    """A vertical line with a name."""

    name: str
    look: Look
    x: float


class Span(NamedTuple):
    """A shaded band of the background between two positions on an axis; None is the end of the axis."""

    label: str
    colour: int
    start: float | None
    end: float | None
    axis: Literal["x", "y"] = "x"


class Lines(NamedTuple):
    """Series over a common axis; those in `hidden` are not shown until the reader turns them on."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    verticals: Sequence[Vertical] = ()
    spans: Sequence[Span] = ()
    hidden: Sequence[str] = ()
    note: str = ""  # how to read the chart
    height: int = 380  # in pixels; the largest on the page


class Labels(NamedTuple):
    """The axis of a heatmap: a label, and the value of each row or column."""

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

    Each cell may show a label instead of its number, and smaller text below it.
    """

    title: str
    x: Labels
    y: Labels
    colours: Colours
    values: Sequence[Numbers]
    labels: Sequence[Sequence[str]] = ()
    texts: Sequence[Sequence[str]] = ()
    text: str = ""  # what the labels mean
    note: str = ""


class Regions(NamedTuple):
    """A category for each pair, `values[row][column]` by its index, with the first row at the bottom.

    None is left blank. `colours` has a palette index for each name.
    """

    title: str
    x: Labels
    y: Labels
    names: Sequence[str]
    colours: Sequence[int]
    values: Sequence[Sequence[int | None]]
    name: str = ""  # what the names mean
    note: str = ""


class Whisker(NamedTuple):
    """A row: its name, a value and an interval around it."""

    name: str
    look: Look
    value: float | None
    low: float | None = None
    high: float | None = None


def whisker_of(name: str, look: Look, row: Mapping[str, Any], *columns: str) -> Whisker:
    """Return a row from a table's row: its value and, if there is an interval, low and high."""
    return Whisker(name, look, *(row[column] for column in columns))


class Whiskers(NamedTuple):
    """Rows of values with intervals, and optionally a reference to compare them with."""

    title: str
    x: Axis
    rows: Sequence[Whisker]
    interval: str = "interval"  # what the interval is
    reference: float | None = None
    note: str = ""

    def nameless(self) -> Whiskers:
        """Return the same chart without row names, for a place beside a chart that shows them."""
        return self._replace(rows=[row._replace(name="") for row in self.rows])


class Selector(NamedTuple):
    """A choice on the page; choices with the same link change together."""

    label: str
    values: Sequence[str]
    start: int = 0
    link: str = ""


class Choosable(NamedTuple):
    """A chart for each combination of choices, indexed by the positions of the chosen options.

    All of them share the title and the note of the first. A series that several charts share is sent to the page
    once, if it is the same object.
    """

    choices: Sequence[Selector]
    charts: Mapping[tuple[int, ...], Lines | Heatmap | Regions]

    @property
    def start(self) -> tuple[int, ...]:
        """The positions of the options chosen initially."""
        return tuple(choice.start for choice in self.choices)

    @property
    def first(self) -> Lines | Heatmap | Regions:
        """The chart shown initially."""
        return self.charts[self.start]


Plain = Lines | Heatmap | Regions | Whiskers  # charts that can be drawn on paper
Chart = Plain | Choosable


class Sheet(NamedTuple):
    """Charts in rows on one sheet of paper, and its width and height in inches.

    All charts share one legend below them, unless each has its own series.
    """

    rows: Sequence[Sequence[Plain]]
    size: tuple[float, float]
    title: str = ""
    titles: Sequence[Sequence[str]] = ()  # titles that replace the charts' own
    outer_labels: bool = False  # label axes only at the edges of the sheet
    same_scales: bool = False  # all horizontal axes share one range, as do the vertical axes of a row
    legends: Literal["below", "inside"] = "below"


# --- As JSON, for the page's script ------------------------------------------------------

Json: TypeAlias = "str | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Entries = dict[str, Json]


def chart_json(chart: Chart) -> Entries:
    """Return a chart for the page's script.

    >>> from sojourn.report.looks import plain
    >>> line = Series("a", plain(0), [1, 2], [0.5, 0.25])
    >>> chart_json(Lines("t", Axis("steps", log=True), Axis("rate"), [line]))["series"]
    [{'name': 'a', 'colour': 0, 'dash': 0, 'marker': 0, 'x': 0, 'y': [0.5, 0.25]}]
    """
    shared = _Shared()
    if not isinstance(chart, Choosable):
        return shared.added(_plain(chart, shared))
    base = _frame(chart.first)
    variants: Entries = {}
    for chosen, one in chart.charts.items():
        variant = {key: value for key, value in _frame(one).items() if value != base[key]}
        if isinstance(one, Lines):
            variant["use"] = [shared.series(series) for series in (*one.series, *one.verticals)]
        variants["|".join(map(str, chosen))] = variant
    choices: list[Json] = [
        {"label": one.label, "values": list(one.values), "start": one.start, **_given(link=one.link)}
        for one in chart.choices
    ]
    return shared.added({**base, **_given(pool=shared.pool), "choices": choices, "variants": variants})


class _Shared:
    """The lists of x positions in a chart, and the series of all its variants, each stored once."""

    def __init__(self) -> None:
        self.xs: list[list[float]] = []
        self.pool: list[Json] = []
        self._places: dict[int, int] = {}  # of series, by id

    def positions(self, xs: Sequence[float]) -> int:
        """Return the index of a list of x positions, storing it if it is new."""
        if (xs := [*xs]) not in self.xs:
            self.xs.append(xs)
        return self.xs.index(xs)

    def series(self, series: Series | Vertical) -> int:
        """Return the index of a series, storing it if it is new."""
        if id(series) not in self._places:
            self._places[id(series)] = len(self.pool)
            self.pool.append(_drawn(series, self))
        return self._places[id(series)]

    def added(self, entries: Entries) -> Entries:
        """Return a chart's JSON with the lists added."""
        return {**entries, "xs": [*self.xs]} if self.xs else entries


def _plain(chart: Plain, shared: _Shared) -> Entries:
    frame = _frame(chart)
    if isinstance(chart, Lines):
        frame["series"] = [_drawn(one, shared) for one in (*chart.series, *chart.verticals)]
    return frame


def _frame(chart: Plain) -> Entries:
    """Return a chart without its series."""
    match chart:
        case Lines():
            kind = "lines"
            entries: Entries = {
                "x": _axis(chart.x),
                "y": _axis(chart.y),
                "spans": [_span(one) for one in chart.spans],
                "hidden": list(chart.hidden),
                "height": chart.height,
            }
        case Heatmap():
            kind = "heatmap"
            entries = _heatmap(chart)
        case Regions():
            kind = "regions"
            known: list[Json] = [
                {"label": name, "colour": colour}
                for name, colour in zip(chart.names, chart.colours, strict=True)
            ]
            values: list[Json] = [list(row) for row in chart.values]
            entries = {
                "x": _labels(chart.x), "y": _labels(chart.y), "names": known, "values": values, "value": chart.name
            }  # fmt: skip
        case Whiskers():
            kind = "whiskers"
            rows: list[Json] = [
                {"name": one.name, **one.look._asdict(), "value": one.value, "low": one.low, "high": one.high}
                for one in chart.rows
            ]
            entries = {"x": _axis(chart.x), "rows": rows, "interval": chart.interval}
            if chart.reference is not None:
                entries["reference"] = {"x": chart.reference}
    return {"type": kind, "title": chart.title, **entries}


def _drawn(series: Series | Vertical, shared: _Shared) -> Entries:
    entries: Entries = {"name": series.name, **series.look._asdict()}
    if isinstance(series, Vertical):
        return {**entries, "vertical": series.x}
    entries |= {"x": shared.positions(series.x), "y": list(series.y)}
    if len(series.low):
        entries |= {"low": list(series.low), "high": list(series.high)}
    return entries | _given(
        points=series.kind in ("points", "bars"),
        bar=series.kind == "bars",
        step=series.kind == "steps",
        thin=series.weight == "thin",
        thick=series.weight == "wide",
        shift=series.shift,
    )


def _span(span: Span) -> Entries:
    return {"label": span.label, "colour": span.colour, "axis": span.axis, "from": span.start, "to": span.end}


def _heatmap(chart: Heatmap) -> Entries:
    colours = chart.colours
    entries: Entries = {
        "x": _labels(chart.x),
        "y": _labels(chart.y),
        "value": colours.name,
        "min": colours.low,
        "max": colours.high,
        "unit": colours.unit,
        "palette": colours.palette,
        "values": [list(row) for row in chart.values],
    }
    if chart.labels:
        entries["labels"] = [list(row) for row in chart.labels]
    if chart.texts:
        entries |= {"texts": [list(row) for row in chart.texts], "text": chart.text}
    return entries


def _axis(axis: Axis) -> Entries:
    entries = _given(short=axis.short, unit=axis.unit, log=axis.log, reverse=axis.reverse, whole=axis.whole)
    low, high = axis.ends
    if low is not None:
        entries["min"] = low
    if high is not None:
        entries["max"] = high
    return {"label": axis.label, **entries}


def _labels(labels: Labels) -> Entries:
    return {"label": labels.label, "values": list(labels.values), **_given(short=labels.short)}


def _given(**entries: Json) -> Entries:
    """Return the non-empty entries."""
    return {name: value for name, value in entries.items() if value}
