"""The study's charts, made from its tables; the page and the figures show the same ones."""

from __future__ import annotations

import math

import polars as pl

from sojourn.report import charts
from sojourn.report.looks import BLACK, BLUE, GREEN, GREY, ORANGE, RED, Look, estimator_looks, looks
from sojourn_paper.drift.control import KINDS, MIRROR, ONE, TUNED, WORLD
from sojourn_paper.drift.family import EVEN, HORIZON, WORLDS
from sojourn_paper.drift.plan import ADAPTIVE, AGENTS, FAMILY, NAMED, OTHERS, title
from sojourn_paper.drift.streams import NAMED as NAMED_STREAMS
from sojourn_paper.drift.tables import Tables
from sojourn_paper.drift.tracking import HOWS

_SHOWN = 100.0  # times the error of the best `Exponential`: larger errors are drawn at the edge
COLUMNS = (  # of the map of streams: the estimator, and how its step size was chosen
    ("AdaptiveRatio", HOWS[0]),
    ("Exponential", HOWS[0]),
    ("Exponential", HOWS[1]),
    ("Exponential", HOWS[2]),
    ("ClippedExponential", HOWS[2]),
    ("TimeForgetting", HOWS[2]),
    ("Cumulative", HOWS[0]),
    ("WeightedHarmonic", HOWS[2]),
    ("Harmonic", HOWS[1]),
)
_TRACKING = "Tracking error on random streams"
_CHOSEN = {HOWS[0]: "one step size for all streams", HOWS[2]: "step sizes chosen by score, without the truth"}
_SCALE = charts.Axis("log-scale v of action B", short="v", log=True)
_BEST = {
    "longest": "the longest is always best",
    "mixed": "the best one changes",
    "shortest": "the shortest is always best",
}


def sheets(tables: Tables) -> dict[str, charts.Sheet]:
    """Return the figures by file name."""
    controls = [[control(tables, how, side) for side in (WORLD, MIRROR)] for how in (TUNED, ONE)]
    estimators = max(tables.tracking["estimator"].n_unique(), 4)
    agents = max(tables.control["agent"].n_unique(), 4)
    return {
        "1-tracking": charts.Sheet(
            [[tracking(tables, how)] for how in _CHOSEN],
            (6.5, 1.8 + 0.5 * estimators),
            _TRACKING,
            [[chosen] for chosen in _CHOSEN.values()],
        ),
        "2-streams": charts.Sheet([[streams(tables)]], (8.0, 6.4)),
        "3-control": charts.Sheet(
            [[left, right.nameless()] for left, right in controls],
            (8.0, 1.8 + 0.5 * agents),
            titles=[
                ["in random worlds, tuned", "in their mirrors, tuned"],
                ["one setting for all", "one setting for all"],
            ],
        ),
        **({"4-long-actions": charts.Sheet([[bet(tables)]], (7.0, 3.0))} if tables.bet.height else {}),
        "5-named-worlds": charts.Sheet([[named(tables)]], (8.0, 4.2)),
        "6-family": charts.Sheet([[earned(tables)]], (6.5, 4.2)),
        "7-trend": charts.Sheet([[foretold(tables)]], (6.5, 4.4)),
    }


# --- Estimators ---------------------------------------------------------------------


def tracking(tables: Tables, how: str) -> charts.Whiskers:
    """Return the chart of tracking errors on random streams, with step sizes chosen in one way."""
    rows = tables.tracking.filter((pl.col("group") == "random") & (pl.col("how").is_in([how, HOWS[0]])))
    rows = rows.filter((pl.col("how") == how) | (pl.col("estimator") == "AdaptiveRatio")).sort("mean")
    styles = estimator_looks(rows["estimator"].to_list())
    return charts.Whiskers(
        f"{_TRACKING}: {_CHOSEN[how]}",
        charts.Axis("error relative to the best Exponential", short="error", log=True, ends=(None, _SHOWN)),
        [
            charts.Whisker(estimator, styles[estimator], *map(_within, numbers))
            for estimator, *numbers in rows.select("estimator", "mean", "low", "high").iter_rows()
        ],
        interval="10th to 90th percentile of the streams",
        reference=1.0,
        note="Geometric mean, and 10th to 90th percentile of the streams. The dotted line is an Exponential with the best step size for "
        f"each stream in hindsight. Errors above {_SHOWN:g} are drawn there.",
    )


def _within(number: float) -> float:
    return min(number, _SHOWN) if math.isfinite(number) else _SHOWN


def streams(tables: Tables) -> charts.Heatmap:
    """Return the chart of errors on the named streams."""
    found = tables.streams.select("stream", "estimator", "how", "relative").iter_rows()
    known = {tuple(key): relative for *key, relative in found}
    columns = [column for column in COLUMNS if (NAMED_STREAMS[0], *column) in known]
    values = [[known[stream, *column] for column in columns] for stream in reversed(NAMED_STREAMS)]
    return charts.Heatmap(
        "Tracking error on named streams",
        charts.Labels("", [f"{estimator}, {how}" for estimator, how in columns]),
        charts.Labels("", [*reversed(NAMED_STREAMS)]),
        charts.Colours("error relative to the best Exponential, factors of ten", -0.5, 2.0),
        [[math.log10(min(max(one, 1e-3), 1e6)) for one in row] for row in values],
        labels=[[_short(one) for one in row] for row in values],
        note="Relative to the best Exponential for that stream in hindsight.",
    )


def _short(number: float) -> str:
    if not math.isfinite(number) or number >= 1e4:
        return "> 9,999"
    return f"{number:.2f}" if number < 10.0 else f"{number:,.0f}"


# --- Agents -------------------------------------------------------------------------


def _agent_looks() -> dict[str, Look]:
    return {**looks(agent for agent in AGENTS if agent != ADAPTIVE), ADAPTIVE: Look(GREEN, 0, 3)}


def control(tables: Tables, how: str, side: str) -> charts.Whiskers:
    """Return the chart of earnings in the random worlds, or in their mirrors."""
    rows = tables.control.filter((pl.col("kind") == "all") & (pl.col("how") == how))
    order = (
        rows.group_by("agent").agg(pl.col("share").mean()).sort("share", descending=True)["agent"].to_list()
    )
    found = {row["agent"]: row for row in rows.filter(pl.col("side") == side).iter_rows(named=True)}
    styles = _agent_looks()
    where = "in random worlds" if side == WORLD else "in their mirrors"
    return charts.Whiskers(
        f"Earned {where}, {'tuned to each' if how == TUNED else 'one setting for all'}",
        charts.Axis("share of the frozen optimum, 95 % interval", short="share"),
        [
            charts.whisker_of(title(agent), styles[agent], found[agent], "share", "low", "high")
            for agent in order
        ],
        interval="95 % interval over worlds",
        note="Mean over the worlds of what was earned, as a share of what the best policy of each time would have earned.",
    )


def bet(tables: Tables) -> charts.Whiskers:
    """Return the chart of Harmonic R-Learning's lead over Relaxed-SMART, by kind of world."""
    styles, sides = {WORLD: Look(BLACK, 0, 0), MIRROR: Look(GREY, 0, 1)}, {WORLD: "", MIRROR: ": mirror"}
    rows = {(row["kind"], row["side"]): row for row in tables.bet.iter_rows(named=True)}
    return charts.Whiskers(
        "Harmonic R-Learning ahead of Relaxed-SMART",
        charts.Axis("share of the frozen optimum, 95 % interval", short="ahead"),
        [
            charts.whisker_of(
                f"{_BEST[kind]}{sides[side]} ({row['worlds']})", styles[side], row, "ahead", "low", "high"
            )
            for kind in KINDS
            for side in (WORLD, MIRROR)
            if (row := rows.get((kind, side))) is not None
        ],
        interval="95 % interval over worlds",
        reference=0.0,
        note="Both are tuned, and differ only in their estimator. In a mirror the rates of the actions are exchanged: where the longest "
        "action was best, the shortest is.",
    )


def named(tables: Tables) -> charts.Heatmap:
    """Return the chart of shares in named worlds, tuned."""
    rows = tables.named.filter(pl.col("how") == TUNED)
    known = {tuple(key): share for *key, share in rows.select("world", "agent", "share").iter_rows()}
    agents = [agent for agent in AGENTS if any((world, agent) in known for world in (*NAMED, *OTHERS))]
    worlds = [world for world in (*NAMED, *OTHERS) if (world, agents[0]) in known]
    values = [[known.get((world, agent)) for agent in agents] for world in reversed(worlds)]
    return charts.Heatmap(
        "Earned in named worlds, tuned",
        charts.Labels("", [title(agent) for agent in agents]),
        charts.Labels("", [world.replace("_", " ") for world in reversed(worlds)]),
        charts.Colours("share of the frozen optimum", 0.5, 1.0),
        values,
        labels=[["" if one is None else f"{one:.3f}" for one in row] for row in values],
        note="Agents that were not run there are left empty.",
    )


# --- The paper's family -------------------------------------------------------------


def earned(tables: Tables) -> charts.Lines:
    """Return the chart of earnings over the log-scales, as a share of what the better action earned."""
    styles = looks(FAMILY)
    return charts.Lines(
        "What was earned in the paper's family",
        _SCALE,
        charts.Axis("earned, as a share of the better action", short="share"),
        [
            charts.series_of(title(agent), styles[agent], rows, "log_scale", "share", "low", "high")
            for agent in FAMILY
            if (rows := tables.earned.filter(pl.col("agent") == agent)).height
        ],
        [charts.Vertical("from here on B earned more", Look(GREY, 3, None), EVEN)],
        note="Mean over all step sizes and seeds; shaded: lowest and highest seed. Exploration, 0.2, is included.",
    )


def foretold(tables: Tables) -> charts.Lines:
    """Return the charts of how often each method names the action that is better at the horizon."""
    paper, linear = (tables.foretold.filter(pl.col("world") == world) for world in WORLDS)
    trend = charts.series_of(
        "trend of each action", Look(GREEN, 0, None), paper, "log_scale", "by_trend", "low", "high"
    )
    others = [
        ("trend, where B grows linearly", Look(BLUE, 1, 2), linear, "log_scale", "by_trend"),
        ("mean of the past", Look(RED, 2, 1), paper, "log_scale", "by_average"),
        ("mean of the last tenth", Look(ORANGE, 3, 3), paper, "log_scale", "by_recent"),
    ]
    return charts.Lines(
        f"Which action is better at step {HORIZON:,}, from 1,000 steps of an episode",
        _SCALE,
        charts.Axis("share of histories with the right answer", short="right", ends=(-0.03, 1.06)),
        [trend._replace(weight="wide"), *(charts.series_of(*one) for one in others)],
        [charts.Vertical("from here on B is the right one", Look(GREY, 3, None), _crossing(paper))],
        note="Shaded: 95 % interval. Where B grows linearly, A is the right one at every log-scale.",
    )


def _crossing(paper: pl.DataFrame) -> float:
    """Return a log-scale between the last at which A is the right one and the first at which B is."""
    last = paper.filter(pl.col("right_is_b") < 0.5)["log_scale"].to_list()[-1]
    first = paper.filter(pl.col("right_is_b") > 0.5)["log_scale"].to_list()[0]
    return math.sqrt(last * first)
