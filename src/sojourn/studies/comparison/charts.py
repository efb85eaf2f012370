"""The charts of a comparison: how the policies improve along the steps, and what they are worth in the end."""

from __future__ import annotations

from sojourn.report.blocks import Chart
from sojourn.report.words import looks
from sojourn.studies.comparison.record import Problem


def learning(found: Problem, points: int) -> Chart:
    """Return the relative gain of each agent's policy over the steps, with at most so many points."""
    styles = looks(row.agent for row in found.agents)
    names = {row.agent: row.name for row in found.agents}
    total = sum(len(curve.step) for curve in found.curves)
    every = max(1, -(-total // max(1, points)))
    series = []
    for curve in found.curves:
        last = len(curve.step) - 1
        chosen = [i for i in range(len(curve.step)) if i % every == 0 or i == last]
        series.append(
            {
                "name": names[curve.agent],
                "x": [curve.step[i] for i in chosen],
                "y": [curve.relative_gain[i] for i in chosen],
                "low": [curve.low[i] for i in chosen],
                "high": [curve.high[i] for i in chosen],
                **styles[curve.agent],
            }
        )
    spec = {
        "type": "lines",
        "x": {"label": "steps", "log": True},
        "y": {"label": "relative gain of the greedy policy"},
        "series": series,
    }
    return Chart(f"Learning: {found.name}", spec, "Mean over the runs, and its 95 % interval.")


def outcomes(found: Problem) -> Chart:
    """Return the relative gain of each agent's policy in the end, with its interval."""
    styles = looks(row.agent for row in found.agents)
    rows = [
        {
            "name": row.name,
            "value": row.relative_gain,
            "low": row.relative_low,
            "high": row.relative_high,
            "colour": styles[row.agent]["colour"],
            "marker": styles[row.agent]["marker"],
        }
        for row in found.agents
    ]
    spec = {
        "type": "whiskers",
        "x": {"label": "relative gain in the end, 95 % interval", "short": "relative gain"},
        "rows": rows,
        "reference": {"x": 1.0},
        "interval": "95 % interval",
    }
    return Chart(f"In the end: {found.name}", spec, "The dotted line is the best gain there is.")
