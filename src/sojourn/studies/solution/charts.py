"""The chart of a solution: the bias of each state, and the action that is taken there."""

from __future__ import annotations

from sojourn.report.blocks import Chart
from sojourn.report.words import counted, plain_look
from sojourn.studies.solution.answer import Solved

MARKS_SHOWN = 2000  # more would slow the page down
ACTIONS_SHOWN = 16  # with a series of their own


def bias(found: Solved, values: tuple[float, ...], points: int) -> Chart:
    """Return the bias over the states, with a mark for each action; of many states every so-many-th is shown."""
    every = -(-len(values) // min(points, MARKS_SHOWN))
    chosen = range(0, len(values), every)
    kinds = list(dict.fromkeys(found.action_name(state) for state in chosen))
    series = []
    for place, kind in enumerate(kinds[:ACTIONS_SHOWN]):
        colour, dash, marker = plain_look(place)
        where = [state for state in chosen if found.action_name(state) == kind]
        series.append(
            {
                "name": f"action {kind}",
                "x": where,
                "y": [values[state] for state in where],
                "points": True,
                "colour": colour,
                "dash": dash,
                "marker": marker,
            }
        )
    left = len(kinds) - len(series)
    note = "Bias: what a start in a state is worth beside the gain, relative to other states."
    if every > 1:
        note += f" One state of {every} is shown."
    if left:
        note += f" States of {counted(left, 'further action')} are not shown."
    spec = {
        "type": "lines",
        "x": {"label": "state, by its number", "short": "state", "whole": True},
        "y": {"label": "bias"},
        "series": series,
    }
    return Chart(f"Bias of each state, and the action taken there: {found.name}", spec, note)
