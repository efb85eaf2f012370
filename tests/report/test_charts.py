"""Charts as typed values, and how both renderers draw them."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from sojourn.agents.catalogue import AGENTS
from sojourn.answers.page import write_report
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.report import figures, looks
from sojourn.report.blocks import Section
from sojourn.report.charts import (
    Axis,
    Chart,
    Choosable,
    Colours,
    Heatmap,
    Labels,
    Lines,
    Plain,
    Selector,
    Series,
    Sheet,
    Span,
    Vertical,
    Whisker,
    Whiskers,
    chart_json,
)
from sojourn.report.html import data, page_of
from sojourn_paper.bitcoin import charts as market_charts
from sojourn_paper.bitcoin import tables as market
from sojourn_paper.robustness import charts as simulation_charts
from sojourn_paper.robustness import tables as simulation

LINE = Series(
    "line", looks.plain(0), [1.0, 10.0, 100.0], [0.1, None, 0.3], [0.0, None, 0.2], [0.2, None, 0.4]
)
LINES = Lines(
    "lines",
    Axis("x", log=True, reverse=True),
    Axis("y", unit="%", ends=(None, 3.0)),
    [
        LINE,
        Series("steps", looks.plain(1), [1.0, 5.0], [1.0, -1.0], kind="steps", weight="wide"),
        Series(
            "points", looks.plain(2), [2.0, 3.0], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], kind="points", shift=0.1
        ),
        Series("bars", looks.Look(3, 0, None), [2.0, 3.0], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], kind="bars"),
        Series("hidden", looks.plain(4), [1.0], [99.0], weight="thin"),
        Series("empty", looks.plain(5), [], []),
    ],
    [Vertical("here", looks.plain(6), 4.0)],
    [Span("left", looks.SKY, None, 2.0), Span("low", looks.GREY, 0.0, 1.0, axis="y")],
    hidden=["hidden"],
    note="how to read it",
)
HEATMAP = Heatmap(
    "heatmap",
    Labels("across", [0.01, 0.1]),
    Labels("up", ["a", "b"]),
    Colours("share", 0.0, 100.0, "%"),
    [[0.0, 25.0], [None, 100.0]],
    [["0", "25"], ["", "100"]],
    [["few", "more"], ["", "all"]],
    "how many",
)
WHISKERS = Whiskers(
    "whiskers",
    Axis("gain"),
    [Whisker("one", looks.plain(0), 1.0, 0.5, 1.5), Whisker("none", looks.plain(1), None)],
    reference=1.0,
)
CHOOSABLE = Choosable(
    [Selector("which", ["a", "b"], start=1)],
    {(0,): LINES, (1,): LINES._replace(series=[LINE, LINE._replace(name="other")])},
)


def drawn(chart: Plain) -> Any:
    """The matplotlib axes with a chart drawn on them."""
    ax = Figure().subplots()
    figures.draw(chart, ax)
    return ax


def series_json(chart: Any) -> list[tuple[Any, list[Any]]]:
    """Each series of a chart's JSON with its x values, however they are stored."""
    return [
        (one, chart["xs"][one["x"]]) for one in chart.get("pool") or chart.get("series", []) if "x" in one
    ]


def plain_charts(chart: Chart) -> list[Plain]:
    return list(chart.charts.values()) if isinstance(chart, Choosable) else [chart]


# --- Both renderers -----------------------------------------------------------------


def test_the_page_gets_the_numbers_of_the_chart() -> None:
    """The JSON has the positions, values, ranges, looks and spans of the chart, whatever its kind."""
    shown = json.loads(data(chart_json(LINES)))
    for one, series in zip(series_json(shown), LINES.series, strict=True):
        assert one[1] == list(series.x)
        assert (one[0]["y"], one[0].get("low", [])) == (list(series.y), list(series.low))
        assert looks.Look(one[0]["colour"], one[0]["dash"], one[0]["marker"]) == series.look
    assert shown["series"][-1]["vertical"] == 4.0
    assert [(one["from"], one["to"], one["axis"]) for one in shown["spans"]] == [(None, 2, "x"), (0, 1, "y")]
    assert (shown["x"]["log"], shown["x"]["reverse"], shown["y"]["max"]) == (True, True, 3)
    assert "min" not in shown["y"]
    shown = json.loads(data(chart_json(HEATMAP)))
    assert (shown["values"], shown["x"]["values"]) == ([[0, 25], [None, 100]], [0.01, 0.1])
    shown = json.loads(data(chart_json(WHISKERS)))
    assert [(row["value"], row["low"], row["high"]) for row in shown["rows"]] == [(1, 0.5, 1.5), (None,) * 3]


def test_series_that_charts_share_are_sent_once() -> None:
    """A choice refers to its series by index into a pool, which holds each series once."""
    shown = json.loads(data(chart_json(CHOOSABLE)))
    assert shown["choices"] == [{"label": "which", "values": ["a", "b"], "start": 1}]
    names = [one["name"] for one in shown["pool"]]
    assert names.count("line") == 1
    assert [names[place] for place in shown["variants"]["1"]["use"]] == ["line", "other", "here"]
    assert len(shown["xs"]) == len({tuple(series.x) for series in LINES.series})
    maps = Choosable(
        [Selector("v", ["1", "2"])], {(0,): HEATMAP, (1,): HEATMAP._replace(values=[[1.0, 2.0]] * 2)}
    )
    shown = json.loads(data(chart_json(maps)))
    assert (shown["variants"]["0"], shown["variants"]["1"]) == ({}, {"values": [[1, 2]] * 2})


def test_paper_gets_the_numbers_of_the_chart() -> None:
    """Matplotlib's lines have the positions, values and colours of the series; hidden series are not drawn."""
    ax = drawn(LINES)
    by_name = {line.get_label(): line for line in ax.get_lines()}
    assert list(by_name["line"].get_xdata()) == [1.0, 10.0, 100.0]
    assert list(by_name["line"].get_ydata())[::2] == [0.1, 0.3]
    assert math.isnan(by_name["line"].get_ydata()[1])
    assert by_name["line"].get_color() == looks.PALETTE[0].paper
    assert by_name["steps"].get_drawstyle() == "steps-post"
    assert "hidden" not in by_name
    assert (ax.get_xscale(), ax.get_ylim()[1]) == ("log", 3.0)
    assert ax.get_xlim()[0] > ax.get_xlim()[1]
    assert set(ax.get_legend_handles_labels()[1]) >= {"line", "points", "bars", "here", "left", "low"}
    (image,) = drawn(HEATMAP).images
    assert image.get_array()[0].tolist() == [0.0, 25.0]
    assert image.get_clim() == (0.0, 100.0)
    assert [text.get_text() for text in drawn(WHISKERS).get_yticklabels()] == ["one", "none"]


@settings(max_examples=40)
@given(
    y=st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=5),
    log=st.booleans(),
    kind=st.sampled_from(["line", "steps", "points"]),
)
@example(y=[1.7e308], log=False, kind="line")
@example(y=[5e-324, 1.0, 1.7e308], log=True, kind="points")
def test_whatever_the_numbers_both_draw(y: list[float | None], log: bool, kind: Any) -> None:
    """Missing, infinite and equal numbers, on linear and log axes, are drawn or left out without an error."""
    x = [float(place) for place in range(len(y))]
    chart = Lines("t", Axis("x"), Axis("y", log=log), [Series("s", looks.plain(0), x, y, kind=kind)])
    drawn(chart).figure.draw_without_rendering()
    (one,) = json.loads(data(chart_json(chart)))["series"]
    assert [value is None for value in one["y"]] == [value is None or not math.isfinite(value) for value in y]


def test_axes_that_show_the_same_are_wide_enough_for_all(tmp_path: Path) -> None:
    """On a sheet with shared scales, all numbers are within the axes, and every format is written."""
    high = LINES._replace(series=[LINE._replace(x=[1.0, 1e4], y=[-50.0, 2.0], low=(), high=())], spans=[])
    sheet = Sheet([[LINES, high], [WHISKERS._replace(title="w")]], (6.0, 5.0), "all", outer_labels=True)
    figures.write(sheet, tmp_path / "f" / "sheet", figures.KNOWN_FORMATS)
    assert {path.suffix for path in (tmp_path / "f").iterdir()} == {".png", ".svg", ".pdf"}
    with figures.figure(6.0, 3.0) as drawing:
        figures._draw_sheet(Sheet([[LINES, high]], (6.0, 3.0), same_scales=True), drawing)
        for ax in drawing.axes:
            assert min(ax.get_ylim()) < -50.0
            assert max(ax.get_xlim()) > 1e4


def test_every_chart_of_the_studies_is_drawn_by_both(small_studies: Path) -> None:
    """Each chart of a small study has its own numbers on the page, and can be drawn on paper too."""
    found, prices = (
        simulation.read(small_studies / "robustness"),
        market.STUDY.read(small_studies / "bitcoin"),
    )
    charts: list[Chart] = [
        simulation_charts.drift(found),
        *simulation_charts.crossings(found, 60),
        simulation_charts.success(found),
        simulation_charts.learned_rates(found),
        *simulation_charts.maps(found).values(),
        *simulation_charts.sensitivity(found).values(),
        market_charts.win_map(prices.win_ratios, "scaled", "smart", "synthetic data"),
        market_charts.advantages(prices, "synthetic data"),
        market_charts.curves(prices, "synthetic data"),
        market_charts.durations(prices, "synthetic data"),
    ]
    for chart in charts:
        shown = json.loads(data(chart_json(chart)))
        values = {
            id(one): one for each in plain_charts(chart) if isinstance(each, Lines) for one in each.series
        }
        for (one, places), series in zip(series_json(shown), values.values(), strict=True):
            assert places == pytest.approx(list(series.x), rel=1e-7)
            for name, numbers in (("y", series.y), ("low", series.low), ("high", series.high)):
                assert one.get(name, []) == pytest.approx(list(numbers), rel=1e-7, nan_ok=True)
        grids = [each.values for each in plain_charts(chart) if isinstance(each, Heatmap)]
        known = [
            one.get("values", shown.get("values")) for one in shown.get("variants", {"": shown}).values()
        ]
        assert [values for values in known if values] == [
            [pytest.approx(row, rel=1e-7) for row in grid] for grid in grids
        ]
        drawn(plain_charts(chart)[0])
    sheets = simulation_charts.sheets(found, 60) | market_charts.sheets(prices, "synthetic data")
    for name in (
        "3-rates-0.003-0.0005",
        "7-step-sizes",
        "1-win-ratios",
        "3-differences",
        "5-curves-random-3",
    ):
        with figures.figure(*sheets[name].size) as drawing:
            figures._draw_sheet(sheets[name], drawing)
            drawing.draw_without_rendering()
    assert page_of([Section("k", "t", "l", None, charts)]).count("<figure") == len(charts)


# --- Looks --------------------------------------------------------------------------


def test_every_agent_has_one_title_and_one_look() -> None:
    """No two agents, and no two estimators, share a look; unlisted ones get a free look; the page's style has all colours."""
    known = [name for name, agent in AGENTS.items() if agent.compared]
    assert set(looks.AGENT_TITLES) == set(AGENTS)
    assert set(looks.AGENT_LOOKS) == set(known)
    assert len({looks.look(name) for name in known}) == len(known)
    given = looks.looks([*known, "mine", "yours"])
    assert len(set(given.values())) == len(given)
    assert looks.title("relaxed_smart(variant='gosavi')") == "Relaxed-SMART (Gosavi)"
    assert looks.title("mine") == "mine"
    assert looks.estimator_looks(["Harmonic"])["Harmonic"] == looks.look("harmonic_r")
    assert set(looks.ESTIMATOR_LOOKS) == set(ESTIMATORS)
    assert len(set(looks.ESTIMATOR_LOOKS.values())) == len(ESTIMATORS)
    page = page_of([])
    assert all(f"--c{place}: light-dark({one.light}" in page for place, one in enumerate(looks.PALETTE))
    assert '"9 3 2 3"' in page


# --- One rule, one sentence ---------------------------------------------------------


def test_a_flat_segment_is_left_out_of_shares() -> None:
    """A segment without movement counts as a tie, and is left out of advantages and of shares of earnings."""
    pairs = pl.DataFrame(
        {
            "opponent": ["smart"] * 2,
            "segment": [0, 1],
            "duration_rule": ["scaled"] * 2,
            "state_size": [3] * 2,
            "rate_step_size": [0.05] * 2,
            "difference": [2.0, 0.0],
            "error": [0.5, None],
        }
    )
    segments = pl.DataFrame({"segment": [0, 1], "total_movement": [1000.0, 0.0]})
    rows = market.advantages(pairs, segments).rows(named=True)
    assert [(row["segment"], row["share"], row["low"], row["high"]) for row in rows] == [(0, 2.0, 1.0, 3.0)]
    (ratio,) = market.win_ratios(pairs).rows(named=True)
    assert (ratio["wins"], ratio["losses"], ratio["segments"]) == (1, 0, 2)


@pytest.mark.parametrize("study", ["robustness", "bitcoin"])
def test_a_folder_of_another_version_gets_one_sentence(
    study: str, small_studies: Path, tmp_path: Path
) -> None:
    """If the tables of the page are missing, one sentence says what to do."""
    shutil.copytree(small_studies / study, tmp_path / study, ignore=shutil.ignore_patterns("sweep", "tables"))
    with pytest.raises(ValueError, match=r"tables/\w+\.parquet is missing: .*; run the study again"):
        write_report([tmp_path / study], tmp_path / "r.html")
