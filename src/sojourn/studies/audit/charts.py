"""The charts of an audit: F and the gain of the greedy policy over the rate, with the limit of each estimator."""

from __future__ import annotations

from typing import Any

from sojourn.report.blocks import Chart, Charts
from sojourn.report.words import looks
from sojourn.studies.audit.answer import Audited


def charts(found: Audited) -> Charts:
    """Return F over the rate with each estimator's limit, and the gain of what is greedy there."""
    return Charts(
        [
            Chart(
                f"Value of the best policy at each rate: {found.name}",
                _spec(found, "value", "F(rate), reward per step", "F(rate)", steps=False),
                "F is the largest mean of reward less rate times duration in a step; it is 0 at the best gain. "
                "Vertical lines are the estimators' limits.",
            ),
            Chart(
                f"What the greedy policy earns at each rate: {found.name}",
                _spec(found, "gain", "gain", "gain of the greedy policy", steps=True),
                "Where the line is at its top, a wrong rate does no harm.",
            ),
        ]
    )


def _spec(found: Audited, key: str, label: str, name: str, *, steps: bool) -> dict[str, Any]:
    groups = [group for group in found.groups() if group[0].rate is not None]
    agents = [next((agent for one in group for agent in one.agents), group[0].estimator) for group in groups]
    styles = looks(agents)
    limits = [
        {"name": ", ".join(one.estimator for one in group), "vertical": group[0].rate, **styles[agent]}
        for group, agent in zip(groups, agents, strict=True)
    ]
    curve = {
        "name": name,
        "x": list(found.frontier.rate),
        "y": list(getattr(found.frontier, key)),
        "colour": 5,
        "dash": 0,
        "step": steps,
    }
    span = {"label": "an optimal policy is greedy", "colour": 7, "from": found.low, "to": found.high}
    return {
        "type": "lines",
        "x": {"label": "rate (reward per unit time)", "short": "rate"},
        "y": {"label": label},
        "series": [curve, *limits],
        "spans": [span],
    }
