"""The study's charts, made from its tables; the page and the figures show the same ones.

The title of every chart names its data, and says whether it is synthetic.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import polars as pl

from sojourn.report import charts
from sojourn.report.looks import BLACK, BLUE, GREY, SKY, Look, looks, plain
from sojourn.report.words import number
from sojourn_paper.bitcoin.plan import CONTROL, LEVEL, NAMES, OPPONENTS, PAPER, RULES, SHOWN_STEP_SIZE
from sojourn_paper.bitcoin.tables import Tables

SEGMENT = charts.Axis("segment", whole=True)
CURVE = 200  # points of a curve, at most
FEWEST = 20  # points of a curve, at least


def sheets(tables: Tables, data: str) -> dict[str, charts.Sheet]:
    """Return the figures by file name."""
    ratios = tables.win_ratios
    wins = f"Share of segments that Harmonic R-Learning wins ({data})"
    return {
        "1-win-ratios": _maps_sheet(ratios, [[(rule, other) for other in PAPER] for rule in RULES], wins),
        "2-win-ratios-control": _maps_sheet(ratios, [[(rule, CONTROL) for rule in RULES]], wins),
        "3-differences": _advantages_sheet(advantages(tables, data), data),
        "4-durations": charts.Sheet([[durations(tables, data)]], (6.5, 3.6)),
        **_curves_sheets(curves(tables, data), data),
    }


# --- Win ratios ---------------------------------------------------------------------


def win_map(ratios: pl.DataFrame, rule: str, opponent: str, data: str) -> charts.Heatmap:
    """Return the chart of win ratios by remembered directions and rate step size, each with its interval."""
    rows = ratios.filter((pl.col("duration_rule") == rule) & (pl.col("opponent") == opponent))
    sizes, steps = (rows[name].unique().sort().to_list() for name in ("state_size", "rate_step_size"))
    cells = {(row["state_size"], row["rate_step_size"]): row for row in rows.iter_rows(named=True)}
    grid = [[cells[size, step] for step in steps] for size in sizes]
    return charts.Heatmap(
        f"{rule.capitalize()} durations, against {OPPONENTS[opponent]} ({data})",
        charts.Labels("step size of the rate", steps),
        charts.Labels("directions remembered", sizes),
        charts.Colours("win ratio", 0.0, 1.0, palette="diverging"),
        [[cell["ratio"] for cell in line] for line in grid],
        labels=[
            [f"{cell['ratio']:.2f}{'*' if cell['p_corrected'] < LEVEL else ''}" for cell in line]
            for line in grid
        ],
        texts=[[f"{cell['low']:.2f} to {cell['high']:.2f}" for cell in line] for line in grid],
        text="95 % interval",
    )


def _maps_sheet(ratios: pl.DataFrame, pairs: Sequence[Sequence[tuple[str, str]]], title: str) -> charts.Sheet:
    return charts.Sheet(
        [[win_map(ratios, rule, opponent, "") for rule, opponent in row] for row in pairs],
        (7.0, 0.6 + 2.5 * len(pairs)),
        title,
        [[f"{rule} durations, against {OPPONENTS[opponent]}" for rule, opponent in row] for row in pairs],
        outer_labels=True,
    )


# --- Segment by segment -------------------------------------------------------------


def advantages(tables: Tables, data: str) -> charts.Choosable:
    """Return the chart of Harmonic's advantage on every segment, by duration rule, opponent and rate step size."""
    table = tables.advantages
    steps, sizes = (table_values(tables.win_ratios, name) for name in ("rate_step_size", "state_size"))
    flat = tables.segments.height - table["segment"].n_unique()
    note = "Mean over seeds and two standard errors to each side. All movement is the sum of |close - open|."
    frame = charts.Lines(
        f"Harmonic's final value minus the other's on each segment ({data})",
        SEGMENT,
        charts.Axis("Harmonic's advantage, thousandths of all movement"),
        [],
        note=note + (f" Segments without any movement are left out: {flat}." if flat else ""),
    )
    variants: dict[tuple[int, ...], charts.Lines] = {}
    for (r, rule), (o, opponent), (s, step) in itertools.product(
        enumerate(RULES), enumerate(OPPONENTS), enumerate(steps)
    ):
        cells = table.filter(
            (pl.col("duration_rule") == rule)
            & (pl.col("opponent") == opponent)
            & (pl.col("rate_step_size") == step)
        )
        variants[r, o, s] = frame._replace(series=_by_size(cells, sizes))
    choices = [
        charts.Selector("durations", RULES, start=RULES.index("scaled")),
        charts.Selector("against", list(OPPONENTS.values())),
        _step_choice(steps),
    ]
    return charts.Choosable(choices, variants)


def table_values(table: pl.DataFrame, name: str) -> list[float]:
    """Return the distinct values of a column, ascending."""
    return table[name].drop_nulls().unique().sort().to_list()


def _by_size(cells: pl.DataFrame, sizes: list[float]) -> list[charts.Series]:
    series = []
    for place, size in enumerate(sizes):
        rows = cells.filter(pl.col("state_size") == size).sort("segment")
        line = charts.series_of(
            f"last {size:g} directions", plain(place), rows, "segment", "share", "low", "high"
        )
        shift = 0.72 / len(sizes) * (place - (len(sizes) - 1) / 2)
        series.append(line._replace(kind="points", shift=shift))
    return series


def _step_choice(steps: list[float]) -> charts.Selector:
    return charts.Selector("step size of the rate", [number(step) for step in steps], start=len(steps) // 2)


def _shown_step(choice: charts.Selector) -> int:
    return choice.values.index(number(SHOWN_STEP_SIZE))


def _advantages_sheet(found: charts.Choosable, data: str) -> charts.Sheet:
    """Return the figure of all rules and opponents at one step size of the rate."""
    step = _shown_step(found.choices[-1])
    names = list(OPPONENTS.values())
    return charts.Sheet(
        [[found.charts[r, o, step] for o in range(len(names))] for r in range(len(RULES))],
        (8.5, 4.8),
        f"Harmonic's final value minus the other's, ± 2 standard errors ({data}; step size of the rate {SHOWN_STEP_SIZE:g})",
        [[f"{rule}, against {name}" for name in names] for rule in RULES],
        outer_labels=True,
        same_scales=True,
    )


# --- Along a segment ----------------------------------------------------------------


def curves(tables: Tables, data: str, most: int | None = None) -> charts.Choosable:
    """Return the charts of accumulated reward along every segment, with about `most` points in all, if given."""
    table, points = tables.curves, CURVE
    segments = [int(segment) for segment in table_values(table, "segment")]
    count = len(segments)
    if most is not None:
        each = table.select("agent", "rate_step_size", "duration_rule", "state_size").unique().height
        count = min(tables.segments.height, max(1, most // (each * FEWEST)))
        points = max(FEWEST, min(CURVE, most // (each * count)))
    kept, left = segments[:count], segments[count:]
    sizes, steps = table_values(table, "state_size"), table_values(table, "rate_step_size")
    lines = _lines(table.filter(pl.col("segment").is_in(kept)), points)
    note = "Mean over seeds, and one standard deviation to each side."
    frame = charts.Lines(
        f"Accumulated reward along a segment ({data})",
        charts.Axis("minutes"),
        charts.Axis("reward of greedy steps, accumulated"),
        [],
        note=note
        + (f" {len(left)} further segments are left out; `curves.parquet` has them all." if left else ""),
        height=400,
    )
    variants: dict[tuple[int, ...], charts.Lines] = {}
    for (i, segment), (r, rule), (k, size), (s, step) in itertools.product(
        enumerate(kept), enumerate(RULES), enumerate(sizes), enumerate(steps)
    ):
        # An agent without a rate step size has the same line at all of them.
        keys = [(segment, rule, size, agent, one) for agent in NAMES for one in (step, None)]
        variants[i, r, k, s] = frame._replace(series=[lines[key] for key in keys if key in lines])
    choices = [
        charts.Selector("segment", [str(segment) for segment in kept]),
        charts.Selector("durations", RULES),
        charts.Selector("directions", [f"{size:g}" for size in sizes]),
        _step_choice(steps),
    ]
    return charts.Choosable(choices, variants)


Key = tuple[int, str, float, str, float | None]


def _lines(table: pl.DataFrame, points: int) -> dict[Key, charts.Series]:
    """Return all curves, downsampled to `points` points each and rounded to the digits that a chart shows."""
    styles = looks(NAMES)
    lines: dict[Key, charts.Series] = {}
    names = ("segment", "duration_rule", "state_size", "agent", "rate_step_size")
    for (segment, rule, size, agent, step), rows in table.group_by(*names, maintain_order=True):
        every = max(1, -(-rows.height // points))
        line = rows.sort("step").gather_every(every, offset=(rows.height - 1) % every)  # keeps the last
        mean, reach = line["mean"], line["std"].fill_null(0.0)
        lines[int(segment), str(rule), size, str(agent), step] = charts.Series(
            NAMES[str(agent)],
            styles[str(agent)].bare(),
            line["step"].to_list(),
            _short(mean),
            low=_short(mean - reach),
            high=_short(mean + reach),
        )
    return lines


def _short(values: pl.Series) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _curves_sheets(found: charts.Choosable, data: str) -> dict[str, charts.Sheet]:
    """Return small charts of all segments, a sheet for each duration rule and number of directions."""
    segments, rules, sizes, steps = (choice.values for choice in found.choices)
    step = _shown_step(found.choices[-1])
    columns = min(5, len(segments))
    places = [range(len(segments))[i : i + columns] for i in range(0, len(segments), columns)]
    return {
        f"5-curves-{rule}-{size}": charts.Sheet(
            [[found.charts[place, r, k, step] for place in row] for row in places],
            (max(5.5, 1.75 * columns + 0.4), max(3.6, 1.3 * len(places) + 1.0)),
            f"{rule} durations, last {size} directions, step size of the rate {steps[step]} ({data})",
            [[f"segment {segments[place]}" for place in row] for row in places],
            outer_labels=True,
        )
        for r, rule in enumerate(rules)
        for k, size in enumerate(sizes)
    }


# --- Durations ----------------------------------------------------------------------


def durations(tables: Tables, data: str) -> charts.Lines:
    """Return the chart of the middle half and the middle 98 % of each segment's scaled durations."""
    table = tables.segments.sort("segment")
    bars = [
        charts.series_of(
            "middle 98 % of the minutes", Look(SKY, 0, None), table, "segment", "q50", "q01", "q99"
        ),
        charts.series_of("middle half", Look(BLUE, 0, None), table, "segment", "q50", "q25", "q75"),
    ]
    median = charts.series_of("median", Look(BLACK, 0, 0), table, "segment", "q50")
    return charts.Lines(
        f"How scaled durations spread ({data})",
        SEGMENT,
        charts.Axis("scaled duration, s", unit="s", ends=(0.0, 50.0)),
        [*(one._replace(kind="bars") for one in bars), median._replace(kind="points")],
        spans=[charts.Span("the range durations are scaled to", GREY, 5.0, 45.0, axis="y")],
        note="Durations are scaled to 5 to 45 s by the largest move.",
        height=280,
    )
