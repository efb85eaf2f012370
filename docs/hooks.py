"""What the site adds to its pages while it is built: the list of decisions, and the table of the comparison."""

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
    for place, make in (("<!-- decisions -->", decision_list), ("<!-- comparison -->", comparison_table)):
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


def comparison_table() -> str:
    """Return the share of runs that end with an optimal policy, for all agents on all problems."""
    data = json.loads(COMPARISON.read_text(encoding="utf-8"))
    return table(data["problems"])


def table(problems: list[dict[str, Any]]) -> str:
    """Return a table in Markdown: a row for each agent, a column for each problem, and the worst of a row.

    >>> row = {"agent": "smart", "name": "SMART", "optimal_share": 1.0, "relative_gain": 1.0}
    >>> print(table([{"name": "jobs", "agents": [row]}]))
    | | worst | jobs |
    |---|---:|---:|
    | [SMART](reference/agents.md#sojourn.smart) | 1.00 | **100** 1.00 |
    """
    names = [found["name"] for found in problems]
    rows: dict[str, list[dict[str, Any]]] = {}
    for found in problems:
        for row in found["agents"]:
            rows.setdefault(row["agent"], []).append(row)
    ranked = sorted(rows.values(), key=lambda row: -min(cell["relative_gain"] for cell in row))
    return "\n".join(
        [
            f"| | worst | {' | '.join(names)} |",
            f"|---|{'---:|' * (1 + len(names))}",
            *(_row(cells) for cells in ranked),
        ]
    )


def _row(cells: list[dict[str, Any]]) -> str:
    agent = cells[0]["agent"].removesuffix("_gosavi")
    link = f"[{cells[0]['name']}](reference/agents.md#sojourn.{agent})"
    worst = min(cell["relative_gain"] for cell in cells)
    told = (f"**{100 * cell['optimal_share']:.0f}** {_gain(cell['relative_gain'])}" for cell in cells)
    return f"| {link} | {_gain(worst)} | {' | '.join(told)} |"


def _gain(relative: float) -> str:
    return f"{relative:.2f}" if relative > -9.995 else "< -10"
