"""The study's charts, made from its tables; the page and the figures show the same ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from sojourn.report import charts
from sojourn.report.looks import BLACK, BLUE, GREY, ORANGE, RED, SKY, Look, looks, plain
from sojourn.report.words import number
from sojourn_paper.robustness.plan import (
    AGENTS,
    CONTROL,
    CROSSING,
    DRIFTING,
    HARMONIC,
    LOG_SCALES,
    MAPPED,
    NAMES,
    PAPER,
    nearest,
)
from sojourn_paper.robustness.tables import Tables

SCALE = charts.Axis("log-scale v of action B (harder to the right)", short="v", log=True, reverse=True)
SHARE = charts.Axis("runs that end with B, %", unit="%", ends=(-3.0, 103.0))
RATE = "reward per unit time"
RATES_SHOWN = (0.3, 1e6)  # for large v, B's rate goes off the chart
FIRST_SCALE = 1e-3  # the initial log-scale of the maps
MAP = ("agent", "log_scale", "step_size", "rate_step_size")
CHANGED = {
    "greedy": "Reading of “greedy”",
    "ties": "Ties at the start",
    "episodes": "Number of episodes",
    "way back": "Reward of the way back, and what the clock counts",
}


def sheets(tables: Tables, steps: int) -> dict[str, charts.Sheet]:
    """Return the figures by file name."""
    first, *others = crossings(tables, steps)
    return {
        "1-drift": charts.Sheet([[drift(tables)]], (6.0, 3.6)),
        "2-rates-0.001": charts.Sheet([[first]], (6.0, 3.8)),
        "3-rates-0.003-0.0005": charts.Sheet([others], (7.5, 3.4), legends="inside"),
        "4-success": charts.Sheet([[success(tables, PAPER)]], (6.5, 4.2)),
        "5-success-and-controls": charts.Sheet([[success(tables)]], (7.0, 4.8)),
        "6-learned-rates": charts.Sheet([[learned_rates(tables)]], (6.5, 4.2)),
        "7-step-sizes": _maps_sheet(maps(tables)),
        "8-sensitivity": _sensitivity_sheet(sensitivity(tables)),
    }


# --- The two-state family -----------------------------------------------------------


def drift(tables: Tables) -> charts.Lines:
    """Return the chart of action B's reward, duration and their ratio over the steps."""
    columns = {
        "reward": ("reward", RED),
        "duration": ("duration", BLUE),
        "rate_b": ("rate: reward / duration", BLACK),
    }
    x = tables.drift["step"].to_list()
    return charts.Lines(
        f"How action B drifts at v = {DRIFTING:g}",
        charts.Axis("decision step", short="step"),
        charts.Axis("units of reward, of time, and their ratio"),
        [
            charts.Series(name, Look(colour, 0, None), x, tables.drift[column].to_list(), weight="thin")
            for column, (name, colour) in columns.items()
        ],
        height=300,
    )


def crossings(tables: Tables, steps: int) -> list[charts.Lines]:
    """Return charts of both actions' rates over the steps, where learning ends and where B passes A, at some log-scales."""
    passed = dict(tables.passing.select("log_scale", "overtakes").iter_rows())
    return [
        _crossing(
            tables.crossing.filter(pl.col("log_scale") == log_scale), log_scale, steps, passed[log_scale]
        )
        for log_scale in CROSSING
    ]


def _crossing(table: pl.DataFrame, log_scale: float, steps: int, overtakes: float | None) -> charts.Lines:
    x = table["step"].to_list()
    top = 1.6 * max(table["high_a"].to_list())
    series = [
        charts.series_of(
            f"action {action.upper()}",
            look,
            table,
            "step",
            f"rate_{action}",
            f"low_{action}",
            f"high_{action}",
        )
        for action, look in (("a", Look(RED, 1, None)), ("b", Look(BLACK, 0, None)))
    ]
    seen = [overtakes] if overtakes is not None and overtakes <= x[-1] else []
    where = "later than step 1,000,000" if overtakes is None else f"at step {overtakes:,.0f}"
    passes = charts.Series(
        f"B passes A {where}", Look(BLUE, 0, 0), seen, [0.05 * step for step in seen], kind="points"
    )
    return charts.Lines(
        f"The rates of both actions at v = {log_scale:g}",
        charts.Axis("decision step", short="step"),
        charts.Axis(RATE, ends=(0.0, top)),
        [*series, passes],
        [charts.Vertical(f"learning ends at {steps:,}", Look(GREY, 3, None), float(steps))],
        note="Shaded: the effect of noise on A's rate, and the ripple of B's.",
        height=300,
    )


# --- Success and rates --------------------------------------------------------------


def success(tables: Tables, agents: Sequence[str] = AGENTS) -> charts.Lines:
    """Return the chart of the share of runs that end with B: median over seeds, and the range for the paper's agents."""
    series = []
    for agent, look in looks(agents).items():
        rows = tables.success.filter(pl.col("agent") == agent)
        line = charts.Series(NAMES[agent], look, rows["log_scale"].to_list(), _percent(rows["median"]))
        if agent in PAPER:
            line = line._replace(low=_percent(rows["low"]), high=_percent(rows["high"]))
        series.append(line)
    return charts.Lines(
        "Runs that end with action B",
        SCALE,
        SHARE,
        series,
        spans=_better(tables.earned),
        note="Lines: median over seeds. Shaded around the paper's three agents: lowest and highest seed. "
        "The background shows which action earned more on the steps that agents saw.",
        height=440,
    )


def _percent(shares: pl.Series) -> list[float]:
    return [100 * share for share in shares]


def _better(earned: pl.DataFrame) -> list[charts.Span]:
    """Return the log-scales at which one action earned more than the other."""
    scales = earned["log_scale"].to_list()
    better = (earned["always_b"] > earned["always_a"]).to_list()
    begins = [place for place in range(len(better)) if place == 0 or better[place] != better[place - 1]]
    borders = [None, *(math.sqrt(scales[place - 1] * scales[place]) for place in begins[1:]), None]
    return [
        charts.Span(
            f"{'B' if better[place] else 'A'} earned more", SKY if better[place] else ORANGE, start, end
        )
        for place, start, end in zip(begins, borders, borders[1:], strict=False)
    ]


def learned_rates(tables: Tables) -> charts.Lines:
    """Return the chart of learned rates against what each action earned; the controls are hidden initially."""
    scales = tables.earned["log_scale"].to_list()
    series = [
        charts.Series(
            f"earned by always {action.upper()}",
            Look(colour, 0, None),
            scales,
            tables.earned[f"always_{action}"].to_list(),
            weight="wide",
        )
        for action, colour in (("a", ORANGE), ("b", SKY))
    ]
    for agent, look in looks(AGENTS).items():
        rows = tables.learned.filter(pl.col("agent") == agent)
        if agent != CONTROL and not rows.is_empty():
            series.append(charts.series_of(NAMES[agent], look, rows, "log_scale", "rate"))
    return charts.Lines(
        "Learned rates, and what each action earned",
        SCALE,
        charts.Axis(RATE, log=True, ends=RATES_SHOWN),
        series,
        hidden=[NAMES[agent] for agent in AGENTS if agent not in PAPER],
        note="Median of the final rates, over all runs that did not diverge. "
        "The other agents can be switched on.",
        height=420,
    )


# --- Both step sizes ----------------------------------------------------------------


def maps(tables: Tables, most: int | None = None) -> dict[str, charts.Choosable]:
    """Return a map at each log-scale for each agent with two step sizes, with at most `most` cells in all."""
    table = tables.maps
    agents = [agent for agent in AGENTS if agent in set(table["agent"])]
    every = 1 if most is None else max(1, -(-table.height // most))
    scales = table["log_scale"].unique().sort().to_list()[::every]
    start = min(range(len(scales)), key=lambda place: abs(math.log(scales[place] / FIRST_SCALE)))
    choice = charts.Selector("v", [number(scale, 3) for scale in scales], start, link="robustness-v")
    rows, columns = (table[name].unique().sort().to_list() for name in ("step_size", "rate_step_size"))
    frame = charts.Heatmap(
        "",
        charts.Labels("step size of the rate", columns, short="of the rate"),
        charts.Labels("step size of Q", rows, short="step sizes: of Q"),
        charts.Colours("seeds that end with B", 0.0, 100.0, "%"),
        [],
    )
    shares = {
        (agent, scale, step, rate): 100 * share
        for agent, scale, step, rate, share in table.select(*MAP, "share").iter_rows()
    }

    def grid(agent: str, scale: float) -> list[list[float | None]]:
        return [[shares.get((agent, scale, step, rate)) for rate in columns] for step in rows]

    return {
        agent: charts.Choosable(
            [choice],
            {
                (place,): frame._replace(title=NAMES[agent], values=grid(agent, scale))
                for place, scale in enumerate(scales)
            },
        )
        for agent in agents
    }


def _maps_sheet(found: dict[str, charts.Choosable]) -> charts.Sheet:
    """Return the figure of the maps of all agents at three log-scales."""
    places = [nearest(scale) for scale in MAPPED]
    return charts.Sheet(
        [[one.charts[place,] for one in found.values()] for place in places],
        (8.0, 5.4),
        "Seeds that end with action B, over both step sizes",
        [
            [
                f"{NAMES[agent]}\n".replace(" (", "\n(") * (not row) + f"v = {LOG_SCALES[place]:.2g}"
                for agent in found
            ]
            for row, place in enumerate(places)
        ],
        outer_labels=True,
        same_scales=True,
    )


# --- Sensitivity --------------------------------------------------------------------


def sensitivity(tables: Tables) -> dict[str, charts.Choosable]:
    """Return a chart for each changed factor, with a line for each setting; readers choose the agent."""
    agents = [agent for agent in PAPER if agent in set(tables.sensitivity["agent"])]
    choice = charts.Selector(
        "agent", [NAMES[agent] for agent in agents], agents.index(HARMONIC), link="robustness-agent"
    )
    return {
        what: charts.Choosable(
            [choice],
            {(place,): _changed(tables.sensitivity, what, agent) for place, agent in enumerate(agents)},
        )
        for what in tables.sensitivity["what"].unique(maintain_order=True)
    }


def _changed(table: pl.DataFrame, what: str, agent: str) -> charts.Lines:
    rows = table.filter((pl.col("what") == what) & (pl.col("agent") == agent))
    series = []
    for place, setting in enumerate(rows["setting"].unique(maintain_order=True)):
        line = rows.filter(pl.col("setting") == setting).sort("log_scale")
        series.append(
            charts.Series(str(setting), plain(place), line["log_scale"].to_list(), _percent(line["share"]))
        )
    return charts.Lines(CHANGED[what], SCALE._replace(label="log-scale v"), SHARE, series, height=280)


def _sensitivity_sheet(found: dict[str, charts.Choosable]) -> charts.Sheet:
    """Return a sheet with a row for each agent and a column for each changed factor."""
    names = next(iter(found.values())).choices[0].values
    return charts.Sheet(
        [[one.charts[place,] for one in found.values()] for place in range(len(names))],
        (2.8 * len(found), 6.4),
        "Success on a coarser grid, with one thing changed at a time",
        [[f"{name}: {CHANGED[what][0].lower()}{CHANGED[what][1:]}" for what in found] for name in names],
        outer_labels=True,
        same_scales=True,
        legends="inside",
    )
