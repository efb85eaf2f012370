"""A solution: the gain between its bounds, and a policy that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.report.blocks import Block, Chart, Column, Facts, Note, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import counted, number, plain_look, setting

MARKS_SHOWN = 2000  # more would slow the page down
ACTIONS_SHOWN = 16  # with a series of their own


def section(folder: Path, given: dict[str, Any], budget: Budget) -> Section:
    """Return an exact answer."""
    name, states = given["name"], int(given["states"])
    lower, upper = given["lower"], given["upper"]
    lead = (
        f"The largest gain of {name} is {number(given['gain'], 8)} per unit time; it is proven to lie between "
        f"{number(lower, 8)} and {number(upper, 8)}."
    )
    blocks: list[Block] = [Note(f"{finding}.") for finding in given.get("findings", [])]
    bias = given.get("bias")
    if bias and states > 1:
        blocks.append(_chart(given, budget))
    blocks += [_table(given, budget), _facts(folder, given)]
    if not bias:
        blocks.insert(0, Prose("The solver that was used returns no bias."))
    return Section("exact solution", f"The best policy of {name}", lead, blocks)


def _names(given: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the name of each state, and of the action that the policy takes in it."""
    policy = given["policy"]
    states, actions = given.get("state_names"), given.get("action_names")
    return (
        [str(states[i]) if states else str(i) for i in range(len(policy))],
        [str(actions[action]) if actions else str(action) for action in policy],
    )


def _chart(given: dict[str, Any], budget: Budget) -> Chart:
    _, actions = _names(given)
    bias, every = given["bias"], -(-len(given["bias"]) // min(budget.points, MARKS_SHOWN))
    chosen = range(0, len(bias), every)
    kinds = list(dict.fromkeys(actions[i] for i in chosen))
    series = []
    for place, kind in enumerate(kinds[:ACTIONS_SHOWN]):
        colour, dash, marker = plain_look(place)
        where = [i for i in chosen if actions[i] == kind]
        series.append(
            {
                "name": f"action {kind}",
                "x": where,
                "y": [bias[i] for i in where],
                "points": True,
                "colour": colour,
                "dash": dash,
                "marker": marker,
            }
        )
    left = len(kinds) - len(series)
    note = "Bias: what a start in a state is worth beside the gain, relative to other states."
    if every > 1:
        note += f" One state of {every} is shown."
    if left:
        note += f" States of {counted(left, 'further action')} are not shown."
    spec = {
        "type": "lines",
        "x": {"label": "state, by its number", "short": "state", "whole": True},
        "y": {"label": "bias"},
        "series": series,
    }
    return Chart(f"Bias of each state, and the action taken there: {given['name']}", spec, note)


def _table(given: dict[str, Any], budget: Budget) -> Table:
    states, actions = _names(given)
    bias = given.get("bias") or [None] * len(states)
    rows = list(zip(range(len(states)), states, actions, bias, strict=True))[: budget.rows]
    named = bool(given.get("state_names"))
    columns = [
        Column("number"),
        Column("state", numeric=False),
        Column("action", numeric=False),
        Column("bias", digits=6),
    ]
    if not named:  # its number is all there is
        columns, rows = (
            [columns[0]._replace(name="state"), *columns[2:]],
            [(i, *rest) for i, _, *rest in rows],
        )
    left = len(states) - len(rows)
    note = f"{counted(left, 'further state')} are left out; `solution.json` has all." if left else ""
    return Table(f"The policy: {given['name']}", columns, rows, note)


def _facts(folder: Path, given: dict[str, Any]) -> Facts:
    return Facts(
        "Settings",
        [
            ("problem", str(given["name"])),
            *((f"option {key}", setting(value)) for key, value in given["options"].items()),
            ("states", number(given["states"])),
            ("gain", number(given["gain"], 10)),
            ("not below", number(given["lower"], 10)),
            ("not above", number(given["upper"], 10)),
            ("solver", str(given["solver"])),
            ("seconds", number(given["seconds"], 3)),
            ("made by", f"Sojourn {given['version']}"),
            ("folder", folder.name),
        ],
    )
