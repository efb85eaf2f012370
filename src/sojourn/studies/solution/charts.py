"""The chart of a solution: the bias of each state, and the action that is taken there."""

from __future__ import annotations

from sojourn.report.charts import Axis, Lines, Series
from sojourn.report.looks import plain
from sojourn.report.words import counted
from sojourn.studies.solution.answer import Solved

MARKS_SHOWN = 2000  # more would slow the page down
ACTIONS_SHOWN = 16  # with a series of their own


def bias(found: Solved, values: tuple[float, ...], points: int) -> Lines:
    """Return the bias over the states, with a mark for each action; if there are many states, only some are shown."""
    every = -(-len(values) // min(points, MARKS_SHOWN))
    by_action: dict[str, list[int]] = {}
    for state in range(0, len(values), every):
        by_action.setdefault(found.action_name(state), []).append(state)
    series = [
        Series(f"action {action}", plain(place), states, [values[state] for state in states], kind="points")
        for place, (action, states) in enumerate(by_action.items())
        if place < ACTIONS_SHOWN
    ]
    left = len(by_action) - len(series)
    note = "Bias: what starting in a state is worth in addition to the gain, relative to other states."
    if every > 1:
        note += f" One state in {every} is shown."
    if left:
        note += f" Not shown: the states of {counted(left, 'further action')}."
    return Lines(
        f"Bias of each state, and the action taken there: {found.name}",
        Axis("state, by its number", short="state", whole=True),
        Axis("bias"),
        series,
        note=note,
    )
