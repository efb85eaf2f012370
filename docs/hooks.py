"""What the site adds to its pages while it is built: the decisions, the comparison's tables, the figures of the house."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import house

HERE = Path(__file__).resolve().parent
COMPARISON = HERE / "data" / "comparison.json"
EVIDENCE = HERE / "data" / "evidence.json"  # written by `make evidence`


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
        "<!-- step sizes -->": step_sizes_table,
        "<!-- house -->": house.table,
    }
    for place, make in made.items():
        if place in markdown:
            markdown = markdown.replace(place, make())
    return re.sub("<!-- counted: (.+?) -->", lambda found: counted(found[1], _evidence()), markdown)


def counted(promise: str, evidence: dict[str, dict[str, int]]) -> str:
    """Return how often `make evidence` last tried a promise, and how often it failed.

    >>> counted("kills of sweep", {"kills of sweep": {"tried": 1000, "failed": 0}})
    '1,000 kills of sweep, 0 failed'
    >>> counted("kills of train", {})
    'kills of train: not counted yet'
    """
    if promise not in evidence:
        return f"{promise}: not counted yet"
    return f"{evidence[promise]['tried']:,} {promise}, {evidence[promise]['failed']:,} failed"


def _evidence() -> dict[str, dict[str, int]]:
    return json.loads(EVIDENCE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


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
    return table(_problems())


def shares_table() -> str:
    """Return the shares of runs that end with an optimal policy."""
    return "\n".join(_rows(_problems(), lambda cell: f"{100 * cell['optimal_share']:.0f}"))


def step_sizes_table() -> str:
    """Return the step sizes that were chosen."""
    return "\n".join(_rows(_problems(), lambda cell: ", ".join(f"{x:.2g}" for x in cell["options"].values())))


def table(problems: list[dict[str, Any]]) -> str:
    """Return relative gains in Markdown: a column for each agent, those first that are least often behind.

    >>> def row(agent, gain):
    ...     return {"agent": agent, "name": agent, "relative_gain": gain, "relative_low": gain, "relative_high": gain}
    >>> print(table([{"name": "jobs", "agents": [row("harmonic_r", 0.9), row("smart", 1.0)]}]))
    | | [smart](reference/agents.md#sojourn.smart) | [harmonic_r](reference/agents.md#sojourn.harmonic_r) |
    |---|---:|---:|
    | [jobs](reference/problems.md#sojourn.problems.jobs) | **1.00** | 0.90 |
    | *mean* | 1.00 | 0.90 |
    | *clearly behind* | 0 | 1 |
    """
    agents = ranked(problems)
    means = (sum(cell["relative_gain"] for cell in cells) / len(cells) for cells in agents)
    return "\n".join(
        [
            *_rows(problems, _gain),
            f"| *mean* | {' | '.join(f'{mean:.2f}' for mean in means)} |",
            f"| *clearly behind* | {' | '.join(str(sum(cell['behind'] for cell in cells)) for cells in agents)} |",
        ]
    )


def _gain(cell: dict[str, Any]) -> str:
    gain = f"{cell['relative_gain']:.2f}"
    return gain if cell["behind"] else f"**{gain}**"


def _problems() -> list[dict[str, Any]]:
    return json.loads(COMPARISON.read_text(encoding="utf-8"))["problems"]  # type: ignore[no-any-return]


def _rows(problems: list[dict[str, Any]], told: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return a table's lines: agents in their order across, problems down."""
    agents = ranked(problems)
    heads = (
        f"[{cells[0]['name']}](reference/agents.md#sojourn.{cells[0]['agent'].removesuffix('_gosavi')})"
        for cells in agents
    )
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(agents)}"]
    for place, found in enumerate(problems):
        link = f"[{found['name']}](reference/problems.md#sojourn.problems.{found['name'].replace('-', '_')})"
        lines.append(f"| {link} | {' | '.join(told(cells[place]) for cells in agents)} |")
    return lines


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
