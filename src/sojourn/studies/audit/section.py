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

ROUNDING = 1e-9


def section(folder: Path, given: dict[str, Any], budget: Budget) -> Section:
    """Return what an audit found."""
    return Section(
        "audit",
        f"Which estimators keep {given['name']} optimal",
        "If a policy is followed for ever, an estimator of the rate settles at a limit. An agent that takes that "
        "limit for the rate, and is otherwise right about everything, acts best only if the limit lies in a "
        "certain interval around the gain.",
        [
            Verdicts([_verdict(given, group) for group in _together(given)]),
            charts(given),
            estimators(given),
            _facts(folder, given, budget),
        ],
    )


def blocks(given: dict[str, Any]) -> list[Block]:
    """Return an audit as part of a comparison."""
    return [Heading("Where the estimators end", 4), charts(given), estimators(given)]


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


def _together(given: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the estimators, those with the same limit in one list."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for one in given["estimators"]:
        key = None if one["rate"] is None else float(f"{one['rate']:.9g}") + 0.0  # no minus zero
        groups.setdefault((key, one["keeps_optimum"]), []).append(one)
    return list(groups.values())


def _verdict(given: dict[str, Any], group: list[dict[str, Any]]) -> Verdict:
    one, several_ = group[0], len(group) > 1
    names = []
    for member in group:
        agents = ", ".join(map(agent_name, member["agents"]))
        names.append(f"{member['estimator']} ({agents})" if agents else str(member["estimator"]))
    verb, its = ("keep", "Their") if several_ else ("keeps", "Its")
    best, earned = given["best_gain"], one["greedy_gain"]
    words = f"{its} limit is not finite."
    if one["rate"] is not None:
        error = one["error"]
        exact = _clean(error, given) == 0
        side = (
            "the gain itself"
            if exact
            else f"{number(abs(error))} {'above' if error > 0 else 'below'} the gain"
        )
        inside = "among" if one["keeps_optimum"] else "not among"
        words = (
            f"{its} limit is {number(one['rate'])}, {side}, and {inside} the rates for which an optimal policy is "
            f"greedy ({interval(given)})."
        )
    if earned is not None:
        words += f" The policy that is greedy there earns {number(earned)}"
        words += f"; the best there is earns {number(best)}." if best is not None else "."
    return Verdict(f"{', '.join(names)} {verb} the optimum", words, "yes" if one["keeps_optimum"] else "no")


def charts(given: dict[str, Any]) -> Charts:
    """Return F over the rate with each estimator's limit, and the gain of what is greedy there."""
    name = given["name"]
    return Charts(
        [
            Chart(
                f"Value of the best policy at each rate: {name}",
                _spec(given, "value", "F(rate), reward per step", "F(rate)", steps=False),
                "F is the largest mean of reward less rate times duration in a step; it is 0 at the best gain. "
                "Vertical lines are the estimators' limits.",
            ),
            Chart(
                f"What the greedy policy earns at each rate: {name}",
                _spec(given, "gain", "gain", "gain of the greedy policy", steps=True),
                "Where the line is at its top, a wrong rate does no harm.",
            ),
        ]
    )


def _spec(given: dict[str, Any], key: str, label: str, name: str, *, steps: bool) -> dict[str, Any]:
    groups = [group for group in _together(given) if group[0]["rate"] is not None]
    agents = [
        next((agent for one in group for agent in one["agents"]), group[0]["estimator"]) for group in groups
    ]
    styles = looks(agents)
    limits = [
        {
            "name": ", ".join(str(one["estimator"]) for one in group),
            "vertical": group[0]["rate"],
            **styles[agent],
        }
        for group, agent in zip(groups, agents, strict=True)
    ]
    frontier = given["frontier"]
    curve = {"name": name, "x": frontier["rate"], "y": frontier[key], "colour": 5, "dash": 0, "step": steps}
    span = {"label": "an optimal policy is greedy", "colour": 7, "from": given["low"], "to": given["high"]}
    return {
        "type": "lines",
        "x": {"label": "rate (reward per unit time)", "short": "rate"},
        "y": {"label": label},
        "series": [curve, *limits],
        "spans": [span],
    }


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
    further = {"drift": "drift of values", "settled_gain": "gain where it settles"}
    kept = [key for key in further if any(key in one for one in given["estimators"])]
    columns += [Column(further[key], digits=6) for key in kept]
    rows = [
        (
            one["estimator"],
            ", ".join(map(agent_name, one["agents"])),
            one["rate"],
            _clean(one["error"], given),
            "yes" if one["keeps_optimum"] else "no",
            one["greedy_gain"],
            *(_clean(one.get(key), given) for key in kept),
        )
        for one in given["estimators"]
    ]
    note = _FURTHER if kept else ""
    return Table(f"Limits of the estimators: {given['name']}", columns, rows, note)


def _clean(value: float | None, given: dict[str, Any]) -> float | None:
    """Return 0 for what only rounding keeps from it."""
    if value is None or abs(value) > ROUNDING * max(1.0, abs(given["gain"])):
        return value
    return 0.0


_FURTHER = (
    "Drift: by how much values grow with each greedy step at that rate, 0 at the best gain. Where it settles: the "
    "policy that is greedy at the limit has a limit of its own, and so on; an empty place goes in circles."
)


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
