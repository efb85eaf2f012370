"""The runs: every agent on every segment of minute bars, once with each seed.

Minute bars are cut into consecutive segments. On each, every agent starts afresh and runs through
once with each of 30 seeds, for all numbers of remembered directions (`state_size`) and step sizes
of the rate. An agent's *final value* is the reward that its accepted (greedy) steps accumulated
over the segment, averaged over seeds. Harmonic R-Learning *wins* a segment against another
agent if its final value is larger. SMART and the control `fixed_rate`, which takes the rate to
be 0, have no step size of the rate and are compared with all of Harmonic's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sojourn.report import looks
from sojourn.runs.spec import Entry, Sweep
from sojourn.worlds.market.bars import Bars, segments
from sojourn.worlds.market.instruments import SYNTHETIC, instrument

STATE_SIZES = (3, 6, 9, 12)
RATE_STEP_SIZES = (0.01, 0.05, 0.1)
SHOWN_STEP_SIZE = 0.05  # the rate step size in figures that show one
STEP_SIZE = 0.001
EXPLORATION = {"start": 0.2, "factor": 0.999}
TIES = "lowest"  # as in the paper
RULES = ("random", "scaled")  # of durations
POINTS = 1000  # of a curve
LEVEL = 0.05  # of tests

HARMONIC, CONTROL = "harmonic_r", "fixed_rate"
PAPER = ("smart", "relaxed_smart")
OPPONENTS = {agent: looks.title(agent) for agent in (*PAPER, CONTROL)}
NAMES = {HARMONIC: looks.title(HARMONIC), **OPPONENTS}


class Source(NamedTuple):
    """The source of the bars, and how they are cut into segments."""

    data: str = SYNTHETIC
    segment_length: int = 350_000
    fill: int = 0
    repair: bool = False
    by_magnitude: bool = False  # the alternative reading of scaled durations

    def bars(self) -> Bars:
        """Return the bars, which must be minutes."""
        bars = instrument(self.data, self.fill, self.repair)
        if bars.interval != 60:
            raise ValueError(f"the bars of {bars.name} are {bars.interval} s apart; this study needs minutes")
        return bars

    def options(self) -> dict[str, Any]:
        """Return the options of a market on these bars."""
        options: dict[str, Any] = {"data": self.data, "segment_length": float(self.segment_length)}
        if self.fill:
            options["fill"] = float(self.fill)
        return options | ({"repair": "yes"} if self.repair else {})

    @property
    def scaled(self) -> str:
        """The duration rule for scaled durations."""
        return "scaled-magnitude" if self.by_magnitude else "scaled"


def specification(
    source: Source,
    seeds: int,
    state_sizes: tuple[int, ...] = STATE_SIZES,
    chosen: tuple[int, ...] | None = None,
) -> Sweep:
    """Return the study of some or all segments as a sweep."""
    count = len(segments(len(source.bars()), source.segment_length))
    chosen = tuple(range(count)) if chosen is None else chosen
    outside = [number for number in chosen if number >= count]
    if outside:
        raise ValueError(f"there is no segment {outside[0]}; the data has the segments 0 to {count - 1}")
    one: dict[str, Any] = {"step_size": STEP_SIZE, "exploration": EXPLORATION, "ties": TIES}
    two = {**one, "rate_step_size": list(RATE_STEP_SIZES)}
    market = {
        **source.options(),
        "state_size": [float(size) for size in state_sizes],
        "duration": ["random", source.scaled],
        "segment": [float(number) for number in chosen],
    }
    return Sweep(
        name="bitcoin",
        worlds=[Entry("market", market)],
        agents=[
            Entry("smart", one),
            Entry("relaxed_smart", two),
            Entry("harmonic_r", two),
            Entry("fixed_rate", one),
        ],
        seeds=list(range(seeds)),
        record=POINTS,
        spacing="even",
        curves="mean",
        policies=False,
    )
