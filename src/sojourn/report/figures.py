"""Figures on paper: charts drawn with matplotlib, as PNG, SVG or PDF; no other module imports matplotlib."""

from __future__ import annotations

import io
import itertools
import math
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from sojourn.data.files import own_folder, write_bytes
from sojourn.report.charts import Axis, Heatmap, Lines, Numbers, Plain, Regions, Series, Sheet, Whiskers
from sojourn.report.looks import DASHES, GRADIENTS, GREY, MARKERS, PALETTE, Look
from sojourn.report.words import number

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "figure.dpi": 200,
    "svg.hashsalt": "sojourn",  # the same file each time
    "pdf.fonttype": 42,
}
_CANVASES: dict[str, tuple[type[FigureCanvasBase], dict[str, None]]] = {
    "png": (FigureCanvasAgg, {}),
    "svg": (FigureCanvasSVG, {"Date": None}),
    "pdf": (FigureCanvasPdf, {"CreationDate": None}),
}
KNOWN_FORMATS = tuple(_CANVASES)
FORMATS = ("png", "svg")  # by default
WEIGHTS = {"thin": 0.6, "normal": 1.4, "wide": 5.0}  # of lines
HUGE = 1e150  # larger numbers are ignored for axis limits, whose width would overflow
Ends = tuple[float, float]
FAINT = PALETTE[GREY].paper


def write(sheet: Sheet, path: Path, formats: Sequence[str] = FORMATS) -> None:
    """Draw a sheet of charts, and write it in each of the given formats."""
    if formats:
        write_files(files_of(sheet, formats), path)


def files_of(sheet: Sheet, formats: Sequence[str]) -> dict[str, bytes]:
    """Draw a sheet of charts, and return its file contents in each of the given formats."""
    with figure(*sheet.size) as drawing:
        _draw_sheet(sheet, drawing)
        return saved(drawing, formats)


def drawn_sheet(sheet: Sheet) -> Figure:
    """Draw a sheet of charts, and return the figure."""
    with figure(*sheet.size) as drawn:
        _draw_sheet(sheet, drawn)
    return drawn


def write_files(files: Mapping[str, bytes], path: Path) -> None:
    """Write the drawn files, each of them atomically."""
    own_folder(path.parent)
    for kind, content in files.items():
        write_bytes(path.with_name(f"{path.name}.{kind}"), content)


def draw(chart: Plain, ax: Axes) -> None:
    """Draw a chart, with its title and the labels of its axes, but without a legend."""
    match chart:
        case Lines():
            _draw_lines(chart, ax)
        case Heatmap():
            _draw_heatmap(chart, ax)
        case Regions():
            _draw_regions(chart, ax)
        case Whiskers():
            _draw_whiskers(chart, ax)
    ax.set_title(chart.title)


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Yield a figure of this size in inches, in the common style."""
    with mpl.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def saved(drawing: Figure, formats: Sequence[str]) -> dict[str, bytes]:
    """Return a figure's file contents in each of the formats."""
    layout = drawing.get_layout_engine()
    if layout is not None:
        layout.execute(drawing)
    drawing.set_layout_engine("none")  # the layout is computed once, not for each format
    files = {}
    for kind in formats:
        buffer = io.BytesIO()
        canvas, metadata = _CANVASES[kind]
        # `savefig` would draw everything twice, once for the layout.
        getattr(canvas(drawing), f"print_{kind}")(buffer, metadata=metadata)
        files[kind] = buffer.getvalue()
    return files


# --- Sheets -------------------------------------------------------------------------


def _draw_sheet(sheet: Sheet, drawing: Figure) -> None:
    rows, columns = len(sheet.rows), max(map(len, sheet.rows))
    same = sheet.same_scales
    axes = drawing.subplots(
        rows, columns, squeeze=False, sharex="all" if same else "none", sharey="row" if same else "none"
    )
    layout = drawing.get_layout_engine()
    if rows > 1 and isinstance(layout, ConstrainedLayoutEngine):
        layout.set(h_pad=0.1)  # inches between a title and the label above it
    limits = []
    for r, c in itertools.product(range(rows), range(columns)):
        ax = axes[r, c]
        if c >= len(sheet.rows[r]):
            ax.remove()
            continue
        draw(sheet.rows[r][c], ax)
        if sheet.titles:
            ax.set_title(sheet.titles[r][c])
        if sheet.outer_labels:
            drawing.supylabel(ax.get_ylabel(), fontsize=9)
            lowest = r + 1 == rows or c >= len(sheet.rows[r + 1])
            ax.set(xlabel=ax.get_xlabel() if lowest else "", ylabel="")
        limits.append((ax, ax.get_xlim(), ax.get_ylim()))
        if rows * columns > 1:
            _shrink(ax, many=rows * columns > 9)
        if sheet.legends == "inside":
            ax.legend(fontsize=7)
    if same:
        _widen(limits)
    drawn = [ax for ax, *_ in limits]
    if sheet.legends == "below":
        _legend_below(drawing, drawn, sheet.size[0])
    _colour_bar(drawing, sheet.rows[0][0], drawn)
    if sheet.title:
        drawing.suptitle(sheet.title, fontsize=10)


def _widen(limits: Sequence[tuple[Axes, Ends, Ends]]) -> None:
    """Give axes that must agree the union of their ranges; each chart has set only its own."""
    for shown, _, _ in limits:
        for place, (group, current) in enumerate(
            ((shown.get_shared_x_axes(), shown.get_xlim()), (shown.get_shared_y_axes(), shown.get_ylim()))
        ):
            ends = [both[place] for ax, *both in limits if group.joined(shown, ax)]
            low, high = min(map(min, ends)), max(map(max, ends))
            turned = current[0] > current[1]
            (shown.set_ylim if place else shown.set_xlim)((high, low) if turned else (low, high))


def _shrink(ax: Axes, *, many: bool) -> None:
    """Shrink the text of a chart to fit its place on the sheet."""
    ax.title.set_fontsize(9)
    ax.tick_params(labelsize=8)
    if many:
        for line in ax.get_lines():
            line.set_linewidth(0.6 * line.get_linewidth())
        if not ax.images and ax.get_xscale() == "linear":
            ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))


def _legend_below(drawing: Figure, axes: Sequence[Axes], width: float) -> None:
    """Draw one legend below all charts, with each series once."""
    handles: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if len(handles) < 2:
        return
    room = max(1, int(14 * width / (max(map(len, handles)) + 7)))  # how many names fit side by side
    lines = math.ceil(len(handles) / room)
    columns = math.ceil(len(handles) / lines)
    drawing.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)


def _colour_bar(drawing: Figure, chart: Plain, axes: Sequence[Axes]) -> None:
    if isinstance(chart, Heatmap):
        colours = chart.colours
        label = colours.name + (f", {colours.unit}" if colours.unit else "")
        if chart.text:
            label += f"; below it its {chart.text}"
        drawing.colorbar(axes[0].images[0], ax=axes, label=label, shrink=0.7)


# --- Lines --------------------------------------------------------------------------


def _draw_lines(chart: Lines, ax: Axes) -> None:
    _scale(chart, ax)
    for span in chart.spans:
        low, high = sorted(ax.get_xlim() if span.axis == "x" else ax.get_ylim())
        ends = (low if span.start is None else span.start, high if span.end is None else span.end)
        shade = ax.axvspan if span.axis == "x" else ax.axhspan
        shade(*ends, color=PALETTE[span.colour].paper, alpha=0.15, linewidth=0, label=span.label)
    bottom, top = ax.get_ylim()
    if not chart.y.log and bottom < 0.0 < top:
        ax.axhline(0.0, color=FAINT, linewidth=0.6)
    for series in _seen(chart):
        _draw_series(series, ax)
    for line in chart.verticals:
        ax.axvline(line.x, **_stroke(line.look), linewidth=1.2, label=line.name)


def _seen(chart: Lines) -> list[Series]:
    return [series for series in chart.series if series.name not in chart.hidden]


def _scale(chart: Lines, ax: Axes) -> None:
    """Set the scales, limits and labels of both axes from everything shown."""
    xs = [_array(series.x) + series.shift for series in _seen(chart)]
    xs.append(np.array([line.x for line in chart.verticals]))
    ys = [_array(values) for series in _seen(chart) for values in (series.y, series.low, series.high)]
    for axis, values, name in ((chart.x, xs, "x"), (chart.y, ys, "y")):
        known = np.concatenate([np.empty(0), *values])
        known = known[(np.abs(known) < HUGE) & ((known > 1.0 / HUGE) if axis.log else True)]
        ends = _ends(axis, known, margin=0.02 if name == "x" else 0.06)
        ax.set(**{f"{name}label": axis.label, f"{name}scale": "log" if axis.log else "linear"})
        ax.set(**{f"{name}lim": ends[::-1] if axis.reverse else ends})
        if axis.whole:
            getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(integer=True))


def _ends(axis: Axis, values: np.ndarray[Any, np.dtype[np.float64]], margin: float) -> tuple[float, float]:
    """Return the limits of an axis: as given, or with a margin around the values."""
    low, high = (float(values.min()), float(values.max())) if values.size else (1.0, 2.0)
    if axis.log:
        room = (high / low) ** margin if high > low else 2.0
        low, high = low / room, high * room
    else:
        room = margin * (high - low) if high > low else 0.1 * abs(low) or 1.0
        low, high = low - room, high + room
    first, last = axis.ends
    return (low if first is None else first, high if last is None else last)


def _draw_series(series: Series, ax: Axes) -> None:
    x, y = _array(series.x) + series.shift, _array(series.y)
    low, high = _array(series.low), _array(series.high)
    colour = PALETTE[series.look.colour].paper
    if series.kind == "bars":
        ax.vlines(x, low, high, color=colour, linewidth=5, alpha=0.5, label=series.name)
        return
    if series.kind == "points":
        marks = {**_marked(series.look), "linestyle": "none", "markersize": 3.0, "label": series.name}
        reach = np.array([y - low, high - y]) if low.size else None
        ax.errorbar(x, y, yerr=reach, elinewidth=0.8, **marks)
        return
    step = series.kind == "steps"
    marks = _stroke(series.look) if series.weight == "wide" else _marked(series.look)
    ax.plot(
        x,
        y,
        **marks,
        linewidth=WEIGHTS[series.weight],
        alpha=0.5 if series.weight == "wide" else 1.0,
        drawstyle="steps-post" if step else "default",
        markevery=max(1, math.ceil(x.size / 30)),
        label=series.name,
    )
    if low.size:
        ax.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0, step="post" if step else None)


def _array(values: Numbers) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)  # missing values become NaN, which is not drawn


def _stroke(look: Look) -> dict[str, Any]:
    """Return the colour and dash for matplotlib, which measures dashes in line widths."""
    dash = tuple(part / 2.0 for part in DASHES[look.dash])
    return {"color": PALETTE[look.colour].paper, "linestyle": (0, dash) if dash else "-"}


def _marked(look: Look) -> dict[str, Any]:
    return {**_stroke(look), "marker": "" if look.marker is None else MARKERS[look.marker]}


# --- Heatmaps and whiskers ----------------------------------------------------------


def _draw_heatmap(chart: Heatmap, ax: Axes) -> AxesImage:
    stops = [tuple(part / 255.0 for part in stop) for stop in GRADIENTS[chart.colours.palette]]
    colours = LinearSegmentedColormap.from_list(chart.colours.palette, stops)
    values = np.array([_array(row) for row in chart.values])
    image = ax.imshow(values, cmap=colours, aspect="auto", origin="lower")
    image.set_clim(chart.colours.low, chart.colours.high)
    for row, labels in enumerate(chart.labels):
        for column, label in enumerate(labels):
            red, green, blue, _ = image.to_rgba(values[row, column])
            ink = "black" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "white"
            middle: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
            below = chart.texts[row][column] if chart.texts else ""
            ax.text(column, row + (0.13 if below else 0.0), label, fontsize=9, **middle)
            ax.text(column, row - 0.24, below, fontsize=6.5, **middle)
    _label_cells(chart, ax)
    return image


def _draw_regions(chart: Regions, ax: Axes) -> None:
    values = np.array([_array(row) for row in chart.values])
    colours = ListedColormap([PALETTE[colour].paper for colour in chart.colours])
    ends: dict[str, Any] = {"vmin": -0.5, "vmax": len(chart.names) - 0.5}
    ax.imshow(values, cmap=colours, aspect="auto", origin="lower", interpolation="nearest", **ends)
    for name, colour in zip(chart.names, chart.colours, strict=True):
        ax.bar(0.0, 0.0, color=PALETTE[colour].paper, label=name)  # for the legend
    ax.set(xlim=(-0.5, values.shape[1] - 0.5), ylim=(-0.5, values.shape[0] - 0.5))
    _label_cells(chart, ax)


def _label_cells(chart: Heatmap | Regions, ax: Axes) -> None:
    """Label the rows and columns of cells: all if they are few or have names, else the first and the last."""
    for axis, labelled in ((ax.xaxis, chart.x), (ax.yaxis, chart.y)):
        last = len(labelled.values) - 1
        named = all(isinstance(one, str) for one in labelled.values)
        places = list(range(last + 1)) if last < 6 or named else [0, last]
        if isinstance(chart, Regions) and not named:
            places = [
                at for at in map(int, MaxNLocator(6, integer=True).tick_values(0, last)) if 0 <= at <= last
            ]
        names = [one if isinstance(one, str) else number(one, 2) for one in labelled.values]
        tilted: dict[str, Any] = (
            {"rotation": 30, "ha": "right"} if axis is ax.xaxis and last >= 6 and named else {}
        )
        axis.set_ticks(places, [names[place] for place in places], **tilted)
        axis.set_label_text(labelled.label)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _draw_whiskers(chart: Whiskers, ax: Axes) -> None:
    for place, row in enumerate(chart.rows):
        mark = _marked(row.look)
        if row.low is not None and row.high is not None:
            ax.plot([row.low, row.high], [place, place], color=mark["color"], linewidth=2)
        if row.value is not None:
            ax.plot(row.value, place, marker=mark["marker"], color=mark["color"], markersize=6)
    if chart.reference is not None:
        ax.axvline(chart.reference, color=FAINT, linewidth=0.6)
    ax.set_yticks(range(len(chart.rows)), [row.name for row in chart.rows])
    ax.set(xlabel=chart.x.label, xscale="log" if chart.x.log else "linear", xlim=chart.x.ends)
    ax.set_ylim(len(chart.rows) - 0.5, -0.5)  # the first row at the top
    ax.grid(axis="y", linewidth=0.3)


# --- Many figures ------------------------------------------------------------------------

MOST_OTHERS = 3  # processes; more would not start before everything is drawn

WriteSheets: TypeAlias = Callable[[Mapping[str, Sheet], Path], None]
_Other: TypeAlias = "subprocess.Popen[bytes]"
_Left: TypeAlias = deque[tuple[Path, Sheet]]

# This does not use `multiprocessing`, whose processes would run the user's program again unless it has a main guard.
_COMMAND = f"from {__name__} import serve; serve()"


@contextmanager
def drawing(jobs: int | None = None, formats: Sequence[str] = FORMATS) -> Iterator[WriteSheets]:
    """Yield a function that writes sheets by name into a folder, using `jobs` processes (by default one per core).

    The files are the same, byte for byte, for any number of processes.
    """
    width = min(jobs or os.cpu_count() or 1, MOST_OTHERS + 1) if formats else 1
    with _others(width - 1) as others:

        def write_sheets(sheets: Mapping[str, Sheet], folder: Path) -> None:
            if formats:
                _write(deque((folder / name, sheet) for name, sheet in sheets.items()), formats, others)

        yield write_sheets


def _write(left: _Left, formats: Sequence[str], others: Sequence[_Other]) -> None:
    """Write all sheets; the processes take them from one queue until it is empty."""
    with ThreadPoolExecutor(max(1, len(others))) as threads:
        waiting = [threads.submit(_write_elsewhere, left, formats, other) for other in others]
        try:
            _write_here(left, formats)
            for each in waiting:
                each.result()
        except BaseException:
            left.clear()
            for other in others:
                other.kill()  # ends the waiting thread
            raise
    _write_here(left, formats)  # sheets that the other processes could not draw


def _write_here(left: _Left, formats: Sequence[str]) -> None:
    while left:
        path, sheet = left.popleft()
        write(sheet, path, formats)


def _write_elsewhere(left: _Left, formats: Sequence[str], other: _Other) -> None:
    """Have another process draw sheets; a sheet that it fails to draw goes back to the queue."""
    assert other.stdin is not None
    assert other.stdout is not None
    while left:
        try:
            path, sheet = left.popleft()
        except IndexError:  # another process took the last one
            return
        try:
            # Matplotlib's settings apply where the style of figures leaves something open.
            settings = {
                name: one for name, one in mpl.rcParams.copy().items() if not name.startswith("backend")
            }
            pickle.dump((settings, sheet, tuple(formats)), other.stdin)
            other.stdin.flush()
            files: dict[str, bytes] = pickle.load(other.stdout)
        except (OSError, EOFError, pickle.PickleError):  # the other process has exited
            left.append((path, sheet))
            return
        write_files(files, path)


@contextmanager
def _others(count: int) -> Iterator[list[_Other]]:
    """Yield processes that draw the sheets they are sent; none if the machine cannot start them."""
    others: list[_Other] = []
    try:
        with suppress(OSError):
            others.extend(_other() for _ in range(count))
        yield others
    finally:
        for other in others:
            other.kill()  # nothing is lost
            other.communicate()


def _other() -> _Other:
    """Start a process in its own session, out of reach of Ctrl-C; this process ends it instead."""
    pipe = subprocess.PIPE
    return subprocess.Popen(  # noqa: S603 - Python itself, with our own arguments
        [sys.executable, "-P", "-c", _COMMAND], stdin=pipe, stdout=pipe, start_new_session=True
    )


def serve() -> None:
    """Draw incoming sheets until there are no more; the other processes run this."""
    # After an error, the parent process draws the sheet itself and raises the same error.
    with suppress(Exception):
        while True:
            settings, sheet, formats = pickle.load(sys.stdin.buffer)
            with mpl.rc_context(settings):
                files = files_of(sheet, formats)
            pickle.dump(files, sys.stdout.buffer)
            sys.stdout.buffer.flush()
