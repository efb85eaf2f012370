"""The runs: streams that estimators follow, worlds in which agents act, and the paper's family.

Everything is tuned on some seeds and measured on others. Besides the best setting for each stream or world there is a
common setting, the best over all of them on the tuning seeds, which stands for users who cannot tune.
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.rates.catalogue import ESTIMATORS
from sojourn.report import looks
from sojourn.runs.spec import Axes, Entry, Sweep, spaced
from sojourn_paper.robustness.plan import COARSE_SIZES, EXPLORATION, LOG_SCALES, TIES

REFERENCE, ADAPTIVE = "Exponential", "adaptive"
HARMONIC, RIVAL = "harmonic_r", "relaxed_smart"  # these differ only in their estimator
TUNING_SEEDS = 3
FIRST_TUNING_SEED = 1_000_000
_SLACK = 1.05  # relative to the steps of a run with only the shortest actions

STEP_SIZES = spaced("logspace", 1e-4, 10**-0.25, 16)
FINE_SIZES = spaced("logspace", 1e-4, 10**-0.25, 31)  # step sizes of the baseline estimator
AGENTS = (
    "smart",
    "relaxed_smart",
    HARMONIC,
    "weighted_harmonic_r",
    "r_learning",
    "differential_q",
    ADAPTIVE,
    "planner",
    "fixed_rate",
)
FOLLOWING = tuple(name for name in ESTIMATORS if name != "Fixed")
FAMILY = ("smart", "relaxed_smart", HARMONIC, "fixed_rate")
DISTURBED = ("smart", "relaxed_smart", HARMONIC, ADAPTIVE)
NAMED = ("pay_rise", "seasons", "rush_hours", "fading_trade")
OTHERS = ("heavy_tails", "ripening_bait", "rotting_bait")  # each its own type, slow to compile

_ONE: Axes = {"step_size": [0.1, 0.3, 0.9], "exploration": [0.01, 0.05]}
_TWO: Axes = {**_ONE, "rate_step_size": [0.001, 0.01, 0.1]}
_GRIDS: dict[str, Axes] = {
    "smart": _ONE,
    "fixed_rate": _ONE,
    "planner": {},
    # Its step size of the rate is relative to that of the values.
    "differential_q": {**_ONE, "rate_step_size": [0.01, 0.1, 1.0]},
}
OPTIONS = ("step_size", "exploration", "rate_step_size")


class Size(NamedTuple):
    """The size of the study: random streams and worlds, seeds, and the lengths of streams and runs."""

    streams: int = 120
    worlds: int = 400
    seeds: int = 3
    steps: int = 20_000  # of a stream, and in named worlds
    time: float = 12_000.0  # of a run in a random world
    histories: int = 100  # histories for fitting trends, at each log-scale
    estimators: tuple[str, ...] = FOLLOWING
    agents: tuple[str, ...] = AGENTS
    others: tuple[str, ...] = OTHERS


def title(agent: str) -> str:
    """Return an agent's display name."""
    return "SMART with AdaptiveRatio" if agent == ADAPTIVE else looks.title(agent)


def step_sizes(estimator: str) -> list[float | None]:
    """Return the step sizes to try for an estimator; None for one that has none.

    >>> step_sizes("Cumulative"), len(step_sizes("Harmonic"))
    ([None], 16)
    """
    if not ESTIMATORS[estimator].has_step_size:
        return [None]
    return [*(FINE_SIZES if estimator == REFERENCE else STEP_SIZES)]


def random_worlds(size: Size) -> Sweep:
    """Return the runs in random worlds and their mirrors, all of which end at the same time."""
    numbers: list[float] = [float(number) for number in range(size.worlds)]
    return Sweep(
        [Entry("random_changes", {"number": numbers, "mirrored": [False, True]})],
        [_agent(name) for name in size.agents],
        seeds(size),
        int(_SLACK * size.time),
        name="drift",
        policies=False,
        time=size.time,
    )


def sweeps(size: Size) -> dict[str, Sweep]:
    """Return all sweeps by folder name; the sweep of the random worlds has the study's name."""
    few = tuple(name for name in DISTURBED if name in size.agents)
    others = {"others": _named(size, size.others, few, "drift, baits and tails")} if size.others else {}
    return {
        "sweep": random_worlds(size),
        "named": _named(size, NAMED, size.agents, "drift, named worlds"),
        **others,
        "family": family(size),
    }


def _named(size: Size, worlds: tuple[str, ...], agents: tuple[str, ...], name: str) -> Sweep:
    entries = [Entry(world) for world in worlds]
    return Sweep(entries, [_agent(one) for one in agents], seeds(size), size.steps, name=name, policies=False)


def family(size: Size) -> Sweep:
    """Return the runs in the paper's family, as in its own study but with fewer step sizes."""
    one: Axes = {"step_size": COARSE_SIZES, "exploration": EXPLORATION, "ties": TIES}
    two: Axes = {**one, "rate_step_size": COARSE_SIZES}
    return Sweep(
        [Entry("two_state", {"log_scale": LOG_SCALES})],
        [Entry(name, one if "rate_step_size" not in _grid(name) else two) for name in FAMILY],
        list(range(size.seeds)),
        1000,
        episodes=4,
        name="drift, the paper's family",
    )


def seeds(size: Size) -> list[int]:
    """Return the evaluation seeds, then the tuning seeds."""
    return [*range(size.seeds), *range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + TUNING_SEEDS)]


def _agent(name: str) -> Entry:
    if name == ADAPTIVE:
        return Entry("smart", {**_ONE, "rate": "AdaptiveRatio"}, ADAPTIVE)
    return Entry(name, _grid(name))


def _grid(name: str) -> Axes:
    return _GRIDS.get(name, _TWO)
