"""The simulation study on the page: who ends with action B, and what that is worth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.report.blocks import (
    Block,
    Chart,
    Charts,
    Column,
    Facts,
    Heading,
    Points,
    Prose,
    Section,
    Table,
    Verdict,
    Verdicts,
)
from sojourn.report.budget import Budget
from sojourn.report.words import agent_name, looks, number, sentences, several
from sojourn.runs.results import RESULTS

PAPER = ("smart", "relaxed_smart", "harmonic_r")
SCALE = {"label": "log-scale v of action B (harder to the right)", "short": "v", "log": True, "reverse": True}
SHARE = {"label": "runs that end with B, %", "unit": "%", "min": -3, "max": 103}
HIGHEST_RATE = 1e6  # B's rate leaves every chart for large v
FIRST_SCALE = 1e-3  # that the maps show


def section(folder: Path, given: dict[str, Any], budget: Budget) -> Section:
    """Return the simulation study."""
    names = given.get("names") or {agent: agent_name(agent) for agent in given["success_median"]}
    runs = pl.read_parquet(folder / RESULTS)
    blocks: list[Block] = []
    if given.get("statements"):
        blocks += [Heading("The paper's statements"), _verdicts(given)]
    if given.get("findings"):
        blocks += [Heading("What was found"), Points(sentences(given["findings"]))]
    blocks += [
        Heading("Success"),
        Prose(
            "*Success* is the paper's measure: the greedy action in state 0 is B in the end. A run that diverged "
            "is no success."
        ),
        _success(given, names),
        _success_table(given, names),
        Heading("Learned rates"),
        _rates(given, names, runs),
        Heading("Both step sizes"),
        *_maps(names, runs, budget),
    ]
    if given.get("sensitivity"):
        blocks += [Heading("Sensitivity"), *_sensitivity(given, names)]
    blocks.append(_facts(folder, given))
    return Section(
        "study of the paper",
        "Robustness: the simulation study of Harmonic R-Learning",
        f"Which agents end with action B on the two-state family: {given['settings']['runs']:,} runs, "
        f"{given['steps']:,} steps, number of seeds {given['seeds']}.",
        blocks,
    )


def _verdicts(given: dict[str, Any]) -> Verdicts:
    return Verdicts([Verdict(str(one["statement"]), str(one["verdict"])) for one in given["statements"]])


def _percent(levels: list[float]) -> list[float]:
    return [100 * level for level in levels]


def _success(given: dict[str, Any], names: dict[str, str]) -> Chart:
    styles = looks(names)
    series = []
    for agent, name in names.items():
        one = {
            "name": name,
            "x": given["log_scales"],
            "y": _percent(given["success_median"][agent]),
            **styles[agent],
        }
        if agent in PAPER:
            ranges = given["success_range"][agent]
            one |= {
                "low": _percent([low for low, _ in ranges]),
                "high": _percent([high for _, high in ranges]),
            }
        series.append(one)
    spec = {
        "type": "lines",
        "x": SCALE,
        "y": SHARE,
        "series": series,
        "spans": _better(given),
        "height": 440,
    }
    return Chart(
        "Runs that end with action B",
        spec,
        "Lines: median over seeds. Shaded around the paper's three agents: lowest and highest seed. "
        "The ground says which action earned more on the steps that agents saw.",
    )


def _better(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return spans of log-scales in which one action earned more than the other."""
    scales = given["log_scales"]
    better = [b > a for a, b in zip(given["earned"]["always_a"], given["earned"]["always_b"], strict=True)]
    spans: list[dict[str, Any]] = []
    for place, wins in enumerate(better):
        if place == 0 or wins != better[place - 1]:
            border = math.sqrt(scales[place - 1] * scales[place]) if place else None
            if spans:
                spans[-1]["to"] = border
            spans.append(
                {
                    "from": border,
                    "to": None,
                    "label": f"{'B' if wins else 'A'} earned more",
                    "colour": 7 if wins else 3,
                }
            )
    return spans


def _success_table(given: dict[str, Any], names: dict[str, str]) -> Table:
    columns = [Column("v", digits=3), *(Column(name, digits=0, unit="%") for name in names.values())]
    columns += [Column("A earned", digits=3), Column("B earned", digits=3)]
    rows = [
        (
            scale,
            *(given["success_median"][agent][place] for agent in names),
            given["earned"]["always_a"][place],
            given["earned"]["always_b"][place],
        )
        for place, scale in enumerate(given["log_scales"])
    ]
    note = "What always taking one action earned is the reward per unit time, over the steps that agents saw."
    return Table("Success, median over seeds, and what each action earned", columns, rows, note)


def _rates(given: dict[str, Any], names: dict[str, str], runs: pl.DataFrame) -> Chart:
    styles = looks(names)
    scales = given["log_scales"]
    series: list[dict[str, Any]] = [
        {
            "name": f"earned by always {action}",
            "x": scales,
            "y": given["earned"][f"always_{action.lower()}"],
            "thick": True,
            "colour": colour,
            "dash": 0,
        }
        for action, colour in (("A", 3), ("B", 7))
    ]
    learned = (
        runs.filter(~pl.col("diverged"))
        .group_by("agent", "log_scale")
        .agg(pl.col("rate").median())
        .sort("log_scale")
    )
    for agent, name in names.items():
        rows = learned.filter(pl.col("agent") == agent)
        if agent == "fixed_rate" or rows.is_empty():
            continue
        series.append(
            {"name": name, "x": rows["log_scale"].to_list(), "y": rows["rate"].to_list(), **styles[agent]}
        )
    spec = {
        "type": "lines",
        "x": SCALE,
        "y": {"label": "reward per unit time", "log": True, "min": 0.3, "max": HIGHEST_RATE},
        "series": series,
        "hidden": [name for agent, name in names.items() if agent not in PAPER],
        "height": 420,
    }
    return Chart(
        "Learned rates, and what each action earned",
        spec,
        "Median of the rates in the end, over all runs that did not diverge. The other agents can be switched on.",
    )


def _maps(names: dict[str, str], runs: pl.DataFrame, budget: Budget) -> list[Block]:
    """Return, for each agent with two step sizes, a map that changes with the log-scale chosen."""
    both = runs.filter(pl.col("rate_step_size").is_not_null())
    shares = both.group_by("agent", "log_scale", "step_size", "rate_step_size").agg(
        share=100 * pl.col("success").mean()
    )
    agents = [agent for agent in names if agent in set(shares["agent"])]
    if not agents:
        return []
    scales = shares["log_scale"].unique().sort().to_list()
    sizes = {name: shares[name].unique().sort().to_list() for name in ("step_size", "rate_step_size")}
    cells = len(sizes["step_size"]) * len(sizes["rate_step_size"]) * len(agents)
    every = max(1, -(-len(scales) * cells // budget.points))
    shown = scales[::every]
    start = min(range(len(shown)), key=lambda place: abs(math.log(shown[place] / FIRST_SCALE)))
    charts = []
    for agent in agents:
        variants = {
            str(place): {
                "values": _grid(
                    shares.filter((pl.col("agent") == agent) & (pl.col("log_scale") == scale)), sizes
                )
            }
            for place, scale in enumerate(shown)
        }
        spec = {
            "type": "heatmap",
            "x": {
                "label": "step size of the rate",
                "short": "of the rate",
                "values": sizes["rate_step_size"],
            },
            "y": {"label": "step size of Q", "short": "step sizes: of Q", "values": sizes["step_size"]},
            "min": 0,
            "max": 100,
            "unit": "%",
            "value": "seeds that end with B",
            "palette": "sequential",
            "choices": [
                {
                    "label": "v",
                    "values": [number(scale, 3) for scale in shown],
                    "start": start,
                    "link": "robustness-v",
                }
            ],
            "variants": variants,
        }
        charts.append(Chart(names[agent], spec))
    return [
        Prose("Share of the seeds that end with B. All maps show the same v; choose it in any of them."),
        Charts(charts, small=True),
    ]


def _grid(cells: pl.DataFrame, sizes: dict[str, list[float]]) -> list[list[float | None]]:
    known = {
        (step, rate): share
        for step, rate, share in cells.select("step_size", "rate_step_size", "share").iter_rows()
    }
    return [[known.get((step, rate)) for rate in sizes["rate_step_size"]] for step in sizes["step_size"]]


def _sensitivity(given: dict[str, Any], names: dict[str, str]) -> list[Block]:
    """Return a chart for each thing that was changed, a line for each way it was set."""
    table = pl.DataFrame(given["sensitivity"])
    agents = table["agent"].unique(maintain_order=True).to_list()
    titles = {"greedy": "Reading of “greedy”", "ties": "Ties at the start", "episodes": "Number of episodes"}
    charts = []
    for what in table["what"].unique(maintain_order=True):
        variants = {}
        for place, agent in enumerate(agents):
            rows = table.filter((pl.col("what") == what) & (pl.col("agent") == agent))
            series = []
            for number_, (setting,) in enumerate(
                rows.select("setting").unique(maintain_order=True).iter_rows()
            ):
                line = rows.filter(pl.col("setting") == setting).sort("log_scale")
                style = {"colour": number_, "dash": number_, "marker": number_}
                series.append(
                    {
                        "name": str(setting),
                        "x": line["log_scale"].to_list(),
                        "y": _percent(line["share"].to_list()),
                        **style,
                    }
                )
            variants[str(place)] = {"series": series}
        spec = {
            "type": "lines",
            "x": SCALE | {"label": "log-scale v"},
            "y": SHARE,
            "series": variants["0"]["series"],
            "choices": [
                {
                    "label": "agent",
                    "values": [names.get(agent, agent) for agent in agents],
                    "start": agents.index("harmonic_r") if "harmonic_r" in agents else 0,
                    "link": "robustness-agent",
                }
            ],
            "variants": variants,
            "height": 280,
        }
        charts.append(Chart(titles.get(what, str(what)), spec))
    text = (
        "Success on a coarser grid, with one thing changed at a time. Unless said otherwise ties at the start go "
        "to A, there are four episodes, and *greedy* is read as the action that is taken."
    )
    return [Prose(text), Charts(charts, small=True)]


def _facts(folder: Path, given: dict[str, Any]) -> Facts:
    settings = given["settings"]
    return Facts(
        "Settings",
        [
            ("log-scales v", several(given["log_scales"])),
            ("step sizes, of Q and of the rate", several(settings["step_sizes"])),
            ("exploration", number(settings["exploration"])),
            ("episodes", f"{settings['episodes']} of {settings['steps']:,} steps"),
            ("seeds", str(given["seeds"])),
            ("runs", f"{settings['runs']:,}"),
            ("data", "none: the two-state family is made of formulas"),
            ("made by", f"Sojourn {given['version']} in {given['seconds']:.0f} s"),
            ("folder", folder.name),
        ],
    )
