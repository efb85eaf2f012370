"""The charts of the study: what each agent reached, and how that changes with other rates."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.answers.observations.judge import Observations, Outcome, agent_title
from sojourn.report.charts import Axis, Sheet, Whisker, Whiskers
from sojourn.report.looks import Look, plain

_LEAST = -1.0  # relative gain: one run that has learned nothing would squeeze all others into a corner
_NOTE = "The dotted line is the best possible gain; for the fleet, it is what the best threshold rule earns."


def gains(found: Observations) -> Whiskers:
    """Return the relative gain of each agent on each problem."""
    agents = list(dict.fromkeys(one.agent for one in found.first))
    return Whiskers(
        "Policies after learning",
        Axis("relative gain, 95 % interval", short="relative gain"),
        [
            _whisker(f"{one.problem}, {agent_title(one.agent)}", plain(agents.index(one.agent)), one)
            for one in found.first
        ],
        interval="95 % interval",
        reference=1.0,
        note=_NOTE + _told(found.first),
    )


def rates(found: Observations, problem: str, agent: str) -> Whiskers:
    """Return the relative gain of one agent on one problem with each way to get the rate."""
    varied = found.varied(problem, agent)
    return Whiskers(
        f"{problem}, {agent_title(agent)}",
        Axis("relative gain, 95 % interval", short="relative gain"),
        [_whisker(one.variant, plain(place), one) for place, one in enumerate(varied)],
        interval="95 % interval",
        reference=1.0,
        note="The dotted line is the best possible gain." + _told(varied),
    )


def _whisker(name: str, look: Look, one: Outcome) -> Whisker:
    return Whisker(name, look, *(max(_LEAST, gain) for gain in (one.relative_gain, one.low, one.high)))


def _told(shown: Sequence[Outcome]) -> str:
    return f" What is below {_LEAST:g} is drawn there." if any(one.low < _LEAST for one in shown) else ""


def sheets(found: Observations) -> dict[str, Sheet]:
    """Return the figures by their names; there is one of the rates only if they were run."""
    drawn = {"gains": Sheet([[gains(found)]], (6.5, 1.2 + 0.28 * len(found.first)))}
    panels = [rates(found, problem, agent) for problem, agent in found.pairs]
    if panels:
        rows = [panels[start : start + 2] for start in range(0, len(panels), 2)]
        named = [[row[0], *(_nameless(panel) for panel in row[1:])] for row in rows]
        drawn["rates"] = Sheet(named, (8.5, 2.6 * len(rows)))
    return drawn


def _nameless(panel: Whiskers) -> Whiskers:
    """Return a panel without the names of its rows, which the panel on its left already shows."""
    return panel._replace(rows=[row._replace(name="") for row in panel.rows])
