"""Charts as JSON for the page's script; no other module knows this form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sojourn.report.charts import (
    Axis,
    Chart,
    Choosable,
    Heatmap,
    Labels,
    Lines,
    Plain,
    Series,
    Span,
    Vertical,
    Whiskers,
)
from sojourn.report.looks import Look

Json: TypeAlias = "str | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Entries = dict[str, Json]


def chart_json(chart: Chart) -> Entries:
    """Return a chart for the page's script.

    >>> from sojourn.report.looks import plain
    >>> line = Series("a", plain(0), [1, 2], [0.5, 0.25])
    >>> chart_json(Lines("t", Axis("steps", log=True), Axis("rate"), [line]))["series"]
    [{'name': 'a', 'colour': 0, 'dash': 0, 'marker': 0, 'x': 0, 'y': [0.5, 0.25]}]
    """
    lists = _Lists()
    if not isinstance(chart, Choosable):
        return lists.added(_plain(chart, lists))
    base = _frame(chart.first)
    variants: Entries = {}
    pool = _Pool(lists)
    for chosen, one in chart.charts.items():
        variant = {key: value for key, value in _frame(one).items() if value != base[key]}
        if isinstance(one, Lines):
            variant["use"] = [pool.place(series) for series in (*one.series, *one.verticals)]
        variants["|".join(map(str, chosen))] = variant
    choices: list[Json] = [
        {"label": one.label, "values": list(one.values), "start": one.start, **_given(link=one.link)}
        for one in chart.choices
    ]
    return lists.added({**base, **_given(pool=pool.all), "choices": choices, "variants": variants})


class _Lists:
    """The lists of places on the horizontal axis, each stored once."""

    def __init__(self) -> None:
        self.all: list[Sequence[float]] = []

    def place(self, xs: Sequence[float]) -> int:
        """Return the number of a list; a new list is stored."""
        found = next(
            (place for place, one in enumerate(self.all) if one is xs or list(one) == list(xs)), None
        )
        if found is None:
            self.all.append(xs)
            return len(self.all) - 1
        return found

    def added(self, entries: Entries) -> Entries:
        """Return a chart's entries with the lists added."""
        return {**entries, "xs": [list(xs) for xs in self.all]} if self.all else entries


class _Pool:
    """The series of all variants of a chart, each stored once."""

    def __init__(self, lists: _Lists) -> None:
        self.all: list[Json] = []
        self._lists = lists
        self._places: dict[int, int] = {}  # by identity

    def place(self, series: Series | Vertical) -> int:
        """Return the number of a series; a new series is stored."""
        if id(series) not in self._places:
            self._places[id(series)] = len(self.all)
            self.all.append(_drawn(series, self._lists))
        return self._places[id(series)]


def _plain(chart: Plain, lists: _Lists) -> Entries:
    frame = _frame(chart)
    if isinstance(chart, Lines):
        frame["series"] = [_drawn(one, lists) for one in (*chart.series, *chart.verticals)]
    return frame


def _frame(chart: Plain) -> Entries:
    """Return a chart without its series."""
    match chart:
        case Lines():
            return _lines(chart)
        case Heatmap():
            return _heatmap(chart)
        case Whiskers():
            return _whiskers(chart)


def _lines(chart: Lines) -> Entries:
    return {
        "type": "lines",
        "title": chart.title,
        "x": _axis(chart.x),
        "y": _axis(chart.y),
        "spans": [_span(one) for one in chart.spans],
        "hidden": list(chart.hidden),
        "height": chart.height,
    }


def _drawn(series: Series | Vertical, lists: _Lists) -> Entries:
    if isinstance(series, Vertical):
        return {"name": series.name, **_look(series.look), "vertical": series.x}
    return _series(series, lists)


def _series(series: Series, lists: _Lists) -> Entries:
    entries: Entries = {"name": series.name, **_look(series.look)}
    entries |= {"x": lists.place(series.x), "y": list(series.y)}
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
    return {
        "label": span.label,
        "colour": span.colour,
        "axis": span.axis,
        "from": span.start,
        "to": span.end,
    }


def _heatmap(chart: Heatmap) -> Entries:
    colours = chart.colours
    entries: Entries = {
        "type": "heatmap",
        "title": chart.title,
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


def _whiskers(chart: Whiskers) -> Entries:
    rows: list[Json] = [
        {"name": one.name, **_look(one.look), "value": one.value, "low": one.low, "high": one.high}
        for one in chart.rows
    ]
    entries: Entries = {"type": "whiskers", "title": chart.title, "x": _axis(chart.x), "rows": rows}
    entries["interval"] = chart.interval
    if chart.reference is not None:
        entries["reference"] = {"x": chart.reference}
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


def _look(look: Look) -> Entries:
    return {"colour": look.colour, "dash": look.dash, "marker": look.marker}


def _given(**entries: Json) -> Entries:
    """Return the entries that are not empty."""
    return {name: value for name, value in entries.items() if value}
