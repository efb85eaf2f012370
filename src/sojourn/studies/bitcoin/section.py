"""The part of the page about the market study. It shows the study's charts and tables, and computes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.report import blocks
from sojourn.report.blocks import Block, Charts, Column, Facts, Heading, Note, Points, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import sentences, setting, several
from sojourn.rules.kinds import check_kind
from sojourn.studies.bitcoin import charts, tables
from sojourn.studies.bitcoin.plan import OPPONENTS, RULES
from sojourn.studies.bitcoin.summary import Data, Summary
from sojourn.studies.bitcoin.words import in_one_sentence


def section(folder: Path, given: Any, budget: Budget) -> Section:
    """Return the section on the market study, given its summary as it is in the file."""
    check_kind(Summary, given, "the summary")
    summary: Summary = given
    found = tables.read(folder)
    data = summary["data"]
    called = "synthetic data" if data["synthetic"] else str(data["name"])
    statements = [blocks.Verdict(str(one["statement"]), str(one["verdict"])) for one in summary["statements"]]
    parts: list[Block] = [
        *([_SYNTHETIC] if data["synthetic"] else []),
        Prose(
            "Harmonic wins a segment if its final value is the larger one; below each share is Wilson's 95 % interval "
            "over segments. A tie is not a win. A star marks a sign test below 0.05 after Holm's correction."
        ),
        Heading("The paper's statements"),
        blocks.Verdicts(statements),
        Heading("What was found"),
        Points(sentences(summary["findings"])),
        Heading("Win ratios"),
        _verdicts(summary),
        Heading("Segment by segment"),
        charts.advantages(found, called),
        charts.curves(found, called, charts.room(found, budget.points)),
        *_earned(summary, called),
        Heading("The segments"),
        charts.durations(found, called),
        _segments(found, called, budget.rows),
        _data(data),
        _facts(folder, summary),
    ]
    return Section(
        "study of the paper",
        "Bitcoin: the market study of Harmonic R-Learning"
        + (" (synthetic data)" if data["synthetic"] else ""),
        in_one_sentence(summary),
        Charts(
            [
                charts.win_map(found.win_ratios, rule, opponent, called)
                for opponent in OPPONENTS
                for rule in RULES
            ]
        ),
        parts,
        synthetic=bool(data["synthetic"]),
    )


_SYNTHETIC = Note(
    "**The data is synthetic**: a seeded market of minute bars, made by Sojourn to resemble Bitcoin's. "
    "Nothing here says anything about real Bitcoin."
)


def _data(data: Data) -> Facts:
    name = f"{data['name']} (made by Sojourn, not a real market)" if data["synthetic"] else str(data["name"])
    return Facts(
        "Data",
        [
            ("name", name),
            ("sha256", str(data["sha256"])),
            ("bars", f"{data['rows']:,}"),
            ("segments run", str(data["segments"])),
        ],
    )


def _verdicts(summary: Summary) -> Table:
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
    rows = []
    for rule in RULES:
        for opponent, name in OPPONENTS.items():
            one = summary["verdict"][rule][opponent]
            counts = (one["cells"], one["ahead"], one["certain_wins"], one["certain_losses"], one["ties"])
            rows.append((rule, name, one["mean"], *counts, one["smallest_p"]))
    return Table("How Harmonic R-Learning did over all cells", columns, rows)


def _earned(summary: Summary, called: str) -> list[Block]:
    if not summary["earned"]:
        return []
    columns = [Column("durations", numeric=False), Column("agent", numeric=False)]
    columns += [Column(name, digits=3) for name in ("mean", "lowest", "highest")]
    names = summary["names"]
    rows = [
        (row["duration_rule"], names[row["agent"]], row["mean"], row["lowest"], row["highest"])
        for row in summary["earned"]
    ]
    note = "In thousandths of all movement, over segments and cells."
    return [Heading("What the agents earned"), Table(f"Final values ({called})", columns, rows, note)]


def _segments(found: tables.Tables, called: str, most: int) -> Table:
    columns = [
        Column("segment"),
        Column("bars"),
        Column("all movement"),
        Column("largest move"),
        Column("bars that do not move", digits=1, unit="%"),
        Column("median duration, s"),
        Column("its standard deviation, s"),
    ]
    names = ("segment", "bars", "total_movement", "largest_move", "without_move", "q50", "duration_std")
    rows = found.segments.sort("segment").select(*names).rows()
    left = len(rows) - most
    note = f"{left:,} further segments are left out; `segments.parquet` has them all." if left > 0 else ""
    return Table(f"Each segment in numbers ({called})", columns, rows[:most], note)


def _facts(folder: Path, summary: Summary) -> Facts:
    settings = summary["settings"]
    diverged = {name: count for name, count in summary["diverged"].items() if count}
    return Facts(
        "Settings",
        [
            ("bars in a segment", f"{settings['segment_length']:,}"),
            ("segments", several(settings["segments"])),
            ("shortest segment", f"{settings['shortest_segment']:,}"),
            ("directions remembered", several(settings["state_sizes"])),
            ("durations scaled by", str(summary["scaled_by"])),
            ("gaps filled up to", f"{settings['fill']} bars"),
            ("damaged rows repaired", setting(settings["repair"])),
            ("seeds", str(summary["seeds"])),
            ("steps", f"{summary['steps']:,}"),
            ("runs that diverged", setting(diverged) if diverged else "none"),
            ("made by", f"Sojourn {summary['version']} in {summary['seconds']:.0f} s"),
            ("folder", folder.name),
        ],
    )
