"""The chart of a log: what was earned, and what other policies would earn."""

from __future__ import annotations

from sojourn.report.charts import Axis, Whisker, Whiskers
from sojourn.report.looks import BLUE, GREEN, GREY, ORANGE, Look
from sojourn.studies.log.answer import Logged


def rates(found: Logged) -> Whiskers:
    """Return what the log earned, what the advice would earn with its lower limit, and what a given policy would earn."""
    rows = [
        Whisker("what was done", Look(GREY), found.behaviour.rate, found.behaviour.low, found.behaviour.high)
    ]
    if not found.kept:
        rows.append(Whisker("the advice", Look(GREEN), found.gain, found.low, found.gain))
    for name, colour, one in (
        ("the given policy", BLUE, found.evaluation),
        ("the same, without a model", ORANGE, found.weighted),
    ):
        if one is not None:
            rows.append(Whisker(name, Look(colour), one.rate, one.low, one.high))
    return Whiskers(
        f"Reward per unit time: {found.name}",
        Axis("reward per unit time"),
        rows,
        interval=f"{100.0 * found.level:g} % interval",
        reference=found.behaviour.rate,
        note="The advice has only a lower limit, which allows for the policy having been chosen on the same rows.",
    )
