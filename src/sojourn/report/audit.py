"""An audit: where each estimator of the rate ends, and whether the policy survives it."""

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
    Section,
    Table,
    Verdict,
    Verdicts,
)
from sojourn.report.budget import Budget
from sojourn.report.words import agent_name, looks, number, setting, several


def section(folder: Path, given: dict[str, Any], budget: Budget) -> Section:
    """Return what an audit found."""
    return Section(
        "audit",
        f"Which estimators keep {given['name']} optimal",
        "If a policy is followed for ever, an estimator of the rate settles at a limit. An agent that takes that "
        "limit for the rate, and is otherwise right about everything, acts best only if the limit lies in a "
        "certain interval around the gain.",
        [
            Verdicts([_verdict(given, one) for one in given["estimators"]]),
            charts(given),
            estimators(given),
            _facts(folder, given, budget),
        ],
    )


def blocks(given: dict[str, Any]) -> list[Block]:
    """Return an audit as part of a comparison."""
    return [Heading("Where the estimators end"), charts(given), estimators(given)]


def interval(given: dict[str, Any]) -> str:
    """Return the interval of rates in words."""
    low, high = given["low"], given["high"]
    if low is None and high is None:
        return "every rate"
    if low is None:
        return f"every rate up to {number(high)}"
    if high is None:
        return f"every rate from {number(low)} on"
    return f"{number(low)} to {number(high)}"


def _verdict(given: dict[str, Any], one: dict[str, Any]) -> Verdict:
    agents = ", ".join(map(agent_name, one["agents"]))
    name = f"{one['estimator']}" + (f" ({agents})" if agents else "")
    inside = "inside" if one["keeps_optimum"] else "outside"
    if one["rate"] is None:
        limit = "It has no finite limit"
    else:
        error = one["error"]
        side = (
            "the gain itself"
            if error == 0
            else f"{number(abs(error))} {'above' if error > 0 else 'below'} the gain"
        )
        limit = f"Its limit is {number(one['rate'])}, {side}, and {inside} the interval ({interval(given)})"
    earned = f" The policy that is greedy at its limit earns {number(one['greedy_gain'])}"
    best = given["best_gain"]
    earned += f"; the best there is earns {number(best)}." if best is not None else "."
    return Verdict(
        f"{name} keeps the optimum",
        f"{limit}.{earned if one['greedy_gain'] is not None else ''}",
        "yes" if one["keeps_optimum"] else "no",
    )


def charts(given: dict[str, Any]) -> Charts:
    """Return F over the rate with each estimator's limit, and the gain of what is greedy there."""
    frontier = given["frontier"]
    span = {"label": "the policy is optimal", "colour": 7, "from": given["low"], "to": given["high"]}
    everywhere = given["low"] is None and given["high"] is None
    names = [(one["agents"] or [one["estimator"]])[0] for one in given["estimators"]]
    styles = looks(names)
    limits = [
        {"name": one["estimator"], "vertical": one["rate"], **styles[name]}
        for name, one in zip(names, given["estimators"], strict=True)
        if one["rate"] is not None
    ]
    x = {"label": "rate (reward per unit time)", "short": "rate"}

    def chart(title: str, label: str, key: str, name: str, note: str, steps: bool) -> Chart:
        curve = {
            "name": name,
            "x": frontier["rate"],
            "y": frontier[key],
            "colour": 5,
            "dash": 0,
            "step": steps,
        }
        spec = {"type": "lines", "x": x, "y": {"label": label}, "series": [curve, *limits]}
        return Chart(title, spec | {"spans": [span] if not everywhere else [span | {"colour": 7}]}, note)

    return Charts(
        [
            chart(
                f"Value of the best policy at each rate: {given['name']}",
                "F(rate), reward per step",
                "value",
                "F(rate)",
                "F is the largest mean of reward less rate times duration in a step; it is 0 at the best gain. "
                "Vertical lines are the estimators' limits.",
                False,
            ),
            chart(
                f"What the greedy policy earns at each rate: {given['name']}",
                "gain",
                "gain",
                "gain of the greedy policy",
                "Where the line is at its top, a wrong rate does no harm.",
                True,
            ),
        ]
    )


def estimators(given: dict[str, Any]) -> Table:
    """Return the table of estimators."""
    columns = [
        Column("estimator", numeric=False),
        Column("agents", numeric=False),
        Column("limit", digits=6),
        Column("error"),
        Column("keeps the optimum", numeric=False),
        Column("gain if greedy at it", digits=6),
    ]
    rows = [
        (
            one["estimator"],
            ", ".join(map(agent_name, one["agents"])),
            one["rate"],
            one["error"],
            "yes" if one["keeps_optimum"] else "no",
            one["greedy_gain"],
        )
        for one in given["estimators"]
    ]
    return Table(f"Limits of the estimators: {given['name']}", columns, rows)


def _facts(folder: Path, given: dict[str, Any], budget: Budget) -> Facts:
    policy = given["policy"]
    shown = " ".join(map(str, policy[: min(60, budget.rows)])) + (" ..." if len(policy) > 60 else "")
    return Facts(
        "Settings",
        [
            ("problem", str(given["name"])),
            *((f"option {key}", setting(value)) for key, value in given["options"].items()),
            ("states", number(given["states"])),
            ("policy audited, the action of each state", shown if policy else several(policy)),
            ("its gain", number(given["gain"], 8)),
            ("best gain", number(given["best_gain"], 8)),
            ("rates that keep it optimal", interval(given)),
            ("made by", f"Sojourn {given['version']}"),
            ("folder", folder.name),
        ],
    )
