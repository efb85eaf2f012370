"""The tasks of a sweep: how it is partitioned, how a task is run, and what a sweep will cost.

A task is plain data, and `execute` can run it anywhere. The partition depends only on the sweep's content, so the
n-th task is the same each time.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import socket
import sys
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from sojourn.agents.protocol import Agent, ready_agent
from sojourn.data.hints import Choice, Options
from sojourn.rules.jit.identity import check_unedited, rules_digest, source_of
from sojourn.rules.values import LANES, classes, layout, stacked, with_arrays
from sojourn.runs.batch import LANES_PAY, Batch, flattened, joined, reordered, run_batch
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.catalogue import agent_kind, world_kind
from sojourn.runs.progress import StopFlag
from sojourn.runs.recording import Length, Recording, evenly_spaced, log_spaced
from sojourn.runs.spec import Entry, Sweep, canonical_text
from sojourn.worlds.market.instruments import identity
from sojourn.worlds.protocol import World, extent

BATCH_STEPS, BATCH_RUNS = 10_000_000, 4096  # limits of a task: about a third of a second
BATCH_VALUES = 5_000_000  # entries of all Q tables in a task: 40 megabytes

T = TypeVar("T")


@dataclass(frozen=True)
class Variants:
    """Some combinations of an entry's options: the worlds of a task, or its agents.

    Its text determines all numbers, as the ids of cells do, so what is built from it is cached by the text.
    """

    kind: str
    label: str
    options: list[Options] = field(compare=False, repr=False)
    text: bytes  # see `canonical_text`: a line for each combination

    @classmethod
    def of(cls, entry: Entry, options: list[Options]) -> Variants:
        """Return the variants of an entry with these options."""
        text = b"\n".join(canonical_text(entry.kind, choice) for choice in options)
        return cls(entry.kind, entry.label or entry.kind, options, text)

    @property
    def texts(self) -> list[bytes]:
        """The text of each variant."""
        return self.text.split(b"\n")

    @functools.cached_property
    def columns(self) -> dict[str, list[Choice | None]]:
        """The options as columns of a table with a row for each variant; null where a variant lacks one."""
        flat = [flattened(options) for options in self.options]
        names = dict.fromkeys(name for options in flat for name in options)
        return {name: [options.get(name) for options in flat] for name in names}

    def each(self) -> Iterator[Variants]:
        """Yield each variant separately."""
        for options, text in zip(self.options, self.texts, strict=True):
            yield Variants(self.kind, self.label, [options], text)

    def __len__(self) -> int:
        return len(self.options)


@dataclass(frozen=True)
class Task:
    """Runs of agents of one kind in worlds of one kind, each pair with all of the task's seeds."""

    worlds: Variants
    agents: Variants
    seeds: list[int]
    length: Length
    record: int = 0  # points of each curve
    spacing: str = "log"
    mean: bool = False  # one curve per cell, the mean over its seeds, which are then all in one task
    policies: bool = True
    columns: dict[str, bool] = field(default_factory=dict)  # see `option_columns`
    sources: dict[str, str] = field(default_factory=dict)  # see `Sweep.sources`
    # The files that worlds name, with hashes, since a worker's files may differ.
    data: dict[str, str] = field(default_factory=dict)
    planned: int = 0  # total steps of the tasks with agents of this kind

    @property
    def recording(self) -> Recording:
        """What is recorded of the runs."""
        spaced = log_spaced if self.spacing == "log" else evenly_spaced
        group = len(self.seeds) if self.mean else 1
        return Recording(spaced(self.length.total, self.record), group, self.policies)

    @property
    def runs_a_world(self) -> int:
        """The number of runs in each world."""
        return len(self.agents) * len(self.seeds)

    @property
    def num_runs(self) -> int:
        """The number of runs."""
        return len(self.worlds) * self.runs_a_world

    @property
    def num_steps(self) -> int:
        """The total number of steps of all runs."""
        return self.num_runs * self.length.total


def plan(sweep: Sweep) -> Iterator[Task]:
    """Yield the tasks of a sweep; the n-th is the same each time."""
    columns = option_columns(sweep)
    mean = sweep.record > 0 and sweep.curves == "mean"
    steps_each = sweep.num_steps // sum(map(len, sweep.agents))
    for agent, world in itertools.product(sweep.agents, sweep.worlds):
        for (lengths, (num_states, num_actions), _), alike in itertools.groupby(
            world.grid(), functools.partial(_size, sweep, world)
        ):
            worlds = list(alike)
            for length in lengths:
                most = _most_runs(length.total, num_states * num_actions)
                seeds_a_task = len(sweep.seeds) if mean else min(len(sweep.seeds), most)
                for combinations in _chunks(agent.grid(), max(1, most // seeds_a_task)):
                    agents = Variants.of(agent, combinations)
                    worlds_a_task = max(1, most // (seeds_a_task * len(agents)))
                    for few, seeds in itertools.product(
                        _chunks(iter(worlds), worlds_a_task), list(_chunks(iter(sweep.seeds), seeds_a_task))
                    ):
                        yield Task(
                            worlds=Variants.of(world, few),
                            agents=agents,
                            seeds=seeds,
                            length=length,
                            record=sweep.record,
                            spacing=sweep.spacing,
                            mean=mean,
                            policies=sweep.policies,
                            columns=columns,
                            sources=sweep.sources,
                            data=_data(few),
                            planned=steps_each * len(agent),
                        )


def _data(worlds: list[Options]) -> dict[str, str]:
    """Return the data that worlds name, each with its identity."""
    names = {str(options["data"]) for options in worlds if "data" in options}
    return {name: identity(name) for name in sorted(names)}


def _most_runs(steps: int, num_values: int) -> int:
    """Return the largest number of runs in a task, given the steps and the table size of each run."""
    return max(1, min(BATCH_RUNS, BATCH_STEPS // steps, BATCH_VALUES // num_values))


def _size(
    sweep: Sweep, entry: Entry, options: Options
) -> tuple[list[Length], tuple[int, int], tuple[type, ...]]:
    """Return a world's lengths, the shape of its tables and its classes; worlds that agree in all may share a task."""
    world = built_world(Variants.of(entry, [options]))
    return sweep.lengths_in(world), extent(world), tuple(classes(world))


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
    """The results of a task, where it ran, and by which rules."""

    batch: Batch
    seconds: float
    rules: str  # see `rules_of`
    place: str


def execute(task: Task, stop: StopFlag | None = None) -> Executed:
    """Run a task; return its results and how many seconds it took.

    Rows go by world, then by combination of the agent's options, then by seed.
    """
    begin = time.perf_counter()
    _refuse_other_sources(task.sources)
    for name, known in task.data.items():
        if identity(name) != known:
            raise ValueError(f"{name} is not the data that the sweep began with")
    recording = task.recording
    batches, cells = [], []  # with their indices in the task
    for index, variant in enumerate(task.worlds.each()):
        world = built_world(variant)
        for which, agents in _stacks(task.agents, *extent(world)):
            # Every agent with every seed, copied, since the runs overwrite the arrays.
            stack = with_arrays(agents, lambda column: np.repeat(column, len(task.seeds), axis=0))
            seeds = task.seeds * len(which)
            planned = task.planned * len(which) // len(task.agents)
            batches.append(run_batch(world, stack, seeds, task.length, recording, stop, planned))
            cells += [index * len(task.agents) + number for number in which]
    batch = reordered(joined(batches), np.argsort(cells))
    return Executed(batch, time.perf_counter() - begin, rules_of(task), _place())


class OtherRulesError(ValueError):
    """Raised where a name in the sweep refers to other code, or to none, on the worker that should run a task."""


def _refuse_other_sources(sources: Mapping[str, str]) -> None:
    """Raise an error if the users' source here differs from that of the sweep, since it may give different numbers."""
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
    """Return a hash of the rules by which this process would run a task."""
    return _rules_of(next(task.worlds.each()), task.agents)


@functools.lru_cache(maxsize=64)
def _rules_of(variant: Variants, agents: Variants) -> str:
    world, kind = built_world(variant), world_kind(variant.kind)
    stacks = [stack for _, stack in _stacks(agents, *extent(world))]
    return rules_digest((world, *stacks), filter(None, (kind.make, kind.model, agent_kind(agents.kind).make)))


def _place() -> str:
    """Return the address of this Dask worker, or the name of the machine."""
    if dask := sys.modules.get("distributed"):
        with contextlib.suppress(ValueError):  # not on a worker
            return str(dask.get_worker().address)
    return f"{socket.gethostname()}, process {os.getpid()}"


@functools.lru_cache(maxsize=2)
def built_world(variant: Variants) -> World:
    """Return the world of a single variant; the last two are cached, since some take a second to build and many tasks share them."""
    return build_world(variant.kind, variant.options[0])


@functools.lru_cache(maxsize=16)
def _stacks(agents: Variants, num_states: int, num_actions: int) -> list[tuple[list[int], Agent]]:
    """Return the agents in stacks of equal types and shapes, each with its agents' indices among the variants."""
    built = [build_agent(agents.kind, options, num_states, num_actions) for options in agents.options]
    groups: dict[Hashable, list[int]] = {}
    for number, agent in enumerate(built):
        groups.setdefault(layout(agent), []).append(number)
    return [(which, stacked(_ready([built[number] for number in which]))) for which in groups.values()]


def _ready(agents: list[Agent]) -> list[Agent]:
    """Return agents of one layout as `run` would prepare them; if the first needs no change, none does."""
    if layout(ready_agent(agents[0])) == layout(agents[0]):
        return agents
    return [ready_agent(agent) for agent in agents]


# --- What a sweep will take ---------------------------------------------------------


@dataclass
class Estimate:
    """What a sweep will cost on this machine."""

    seconds: float
    memory: int  # bytes, besides Python's own
    disk: int


def estimate(sweep: Sweep, jobs: int) -> Estimate:
    """Estimate the time, memory and disk that a sweep needs, from a short trial of each agent in the first world."""
    worlds = Variants.of(sweep.worlds[0], [next(sweep.worlds[0].grid())])
    world = built_world(worlds)
    length = max(sweep.lengths_in(world)).steps
    steps = min(length, 100_000)
    steps_each = sweep.num_steps // sum(map(len, sweep.agents))
    seconds = 0.0
    for entry in sweep.agents:
        few = list(itertools.islice(entry.grid(), max(1, 200_000 // steps)))
        planned = steps_each * len(entry)
        runs = LANES if planned >= LANES_PAY else 1  # as many as lanes will take together
        trial = Task(
            worlds=worlds,
            agents=Variants.of(entry, few),
            seeds=sweep.seeds[: max(1, runs // len(few))],
            length=Length(steps),
            policies=sweep.policies,
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
