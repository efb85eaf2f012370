"""Names, colours, dashes and markers: one table for the page and for the figures.

Agents and estimators that users add bring their own titles and looks in their entries (`agents.catalogue`,
`rates.catalogue`). A look is three indices: into the palette, the dashes and the markers. The palette is that of
Okabe and Ito, which colour-blind readers can distinguish. Lines also differ in dash and marker, so that they can be
distinguished in black and white. On the page the colours are slightly darker on a light background and brighter on a
dark one, so that thin lines remain visible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sojourn.agents.catalogue import AGENTS, NamedAgent
from sojourn.rates.catalogue import ESTIMATORS


class Look(NamedTuple):
    """How a series is drawn: indices of its colour, dash and marker; None for no marker."""

    colour: int = 0
    dash: int = 0
    marker: int | None = 0

    def bare(self) -> Look:
        """Return this look without its marker."""
        return self._replace(marker=None)


class Colour(NamedTuple):
    """A colour on paper, on a light screen and on a dark one."""

    paper: str
    light: str
    dark: str


BLACK, RED, BLUE, ORANGE, GREEN, GREY, PINK, SKY = range(8)
PALETTE = (
    Colour("#000000", "#111111", "#f2f2f0"),
    Colour("#D55E00", "#c94f00", "#f08c4a"),
    Colour("#0072B2", "#0072b2", "#58aee6"),
    Colour("#E69F00", "#c98600", "#f0bc4c"),
    Colour("#009E73", "#008a64", "#35c79c"),
    Colour("#7F7F7F", "#7a7a7a", "#a3a3a3"),
    Colour("#CC79A7", "#b85c92", "#e3a0c6"),
    Colour("#56B4E9", "#3a9bd6", "#93cff5"),
)
AREAS = (BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY, BLACK)  # the order for filled areas
# Strokes and gaps, in units of a line two points wide: solid, dashed, dash-dotted, dotted.
DASHES: tuple[tuple[int, ...], ...] = ((), (7, 4), (9, 3, 2, 3), (2, 3))
# Circle, square, triangle up, diamond, triangle down, cross, plus; as matplotlib calls them.
MARKERS = ("o", "s", "^", "D", "v", "x", "+")

# RGB stops of heatmaps, from the lowest number to the highest; a white middle would glare on a dark screen.
GRADIENTS = {
    "sequential": ((0, 32, 76), (59, 73, 107), (115, 115, 117), (172, 160, 110), (234, 209, 84)),
    "diverging": ((178, 70, 10), (233, 163, 110), (245, 243, 238), (125, 180, 216), (8, 84, 140)),
    "diverging, dark": ((240, 140, 74), (150, 86, 44), (48, 51, 57), (45, 98, 140), (88, 174, 230)),
}


AGENT_TITLES = {
    "smart": "SMART",
    "relaxed_smart": "Relaxed-SMART",
    "relaxed_smart_gosavi": "Relaxed-SMART (Gosavi)",
    "harmonic_r": "Harmonic R-Learning",
    "weighted_harmonic_r": "Weighted Harmonic",
    "harmonic_r_centred": "Harmonic R-Learning, centred",
    "r_learning": "R-Learning",
    "r_learning_as_printed": "R-Learning (durations ignored)",
    "differential_q": "Differential Q-learning",
    "smdp_q_learning": "SMDP Q-learning",
    "fixed_rate": "rate fixed at 0",
    "rvi_q": "RVI Q-learning",
    "red_cvar": "RED CVaR Q-learning",
    "planner": "planner",
    "tsde": "TSDE",
    "ucrl_smdp": "UCRL-SMDP",
    "ct_ucrl": "CT-UCRL",
    "h_learning": "H-learning",
    "greedy_bandit": "greedy bandit",
    "ucb_bandit": "UCB bandit",
    "renewal": "renewal decisions",
    "tile_renewal": "renewal decisions with tiles",
    "tile_q": "Q-learning with tiles",
    "tile_sarsa": "Sarsa with tiles",
    "oracle": "the optimal policy",
    "random_agent": "random actions",
}
AGENT_LOOKS = {
    "smart": Look(1, 1, 1),
    "relaxed_smart": Look(2, 2, 2),
    "relaxed_smart_gosavi": Look(6, 2, 6),
    "harmonic_r": Look(0, 0, 0),
    "weighted_harmonic_r": Look(5, 0, 5),
    "harmonic_r_centred": Look(0, 2, 3),
    "r_learning": Look(4, 1, 4),
    "r_learning_as_printed": Look(4, 2, 5),
    "differential_q": Look(7, 3, 1),
    "smdp_q_learning": Look(4, 0, 3),
    "fixed_rate": Look(3, 3, 3),
    "rvi_q": Look(7, 1, 2),
    "planner": Look(1, 0, 3),
    "h_learning": Look(6, 3, 0),
    "greedy_bandit": Look(5, 1, 5),
    "ucb_bandit": Look(5, 3, 6),
}
ESTIMATOR_LOOKS = {
    "Cumulative": AGENT_LOOKS["smart"],
    "SmoothedCumulative": AGENT_LOOKS["relaxed_smart_gosavi"],
    "Exponential": AGENT_LOOKS["relaxed_smart"],
    "Harmonic": AGENT_LOOKS["harmonic_r"],
    "CumulativeHarmonic": Look(0, 1, 6),
    "WeightedHarmonic": AGENT_LOOKS["weighted_harmonic_r"],
    "CumulativeWeightedHarmonic": Look(5, 1, 1),
    "TimeSmoothed": Look(2, 3, 4),
    "AdaptiveRatio": Look(4, 0, 3),
    "ClippedExponential": Look(7, 2, 2),
    "TimeForgetting": Look(7, 3, 4),
    "MeanOfRates": Look(1, 3, 5),
    "PowerMean": Look(1, 2, 2),
    "Incremental": AGENT_LOOKS["r_learning"],
    "Fixed": AGENT_LOOKS["fixed_rate"],
}


def title(agent: str | NamedAgent) -> str:
    """Return an agent's display name, given its name or its entry; a user's label is kept.

    >>> title("smart"), title("harmonic-r"), title("my agent")
    ('SMART', 'Harmonic R-Learning', 'my agent')
    """
    known = AGENTS.get(_key(agent)) if isinstance(agent, str) else agent
    if known is None:
        return str(agent)
    return known.title or AGENT_TITLES.get(known.name) or AGENT_TITLES.get(known.constructor_name, known.name)


def look(agent: str) -> Look | None:
    """Return the look that an agent has in all charts, or None if none is assigned."""
    known = AGENTS.get(_key(agent))
    return Look(*known.look) if known and known.look else AGENT_LOOKS.get(_key(agent))


def looks(agents: Iterable[str]) -> dict[str, Look]:
    """Return a look for each agent; agents without an assigned look get a free one.

    >>> looks(["smart", "mine"])
    {'smart': Look(colour=1, dash=1, marker=1), 'mine': Look(colour=0, dash=0, marker=0)}
    """
    return _distinct({agent: look(agent) for agent in agents})


def estimator_looks(estimators: Iterable[str]) -> dict[str, Look]:
    """Return a look for each estimator of the rate; those without an assigned look get a free one.

    >>> estimator_looks(["Cumulative"]) == {"Cumulative": look("smart")}
    True
    """
    own = {one.name: Look(*one.look) for one in ESTIMATORS.values() if one.look}
    return _distinct({name: own.get(name) or ESTIMATOR_LOOKS.get(name) for name in estimators})


def plain(place: int) -> Look:
    """Return the look of the n-th series, for series that are not agents.

    The first 32 differ in colour or dash.

    >>> len({plain(place)[:2] for place in range(32)})
    32
    """
    return Look(place % 8, (place + place // 8) % 4, place % 7)


def _key(agent: str) -> str:
    """Return an agent's name in the catalogue, given its name in a file or a command."""
    known = (one.name for one in AGENTS.values() if one.options and agent == _called(one))
    return next(known, agent.replace("-", "_"))


def _called(agent: NamedAgent) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in agent.options.items())
    return f"{agent.kind}({options})"


def _distinct(known: dict[str, Look | None]) -> dict[str, Look]:
    taken = set(known.values())
    free = (one for one in map(plain, range(10_000)) if one not in taken)
    return {name: own or next(free) for name, own in known.items()}
