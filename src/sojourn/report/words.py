"""Numbers and names as a reader wants them, and one look for each agent on the whole page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

EMPTY = "\u2013"  # a dash, where there is no number

AGENTS = {
    "harmonic_r": "Harmonic R-Learning",
    "smart": "SMART",
    "relaxed_smart": "Relaxed-SMART",
    "relaxed_smart_gosavi": "Relaxed-SMART (Gosavi)",
    "relaxed_smart(variant='gosavi')": "Relaxed-SMART (Gosavi)",
    "fixed_rate": "rate fixed at 0",
    "r_learning": "R-Learning",
    "weighted_harmonic_r": "weighted harmonic",
    "differential_q": "differential Q-learning",
    "smdp_q_learning": "SMDP Q-learning",
}
# Colour, dash and marker: numbers that `charts.js` and `page.css` know. No two agents share all three.
LOOKS = {
    "harmonic_r": (0, 0, 0),
    "smart": (1, 1, 1),
    "relaxed_smart": (2, 2, 2),
    "fixed_rate": (3, 3, 3),
    "r_learning": (4, 1, 4),
    "weighted_harmonic_r": (5, 0, 5),
    "relaxed_smart_gosavi": (6, 2, 6),
    "differential_q": (7, 3, 1),
    "smdp_q_learning": (4, 0, 3),
}


def agent_name(agent: str) -> str:
    """Return an agent's name, or the label that a user gave it."""
    return AGENTS.get(agent.replace("-", "_"), agent)


def look(agent: str, place: int = 0) -> dict[str, int]:
    """Return colour, dash and marker of an agent, or of the one at a place among unknown ones."""
    colour, dash, marker = LOOKS.get(agent.replace("-", "_"), plain_look(place))
    return {"colour": colour, "dash": dash, "marker": marker}


def plain_look(place: int) -> tuple[int, int, int]:
    """Return colour, dash and marker of the series at a place; the first 56 differ in their pair.

    >>> len({plain_look(place)[:2] for place in range(32)})
    32
    """
    return place % 8, (place + place // 8) % 4, place % 7


def looks(agents: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return a look for each agent; agents that have none of their own get one that is free."""
    names = list(agents)
    taken = {LOOKS[name.replace("-", "_")] for name in names if name.replace("-", "_") in LOOKS}
    free = (plain_look(place) for place in range(10_000))
    found = {}
    for name in names:
        own = LOOKS.get(name.replace("-", "_")) or next(one for one in free if one not in taken)
        found[name] = dict(zip(("colour", "dash", "marker"), own, strict=True))
    return found


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits.

    >>> number(1234567), number(0.000012345), number(-0.5), number(12345.678)
    ('1,234,567', '1.234e-5', '-0.5', '12,346')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return EMPTY
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size != 0.0 and (size < 1e-4 or size >= 1e7):
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}e{int(exponent)}"
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def several(values: Sequence[Any], shown: int = 8) -> str:
    """Return values in a line, or how many there are and from where to where.

    >>> several([0.1, 0.2]), several(list(range(100)))
    ('0.1, 0.2', '100 values from 0 to 99')
    """
    if len(values) <= shown:
        return ", ".join(setting(one) for one in values)
    return f"{len(values):,} values from {setting(values[0])} to {setting(values[-1])}"


def setting(value: Any) -> str:
    """Return the value of a setting in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{str(key).replace('_', ' ')} {setting(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return several(value)
    return "none" if value is None else str(value)


def sentences(given: Any) -> list[str]:
    """Return a list of texts as it stands in a file; anything else is an error."""
    if not isinstance(given, list):
        raise TypeError(f"a list of sentences is {type(given).__name__}")
    return [str(one) for one in given]


def counted(count: int, thing: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")
