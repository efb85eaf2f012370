"""The runs: thirty log-scales, twenty step sizes by twenty rate step sizes, seven agents.

There are four episodes of a thousand steps, with exploration 0.2. The paper calls a run a *success* if its
greedy action in state 0 is B at the end. A seed determines the exploration and the noise of all cells.

Besides the paper's three agents there are controls, above all `fixed_rate`, which takes the rate to be 0
and never learns it. Besides success, the study measures what each action *earned* on the steps that agents saw.
"""

from __future__ import annotations

import math

from sojourn.report import looks
from sojourn.runs.spec import Entry, Sweep, spaced

ACTION_B = 1
LOG_SCALES = spaced("logspace", 1e-5, 1e-1, 30)
STEP_SIZES = spaced("logspace", 1e-4, 1e-1, 20)
EXPLORATION = 0.2
TIES = "lowest"  # as in the paper

HARMONIC, CONTROL = "harmonic_r", "fixed_rate"
PAPER = ("smart", "relaxed_smart", HARMONIC)
AGENTS = (*PAPER, CONTROL, "r_learning", "weighted_harmonic_r", "relaxed_smart_gosavi")
NAMES = {agent: looks.title(agent) for agent in AGENTS}

DRIFTING = 1e-3  # log-scale at which B's drift is shown
CROSSING = (1e-3, 3e-3, 5e-4)  # log-scales at which both actions' rates are shown
MAPPED = (1e-4, 1e-3, 3e-3)  # log-scales at which success is shown over both step sizes
COARSE_SIZES = spaced("logspace", 1e-4, 1e-1, 8)  # step sizes of the sensitivity runs
COARSE_SCALES = LOG_SCALES[1::4]


def specification(seeds: int, steps: int = 1000, episodes: int = 4) -> Sweep:
    """Return the study as a sweep."""
    one: dict[str, float | str | list[float]] = {
        "step_size": STEP_SIZES,
        "exploration": EXPLORATION,
        "ties": TIES,
    }
    two = {**one, "rate_step_size": STEP_SIZES}
    return Sweep(
        name="robustness",
        worlds=[Entry("two_state", {"log_scale": LOG_SCALES})],
        agents=[
            Entry("smart", one),
            Entry("relaxed_smart", two),
            Entry("harmonic_r", two),
            Entry("fixed_rate", one),
            Entry("r_learning", two),
            Entry("weighted_harmonic_r", two),
            Entry("relaxed_smart", {**two, "variant": "gosavi"}, label="relaxed_smart_gosavi"),
        ],
        seeds=list(range(seeds)),
        steps=steps,
        episodes=episodes,
    )


def nearest(log_scale: float) -> int:
    """Return the index of the study's log-scale nearest to a given one.

    >>> round(LOG_SCALES[nearest(1e-3)], 6)
    0.000853
    """
    return min(range(len(LOG_SCALES)), key=lambda place: abs(math.log(LOG_SCALES[place] / log_scale)))
