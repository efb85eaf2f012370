"""The part of the page about the simulation study. It shows the study's charts and tables, and computes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.report.blocks import (
    Block,
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
from sojourn.report.words import number, sentences, several
from sojourn.rules.kinds import check_kind
from sojourn.studies.robustness import charts, tables
from sojourn.studies.robustness.summary import Summary
from sojourn.studies.robustness.words import in_one_sentence


def section(folder: Path, given: Any, budget: Budget) -> Section:
    """Return the section on the simulation study, given its summary as it is in the file."""
    check_kind(Summary, given, "the summary")
    summary: Summary = given
    found = tables.read(folder)
    settings = summary["settings"]
    statements = [Verdict(str(one["statement"]), str(one["verdict"])) for one in summary["statements"]]
    blocks: list[Block] = [
        Prose(
            "A run *ends with B*, which the paper calls *success*, if the greedy action in state 0 is B at the end. A run "
            "that diverged is not a success."
        ),
        Heading("The paper's statements"),
        Verdicts(statements),
        Heading("What was found"),
        Points(sentences(summary["findings"])),
        Heading("The two actions"),
        Prose(
            "The reward and the duration of action B grow with the steps, and ripple; so does its rate. The rate of "
            "action A grows too, and is ahead at first. Agents see only the steps before learning ends."
        ),
        Charts([charts.drift(found), *charts.crossings(found, settings["steps"])]),
        Heading("Success in numbers"),
        _success_table(summary),
        Heading("Learned rates"),
        charts.learned_rates(found),
        Heading("Both step sizes"),
        Prose("Share of the seeds that end with B. All maps show the same v; choose it in any of them."),
        Charts(list(charts.maps(found, budget.points).values()), small=True),
        Heading("Sensitivity"),
        Prose(
            "Success on a coarser grid, with one thing changed at a time. Unless stated otherwise, ties at the start go "
            "to A, there are four episodes, and a step is *greedy* if it takes the greedy action."
        ),
        Charts(list(charts.sensitivity(found).values()), small=True),
        _facts(folder, summary),
    ]
    return Section(
        "study of the paper",
        "Robustness: the simulation study of Harmonic R-Learning",
        in_one_sentence(summary),
        charts.success(found),
        blocks,
    )


def _success_table(summary: Summary) -> Table:
    names, earned = summary["names"], summary["earned"]
    columns = [Column("v", digits=3), *(Column(name, digits=0, unit="%") for name in names.values())]
    columns += [Column("A earned", digits=3), Column("B earned", digits=3)]
    medians = [summary["success_median"][agent] for agent in names]
    parts = [summary["log_scales"], *medians, earned["always_a"], earned["always_b"]]
    if len({len(part) for part in parts}) > 1:
        raise ValueError("log_scales, success_median and earned have different numbers of entries")
    rows = list(zip(*parts, strict=True))
    note = "A earned, B earned: the reward per unit time of always taking that action, over the steps that agents saw."
    return Table("Success, median over seeds, and what each action earned", columns, rows, note)


def _facts(folder: Path, summary: Summary) -> Facts:
    settings = summary["settings"]
    return Facts(
        "Settings",
        [
            ("log-scales v", several(summary["log_scales"])),
            ("step sizes, of Q and of the rate", several(settings["step_sizes"])),
            ("exploration", number(settings["exploration"])),
            ("episodes", f"{settings['episodes']} of {settings['steps']:,} steps"),
            ("seeds", str(summary["seeds"])),
            ("runs", f"{settings['runs']:,}, of {summary['steps']:,} steps in all"),
            ("data", "none: the two-state family is defined by formulas"),
            ("made by", f"Sojourn {summary['version']} in {summary['seconds']:.0f} s"),
            ("folder", folder.name),
        ],
    )
