"""The tasks of a sweep: how it is cut, and how a task is run.

A task is data, and `execute` can run it anywhere. How a sweep is cut depends on its
content alone, so the n-th task is the same each time.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import socket
import sys
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from sojourn.agents.checks import ready_agent
from sojourn.agents.protocol import Agent
from sojourn.data.hints import Options
from sojourn.rules.jit.identity import check_unedited, rules_digest, source_of
from sojourn.rules.stacks import LANES
from sojourn.rules.values import Value, classes, is_value, layout, replaced, stacked
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.columns import flattened
from sojourn.runs.halt import Halt
from sojourn.runs.kept import Kept
from sojourn.runs.lengths import Length, Points, evenly_spaced, log_spaced
from sojourn.runs.named import agent_kind, world_kind
from sojourn.runs.spec import Sweep
from sojourn.runs.stack import LANES_PAY, Batch, joined, reordered, run_batch
from sojourn.worlds.market.segments import identity
from sojourn.worlds.protocol import World, extent

BATCH_STEPS, BATCH_RUNS = 10_000_000, 4096  # about a third of a second
BATCH_VALUES = 5_000_000  # entries of all tables Q together, 40 megabytes

T = TypeVar("T")
V = TypeVar("V", bound=Value)


class Worlds(NamedTuple):
    """The worlds of a task: one kind, with different options."""

    kind: str
    options: list[Options]
    data: tuple[
        tuple[str, str], ...
    ] = ()  # the data that they name and their identities, since a worker may have other data of that name


class Agents(NamedTuple):
    """The agents of a task: one kind, with different options."""

    kind: str
    label: str
    combinations: str  # the list of their options as JSON, which many tasks share and caches use as a key
    number: int

    @classmethod
    def of(cls, kind: str, label: str, combinations: list[Options]) -> Agents:
        """Return the agents with these options."""
        return cls(kind, label, json.dumps(combinations), len(combinations))


class Recording(NamedTuple):
    """What is kept of each run besides its totals."""

    num_points: int = 0  # of its curve
    spacing: str = "log"
    mean: bool = False  # one curve for each cell, the mean over its seeds, which are then all in one task
    policies: bool = True

    def points(self, length: Length) -> Points:
        """Return the numbers of steps at which curves are recorded."""
        spaced = log_spaced if self.spacing == "log" else evenly_spaced
        return spaced(length.total, self.num_points)


@dataclass(frozen=True)
class Task:
    """Runs of some agents of one kind in some worlds of one kind, each pair with all of the task's seeds."""

    worlds: Worlds
    agents: Agents
    seeds: list[int]
    length: Length
    recording: Recording
    columns: dict[str, bool] = field(default_factory=dict)  # see `option_columns`
    sources: dict[str, str] = field(default_factory=dict)  # see `Sweep.sources`
    planned: int = 0  # steps of all tasks with agents of this kind

    @property
    def runs_a_world(self) -> int:
        """The number of runs in each world."""
        return self.agents.number * len(self.seeds)

    @property
    def num_runs(self) -> int:
        """The number of runs."""
        return len(self.worlds.options) * self.runs_a_world

    @property
    def num_steps(self) -> int:
        """The number of steps of all runs together."""
        return self.num_runs * self.length.total


def plan(sweep: Sweep) -> Iterator[Task]:
    """Yield the tasks of a sweep; the n-th is the same each time."""
    columns = option_columns(sweep)
    mean = sweep.record > 0 and sweep.curves == "mean"
    recording = Recording(sweep.record, sweep.spacing, mean, sweep.policies)
    steps_each = sweep.num_steps // sum(map(len, sweep.agents))
    for agent, world in itertools.product(sweep.agents, sweep.worlds):
        for (lengths, num_values, _), alike in itertools.groupby(
            world.grid(), functools.partial(_size, sweep, world.kind)
        ):
            worlds = list(alike)
            for length in lengths:
                most = _most_runs(length.total, num_values[0] * num_values[1])
                seeds_a_task = len(sweep.seeds) if mean else min(len(sweep.seeds), most)
                for combinations in _chunks(agent.grid(), max(1, most // seeds_a_task)):
                    agents = Agents.of(agent.kind, agent.label or agent.kind, combinations)
                    worlds_a_task = max(1, most // (seeds_a_task * agents.number))
                    for few, seeds in itertools.product(
                        _chunks(iter(worlds), worlds_a_task), list(_chunks(iter(sweep.seeds), seeds_a_task))
                    ):
                        yield Task(
                            Worlds(world.kind, few, _data(few)),
                            agents,
                            seeds,
                            length,
                            recording,
                            columns,
                            sweep.sources,
                            steps_each * len(agent),
                        )


def _data(worlds: list[Options]) -> tuple[tuple[str, str], ...]:
    """Return the data that worlds name, each with its identity."""
    names = {options["data"] for options in worlds if "data" in options}
    return tuple((name, identity(name)) for name in sorted(map(str, names)))


def _most_runs(steps: int, num_values: int) -> int:
    """Return the largest number of runs in a task, given the steps and the table size of each run."""
    return max(1, min(BATCH_RUNS, BATCH_STEPS // steps, BATCH_VALUES // num_values))


def _size(
    sweep: Sweep, kind: str, options: Options
) -> tuple[list[Length], tuple[int, int], tuple[type, ...]]:
    """Return a world's lengths, the shape of its tables, its classes; worlds that agree in all may share a task."""
    world = _world(kind, json.dumps(options), _data([options]))
    return sweep.lengths_in(world), extent(world), tuple(classes(world))


@functools.lru_cache(maxsize=2)
def _world(kind: str, options: str, _known: tuple[tuple[str, str], ...]) -> World:
    """Return a world; the last two are kept, since some take a second to build and many tasks share them."""
    return build_world(kind, json.loads(options))


def option_columns(sweep: Sweep) -> dict[str, bool]:
    """Return the options of a sweep, each a column of the results, and whether the column is text."""
    columns: dict[str, bool] = {}
    for entry in (*sweep.worlds, *sweep.agents):
        for options in entry.samples():
            for name, choice in flattened(options).items():
                columns[name] = columns.get(name, False) or isinstance(choice, str | bool)
    return columns


def _chunks(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


# --- One task -----------------------------------------------------------------------


class Executed(NamedTuple):
    """The results of a task, where it was run, and by which rules."""

    batch: Batch
    seconds: float
    rules: str  # see `rules_of`
    place: str


def execute(task: Task, halt: Halt | None = None) -> Executed:
    """Run a task; return its results and how many seconds it took.

    Rows go by world, then by combination of the agent's options, then by seed.
    """
    begin = time.perf_counter()
    _refuse_other_sources(task.sources)
    for name, known in task.worlds.data:
        if identity(name) != known:
            raise ValueError(f"{name} is not the data that the sweep began with")
    group = len(task.seeds) if task.recording.mean else 1
    kept = Kept(task.recording.points(task.length), group, task.recording.policies)
    batches, cells = [], []  # the latter with their numbers in the task
    for index, options in enumerate(task.worlds.options):
        world = _world(task.worlds.kind, json.dumps(options), _data([options]))
        for which, agents in _agents(task.agents.kind, task.agents.combinations, *extent(world)):
            stack, seeds = _repeated(agents, len(task.seeds)), task.seeds * len(which)
            planned = task.planned * len(which) // task.agents.number
            batches.append(run_batch(world, stack, seeds, task.length, kept, halt, planned))
            cells += [index * task.agents.number + number for number in which]
    batch = reordered(joined(batches), np.argsort(cells))
    return Executed(batch, time.perf_counter() - begin, rules_of(task), _place())


class OtherRulesError(ValueError):
    """A name in the sweep stands for other code, or for none, where a task is to be run."""


def _refuse_other_sources(sources: Mapping[str, str]) -> None:
    """Raise an error if users' source here is not that of the sweep, since it may give different numbers."""
    for name, known in sources.items():
        try:
            check_unedited(name)
        except ValueError as error:
            raise OtherRulesError(
                f"{error} (at {_place()}; a worker finds the modules in the folder it was started in)"
            ) from None
        if source_of(name) != known:
            raise OtherRulesError(
                f"the source behind {name!r} at {_place()} is not that of this command, so nothing is run there; "
                "copy the files there, start the worker again, and give the same command again"
            )


def rules_of(task: Task) -> str:
    """Return a hash of the rules that this process would run a task by; other rules have another hash."""
    return _rules_of(
        task.worlds.kind,
        json.dumps(task.worlds.options[0], sort_keys=True),
        task.agents.kind,
        task.agents.combinations,
    )


@functools.lru_cache(maxsize=64)
def _rules_of(world_name: str, options: str, agent_name: str, combinations: str) -> str:
    world = _world(world_name, options, _data([json.loads(options)]))
    stacks = [stack for _, stack in _agents(agent_name, combinations, *extent(world))]
    kind = world_kind(world_name)
    return rules_digest((world, *stacks), filter(None, (kind.make, kind.model, agent_kind(agent_name).make)))


def _place() -> str:
    """Return where this process is: the address of a Dask worker, or the name of the machine."""
    if dask := sys.modules.get("distributed"):
        with contextlib.suppress(ValueError):  # this process is not a worker
            return str(dask.get_worker().address)
    return f"{socket.gethostname()}, process {os.getpid()}"


@functools.lru_cache(maxsize=16)
def _agents(kind: str, combinations: str, num_states: int, num_actions: int) -> list[tuple[list[int], Agent]]:
    """Return the agents of all combinations as stacks of agents alike, with the numbers of the combinations in each."""
    agents = [build_agent(kind, options, num_states, num_actions) for options in json.loads(combinations)]
    alike: dict[Hashable, list[int]] = {}
    for number, agent in enumerate(agents):
        alike.setdefault(layout(agent), []).append(number)
    return [(which, stacked(_ready([agents[number] for number in which]))) for which in alike.values()]


def _ready(agents: list[Agent]) -> list[Agent]:
    """Return agents of one layout as `run` would take them; where the first needs no change, none of them does."""
    if layout(ready_agent(agents[0])) == layout(agents[0]):
        return agents
    return [ready_agent(agent) for agent in agents]


def _repeated(stack: V, count: int) -> V:
    """Return a stack in new arrays, with every entry repeated `count` times."""
    return replaced(
        stack,
        **{
            name: _repeated(column, count) if is_value(column) else np.repeat(column, count, axis=0)
            for name, column in stack._asdict().items()
        },
    )


# --- What a sweep will take ---------------------------------------------------------


@dataclass
class Estimate:
    """What a sweep will need on this machine."""

    seconds: float
    memory: int  # bytes, beyond those of Python itself
    disk: int


def estimate(sweep: Sweep, jobs: int) -> Estimate:
    """Estimate the time, memory and disk that a sweep needs, from a short trial of each agent in the first world."""
    world_options = next(sweep.worlds[0].grid())
    world = build_world(sweep.worlds[0].kind, world_options)
    length = max(sweep.lengths_in(world)).steps
    steps = min(length, 100_000)
    steps_each = sweep.num_steps // sum(map(len, sweep.agents))
    seconds = 0.0
    for entry in sweep.agents:
        few = list(itertools.islice(entry.grid(), max(1, 200_000 // steps)))
        planned = steps_each * len(entry)
        runs = LANES if planned >= LANES_PAY else 1  # as many as will be taken side by side
        trial = Task(
            worlds=Worlds(sweep.worlds[0].kind, [world_options]),
            agents=Agents.of(entry.kind, "", few),
            seeds=sweep.seeds[: max(1, runs // len(few))],
            length=Length(steps),
            recording=Recording(policies=sweep.policies),
            planned=planned,
        )
        execute(trial)  # the first call compiles
        seconds += len(entry) * steps_each * execute(trial).seconds / trial.num_steps
    num_states, num_actions = extent(world)
    runs = min(sweep.num_runs, _most_runs(length * sweep.episodes, num_states * num_actions))
    numbers = num_states * (2 * num_actions + 2) + 4 * sweep.record + 40
    return Estimate(
        seconds=seconds / jobs,
        memory=2 * jobs * runs * numbers * 8,
        disk=sweep.num_runs * (60 + 4 * num_states * sweep.policies)
        + (sweep.num_cells * 128 if sweep.curves == "mean" else sweep.num_runs * 32) * sweep.record,
    )
