"""A comparison: agents on problems whose best gain is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.report.blocks import Block, Chart, Charts, Column, Facts, Heading, Points, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import agent_name, counted, looks, number, sentences, setting, several
from sojourn.studies.audit import section as audit


def section(folder: Path, given: dict[str, Any], budget: Budget) -> Section:
    """Return what a comparison found, problem by problem."""
    settings, problems = given["settings"], given["problems"]
    agents = list(dict.fromkeys(agent["agent"] for problem in problems for agent in problem["agents"]))
    styles = looks(agents)
    blocks: list[Block] = []
    if len(problems) > 1:
        blocks.append(_overview(problems))
    for problem in problems:
        blocks += _problem(problem, styles, budget, len(problems))
    blocks.append(_facts(folder, given))
    names = ", ".join(str(problem["name"]) for problem in problems)
    twice = any("optimal_given" in agent for problem in problems for agent in problem["agents"])
    ways = ", with the actions numbered both ways" if twice else ""
    return Section(
        "comparison",
        f"Agents compared on {names}"
        if len(problems) < 4
        else f"Agents compared on {len(problems)} problems",
        f"{counted(len(agents), 'agent')}, each tuned on {counted(settings['tuning_seeds'], 'seed')} and then run with "
        f"{counted(settings['seeds'], 'other seed')} for {counted(settings['steps'], 'step')}{ways}. Their greedy policies are "
        "evaluated exactly, so 1 means the best gain there is.",
        blocks,
    )


def named(row: dict[str, Any]) -> str:
    """Return the name of an agent as the comparison has it."""
    return str(row.get("name") or agent_name(row["agent"]))


def _overview(problems: list[dict[str, Any]]) -> Table:
    names = {row["agent"]: named(row) for problem in problems for row in problem["agents"]}
    columns = [Column("problem", numeric=False), *(Column(name) for name in names.values())]
    rows = []
    for problem in problems:
        gains = {one["agent"]: one["relative_gain"] for one in problem["agents"]}
        rows.append((problem["name"], *(gains.get(agent) for agent in names)))
    return Table(
        "Relative gain in the end, mean over the runs", columns, rows, "1 is the best gain there is."
    )


def _problem(
    problem: dict[str, Any], styles: dict[str, dict[str, int]], budget: Budget, problems: int
) -> list[Block]:
    name = problem["name"]
    blocks: list[Block] = [
        Heading(str(name)),
        Prose(
            f"{counted(int(problem['states']), 'state')}; the best gain is {number(problem['gain'], 8)}. "
            + leader(problem["agents"])
        ),
        *([Points(sentences(problem["findings"]))] if problem.get("findings") else []),
        Charts([_learning(problem, styles, budget.points // problems), _finals(problem, styles)]),
        _table(problem),
    ]
    if problem.get("estimators"):
        blocks.append(_errors(problem))
    if problem.get("audit"):
        blocks += audit.blocks(problem["audit"])
    return blocks


def leader(agents: list[dict[str, Any]]) -> str:
    """Say who earned most, and whose interval reaches into the leader's."""
    known = [one for one in agents if one["relative_gain"] is not None]
    if not known:
        return "No agent has a relative gain here."
    best = max(known, key=lambda one: one["relative_gain"])
    first = [one for one in known if one["relative_gain"] == best["relative_gain"]]
    told = (
        f"The highest relative gain in the end is {number(best['relative_gain'])}{_between(best)}: "
        f"{', '.join(map(named, first))}."
    )
    behind = [one for one in known if one not in first]
    if best["relative_low"] is None or not behind:
        return told
    near = [
        named(one)
        for one in behind
        if one["relative_high"] is not None and one["relative_high"] >= best["relative_low"]
    ]
    if not near:
        return f"{told} No other agent's interval reaches up to that."
    return f"{told} The intervals of these reach up to that: {', '.join(near)}."


def _between(one: dict[str, Any]) -> str:
    if one["relative_low"] is None or one["relative_high"] is None:
        return ""
    return f" (95 % interval {number(one['relative_low'])} to {number(one['relative_high'])})"


def _learning(problem: dict[str, Any], styles: dict[str, dict[str, int]], points: int) -> Chart:
    curves = problem["curves"]
    total = sum(len(curve["step"]) for curve in curves)
    every = max(1, -(-total // max(1, points)))
    names = {row["agent"]: named(row) for row in problem["agents"]}
    series = []
    for curve in curves:
        last = len(curve["step"]) - 1
        chosen = [i for i in range(len(curve["step"])) if i % every == 0 or i == last]
        lines = {key: [curve[key][i] for i in chosen] for key in ("relative_gain", "low", "high")}
        series.append(
            {
                "name": names.get(curve["agent"]) or agent_name(curve["agent"]),
                "x": [curve["step"][i] for i in chosen],
                "y": lines["relative_gain"],
                "low": lines["low"],
                "high": lines["high"],
                **styles[curve["agent"]],
            }
        )
    spec = {
        "type": "lines",
        "x": {"label": "steps", "log": True},
        "y": {"label": "relative gain of the greedy policy"},
        "series": series,
    }
    return Chart(f"Learning: {problem['name']}", spec, "Mean over the runs, and its 95 % interval.")


def _finals(problem: dict[str, Any], styles: dict[str, dict[str, int]]) -> Chart:
    rows = [
        {
            "name": named(one),
            "value": one["relative_gain"],
            "low": one["relative_low"],
            "high": one["relative_high"],
            "colour": styles[one["agent"]]["colour"],
            "marker": styles[one["agent"]]["marker"],
        }
        for one in problem["agents"]
    ]
    spec = {
        "type": "whiskers",
        "x": {"label": "relative gain in the end, 95 % interval", "short": "relative gain"},
        "rows": rows,
        "reference": {"x": 1.0},
        "interval": "95 % interval",
    }
    return Chart(f"In the end: {problem['name']}", spec, "The dotted line is the best gain there is.")


def _table(problem: dict[str, Any]) -> Table:
    columns = [
        Column("agent", numeric=False),
        Column("tuned", numeric=False),
        Column("relative gain"),
        Column("low"),
        Column("high"),
        Column("runs with an optimal policy", digits=0, unit="%"),
        Column("low", digits=0, unit="%"),
        Column("high", digits=0, unit="%"),
        Column("steps to 99 %"),
        Column("time to 99 %"),
        Column("runs that got there", digits=0, unit="%"),
        Column("rate"),
        Column("rate less gain"),
        Column("regret"),
    ]
    keys = [
        *("relative_gain", "relative_low", "relative_high", "optimal_share", "optimal_low", "optimal_high"),
        *("steps_99", "time_99", "reached_share", "rate", "rate_gap", "regret"),
    ]
    rows = [(named(one), setting(one["options"]), *(one[key] for key in keys)) for one in problem["agents"]]
    note = "Low and high are the ends of 95 % intervals. An empty place: most runs never get there."
    return Table(f"The agents on {problem['name']}", columns, rows, note)


def _errors(problem: dict[str, Any]) -> Table:
    """Return how well each estimator does where only it differs."""
    columns = [Column("estimator", numeric=False), Column("mean"), Column("root mean square error")]
    columns += [Column("low"), Column("high")]
    rows = [
        tuple(one[key] for key in ("estimator", "mean", "error", "error_low", "error_high"))
        for one in problem["estimators"]
    ]
    note = "All with the same step size, where they have one, under the optimal policy."
    return Table(f"The estimators alone on {problem['name']}", columns, rows, note)


def _facts(folder: Path, given: dict[str, Any]) -> Facts:
    settings = given["settings"]
    return Facts(
        "Settings",
        [
            *(
                (key.replace("_", " "), several(value) if isinstance(value, list) else setting(value))
                for key, value in settings.items()
            ),
            ("problems", ", ".join(str(problem["name"]) for problem in given["problems"])),
            ("made by", f"Sojourn {given['version']}"),
            ("folder", folder.name),
        ],
    )
