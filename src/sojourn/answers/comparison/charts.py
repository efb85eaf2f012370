"""The charts of a comparison: how the policies improve over the steps, and what they are worth at the end."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.answers.audit.charts import on_paper, paper_title
from sojourn.answers.comparison.record import Problem
from sojourn.report.charts import Axis, Colours, Heatmap, Labels, Lines, Series, Sheet, Whisker, Whiskers
from sojourn.report.looks import looks

_COLUMNS = 3  # problems side by side in a figure


def learning(found: Problem, points: int, over: str = "steps") -> Lines:
    """Return the relative gain of each agent's policy over the steps, or over time, with about `points` points in all."""
    styles = looks(row.agent for row in found.agents)
    names = {row.agent: row.name for row in found.agents}
    total = sum(len(curve.step) for curve in found.curves)
    every = max(1, -(-total // max(1, points)))
    series = []
    for curve in found.curves:
        last = len(curve.step) - 1
        chosen = [place for place in range(last + 1) if place % every == 0 or place == last]
        series.append(
            Series(
                names[curve.agent],
                styles[curve.agent],
                [curve.step[place] for place in chosen],
                [curve.relative_gain[place] for place in chosen],
                low=[curve.low[place] for place in chosen],
                high=[curve.high[place] for place in chosen],
            )
        )
    return Lines(
        f"Learning: {found.name}",
        Axis(over, log=True),
        Axis("relative gain of the greedy policy"),
        series,
        note="Mean over the runs, and its 95 % interval.",
    )


def outcomes(found: Problem) -> Whiskers:
    """Return the relative gain of each agent's final policy, with its interval."""
    styles = looks(row.agent for row in found.agents)
    return Whiskers(
        f"At the end: {found.name}",
        Axis("relative gain at the end, 95 % interval", short="relative gain"),
        [
            Whisker(row.name, styles[row.agent], row.relative_gain, row.relative_low, row.relative_high)
            for row in found.agents
        ],
        interval="95 % interval",
        reference=1.0,
        note="The dotted line is the best possible gain.",
    )


def earnings(found: Problem) -> Whiskers:
    """Return what each agent earned on the way with the options that earn most, with its interval."""
    styles = looks(row.agent for row in found.agents)
    return Whiskers(
        f"On the way: {found.name}",
        Axis("earned on the way, relative to the optimum, 95 % interval", short="earned"),
        [
            Whisker(row.name, styles[row.agent], row.earning.earned, row.earning.low, row.earning.high)
            for row in found.agents
        ],
        interval="95 % interval",
        reference=1.0,
        note="The dotted line is what the best policy earns in the long run.",
    )


def overview(problems: Sequence[Problem]) -> Heatmap:
    """Return the relative gain of each agent's final policy on each problem."""
    names = {row.agent: row.name for found in problems for row in found.agents}
    gains = [{row.agent: row.relative_gain for row in found.agents} for found in problems]
    values = [[row.get(agent) for row in gains] for agent in names]
    return Heatmap(
        "Relative gain at the end, mean over the runs",
        Labels("problem", [found.name for found in problems]),
        Labels("agent", list(names.values())),
        Colours("relative gain", 0.0, 1.0),
        values,
        labels=[["" if one is None else f"{one:.2f}" for one in row] for row in values],
    )


def sheet(found: Problem, over: str = "steps") -> Sheet:
    """Return the figure of one problem: learning on the left, the audit on the right."""
    points = sum(len(curve.step) for curve in found.curves)
    titles = ["what the policies are worth", paper_title(found.audit)]
    return Sheet([[learning(found, points, over), on_paper(found.audit)]], (8.5, 4.8), titles=[titles])


def outcomes_sheet(problems: Sequence[Problem]) -> Sheet:
    """Return the final policies on all problems; the agents' names are only at the left of each row."""
    return _whiskers([outcomes(found)._replace(x=Axis("relative gain")) for found in problems], problems)


def earned_sheet(problems: Sequence[Problem]) -> Sheet:
    """Return what was earned on the way on all problems, in the same form."""
    return _whiskers([earnings(found)._replace(x=Axis("earned")) for found in problems], problems)


def _whiskers(panels: Sequence[Whiskers], problems: Sequence[Problem]) -> Sheet:
    agents = max(len(panel.rows) for panel in panels)
    firsts = range(0, len(problems), _COLUMNS)
    width = min(_COLUMNS, len(problems))
    return Sheet(
        [
            [
                _nameless(panel) if place else panel
                for place, panel in enumerate(panels[first : first + _COLUMNS])
            ]
            for first in firsts
        ],
        (2.0 + 1.7 * width, (0.7 + 0.16 * agents) * len(firsts)),
        titles=[[found.name for found in problems[first : first + _COLUMNS]] for first in firsts],
        outer_labels=True,
    )


def _nameless(panel: Whiskers) -> Whiskers:
    return panel._replace(rows=[row._replace(name="") for row in panel.rows])
