"""What the site adds to its pages while it is built: the list of decisions, and the tables of the comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
COMPARISON = HERE / "data" / "comparison.json"


def on_config(config: Any) -> Any:
    """Put every decision into the navigation, so that a new one needs no entry there."""
    for entry in config.nav:
        if "Decisions" in entry:
            entry["Decisions"] = ["decisions/index.md", *(f"decisions/{page.name}" for page in decisions())]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the places that stand for something made of data."""
    made = {
        "<!-- decisions -->": decision_list,
        "<!-- relative gains -->": gains_table,
        "<!-- optimal shares -->": shares_table,
    }
    for place, make in made.items():
        if place in markdown:
            markdown = markdown.replace(place, make())
    return markdown


def decisions() -> list[Path]:
    """The pages of decisions, in order."""
    return sorted((HERE / "decisions").glob("[0-9]*.md"))


def decision_list() -> str:
    """Return a list of links to all decisions, each with its title and its first sentence."""
    lines = []
    for page in decisions():
        title, _, rest = page.read_text(encoding="utf-8").removeprefix("# ").partition("\n")
        first = " ".join(rest.split("**Decision.**", 1)[-1].split("\n\n")[0].split())
        lines.append(f"- [{title}]({page.name}): {first.partition('. ')[0].rstrip('.')}.")
    return "\n".join(lines)


def gains_table() -> str:
    """Return the relative gains of all agents on all problems of the committed comparison."""
    return table(json.loads(COMPARISON.read_text(encoding="utf-8"))["problems"])


def shares_table() -> str:
    """Return the shares of runs that end with an optimal policy, in the same order."""
    problems = json.loads(COMPARISON.read_text(encoding="utf-8"))["problems"]
    head = f"| optimal, % of runs | {' | '.join(found['name'] for found in problems)} |"
    lines = [head, f"|---|{'---:|' * len(problems)}"]
    for cells in ranked(problems):
        shares = " | ".join(f"{100 * cell['optimal_share']:.0f}" for cell in cells)
        lines.append(f"| {cells[0]['name']} | {shares} |")
    return "\n".join(lines)


def table(problems: list[dict[str, Any]]) -> str:
    """Return relative gains in Markdown: a row for each agent, those first that are least often behind.

    >>> def row(agent, gain):
    ...     return {"agent": agent, "name": agent, "relative_gain": gain, "relative_low": gain, "relative_high": gain}
    >>> print(table([{"name": "jobs", "agents": [row("harmonic_r", 0.9), row("smart", 1.0)]}]))
    | relative gain | behind | mean | jobs |
    |---|---:|---:|---:|
    | [smart](reference/agents.md#sojourn.smart) | 0 | 1.00 | **1.00** |
    | [harmonic_r](reference/agents.md#sojourn.harmonic_r) | 1 | 0.90 | 0.90 |
    """
    names = [found["name"] for found in problems]
    lines = [f"| relative gain | behind | mean | {' | '.join(names)} |", f"|---|{'---:|' * (2 + len(names))}"]
    for cells in ranked(problems):
        link = (
            f"[{cells[0]['name']}](reference/agents.md#sojourn.{cells[0]['agent'].removesuffix('_gosavi')})"
        )
        mean = sum(cell["relative_gain"] for cell in cells) / len(cells)
        gains = " | ".join(
            f"{cell['relative_gain']:.2f}" if cell["behind"] else f"**{cell['relative_gain']:.2f}**"
            for cell in cells
        )
        lines.append(f"| {link} | {sum(cell['behind'] for cell in cells)} | {mean:.2f} | {gains} |")
    return "\n".join(lines)


def ranked(problems: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return, for each agent, what it did on every problem, with whether it was clearly behind there.

    An agent is behind on a problem if its interval lies wholly below that of the agent with the largest
    relative gain. Agents that are less often behind come first, of equals the one with the larger mean.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for found in problems:
        best = max(found["agents"], key=lambda row: row["relative_gain"])
        for row in found["agents"]:
            behind = row["relative_high"] < best["relative_low"]
            rows.setdefault(row["agent"], []).append({**row, "behind": behind})
    return sorted(
        rows.values(),
        key=lambda cells: (
            sum(cell["behind"] for cell in cells),
            -sum(cell["relative_gain"] for cell in cells),
        ),
    )
