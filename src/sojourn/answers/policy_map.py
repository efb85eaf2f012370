"""Pictures of a policy: a map if states are pairs of numbers, several maps if they have a third part, otherwise bars.

A map has a cell for each state, in the colour of its action. Bars are the states' shares of time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from sojourn.report.charts import Axis, Labels, Lines, Regions, Series, Sheet
from sojourn.report.looks import AREAS, Look
from sojourn.report.words import counted, number

Part: TypeAlias = float | str  # parts of a state
Place: TypeAlias = tuple[Part, ...]

_MOST_CELLS = 1_000_000  # cells of a map
_MOST_MAPS = 9
_FEW = 12  # states, whose bars are far apart
_MOST_NAMES = len(AREAS)  # actions with a colour of their own
_REST = "others"


class Drawn(NamedTuple):
    """A policy in the form for drawing: each state's parts, if any, its action, and optionally its share of time."""

    name: str
    places: Sequence[Place] | None
    axes: Sequence[str]  # names of the parts
    actions: Sequence[str]
    order: Sequence[str]  # all actions of the model
    shares: Sequence[float] | None


def as_part(value: object) -> Part:
    """Return a part of a state for drawing and for files: a finite number, or a string.

    >>> as_part(2), as_part("up"), as_part(True), as_part(math.inf)
    (2, 'up', 'True', 'inf')
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    return str(value)


def maps(drawn: Drawn) -> list[Regions]:
    """Return the maps of a policy; none unless its states are pairs of numbers, or such pairs with a third part.

    >>> found = maps(Drawn("two queues", [(0, 0), (1, 0), (0, 1)], ("i", "j"), ["a", "a", "b"], ["a", "b"], None))
    >>> found[0].values, found[0].names  # the first row is at the bottom
    ([[0, 0], [1, None]], ['a', 'b'])
    """
    places = drawn.places
    if not places or len(set(places)) < len(places) or len(places[0]) not in (2, 3):
        return []
    values = [_in_order(part) for part in zip(*places, strict=True)]
    words = [at for at, known in enumerate(values) if any(isinstance(one, str) for one in known)]
    if len(words) > len(values) - 2:
        return []
    # Facet by the part that is no number or, failing that, the part with the fewest values, the last of several.
    apart = (
        -1
        if len(values) == 2
        else words[0]
        if words
        else min(range(3), key=lambda at: (len(values[at]), -at))
    )
    x, y = (at for at in range(len(values)) if at != apart)
    if len(values[x]) * len(values[y]) > _MOST_CELLS or min(len(values[x]), len(values[y])) < 2:
        return []
    names, colours, groups = _names(drawn)
    columns, rows = ({value: at for at, value in enumerate(values[axis])} for axis in (x, y))
    chosen = [None] if apart < 0 else _spread(values[apart])
    found = []
    for one in chosen:
        cells: list[list[int | None]] = [[None] * len(columns) for _ in rows]
        for place, action in zip(places, drawn.actions, strict=True):
            if one is None or place[apart] == one:
                cells[rows[place[y]]][columns[place[x]]] = groups[action]
        where = "" if one is None else f", {drawn.axes[apart]} = {_word(one)}"
        found.append(
            Regions(
                f"{_title(drawn)}{where}",
                Labels(drawn.axes[x], values[x]),
                Labels(drawn.axes[y], values[y]),
                names,
                colours,
                cells,
                "action",
                "Each cell is a state, in the colour of the action taken there.",
            )
        )
    left = 0 if apart < 0 else len(values[apart]) - len(chosen)
    if left:
        more = f" Not shown: {counted(left, 'further value')} of {drawn.axes[apart]}."
        found[-1] = found[-1]._replace(note=found[-1].note + more)
    return found


def bars(drawn: Drawn, points: int) -> Lines | None:
    """Return bars of each state's share of time, in the colour of its action; None if the shares are not known."""
    if drawn.shares is None:
        return None
    xs: Sequence[float] = range(len(drawn.actions))
    ends = (
        (-0.5, len(xs) - 0.5) if len(xs) <= _FEW else (None, None)
    )  # room beside the first and the last bar
    axis = Axis("state, by its number", ends=ends, short="state", whole=True)
    if (
        drawn.places
        and len(drawn.places[0]) == 1
        and all(isinstance(one, int | float) for (one,) in drawn.places)
    ):
        xs, axis = [float(one) for (one,) in drawn.places], Axis(drawn.axes[0])
    names, colours, groups = _names(drawn)
    # Of many states, show those where the most time is spent.
    most = sorted(sorted(range(len(xs)), key=lambda state: -drawn.shares[state])[:points])  # type: ignore[index] # shares are known
    series = []
    for at, (name, colour) in enumerate(zip(names, colours, strict=True)):
        own = [state for state in most if groups[drawn.actions[state]] == at]
        shares = [drawn.shares[state] for state in own]
        if own:
            look = Look(colour, marker=None)
            series.append(
                Series(
                    name, look, [xs[state] for state in own], shares, [0.0] * len(own), shares, kind="bars"
                )
            )
    left = len(xs) - len(most)
    note = (
        "Each bar is a state: how much of the time is spent there, in the colour of the action taken there."
    )
    note += f" Not shown: {counted(left, 'state')} in which less time is spent." if left else ""
    return Lines(
        "Share of time in each state, and the action taken there" + (f": {drawn.name}" if drawn.name else ""),
        axis, Axis("share of time", ends=(0.0, None)), series, note=note,
    )  # fmt: skip


def sheet(drawn: Drawn, points: int = 500) -> Sheet | None:
    """Return the figure of a policy: its maps, or its bars; None if there is nothing to draw."""
    found = maps(drawn)
    if not found:
        line = bars(drawn, points)
        return None if line is None else Sheet([[line]], (7.0, 3.6))
    if len(found) == 1:
        across, up = len(found[0].x.values), len(found[0].y.values)
        return Sheet([found], (6.0, min(max(6.0 * up / across, 2.2), 6.0) + 0.6))
    rows = [found[at : at + 3] for at in range(0, len(found), 3)]
    titles = [[each.title.rpartition(", ")[2] for each in row] for row in rows]
    return Sheet(rows, (8.0, 2.6 * len(rows) + 0.8), title=_title(drawn), titles=titles)


def _title(drawn: Drawn) -> str:
    return f"The policy: {drawn.name}" if drawn.name else "The policy"


def _names(drawn: Drawn) -> tuple[list[str], list[int], dict[str, int]]:
    """Return the names of the colours, the colours, and each action's colour.

    If there are too many actions, neighbouring numbers share a colour; otherwise the rarest actions do.
    """
    counts = Counter(drawn.actions)
    known = [
        *(one for one in drawn.order if one in counts),
        *(one for one in counts if one not in set(drawn.order)),
    ]
    if len(known) <= _MOST_NAMES:
        return known, list(AREAS[: len(known)]), {one: at for at, one in enumerate(known)}
    if all(map(_is_number, known)):
        known.sort(key=float)
        size = math.ceil(len(known) / _MOST_NAMES)
        parts = [known[at : at + size] for at in range(0, len(known), size)]
        names = [part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
        return names, list(AREAS[: len(parts)]), {one: at for at, part in enumerate(parts) for one in part}
    first = [one for one, _ in counts.most_common(_MOST_NAMES - 1)]
    own = [one for one in known if one in first]
    groups = {one: own.index(one) if one in first else len(own) for one in known}
    return [*own, _REST], list(AREAS[: len(own) + 1]), groups


def _in_order(part: Sequence[Part]) -> list[Part]:
    """Return the distinct values of a part: numbers by size, and words in order of appearance."""
    known = list(dict.fromkeys(part))
    return sorted(known) if all(isinstance(one, int | float) for one in known) else known


def _spread(values: Sequence[Part]) -> list[Part | None]:
    """Return all values or, if there are more than maps allowed, an evenly spread selection."""
    if len(values) <= _MOST_MAPS:
        return list(values)
    return [values[round(at * (len(values) - 1) / (_MOST_MAPS - 1))] for at in range(_MOST_MAPS)]


def _word(part: Part) -> str:
    return part if isinstance(part, str) else number(part, 6)


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False
