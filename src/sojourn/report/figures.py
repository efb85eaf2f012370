"""Figures on paper: charts drawn with matplotlib, as PNG, SVG and PDF. The only door to matplotlib."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from sojourn.report.charts import Axis, Heatmap, Lines, Numbers, Plain, Series, Sheet, Whiskers
from sojourn.report.looks import AGENTS, DASHES, GRADIENTS, GREY, MARKERS, PALETTE, Look, looks
from sojourn.report.words import number
from sojourn.rules.files import write_whole

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "savefig.dpi": 200,
    "svg.hashsalt": "sojourn",  # the same file each time
    "pdf.fonttype": 42,
}
WEIGHTS = {"thin": 0.6, "normal": 1.4, "wide": 5.0}  # of lines
FAINT = PALETTE[GREY].paper


def write(sheet: Sheet, path: Path) -> None:
    """Draw a sheet of charts, and write it as PNG, SVG and PDF."""
    with figure(*sheet.size) as drawing:
        _draw_sheet(sheet, drawing)
        save(drawing, path)


def draw(chart: Plain, ax: Axes) -> None:
    """Draw a chart, with its title and the labels of its axes, but without a legend."""
    match chart:
        case Lines():
            _draw_lines(chart, ax)
        case Heatmap():
            _draw_heatmap(chart, ax)
        case Whiskers():
            _draw_whiskers(chart, ax)
    ax.set_title(chart.title)


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Yield a figure of so many inches in the style of all of them."""
    with mpl.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def save(drawing: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG and PDF, each whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.draw_without_rendering()
    drawing.set_layout_engine("none")  # laid out once, and not again for each format
    for kind, metadata in (("png", {}), ("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
        buffer = io.BytesIO()
        drawing.savefig(buffer, format=kind, metadata=metadata)
        write_whole(path.with_name(f"{path.name}.{kind}"), _writer(buffer.getvalue()))


def _writer(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


# --- Sheets -------------------------------------------------------------------------


def _draw_sheet(sheet: Sheet, drawing: Figure) -> None:
    rows, columns = len(sheet.rows), max(map(len, sheet.rows))
    shared: Any = "all" if sheet.same_axes else "none"
    axes = drawing.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared)
    small = rows * columns > 1
    for r, c in itertools.product(range(rows), range(columns)):
        ax = axes[r, c]
        if c >= len(sheet.rows[r]):
            ax.remove()
            continue
        draw(sheet.rows[r][c], ax)
        if sheet.titles:
            ax.set_title(sheet.titles[r][c])
        if small:
            ax.title.set_fontsize(8)
            ax.tick_params(labelsize=7)
        below = r + 1 < rows and c < len(sheet.rows[r + 1])
        if sheet.same_axes and below:
            ax.set_xlabel("")
        if sheet.same_axes and c:
            ax.set_ylabel("")
        if sheet.legends == "inside":
            ax.legend(fontsize=7)
    drawn = [axes[r, c] for r in range(rows) for c in range(len(sheet.rows[r]))]
    if sheet.legends == "below":
        _legend_below(drawing, drawn, sheet.size[0])
    _colour_bar(drawing, sheet.rows[0][0], drawn)
    if sheet.title:
        drawing.suptitle(sheet.title, fontsize=10)


def _legend_below(drawing: Figure, axes: Sequence[Axes], width: float) -> None:
    """Name every series once, below all charts."""
    handles: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if len(handles) < 2:
        return
    room = max(1, int(14 * width / (max(map(len, handles)) + 7)))  # so many names beside each other
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
    """Set scales, ends and labels of both axes, from all that is seen."""
    xs = [_array(series.x) + series.shift for series in _seen(chart)]
    xs.append(np.array([line.x for line in chart.verticals]))
    ys = [_array(values) for series in _seen(chart) for values in (series.y, series.low, series.high)]
    for axis, values, name in ((chart.x, xs, "x"), (chart.y, ys, "y")):
        known = np.concatenate([np.empty(0), *values])
        known = known[np.isfinite(known) & ((known > 0.0) if axis.log else True)]
        ends = _ends(axis, known, margin=0.02 if name == "x" else 0.06)
        ax.set(**{f"{name}label": axis.label, f"{name}scale": "log" if axis.log else "linear"})
        ax.set(**{f"{name}lim": ends[::-1] if axis.reverse else ends})
        if axis.whole:
            getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(integer=True))


def _ends(axis: Axis, values: np.ndarray[Any, np.dtype[np.float64]], margin: float) -> tuple[float, float]:
    """Return where an axis begins and ends: as told, or with some room around the values."""
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
    return np.array(values, dtype=np.float64)  # what is missing becomes NaN, which is not drawn


def _stroke(look: Look) -> dict[str, Any]:
    """Return colour and dash as matplotlib names them; it measures dashes in widths of the line."""
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
    for axis, labelled in ((ax.xaxis, chart.x), (ax.yaxis, chart.y)):
        last = len(labelled.values) - 1
        places = list(range(last + 1)) if last < 6 else [0, last]
        names = [one if isinstance(one, str) else number(one, 2) for one in labelled.values]
        axis.set_ticks(places, [names[place] for place in places])
        axis.set_label_text(labelled.label)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return image


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


# --- To be moved to their studies -----------------------------------------------------

BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK, GREY_ = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F",
)  # fmt: skip
LINES = {name: _marked(own) for name, own in looks(AGENTS).items()}

# --- The two-state family -----------------------------------------------------------


def drift(table: pl.DataFrame, ax: Axes) -> Axes:
    """Draw action B's reward, duration and their ratio over the steps."""
    ax.plot(table["step"], table["reward"], color=RED, linewidth=0.5, label="reward")
    ax.plot(table["step"], table["duration"], color=BLUE, linewidth=0.5, label="duration")
    ax.plot(table["step"], table["rate_b"], color=BLACK, linewidth=0.5, label="rate: reward / duration")
    ax.set(xlabel="decision step", ylabel="units of reward, of time, and their ratio", xlim=(0, len(table)))
    legend = ax.legend(loc="upper left")
    for line in legend.get_lines():
        line.set_linewidth(1.5)
    return ax


def crossing(table: pl.DataFrame, ax: Axes, cut_off: int, overtakes: float | None) -> Axes:
    """Draw both actions' rates over the steps, where learning ends, and where B passes A."""
    end = int(table["step"].max())  # type: ignore[arg-type]
    ax.plot(table["step"], table["rate_b"], color=BLACK, linewidth=0.5, label="action B")
    ax.plot(table["step"], table["noisy_a"], color=ORANGE, linewidth=0.3, alpha=0.6)
    ax.plot(table["step"], table["rate_a"], color=RED, linestyle="--", label="action A")
    ax.axvline(cut_off, color=GREY_, linestyle=":", label=f"learning ends at {cut_off:,}")
    top = 1.6 * float(table["noisy_a"].max())  # type: ignore[arg-type]
    ax.set(xlabel="decision step", ylabel="reward per unit time", xlim=(0, end), ylim=(0, top))
    where = "later than step 1,000,000" if overtakes is None else f"at step {overtakes:,.0f}"
    inside = overtakes is not None and overtakes <= end
    x = [overtakes or 0.0] if inside else []
    ax.plot(
        x,
        [0.05 * step for step in x],
        "o",
        color=BLUE,
        markersize=7,
        markerfacecolor="none",
        label=f"B passes A {where}",
    )
    ax.legend(loc="upper right")
    return ax


def success(table: pl.DataFrame, names: dict[str, str], ax: Axes, with_range: bool = True) -> Axes:
    """Draw the share of runs that end with B: median over seeds, and the range between them."""
    for agent, name in names.items():
        rows = table.filter(pl.col("agent") == agent).sort("log_scale")
        x = rows["log_scale"].to_numpy()
        ax.plot(x, 100 * rows["median"].to_numpy(), label=name, **LINES[agent])
        if with_range:
            low, high = 100 * rows["low"].to_numpy(), 100 * rows["high"].to_numpy()
            ax.fill_between(x, low, high, color=LINES[agent]["color"], alpha=0.12, linewidth=0)
    ax.set(xscale="log", xlabel="log-scale v of action B (harder to the right)", ylim=(-3, 103))
    ax.set_ylabel("runs that end with action B, %")
    ax.invert_xaxis()
    ax.legend(loc="lower left")
    return ax


def better_action(table: pl.DataFrame, ax: Axes) -> Axes:
    """Draw a band that says which action earned more on the steps that were seen."""
    rows = table.sort("log_scale")
    better = (rows["always_b"] > rows["always_a"]).to_numpy().astype(float)
    x = np.log10(rows["log_scale"].to_numpy())
    half = (x[1] - x[0]) / 2.0
    edges = 10.0 ** np.append(x - half, x[-1] + half)
    ax.pcolormesh(edges, [0, 1], better[None, :], cmap=ListedColormap([ORANGE, SKY]), vmin=0, vmax=1)
    for value, name in ((0.0, "A"), (1.0, "B")):
        if (better == value).any():
            middle = 10.0 ** x[better == value].mean()
            ax.text(middle, 0.45, f"{name} earned more", ha="center", va="center", fontsize=8)
    ax.set(yticks=[], ylabel="")
    ax.set_xlabel(
        "log-scale v of action B (harder to the right); the band: which action earned more on the steps seen"
    )
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    return ax


def rates(learned: pl.DataFrame, earned: pl.DataFrame, names: dict[str, str], ax: Axes) -> Axes:
    """Draw the learned rates against what each action earned."""
    x = earned["log_scale"]
    ax.plot(x, earned["always_a"], color=ORANGE, linewidth=5, alpha=0.5, label="earned by always A")
    ax.plot(x, earned["always_b"], color=SKY, linewidth=5, alpha=0.5, label="earned by always B")
    for agent, name in names.items():
        rows = learned.filter(pl.col("agent") == agent).sort("log_scale")
        ax.plot(rows["log_scale"], rows["rate"], label=name, **LINES[agent])
    ax.set(xscale="log", yscale="log", ylim=(0.3, 1e6))
    ax.set(xlabel="log-scale v of action B (harder to the right)", ylabel="reward per unit time")
    ax.invert_xaxis()
    ax.legend(loc="upper right")
    return ax


def step_size_map(table: pl.DataFrame, ax: Axes) -> Any:
    """Draw the share of seeds that end with B over both step sizes; return the image."""
    cells = table.group_by("step_size", "rate_step_size").agg(pl.col("success").mean())
    wide = cells.pivot(on="rate_step_size", index="step_size", values="success").sort("step_size")
    columns = sorted((name for name in wide.columns if name != "step_size"), key=float)
    image = ax.imshow(
        100 * wide.select(columns).to_numpy(), origin="lower", cmap="cividis", vmin=0, vmax=100, aspect="auto"
    )
    for axis, values in (
        (ax.xaxis, [float(name) for name in columns]),
        (ax.yaxis, wide["step_size"].to_list()),
    ):
        axis.set_ticks([0, len(values) - 1], [f"{values[0]:g}", f"{values[-1]:g}"])
    return image


def settings(table: pl.DataFrame, names: dict[str, str], ax: Axes) -> Axes:
    """Draw one chart of success with a line for each setting: solid for Harmonic, thin for the others."""
    palette = dict(zip(table["setting"].unique(maintain_order=True), (BLACK, RED, BLUE), strict=False))
    for (setting, agent), rows in table.group_by("setting", "agent", maintain_order=True):
        strong = agent == "harmonic_r"
        ax.plot(
            rows["log_scale"],
            100 * rows["share"],
            color=palette[setting],
            linestyle={"harmonic_r": "-", "smart": "--", "relaxed_smart": ":"}[str(agent)],
            linewidth=1.8 if strong else 0.9,
            label=f"{setting}" if strong else None,
        )
    ax.set(xscale="log", xlabel="log-scale v", ylim=(-3, 103))
    ax.invert_xaxis()
    ax.legend(loc="lower left", title_fontsize=8)
    return ax


# --- The Bitcoin study --------------------------------------------------------------


def win_map(table: pl.DataFrame, ax: Axes) -> Any:
    """Draw win ratios over state size and rate step size, each with its interval; return the image."""
    sizes = sorted(table["state_size"].unique().to_list())
    steps = sorted(table["rate_step_size"].unique().to_list())
    grid = np.full((len(sizes), len(steps)), np.nan)
    for row in table.iter_rows(named=True):
        y, x = sizes.index(row["state_size"]), steps.index(row["rate_step_size"])
        grid[y, x] = row["ratio"]
        dark = abs(row["ratio"] - 0.5) > 0.35
        colour = "white" if dark else "black"
        ax.text(x, y - 0.13, f"{row['ratio']:.2f}", ha="center", va="center", color=colour, fontsize=9)
        interval = f"{row['low']:.2f} to {row['high']:.2f}"
        ax.text(x, y + 0.24, interval, ha="center", va="center", color=colour, fontsize=6.5)
    image = ax.imshow(grid, cmap="RdBu", vmin=0.0, vmax=1.0, aspect="auto", origin="upper")
    ax.set_xticks(range(len(steps)), [f"{step:g}" for step in steps])
    ax.set_yticks(range(len(sizes)), [str(size) for size in sizes])
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(length=0)
    return image


def accumulated(table: pl.DataFrame, names: dict[str, str], ax: Axes) -> Axes:
    """Draw what the agents accumulated along a segment: mean over seeds, and one deviation to each side."""
    for agent, name in names.items():
        rows = table.filter(pl.col("agent") == agent).sort("step")
        if rows.height >= 1000:
            rows = rows.gather_every(10, offset=(rows.height - 1) % 10)  # with the last one
        x, mean = rows["step"].to_numpy() / 1000.0, rows["mean"].to_numpy()
        std = rows["std"].fill_null(0.0).to_numpy()
        colour, dash = LINES[agent]["color"], LINES[agent].get("linestyle", "-")
        ax.plot(x, mean, color=colour, linestyle=dash, linewidth=1.0, label=name)
        ax.fill_between(x, mean - std, mean + std, color=colour, alpha=0.12, linewidth=0)
    ax.axhline(0.0, color=GREY_, linewidth=0.5)
    ax.tick_params(labelsize=6)
    return ax


def differences(table: pl.DataFrame, ax: Axes) -> Axes:
    """Draw Harmonic's advantage on every segment, with two standard errors, a colour for each state size."""
    sizes = sorted(table["state_size"].unique().to_list())
    colours = itertools.cycle((BLACK, RED, BLUE, ORANGE, GREEN, PINK, SKY, GREY_))
    for place, (size, colour) in enumerate(zip(sizes, colours, strict=False)):
        rows = table.filter(pl.col("state_size") == size).sort("segment")
        ax.errorbar(
            rows["segment"].to_numpy() + 0.72 / len(sizes) * (place - (len(sizes) - 1) / 2.0),
            rows["share"].to_numpy(),
            yerr=2.0 * rows["share_error"].fill_null(0.0).to_numpy(),
            fmt="o",
            markersize=2.2,
            linewidth=0.7,
            color=colour,
            label=f"last {size} directions",
        )
    ax.axhline(0.0, color=GREY_, linewidth=0.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(float(table["segment"].min()) - 0.7, float(table["segment"].max()) + 0.7)  # type: ignore[arg-type]
    return ax


def duration_spread(table: pl.DataFrame, ax: Axes) -> Axes:
    """Draw the middle half and the middle 98 % of the scaled durations of each segment."""
    x = table["segment"].to_numpy()
    ax.vlines(x, table["q01"], table["q99"], color=SKY, linewidth=5, label="middle 98 % of the minutes")
    ax.vlines(x, table["q25"], table["q75"], color=BLUE, linewidth=5, label="middle half")
    ax.plot(x, table["q50"], "_", color=BLACK, markersize=7, label="median")
    ax.axhspan(5.0, 45.0, color=GREY_, alpha=0.1, linewidth=0, label="the range durations are scaled to")
    ax.set(xlabel="segment", ylabel="scaled duration, s", ylim=(0, 56))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="upper center", ncols=2)
    return ax


# --- Exact answers ------------------------------------------------------------------

ESTIMATOR_COLOURS = {
    "Harmonic": BLACK, "CumulativeHarmonic": BLACK, "WeightedHarmonic": PINK, "Cumulative": BLUE,
    "SmoothedCumulative": BLUE, "Exponential": BLUE, "TimeSmoothed": BLUE, "Incremental": BLUE, "Fixed": ORANGE,
}  # fmt: skip


def audit(found: dict[str, Any], ax: Axes) -> Axes:
    """Draw F over the rates, those for which an optimal policy is greedy, and where each estimator ends."""
    frontier = found["frontier"]
    first, last = frontier["rate"][0], frontier["rate"][-1]
    low = first if found["low"] is None else found["low"]
    high = last if found["high"] is None else found["high"]
    ax.axvspan(low, high, color=GREEN, alpha=0.15, linewidth=0, label="an optimal policy is greedy")
    ax.axhline(0.0, color=GREY_, linewidth=0.6)
    ax.plot(frontier["rate"], frontier["value"], color=GREY_, marker=".", label="F, and its corners")
    ax.plot(
        found["best_gain"],
        0.0,
        "*",
        color=GREEN,
        markersize=10,
        label=f"optimal gain {found['best_gain']:.4g}",
    )
    together: dict[str, tuple[float, list[str]]] = {}  # limits that are one number share a line
    for each in found["estimators"]:
        together.setdefault(f"{each['rate']:.6g}", (each["rate"], []))[1].append(each["estimator"])
    dashes = itertools.cycle(("-", "--", "-.", ":"))
    for (rate, estimators), dash in zip(together.values(), dashes, strict=False):
        colour = ESTIMATOR_COLOURS[estimators[0]]
        others = f" and {len(estimators) - 1} more" if len(estimators) > 2 else ""
        name = f"{estimators[0]}{others or ', '.join(['', *estimators[1:]])}: {rate:.4g}"
        ax.axvline(rate, color=colour, linestyle=dash, linewidth=1.2, label=name)
    ax.set(xlabel="rate", ylabel="F: most of reward - rate * duration per step", xlim=(first, last))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=7)
    ax.set_title(f"{Path(found['name']).stem}: where the estimators end")
    return ax


def learning(curves: list[dict[str, Any]], names: dict[str, str], ax: Axes) -> Axes:
    """Draw the relative gain of each agent's policy over its steps: mean over runs, with its interval."""
    for curve in curves:
        style = LINES[curve["agent"]]
        ax.plot(curve["step"], curve["relative_gain"], label=names[curve["agent"]], **style)
        ax.fill_between(
            curve["step"], curve["low"], curve["high"], color=style["color"], alpha=0.1, linewidth=0
        )
    ax.axhline(1.0, color=GREY_, linewidth=0.6)
    ax.set(xscale="log", xlabel="steps", ylabel="relative gain of the greedy policy")
    ax.set_title("what the policies are worth")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, fontsize=7)
    return ax


def outcomes(found: dict[str, Any], ax: Axes) -> Axes:
    """Draw the final relative gain of every agent on one problem, with its interval."""
    rows = found["agents"][::-1]
    for place, row in enumerate(rows):
        colour = LINES[row["agent"]]["color"]
        ax.plot([row["relative_low"], row["relative_high"]], [place, place], color=colour, linewidth=2)
        ax.plot(row["relative_gain"], place, marker=LINES[row["agent"]]["marker"], color=colour, markersize=6)
    ax.axvline(1.0, color=GREY_, linewidth=0.6)
    ax.set_yticks(range(len(rows)), [row["name"] for row in rows])
    ax.set_xlabel("relative gain")
    ax.set_title(found["name"])
    ax.grid(axis="y", linewidth=0.3)
    return ax
