"""The tasks of a sweep: how it is cut, how a task is run, and the rows that it gives.

A task is data and can be run anywhere, by `execute`. How a sweep is cut depends on its
content alone, so that the n-th task is the same each time.
"""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sojourn.exact.solve import solve
from sojourn.models.problems.named import MODELS
from sojourn.rules.values import stacked
from sojourn.runs import results
from sojourn.runs.batch import Batch, flattened, run_batch_of
from sojourn.runs.loop import Points, evenly_spaced, log_spaced
from sojourn.runs.spec import Options, Sweep, build_agent, build_world, canonical_text, cell_ids
from sojourn.worlds.market.segments import identity

BATCH_STEPS, BATCH_RUNS = 10_000_000, 4096  # about a third of a second
BATCH_VALUES = 5_000_000  # entries of all tables Q together, 40 megabytes


@dataclass(frozen=True)
class Task:
    """Runs of one kind of agent in one kind of world: options of both, each pair with all seeds."""

    world: str
    worlds: list[Options]
    agent: str
    label: str
    combinations: str  # a list of options, as JSON: many tasks share it, and it is a key
    num_combinations: int
    seeds: list[int]
    steps: int
    episodes: int
    record: int
    spacing: str
    mean_curves: bool  # a curve for each cell, the mean over its seeds: all of them are then in one task
    policies: bool
    data: dict[str, str]  # what each data is that the worlds name: a worker may have another file there
    columns: dict[str, bool]  # all options of the sweep, and whether they are text: the same for all parts

    @property
    def num_runs(self) -> int:
        """The number of runs."""
        return len(self.worlds) * self.num_combinations * len(self.seeds)

    @property
    def num_steps(self) -> int:
        """The number of steps of all runs together."""
        return self.num_runs * self.steps * self.episodes

    @property
    def points(self) -> Points:
        """The numbers of steps at which curves are recorded."""
        spaced = log_spaced if self.spacing == "log" else evenly_spaced
        return spaced(self.steps * self.episodes, self.record)


def plan(sweep: Sweep) -> Iterator[Task]:
    """Yield the tasks of a sweep; the n-th is the same each time."""
    columns = option_columns(sweep)
    mean_curves = sweep.record > 0 and sweep.curves == "mean"
    for agent, world in itertools.product(sweep.agents, sweep.worlds):
        for (lengths, num_states, num_actions), alike in itertools.groupby(
            world.grid(), functools.partial(_size, sweep, world.kind)
        ):
            worlds = list(alike)
            for steps in lengths:
                most = _most_runs(steps * sweep.episodes, num_states * num_actions)
                seeds_a_task = len(sweep.seeds) if mean_curves else min(len(sweep.seeds), most)
                for combinations in _chunks(agent.grid(), max(1, most // seeds_a_task)):
                    text = json.dumps(combinations)
                    worlds_a_task = max(1, most // (seeds_a_task * len(combinations)))
                    for few_worlds, seeds in itertools.product(
                        _chunks(iter(worlds), worlds_a_task), list(_chunks(iter(sweep.seeds), seeds_a_task))
                    ):
                        yield Task(
                            world=world.kind,
                            worlds=few_worlds,
                            agent=agent.kind,
                            label=agent.label or agent.kind,
                            combinations=text,
                            num_combinations=len(combinations),
                            seeds=seeds,
                            steps=steps,
                            episodes=sweep.episodes,
                            record=sweep.record,
                            spacing=sweep.spacing,
                            mean_curves=mean_curves,
                            policies=sweep.policies,
                            data={o["data"]: identity(o["data"]) for o in few_worlds if "data" in o},
                            columns=columns,
                        )


def _most_runs(steps: int, num_values: int) -> int:
    """Return how many runs a task may have, of so many steps each with a table of so many values."""
    return max(1, min(BATCH_RUNS, BATCH_STEPS // steps, BATCH_VALUES // num_values))


def _size(sweep: Sweep, kind: str, options: Options) -> tuple[list[int], int, int]:
    """Return a world's lengths and the shape of its tables: worlds that agree in them may share a task."""
    world = build_world(kind, options)
    return sweep.lengths_in(world), world.num_states, world.num_actions


def option_columns(sweep: Sweep) -> dict[str, bool]:
    """Return the names of all options of a sweep, each a column of the results, and whether it is text."""
    columns: dict[str, bool] = {}
    for entry in (*sweep.worlds, *sweep.agents):
        for options in entry.samples():
            for name, choice in flattened(options).items():
                columns[name] = columns.get(name, False) or isinstance(choice, str)
    return columns


def _chunks(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


# --- One task -----------------------------------------------------------------------


def execute(task: Task) -> tuple[Batch, float]:
    """Run a task; return what came of it, and the seconds.

    Rows go by world, then by combination of the agent's options, then by seed.
    """
    begin = time.perf_counter()
    for name, known in task.data.items():
        if identity(name) != known:
            raise ValueError(f"{name} is not what it was when the sweep began")
    group = len(task.seeds) if task.mean_curves else 1
    batches = []
    for options in task.worlds:
        world = build_world(task.world, options)
        agents = _agents(task.agent, task.combinations, world.num_states, world.num_actions)
        stack, seeds = _repeated(agents, len(task.seeds)), task.seeds * task.num_combinations
        batches.append(
            run_batch_of(world, stack, seeds, task.steps, task.episodes, task.points, group, task.policies)
        )
    whole = Batch(*(np.concatenate(part) for part in zip(*batches, strict=True)))
    return whole, time.perf_counter() - begin


@functools.lru_cache(maxsize=16)
def _agents(kind: str, combinations: str, num_states: int, num_actions: int) -> Any:
    """Return the agents of all combinations as one stack."""
    return stacked(
        [build_agent(kind, options, num_states, num_actions) for options in json.loads(combinations)]
    )


def _repeated(stack: Any, count: int) -> Any:
    """Return a stack with every entry `count` times, in arrays of its own."""
    return type(stack)._make(
        _repeated(field, count) if isinstance(field, tuple) else np.repeat(field, count, axis=0)
        for field in stack
    )


# --- Its rows: made by whoever writes them, while the workers go on -----------------


def tabulate(task: Task, batch: Batch, seconds: float) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return a task's rows of the results and of the curves."""
    texts, columns = _described(task.agent, task.combinations)
    ids: list[str] = []
    for options in task.worlds:
        ids += cell_ids(canonical_text(task.world, options), texts, task.steps, task.episodes)
    cells = _at(ids, np.repeat(np.arange(len(ids)), len(task.seeds)), pl.String)
    seeds = np.tile(task.seeds, len(ids))
    first = np.zeros(task.num_runs, dtype=np.int64)
    specification = {
        "cell": cells,
        "world": _at([task.world], first, pl.String),
        "agent": _at([task.label], first, pl.String),
        **_option_columns(task, columns),
        "steps": pl.Series(np.full(task.num_runs, task.steps)),
        "episodes": pl.Series(np.full(task.num_runs, task.episodes)),
        "seed": pl.Series(seeds),
    }
    policies = batch.policies if task.policies else None
    gains = np.repeat(
        [_gain(task.world, options, task.data) for options in task.worlds],
        task.num_combinations * len(task.seeds),
    )
    rows = results.results_frame(specification, batch.figures, gains, policies, batch.errors, seconds)
    if not task.record:
        return rows, None
    if task.mean_curves:
        each = pl.Series(ids, dtype=pl.String)
        return rows, results.mean_curves_frame(each, task.points, batch.curves, batch.spreads)
    return rows, results.curves_frame(cells, seeds, task.points, batch.curves)


def _gain(kind: str, options: Options, data: dict[str, str]) -> float:
    """Return the exact gain of a world, or NaN where there is none."""
    if kind not in MODELS:
        return np.nan
    return _solved(kind, json.dumps(options, sort_keys=True), tuple(sorted(data.items())))


@functools.lru_cache(maxsize=256)
def _solved(kind: str, options: str, _data: tuple[tuple[str, str], ...]) -> float:
    of_model = {name: choice for name, choice in json.loads(options).items() if name != "actions"}
    return float(solve(MODELS[kind](**of_model)).gains[0])  # worlds begin in state 0


@functools.lru_cache(maxsize=16)
def _described(kind: str, combinations: str) -> tuple[list[bytes], dict[str, list[Any]]]:
    """Return the text of each combination, and a column for each option."""
    options: list[Options] = json.loads(combinations)
    flat = [flattened(choice) for choice in options]
    names = dict.fromkeys(name for choice in flat for name in choice)
    return [canonical_text(kind, choice) for choice in options], {
        name: [choice.get(name) for choice in flat] for name in names
    }


def _option_columns(task: Task, of_agents: dict[str, list[Any]]) -> dict[str, pl.Series]:
    """Return a column for each option of the sweep, null where this task has none."""
    worlds = [flattened(options) for options in task.worlds]
    world = np.repeat(np.arange(len(worlds)), task.num_combinations * len(task.seeds))
    agent = np.tile(np.repeat(np.arange(task.num_combinations), len(task.seeds)), len(worlds))
    columns = {}
    for name, is_text in task.columns.items():
        kind = pl.String if is_text else pl.Float64
        if name in of_agents:
            columns[name] = _at(of_agents[name], agent, kind)
        else:
            columns[name] = _at([options.get(name) for options in worlds], world, kind)
    return columns


def _at(entries: list[Any], index: np.ndarray[Any, Any], kind: Any) -> pl.Series:
    """Return the column of the entries at these places."""
    return pl.Series(entries, dtype=kind).gather(index)


@dataclass
class Estimate:
    """What a sweep will take on this machine, from a short trial of every agent."""

    seconds: float
    memory: int  # bytes, beyond those of Python itself
    disk: int


def estimate(sweep: Sweep, jobs: int) -> Estimate:
    """Run a little of each agent in the first world, and reckon from that."""
    world_options = next(sweep.worlds[0].grid())
    world = build_world(sweep.worlds[0].kind, world_options)
    length = max(sweep.lengths_in(world))
    steps = min(length, 100_000)
    steps_each = sweep.num_steps / sum(map(len, sweep.agents))
    seconds = 0.0
    for entry in sweep.agents:
        few = list(itertools.islice(entry.grid(), max(1, 200_000 // steps)))
        trial = Task(
            sweep.worlds[0].kind, [world_options], entry.kind, "", json.dumps(few), len(few),
            sweep.seeds[:1], steps, 1, 0, sweep.spacing, False, sweep.policies, {}, {},
        )  # fmt: skip
        execute(trial)  # compiles
        seconds += len(entry) * steps_each * execute(trial)[1] / trial.num_steps
    runs = min(sweep.num_runs, _most_runs(length * sweep.episodes, world.num_states * world.num_actions))
    numbers = world.num_states * (2 * world.num_actions + 2) + 4 * sweep.record + 40
    return Estimate(
        seconds=seconds / jobs,
        memory=2 * jobs * runs * numbers * 8,
        disk=sweep.num_runs * (60 + 2 * world.num_states * sweep.policies)
        + (sweep.num_cells * 64 if sweep.curves == "mean" else sweep.num_runs * 32) * sweep.record,
    )
