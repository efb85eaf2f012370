"""What the site adds to its pages while it is built: the decisions, the comparison's tables, the figures of the house."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import drifting
import epochs
import fleet
import going_on
import house
import measured
import notebook
import observed
import pictures
import published
import watching
from rendering import public_name

import baselines
from sojourn.agents.catalogue import AGENTS
from sojourn.report.looks import title

HERE = Path(__file__).resolve().parent
COMPARISON = HERE / "data" / "comparison.json"
WITH_MODEL = ("planner", "h_learning")  # agents that learn a model of the world
# A date, an interval, a number with its error, an option of a command, or a kind of learning, if it is not within a tag.
WHOLE = re.compile(
    r"(?:(?<=[>\s(])\d{4}-\d\d-\d\d(?=[<\s),.;:])|\([+-]?[\d.,]+ to [+-]?[\d.,]+\)|(?<=>)-?[\d.]+ ± [\d.]+(?=<)"
    r"|(?<=<code>)--[\w-]+|\b[HQR]-[Ll]earning)(?![^<>]*>)"
)
# A letter with a hat or a bar, which few monospaced fonts can put together.
HAT = re.compile("\\w[\u0302\u0304]")
EVIDENCE = HERE / "data" / "evidence.json"  # written by `make evidence`


def on_config(config: Any) -> Any:
    """Put every decision into the navigation, so that a new one needs no entry there."""
    for entry in config.nav:
        if "Decisions" in entry:
            entry["Decisions"] = ["decisions/index.md", *(f"decisions/{page.name}" for page in decisions())]
    return config


def places() -> dict[str, Callable[[], str]]:
    """The places in pages that stand for something made of data, and what makes it."""
    return {
        "<!-- changelog -->": changelog,
        "<!-- security -->": security,
        "<!-- doors -->": doors,
        "<!-- decisions -->": decision_list,
        "<!-- relative gains -->": gains_table,
        "<!-- followed -->": followed_table,
        "<!-- earnings -->": earnings_table,
        "<!-- planner -->": planner_table,
        "<!-- options -->": options_table,
        "<!-- published: access control -->": published.access_control_table,
        "<!-- published: how many agree -->": published.how_many_agree,
        "<!-- published: at the end -->": published.at_the_end,
        "<!-- published: exact -->": published.exact_table,
        "<!-- published: how many are exact -->": published.how_many_exact,
        "<!-- published: four rooms -->": published.four_rooms_table,
        "<!-- baselines -->": baselines.table,
        "<!-- going on -->": going_on.table,
        "<!-- epochs: inside -->": epochs.inside_table,
        "<!-- epochs: holding -->": epochs.holding_table,
        **drifting.places(),
        **measured.places(),
        **observed.places(),
        **fleet.places(),
        **watching.places(),
        "<!-- house -->": house.table,
        "<!-- notebook -->": notebook.page,
    }


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the places that stand for something made of data."""
    for place, make in places().items():
        if place in markdown:
            markdown = markdown.replace(place, make())
    return re.sub("<!-- counted: (.+?) -->", lambda found: counted(found[1], _evidence()), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Keep on one line what belongs together, and let each picture lead to itself, where it can be seen at any size.

    >>> on_page_content("<td>0 failed (2026-11-17)</td>")
    '<td>0 failed (<span class="whole">2026-11-17</span>)</td>'
    >>> on_page_content("<td>0.99 (0.98 to 1.00)</td><td>0.93 ± 0.01</td>")
    '<td>0.99 <span class="whole">(0.98 to 1.00)</span></td><td><span class="whole">0.93 ± 0.01</span></td>'
    >>> on_page_content('<p><img alt="Gains" src="../figures/gains.svg" /></p>')
    '<p><a href="../figures/gains.svg"><img alt="Gains" src="../figures/gains.svg" /></a></p>'
    """
    html = re.sub(r'(<img [^>]*src="([^"]+)"[^>]*>)', r'<a href="\2">\1</a>', html)
    html = HAT.sub(r'<span class="hat">\g<0></span>', html)
    return WHOLE.sub(r'<span class="whole">\g<0></span>', html)


def counted(promise: str, evidence: dict[str, dict[str, Any]]) -> str:
    """Return how often `make evidence` last tried a promise, how often it failed, and when that was.

    >>> counted("kills of sweep", {"kills of sweep": {"tried": 1000, "failed": 0, "on": "2026-11-17"}})
    '1,000 kills of sweep, 0 failed (2026-11-17)'
    >>> counted("kills of train", {})
    'kills of train: not counted yet'
    """
    if promise not in evidence:
        return f"{promise}: not counted yet"
    found = evidence[promise]
    return f"{found['tried']:,} {promise}, {found['failed']:,} failed ({found['on']})"


def _evidence() -> dict[str, dict[str, Any]]:
    return json.loads(EVIDENCE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def changelog() -> str:
    """Return the changelog of the repository, whose links lead to the site's pages here."""
    return _from_repository("CHANGELOG.md")


def security() -> str:
    """Return what the repository says about security."""
    return _from_repository("SECURITY.md")


def doors() -> str:
    """Return the README's examples by what a reader has, each with its picture."""
    text = _from_repository("README.md").split("<!-- doors -->\n")[1].split("<!-- end of doors -->")[0]
    for words, (file, caption) in pictures.PICTURES.items():
        before, after = text.split(f"## I have {words}\n")
        program, rest = after.split("\n```\n", 1)
        text = f"{before}## I have {words}\n{program}\n```\n\n![{caption}](figures/{file}.svg)\n{rest}"
    return text


def _from_repository(name: str) -> str:
    """Return a page of the repository's first folder, whose links lead to the site's pages here."""
    text = (HERE.parent / name).read_text(encoding="utf-8")
    return text.replace("](docs/", "](").replace("](SECURITY.md)", "](security.md)")


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


# --- The comparison of agents -------------------------------------------------------


class Cell(NamedTuple):
    """What an agent did on a problem: its mean and interval, and whether it was clearly behind the best."""

    agent: str
    mean: float
    low: float
    high: float
    behind: bool = False


def found_by(row: dict[str, Any], measure: str) -> Cell:
    """Return one of the three measures of an agent: "policy", "followed", or "earned" with the options for that."""
    if measure == "earned":
        return Cell(row["agent"], *(row["earning"][key] for key in ("earned", "low", "high")))
    name = {"policy": "relative", "followed": "followed"}[measure]
    mean = row["relative_gain"] if measure == "policy" else row["followed"]
    return Cell(row["agent"], mean, row[f"{name}_low"], row[f"{name}_high"])


def ranked(problems: list[dict[str, Any]], measure: str = "policy") -> list[list[Cell]]:
    """Return, for each agent, what it did on every problem.

    An agent is behind on a problem if its interval lies wholly below that of the agent with the largest
    mean. Agents that are less often behind come first, of equals the one with the larger mean.
    """
    rows: dict[str, list[Cell]] = {}
    for found in problems:
        cells = [found_by(row, measure) for row in found["agents"]]
        best = max(cells, key=lambda cell: cell.mean)
        for cell in cells:
            rows.setdefault(cell.agent, []).append(cell._replace(behind=cell.high < best.low))
    return sorted(
        rows.values(),
        key=lambda cells: (sum(cell.behind for cell in cells), -sum(cell.mean for cell in cells)),
    )


def gains_table() -> str:
    """Return the relative gains of the final policies of the committed comparison."""
    return table(_problems(), "policy")


def followed_table() -> str:
    """Return what the same policies earn when followed from where learning left them."""
    return table(_problems(), "followed")


def earnings_table() -> str:
    """Return what agents earned on the way, each with the options that earn most."""
    return table(_problems(), "earned")


def table(problems: list[dict[str, Any]], measure: str = "policy") -> str:
    """Return a measure in Markdown: a row for each agent, those first that are least often behind.

    >>> def row(agent, gain):
    ...     return {"agent": agent, "relative_gain": gain, "relative_low": gain, "relative_high": gain}
    >>> print(table([{"name": "jobs", "agents": [row("harmonic_r", 0.9), row("smart", 1.0)]}]))
    | | [jobs](reference/problems.md#sojourn.problems.jobs) | *mean* | *behind* |
    |---|---:|---:|---:|
    | [SMART](reference/agents.md#sojourn.smart) | **1.00** | 1.00 | 0 |
    | [Harmonic R-Learning](reference/agents.md#sojourn.harmonic_r) | 0.90 | 0.90 | 1 |
    """
    lines = _head(problems, ["*mean*", "*behind*"])
    for cells in ranked(problems, measure):
        shown = [f"{cell.mean:.2f}" if cell.behind else f"**{cell.mean:.2f}**" for cell in cells]
        mean = sum(cell.mean for cell in cells) / len(cells)
        lines.append(
            _line([_agent(cells[0].agent), *shown, f"{mean:.2f}", str(sum(cell.behind for cell in cells))])
        )
    return "\n".join(lines)


def options_table() -> str:
    """Return the options that were chosen for the final policy; a star marks the edge of what was tried."""
    problems = _problems()
    lines = _head(problems, [])
    for cells in ranked(problems):
        rows = [next(row for row in found["agents"] if row["agent"] == cells[0].agent) for found in problems]
        if rows[0]["options"]:
            lines.append(_line([_agent(cells[0].agent), *map(_options, rows)]))
    return "\n".join(lines)


def planner_table() -> str:
    """Return the planner beside the best tuned agent without a model: final policy, and earned on the way."""
    lines = [
        _line(
            ["", "final policy: planner", "best without a model", "earned: planner", "best without a model"]
        ),
        "|---|---:|---:|---:|---:|",
    ]
    for found in _problems():
        line = [_problem(found)]
        for measure in ("policy", "earned"):
            cells = {row["agent"]: found_by(row, measure) for row in found["agents"]}
            best = max(
                (cell for cell in cells.values() if cell.agent not in WITH_MODEL), key=lambda cell: cell.mean
            )
            line += [_interval(cells["planner"]), f"{_interval(best)}<br>{title(best.agent)}"]
        lines.append(_line(line))
    return "\n".join(lines)


def _interval(cell: Cell) -> str:
    return f"{cell.mean:.3f} ({cell.low:.3f} to {cell.high:.3f})"


def _options(row: dict[str, Any]) -> str:
    shown = {
        name: f"{x:,.0f}" if x > 99.0 else f"{x:.2g}".removeprefix("0") or "0"
        for name, x in row["options"].items()
    }
    return "<br>".join(f"{x}{'*' if name in row['edges'] else ''}" for name, x in shown.items())


def _problems() -> list[dict[str, Any]]:
    return json.loads(COMPARISON.read_text(encoding="utf-8"))["problems"]  # type: ignore[no-any-return]


def _head(problems: list[dict[str, Any]], more: list[str]) -> list[str]:
    return [_line(["", *map(_problem, problems), *more]), f"|---|{'---:|' * (len(problems) + len(more))}"]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells).strip() + " |" if cells[0] else "| | " + " | ".join(cells[1:]) + " |"


def _problem(found: dict[str, Any]) -> str:
    return f"[{found['name']}](reference/problems.md#sojourn.problems.{found['name'].replace('-', '_')})"


def _agent(name: str) -> str:
    return f"[{title(name)}](reference/agents.md#{public_name('agents', AGENTS[name].kind)})"
