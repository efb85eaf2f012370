"""The tables and sentences on the page about the planner, made from what `planner.py` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parent / "data"


def places() -> dict[str, Any]:
    """Return the places in the page, each with the function that makes its content."""
    return {
        "<!-- planner: named -->": named_table,
        "<!-- planner: summary of named -->": named_summary,
        "<!-- planner: others -->": others_table,
        "<!-- planner: summary of others -->": others_summary,
        "<!-- planner: regret -->": lambda: regret_table(read_regret()["named"]),
        "<!-- planner: regret on strangers -->": lambda: regret_table(read_regret()["strangers"]),
        "<!-- planner: size of regret -->": regret_size,
        "<!-- planner: published regret -->": published_regret,
        "<!-- planner: summary of regret -->": regret_summary,
        "<!-- planner: time -->": time_table,
    }


def read() -> dict[str, Any]:
    """Return what was measured last."""
    return json.loads((DATA / "planner.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def rivals() -> dict[str, dict[str, Any]]:
    """Return what the best tuned agent without a model earned on each named problem."""
    problems = json.loads((DATA / "comparison.json").read_text(encoding="utf-8"))["problems"]
    found = {}
    for problem in problems:
        rows = [row for row in problem["agents"] if row["agent"] not in ("planner", "h_learning")]
        best = max(rows, key=lambda row: row["earning"]["earned"])
        mean, low, high = (best["earning"][key] for key in ("earned", "low", "high"))
        found[problem["name"]] = {"agent": best["name"], "mean": mean, "low": low, "high": high}
    return found


def interval(found: dict[str, float]) -> str:
    """Return a mean and its interval.

    >>> interval({"mean": 0.5, "low": 0.25, "high": 0.75})
    '0.500 (0.250 to 0.750)'
    """
    return f"{found['mean']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def named_table() -> str:
    """Return the named problems: policies after both numbers of steps, earned, and the best tuned agent."""
    lines = [
        "| | 10,000 steps | 30,000 steps | earned | earned by the best tuned |",
        "|---|---:|---:|---:|---:|",
    ]
    best = rivals()
    for row in read()["named"]:
        cells = [interval(row[key]) for key in ("policy_10000", "policy_30000", "earned")]
        rival = best[row["name"]]
        lines.append(f"| {row['name']} | {' | '.join(cells)} | {interval(rival)}<br>{rival['agent']} |")
    return "\n".join(lines)


def named_summary() -> str:
    """Say on how many problems the planner's policy and earnings are good enough."""
    rows, best = read()["named"], rivals()
    late = sum(row["policy_30000"]["mean"] >= 0.99 for row in rows)
    early = sum(row["policy_10000"]["mean"] >= 0.97 for row in rows)
    earned = [row for row in rows if row["earned"]["mean"] >= best[row["name"]]["low"]]
    short = [row["name"] for row in rows if row not in earned]
    return (
        f"After 10,000 steps the mean is at least .97 on {early} of {len(rows)} problems, after 30,000 steps at least .99 on {late}. "
        f"What it earned reaches the interval of the best tuned agent, or lies above it, on {len(earned)} problems; it falls short on "
        f"{', '.join(short) or 'none'}."
    )


def others_table() -> str:
    """Return the other problems, the planner beside the best tuned agent."""
    lines = [
        "| | states | final policy | best tuned | earned | best tuned |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in read()["others"]:
        cells = [
            f"{row['policy_30000']['mean']:.3f}",
            f"{row['rival_policy']['mean']:.3f} `{row['rival_policy']['agent']}`",
            f"{row['earned']['mean']:.3f}",
            f"{row['rival_earned']['mean']:.3f} `{row['rival_earned']['agent']}`",
        ]
        lines.append(f"| {row['name']} | {row['states']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def others_summary() -> str:
    """Give the mean and the worst result of the planner and of the best tuned agent of each problem."""
    rows = read()["others"]
    told = []
    for who, policy, earned in (
        ("the planner", "policy_30000", "earned"),
        ("the best tuned agent of each problem", "rival_policy", "rival_earned"),
    ):
        means = [row[policy]["mean"] for row in rows]
        way = [row[earned]["mean"] for row in rows]
        told.append(
            f"the final policy of {who} reaches {np.mean(means):.3f} in the mean and {min(means):.3f} at worst, and it earned "
            f"{np.mean(way):.3f} in the mean and {min(way):.3f} at worst"
        )
    ahead = sum(row["earned"]["mean"] >= row["rival_earned"]["mean"] for row in rows)
    return (
        f"Over {len(rows)} problems, {told[0]}. In comparison, {told[1]}. The planner earned at least as much as the best tuned agent on "
        f"{ahead} of them."
    )


def time_table() -> str:
    """Return the microseconds of a step."""
    lines = ["| states | planner | smart | planning, of 50 microseconds |", "|---:|---:|---:|---:|"]
    for row in read()["time"]:
        more = row["planner"] - row["smart"]
        lines.append(
            f"| {row['states']:,} | {row['planner']:.1f} | {row['smart']:.1f} | {100 * more / 50:.0f} % |"
        )
    return "\n".join(lines)


def read_regret() -> dict[str, Any]:
    """Return what `regret.py` measured last."""
    return json.loads((DATA / "regret.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def regret_size() -> str:
    """Return over how many steps and seeds it was measured."""
    found = read_regret()
    return f"{found['steps']:,} steps relative to the optimum, as means over {found['seeds']} seeds"


def regret_table(rows: list[dict[str, Any]]) -> str:
    """Return what every agent earned on every problem, the best in bold.

    >>> print(regret_table([{"name": "gosavi", "agents": [("planner", {}, 0.95), ("ct_ucrl", {"radius": 0.1}, 0.723)]}]))
    | | `planner` | `ct_ucrl` 0.1 |
    |---|---:|---:|
    | gosavi | **0.950** | 0.723 |
    """
    titles = [
        f"`{name}`{''.join(f' {value:g}' for value in given.values())}"
        for name, given, _ in rows[0]["agents"]
    ]
    lines = [f"| | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]
    for row in rows:
        shares = [earned for _, _, earned in row["agents"]]
        cells = [f"**{share:.3f}**" if share == max(shares) else f"{share:.3f}" for share in shares]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def regret_summary() -> str:
    """Say where the planner earned at least .01 less than an agent with its default options or any radius."""
    found, behind = read_regret(), dict[str, list[str]]()
    rows = found["named"] + found["strangers"]
    for row in rows:
        own = row["agents"][0][2]
        best: dict[str, float] = {}
        for name, _, earned in row["agents"][1:]:
            best[name] = max(earned, best.get(name, earned))
        for name, earned in best.items():
            if earned >= own + 0.01:
                behind.setdefault(name, []).append(f"{row['name']} ({own:.3f} against {earned:.3f})")
    told = [f"`{name}` on {', '.join(problems)}" for name, problems in behind.items()]
    first = sum(row["agents"][0][2] >= max(earned for _, _, earned in row["agents"]) - 0.01 for row in rows)
    return (
        f"The planner is first, or within .01 of the first, on {first} of {len(rows)} problems. "
        f"**It loses** at least .01 to {'; to '.join(told)}. A radius counts if it was the best on that problem."
    )


def published_regret() -> str:
    """Return the regret of all agents in the example of CT-UCRL, and what its authors' code printed."""
    lines = [
        "| | steps that lose | regret: counts times losses | best reward in the same time, less the reward |",
        "|---|---:|---:|---:|",
        "| published, one run | 1,024 | 3,852 | 6,094 |",
    ]
    for row in read_regret()["published"]:
        means = {name: np.mean([run[name] for run in row["runs"]]) for name in ("wrong", "worth")}
        ends = [f"{run['pathwise']:,.0f}" for run in sorted(row["runs"], key=lambda run: run["pathwise"])]
        cells = f"{means['wrong']:,.0f} | {means['worth']:,.0f} | {', '.join(ends)}"
        lines.append(f"| `{row['agent']}` | {cells} |")
    return "\n".join(lines)
