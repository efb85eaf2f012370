"""What a comparison runs: every agent with all step sizes on some seeds, then each at its best on others.

Both parts are sweeps of one problem. In the first, each agent has a grid of step sizes; in the
second it has those that did best, and runs of several lengths show its policy on the way.

Each run is made twice, with the problem's actions numbered as given and the other way round. A rate
that is too low makes values grow, first those of the action taken first, which then stays the greedy
one: were ties broken by number, agents that keep to whatever they took first would look, on one
numbering alone, as if they had learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sojourn.agents.named import AGENTS, NamedAgent
from sojourn.models.problems.named import is_file, named_model
from sojourn.rules.numbers import whole
from sojourn.runs.grids import Entry
from sojourn.runs.named import ACTIONS
from sojourn.runs.spec import Sweep

EXPLORATION = 0.1
_FIRST_TUNING_SEED = 1_000_000
_TAKEN = ("figures", "outcomes")  # a folder and a figure beside those of the problems
_CHECKS = 17  # lengths at which policies are looked at


class Settings(NamedTuple):
    """How long a comparison runs, and how often."""

    steps: int = 100_000
    seeds: int = 30
    tuning_seeds: int = 10


def checked_settings(settings: Settings) -> Settings:
    """Return settings that make sense."""
    whole("seeds", settings.seeds)
    whole("tuning_seeds", settings.tuning_seeds)
    whole("steps", settings.steps, least=100)
    return settings


def titles(names: list[str]) -> dict[str, str]:
    """Return what each problem is called, by the name or file it was asked for with."""
    called = {name: Path(name).stem if is_file(name) else name for name in names}
    for name in names:
        named_model(name)  # says what is wrong with it
    seen = list(called.values())
    twice = [title for title in seen if seen.count(title) > 1] or [
        name for name in names if names.count(name) > 1
    ]
    if twice:
        raise ValueError(
            f"two of the problems are called {twice[0]!r}; name each once, and files differently"
        )
    taken = [title for title in seen if title in _TAKEN]
    if taken:
        raise ValueError(
            f"a problem cannot be called {taken[0]!r}, as a part of the folder is; rename its file"
        )
    return called


def lengths(steps: int) -> list[int]:
    """Return the numbers of steps after which policies are looked at, evenly spaced in log.

    >>> lengths(100_000)[0], lengths(100_000)[-1], len(lengths(100_000))
    (10, 100000, 17)
    """
    return [int(length) for length in np.unique(np.rint(np.geomspace(10, steps, _CHECKS)))]


def compared() -> dict[str, NamedAgent]:
    """Return the agents that are compared, by their names in results.

    >>> compared()["relaxed_smart_gosavi"].kind, "random_agent" in compared()
    ('relaxed_smart', False)
    """
    return {name: agent for name, agent in AGENTS.items() if agent.compared}


def choices(option: str) -> tuple[float, ...]:
    """Return the different choices that agents have for an option, before any is divided by a duration.

    >>> choices("rate_step_size")
    (0.0001, 0.001, 0.01, 0.1)
    """
    grids = [agent.grid[option] for agent in compared().values() if option in agent.grid]
    return tuple(dict.fromkeys(choice for grid in grids for choice in grid))


def tuning(name: str, settings: Settings) -> Sweep:
    """Return the runs that step sizes are chosen by."""
    mean_duration = float(named_model(name).duration.mean())
    agents = []
    for label, agent in compared().items():
        grid = {
            option: [choice / mean_duration if option in agent.per_time else choice for choice in given]
            for option, given in agent.grid.items()
        }
        agents.append(Entry(agent.kind, {**agent.options, **grid, "exploration": EXPLORATION}, label))
    seeds = list(range(_FIRST_TUNING_SEED, _FIRST_TUNING_SEED + settings.tuning_seeds))
    return Sweep([_world(name)], agents, seeds, settings.steps, name=f"{name}, tuning")


def runs(name: str, settings: Settings, chosen: Mapping[str, Mapping[str, float]]) -> Sweep:
    """Return the runs that agents are compared by, each with the options chosen for it."""
    agents = [
        Entry(agent.kind, {**agent.options, **chosen[label], "exploration": EXPLORATION}, label)
        for label, agent in compared().items()
    ]
    return Sweep(
        [_world(name)], agents, list(range(settings.seeds)), lengths(settings.steps), name=f"{name}, runs"
    )


def num_steps(name: str, settings: Settings) -> int:
    """Return how many steps a problem takes in all."""
    taken = len(ACTIONS) * len(compared()) * settings.seeds * sum(lengths(settings.steps))
    return tuning(name, settings).num_steps + taken


def tuned_options(label: str) -> list[str]:
    """Return the names of the options that are tuned."""
    return list(compared()[label].grid)


def _world(name: str) -> Entry:
    if is_file(name):
        return Entry("model", {"data": name, "actions": list(ACTIONS)})
    return Entry(name.replace("-", "_"), {"actions": list(ACTIONS)})
