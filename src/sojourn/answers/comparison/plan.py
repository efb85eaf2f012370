"""The runs of a comparison: every agent with its grid of options on some seeds, then with the best options on others.

Both parts are sweeps of one problem. In the first, each agent has a grid of step sizes and explorations, which
`tuning` widens if the best setting lies on its edge. In the second it has the best options, and runs of several
lengths show how its policy develops.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sojourn.agents.baselines import random_agent
from sojourn.agents.catalogue import AGENTS, NamedAgent, named_agent
from sojourn.data.hints import option_kinds
from sojourn.data.names import is_users
from sojourn.data.numbers import positive, probability, shown, whole
from sojourn.learner.choice import OBSERVERS
from sojourn.models.model_files import is_file, named_model
from sojourn.models.problems.catalogue import SEVERAL_GAINS
from sojourn.runs.build import build_world
from sojourn.runs.catalogue import plain_kind, refuse_world
from sojourn.runs.loop import run
from sojourn.runs.spec import Entry, Sweep
from sojourn.worlds.catalogue import WORLDS
from sojourn.worlds.protocol import extent
from sojourn.worlds.truth import knows_truth

EXPLORATION = "exploration"
TUNED_FOR = ("policy", "earned")  # the criteria: the final policy, and what was earned on the way
_FIRST_TUNING_SEED = 1_000_000
_TAKEN = ("figures", "outcomes", "earned")  # reserved names, of a folder and of figures
_CHECKS = 10  # number of lengths at which policies are examined
_SLACK = 10.0  # a run with a time may take at most this multiple of the expected steps

_TRIED = 1000  # steps for estimating the mean duration in a world that changes

NUMBERED = " #"  # follows an agent's name in the labels of its further settings

Grid = dict[str, list[float]]  # ascending choices for each option of an agent


class Settings(NamedTuple):
    """The settings of a comparison: the length and number of runs, which agents, and what is tuned.

    A run ends after `steps` steps or, if `time` is given, when the clock reaches it. `exploration` is tuned if it has
    several choices. `grids` has the choices of further options: "step_size" for every agent that has it, or
    "smart.step_size" for one agent. A grid may be widened by `widen` choices at either end.
    """

    steps: int = 30_000
    seeds: int = 30
    tuning_seeds: int = 10
    time: float | None = None
    exploration: tuple[float, ...] = (0.03, 0.1)
    agents: tuple[str, ...] = ()  # if empty, the default agents
    grids: Mapping[str, tuple[float, ...]] = {}
    widen: int = 3


def checked_settings(settings: Settings) -> Settings:
    """Return the settings with the names of all agents, or raise an error if they are inconsistent."""
    whole("seeds", settings.seeds)
    whole("tuning_seeds", settings.tuning_seeds)
    whole("widen", settings.widen, least=0, most=20)
    whole("steps", settings.steps, least=100)
    if settings.time is not None:
        positive("time", settings.time)
    if not settings.exploration:
        raise ValueError("exploration is empty; give at least one probability")
    for name, choices in ((EXPLORATION, settings.exploration), *settings.grids.items()):
        if len(set(choices)) != len(choices) or not choices:
            raise ValueError(f"{name} has no choice, or the same choice twice")
    for chance in settings.exploration:
        probability(EXPLORATION, chance)
    agents = compared(settings)
    for option in settings.grids:
        if not any(option in _grid_names(name, agent) for name, agent in agents.items()):
            raise ValueError(f"no agent that is compared has the option {shown(option)}")
    return settings._replace(agents=tuple(agents))


def titles(names: list[str]) -> dict[str, str]:
    """Return the title of each problem, by the given name or file."""
    called = {name: Path(name).stem if is_file(name) else name for name in names}
    for name in names:
        if not changes(name):
            refuse_world(name, "judge policies by")
            if name in SEVERAL_GAINS:
                raise ValueError(
                    f"the gain of {name} depends on the first state, so agents cannot be compared by it; "
                    f"`sojourn solve {name}` shows the gain from each state"
                )
            named_model(name)  # raises an error for an invalid problem
    seen = list(called.values())
    twice = [title for title in seen if seen.count(title) > 1] or [
        name for name in names if names.count(name) > 1
    ]
    if twice:
        raise ValueError(
            f"two of the problems are called {twice[0]!r}; name each once, and give files different names"
        )
    taken = [title for title in seen if title in _TAKEN]
    if taken:
        raise ValueError(
            f"a problem cannot be called {taken[0]!r}, which is the name of a part of the folder; rename its file"
        )
    return called


# --- The agents ---------------------------------------------------------------------

_STEP_SIZES = {"step_size": (0.01, 0.03, 0.1, 0.3)}
_BOTH_STEP_SIZES = {**_STEP_SIZES, "rate_step_size": (0.001, 0.01, 0.1)}
GRIDS: dict[str, Mapping[str, Sequence[float]]] = {  # what is tuned, by the constructor of the agent
    "smart": _STEP_SIZES,
    "relaxed_smart": _BOTH_STEP_SIZES,
    "harmonic_r": _BOTH_STEP_SIZES,
    "weighted_harmonic_r": _BOTH_STEP_SIZES,
    "r_learning": _BOTH_STEP_SIZES,
    "differential_q": _BOTH_STEP_SIZES,
    "smdp_q_learning": {**_STEP_SIZES, "discount_rate": (0.003, 0.01, 0.03, 0.1)},
    "fixed_rate": _STEP_SIZES,
    "rvi_q": _STEP_SIZES,
    "red_cvar": _STEP_SIZES,
    "ucb_bandit": {"confidence": (0.1, 1.0, 10.0)},
    "tsde": {"strength": (0.001, 0.01, 0.1, 1.0)},
    "ucrl_smdp": {"radius": (0.01, 0.03, 0.1, 0.3, 1.0)},
    "ct_ucrl": {"radius": (0.01, 0.03, 0.1, 0.3, 1.0)},
}


def tuned_options(agent: NamedAgent) -> Mapping[str, Sequence[float]]:
    """Return the options that a comparison tunes, with their choices; for a user's unlisted agent, the step sizes.

    >>> tuned_options(named_agent("smart"))
    {'step_size': (0.01, 0.03, 0.1, 0.3)}
    """
    if not agent.title:  # one of ours
        return agent.grid or GRIDS.get(agent.constructor_name, {})
    if agent.title != agent.name:  # a user's entry
        return agent.grid
    options = option_kinds(agent.make)
    return {option: choices for option, choices in _BOTH_STEP_SIZES.items() if option in options}


def compared(settings: Settings) -> dict[str, NamedAgent]:
    """Return the compared agents by their names in results.

    >>> compared(Settings())["relaxed_smart_gosavi"].kind, "random_agent" in compared(Settings())
    ('relaxed_smart', False)
    >>> list(compared(Settings(agents=("planner", "harmonic-r"))))
    ['planner', 'harmonic_r']
    """
    if not settings.agents:
        return {name: agent for name, agent in AGENTS.items() if agent.compared}
    found: dict[str, NamedAgent] = {}
    for given in settings.agents:
        if plain_kind(given) in OBSERVERS:
            raise ValueError(
                f"{given} is for observations that cannot be listed, such as those of wear or offers, but here states are "
                "numbered; take an agent with a table, such as smart or planner"
            )
        agent = named_agent(given)
        if agent.name in found:
            raise ValueError(f"the agent {agent.name!r} is named twice; name each once")
        found[agent.name] = agent
    return found


def _grid_names(name: str, agent: NamedAgent) -> set[str]:
    """Return the keys by which `grids` may refer to an agent's options."""
    return {called for option in option_kinds(agent.make) for called in (option, f"{name}.{option}")}


def grids(problem: str, settings: Settings) -> dict[str, Grid]:
    """Return the choices of every option of every agent, before any grid is widened.

    >>> grids("jobs", Settings(agents=("smart", "planner"), exploration=(0.1,)))
    {'smart': {'step_size': [0.01, 0.03, 0.1, 0.3], 'exploration': [0.1]}, 'planner': {}}
    """
    return grids_over(subject(problem).mean_duration, settings)


def grids_over(mean_duration: float, settings: Settings) -> dict[str, Grid]:
    """Return the same for a problem of this mean duration, by which options per unit time are divided."""
    return {name: _grid(name, agent, settings, mean_duration) for name, agent in compared(settings).items()}


def _grid(name: str, agent: NamedAgent, settings: Settings, mean_duration: float) -> Grid:
    options = option_kinds(agent.make)
    grid = {
        option: [choice / mean_duration if option in agent.per_time else choice for choice in choices]
        for option, choices in tuned_options(agent).items()
    }
    if EXPLORATION in options:
        grid[EXPLORATION] = list(settings.exploration)
    for option in options:
        for called in (option, f"{name}.{option}"):
            if called in settings.grids:
                grid[option] = list(settings.grids[called])
    return {option: sorted(choices) for option, choices in grid.items()}


# --- The sweeps ---------------------------------------------------------------------


def tuning(problem: str, settings: Settings) -> Sweep:
    """Return the tuning runs: all combinations of every agent's grid."""
    return _tuning(problem, settings, _entries(settings, grids(problem, settings)))


def more_tuning(problem: str, settings: Settings, points: Mapping[str, list[dict[str, float]]]) -> Sweep:
    """Return runs for further settings of agents; the n-th setting of an agent has the label "agent #n"."""
    agents = compared(settings)
    entries = [
        Entry(agents[name].kind, {**agents[name].options, **point}, f"{name}{NUMBERED}{number}")
        for name, several in points.items()
        for number, point in enumerate(several)
    ]
    return _tuning(problem, settings, entries)


def _tuning(problem: str, settings: Settings, agents: list[Entry]) -> Sweep:
    seeds = range(_FIRST_TUNING_SEED, _FIRST_TUNING_SEED + settings.tuning_seeds)
    return _sweep(problem, settings, "tuning", agents, seeds)


def runs(problem: str, settings: Settings, chosen: Mapping[str, Mapping[str, float]]) -> Sweep:
    """Return the runs for comparing final policies, each agent with its chosen options."""
    sweep = _sweep(problem, settings, "runs", _entries(settings, chosen), range(settings.seeds))
    steps, times = lengths(problem, settings)
    return replace(sweep, time=times) if times else replace(sweep, steps=steps)


def earning(problem: str, settings: Settings, chosen: Mapping[str, Mapping[str, float]]) -> Sweep:
    """Return the runs of agents whose best options for earning differ from those for the final policy."""
    return _sweep(problem, settings, "earning", _entries(settings, chosen), range(settings.seeds))


def _sweep(problem: str, settings: Settings, part: str, agents: list[Entry], seeds: range) -> Sweep:
    """Return runs of full length."""
    steps, times = lengths(problem, settings)
    world, time = _world(problem), times[-1] if times else None
    return Sweep([world], agents, list(seeds), max(steps), name=f"{problem}, {part}", time=time)


def _entries(settings: Settings, chosen: Mapping[str, Mapping[str, float | list[float]]]) -> list[Entry]:
    agents = compared(settings)
    return [
        Entry(agents[name].kind, {**agents[name].options, **options}, name)
        for name, options in chosen.items()
    ]


def lengths(problem: str, settings: Settings) -> tuple[list[int], list[float]]:
    """Return the steps after which policies are examined, and the times if there is a budget of time.

    They are evenly spaced in the logarithm. With a time, the steps are the most that a run may take.

    >>> steps, times = lengths("jobs", Settings(steps=100_000))
    >>> steps[0], steps[-1], len(steps), times
    (10, 100000, 10, [])
    >>> lengths("jobs", Settings(time=1000.0))[1][-1]
    1000.0
    """
    if settings.time is None:
        return [int(step) for step in np.unique(np.rint(np.geomspace(10, settings.steps, _CHECKS)))], []
    shortest = subject(problem).shortest
    if shortest is None:
        raise ValueError(
            f"{problem} changes, so it is not known how many steps fit into a time; compare agents on it by --steps"
        )
    most = math.ceil(_SLACK * settings.time / shortest) + 1000
    times = np.geomspace(settings.time / 3000.0, settings.time, _CHECKS)
    return [most], [*times[:-1].tolist(), settings.time]


def num_steps(problem: str, settings: Settings) -> int:
    """Return the largest number of steps for a problem, not counting widened grids."""
    steps, times = lengths(problem, settings)
    each = max(steps) * (len(times) + 1) if times else sum(steps) + max(steps)
    if changes(problem):
        each = max(steps)  # no policies are examined on the way, since none has a lasting gain
    return tuning(problem, settings).num_steps + len(compared(settings)) * settings.seeds * each


def _world(problem: str) -> Entry:
    if is_file(problem):
        return Entry("model", {"data": problem})
    return Entry(plain_kind(problem))


# --- What agents are compared on ------------------------------------------------------


class Subject(NamedTuple):
    """The size of a problem or of a world that changes, and the mean duration of its steps; None if not known."""

    num_states: int
    num_actions: int
    mean_duration: float
    shortest: float | None  # the smallest mean duration of a pair that takes time


def changes(name: str) -> bool:
    """Whether this names a world that changes and knows its gain at every time.

    >>> changes("pay-rise"), changes("gosavi"), changes("two-state")
    (True, False, False)
    """
    kind = plain_kind(name)
    if kind in WORLDS:
        return knows_truth(build_world(kind, WORLDS[kind].example))
    return is_users(name) and knows_truth(build_world(name, {}))


@functools.lru_cache(maxsize=64)
def subject(name: str) -> Subject:
    """Return the size and the mean duration of a problem.

    >>> subject("long-shot")
    Subject(num_states=1, num_actions=2, mean_duration=2.5, shortest=1.0)
    """
    if changes(name):
        world = build_world(plain_kind(name), {})
        tried = run(world, random_agent(*extent(world)), _TRIED, compiled=False)
        return Subject(*extent(world), tried.duration / _TRIED, None)
    model = named_model(name)
    timed = model.duration[model.duration > 0.0]
    return Subject(model.num_states, model.num_actions, float(model.duration.mean()), float(timed.min()))
