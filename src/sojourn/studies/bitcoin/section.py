"""The market study on the page: who accumulates more, on which segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.report.blocks import (
    Block,
    Chart,
    Charts,
    Column,
    Facts,
    Heading,
    Note,
    Points,
    Prose,
    Section,
    Table,
    Verdict,
    Verdicts,
)
from sojourn.report.budget import Budget
from sojourn.report.words import agent_name, sentences, setting, several
from sojourn.studies.bitcoin.segments import OPPONENTS, RULES, accumulated, differences, segments

LEVEL = 0.05


def section(folder: Path, given: dict[str, Any], budget: Budget) -> Section:
    """Return the market study."""
    data = given["data"]
    names = given.get("names") or {agent: agent_name(agent) for agent in given["diverged"]}
    called = "synthetic data" if data["synthetic"] else str(data["name"])
    blocks: list[Block] = []
    if data["synthetic"]:
        blocks.append(
            Note(
                "**The data is synthetic**: a seeded market of minutes, made by Sojourn to resemble Bitcoin's. "
                "Nothing here says anything about real Bitcoin."
            )
        )
    blocks.append(_data(data))
    if given.get("statements"):
        verdicts = [Verdict(str(one["statement"]), str(one["verdict"])) for one in given["statements"]]
        blocks += [Heading("The paper's statements"), Verdicts(verdicts)]
    if given.get("findings"):
        blocks += [Heading("What was found"), Points(sentences(given["findings"]))]
    blocks += _ratios(given, names, called)
    blocks += differences(folder, names, called)
    blocks += accumulated(folder, names, called, budget)
    blocks += _earned(given, names, called)
    blocks += segments(folder, called, budget)
    blocks.append(_facts(folder, given))
    return Section(
        "study of the paper",
        "Bitcoin: the market study of Harmonic R-Learning"
        + (" (synthetic data)" if data["synthetic"] else ""),
        f"Who accumulates more on segments of minute bars: {data['segments']} segments, {given['steps']:,} steps, "
        f"number of seeds {given['seeds']}.",
        blocks,
        synthetic=bool(data["synthetic"]),
    )


def _data(data: dict[str, Any]) -> Facts:
    name = f"{data['name']} (made by Sojourn, no real market)" if data["synthetic"] else str(data["name"])
    return Facts(
        "Data",
        [
            ("name", name),
            ("sha256", str(data["sha256"])),
            ("bars", f"{data['rows']:,}"),
            ("segments run", str(data["segments"])),
        ],
    )


# --- Win ratios ---------------------------------------------------------------------


def _ratios(given: dict[str, Any], names: dict[str, str], called: str) -> list[Block]:
    charts = [
        _map(given, rule, opponent, f"{rule.capitalize()} durations, against {names[opponent]} ({called})")
        for opponent in OPPONENTS
        for rule in RULES
    ]
    return [
        Heading("Win ratios"),
        Prose(
            "The share of segments in which Harmonic's final value is the larger one; below it Wilson's 95 % "
            "interval over segments. A tie is no win. A star marks a sign test below 0.05 after Holm's correction."
        ),
        Charts(charts),
        _verdict_table(given, names),
    ]


def _map(given: dict[str, Any], rule: str, opponent: str, title: str) -> Chart:
    ratios, intervals = given["win_ratio"][rule][opponent], given["win_interval"][rule][opponent]
    corrected = given.get("sign_test_corrected", {}).get(rule, {}).get(opponent, {})
    sizes = sorted(ratios, key=int)
    steps = sorted({step for row in ratios.values() for step in row}, key=float)

    def star(size: str, step: str) -> str:
        return "*" if corrected.get(size, {}).get(step, 1.0) < LEVEL else ""

    grid = [[ratios[size].get(step) for step in steps] for size in sizes]
    spec = {
        "type": "heatmap",
        "x": {"label": "step size of the rate", "values": [float(step) for step in steps]},
        "y": {
            "label": "directions remembered",
            "values": [int(size) for size in sizes],
        },
        "values": grid,
        "labels": [[f"{ratios[size][step]:.2f}{star(size, step)}" for step in steps] for size in sizes],
        "texts": [["{:.2f} to {:.2f}".format(*intervals[size][step]) for step in steps] for size in sizes],
        "value": "win ratio",
        "text": "95 % interval",
        "min": 0,
        "max": 1,
        "palette": "diverging",
    }
    return Chart(title, spec)


def _verdict_table(given: dict[str, Any], names: dict[str, str]) -> Table:
    columns = [
        Column("durations", numeric=False),
        Column("against", numeric=False),
        Column("mean win ratio", digits=3),
        Column("cells"),
        Column("ahead in"),
        Column("clear wins"),
        Column("clear losses"),
        Column("ties"),
        Column("smallest corrected p", digits=2),
    ]
    keys = ("mean", "cells", "ahead", "certain_wins", "certain_losses", "ties", "smallest_p")
    rows = [
        (rule, names[opponent], *(given["verdict"][rule][opponent][key] for key in keys))
        for rule in RULES
        for opponent in OPPONENTS
    ]
    return Table("How Harmonic R-Learning came out over all cells", columns, rows)


# --- Tables -------------------------------------------------------------------------


def _earned(given: dict[str, Any], names: dict[str, str], called: str) -> list[Block]:
    if not given.get("earned"):
        return []
    columns = [Column("durations", numeric=False), Column("agent", numeric=False)]
    columns += [Column(name, digits=3) for name in ("mean", "lowest", "highest")]
    rows = [
        (row["duration_rule"], names[row["agent"]], row["mean"], row["lowest"], row["highest"])
        for row in given["earned"]
    ]
    note = "In thousandths of all movement, over segments and cells."
    return [Heading("What the agents earned"), Table(f"Final values ({called})", columns, rows, note)]


def _facts(folder: Path, given: dict[str, Any]) -> Facts:
    settings = given["settings"]
    diverged = {name: count for name, count in given["diverged"].items() if count}
    return Facts(
        "Settings",
        [
            ("bars in a segment", f"{settings['segment_length']:,}"),
            ("segments", several(settings["segments"])),
            ("shortest segment", f"{settings['shortest_segment']:,}"),
            ("directions remembered", several(settings["state_sizes"])),
            ("durations scaled by", str(given["scaled_by"])),
            ("gaps filled up to", f"{settings['fill']} bars"),
            ("damaged rows repaired", setting(settings["repair"])),
            ("seeds", str(given["seeds"])),
            ("runs that diverged", setting(diverged) if diverged else "none"),
            ("made by", f"Sojourn {given['version']} in {given['seconds']:.0f} s"),
            ("folder", folder.name),
        ],
    )
