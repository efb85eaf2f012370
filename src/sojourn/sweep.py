"""Running a sweep: on any executor, in batches, so that it survives being killed.

A sweep is cut into tasks, always in the same way. A task is data; `execute` runs it,
anywhere. Each finished task becomes a part file in the folder, written whole or not at all.
Running the sweep again executes the tasks that have no part file yet, and when none is
missing, merges the parts into the final tables. So it does not matter when or how often the
sweep was stopped: a table is the same as if it never had been.

The folder holds `sweep.json` (the sweep), `sweep.log`, `parts/` while it is not finished,
and the tables of `sojourn.results` when it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import itertools
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sojourn import results
from sojourn._values import stacked
from sojourn.many import Batch, run_batch_of
from sojourn.progress import Advance, no_progress
from sojourn.simulate import log_spaced
from sojourn.spec import Options, Sweep, build_agent, build_world, canonical_text, cell_ids

BATCH_STEPS, BATCH_RUNS = 10_000_000, 4096  # about a third of a second, a few megabytes


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
    columns: dict[str, bool]  # all options of the sweep, and whether they are text: the same for all parts

    @property
    def num_runs(self) -> int:
        """The number of runs."""
        return len(self.worlds) * self.num_combinations * len(self.seeds)

    @property
    def num_steps(self) -> int:
        """The number of steps of all runs together."""
        return self.num_runs * self.steps * self.episodes


def plan(sweep: Sweep) -> Iterator[Task]:
    """Yield the tasks of a sweep; the n-th is the same each time."""
    columns = option_columns(sweep)
    most = max(1, min(BATCH_RUNS, BATCH_STEPS // (sweep.steps * sweep.episodes)))
    seeds_a_task = min(len(sweep.seeds), most)
    combinations_a_task = max(1, most // seeds_a_task)
    for agent in sweep.agents:
        for combinations in _chunks(agent.grid(), combinations_a_task):
            text = json.dumps(combinations)
            worlds_a_task = max(1, most // (seeds_a_task * len(combinations)))
            for world in sweep.worlds:
                for worlds in _chunks(world.grid(), worlds_a_task):
                    for seeds in _chunks(iter(sweep.seeds), seeds_a_task):
                        yield Task(
                            world=world.kind,
                            worlds=worlds,
                            agent=agent.kind,
                            label=agent.label or agent.kind,
                            combinations=text,
                            num_combinations=len(combinations),
                            seeds=seeds,
                            steps=sweep.steps,
                            episodes=sweep.episodes,
                            record=sweep.record,
                            columns=columns,
                        )


def option_columns(sweep: Sweep) -> dict[str, bool]:
    """Return the names of all options of a sweep, each a column of the results, and whether it is text."""
    columns: dict[str, bool] = {}
    for entry in (*sweep.worlds, *sweep.agents):
        for options in entry.samples():
            for name, choice in _flat(options).items():
                columns[name] = columns.get(name, False) or isinstance(choice, str)
    return columns


def _chunks(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _flat(options: Options) -> Options:
    """Return options as columns: a decaying exploration becomes three."""
    flat = {}
    for name, choice in options.items():
        if isinstance(choice, dict):
            flat[name] = choice["start"]
            flat |= {f"{name}_{part}": choice[part] for part in ("factor", "floor") if part in choice}
        else:
            flat[name] = choice
    return flat


# --- One task -----------------------------------------------------------------------


def execute(task: Task) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Run a task; return its rows of the results and of the curves.

    Rows go by world, then by combination of the agent's options, then by seed.
    """
    begin = time.perf_counter()
    points = log_spaced(task.steps * task.episodes, task.record)
    batches, ids = [], []
    for options in task.worlds:
        world = build_world(task.world, options)
        agents = _agents(task.agent, task.combinations, world.num_states, world.num_actions)
        stack, seeds = _repeated(agents.stack, len(task.seeds)), task.seeds * task.num_combinations
        batches.append(run_batch_of(world, stack, seeds, task.steps, task.episodes, points))
        text = canonical_text(task.world, options)
        ids += cell_ids(text, agents.texts, task.steps, task.episodes)
    batch = Batch(*(np.concatenate(part) for part in zip(*batches, strict=True)))

    cells = _at(ids, np.repeat(np.arange(len(ids)), len(task.seeds)), pl.String)
    seed = np.tile(task.seeds, len(ids))
    specification = {
        "cell": cells,
        "world": _at([task.world], np.zeros(task.num_runs, dtype=np.int64), pl.String),
        "agent": _at([task.label], np.zeros(task.num_runs, dtype=np.int64), pl.String),
        **_option_columns(task, agents),
        "steps": pl.Series(np.full(task.num_runs, task.steps)),
        "episodes": pl.Series(np.full(task.num_runs, task.episodes)),
        "seed": pl.Series(seed),
    }
    curves = results.curves_frame(cells, seed, points, batch.curves) if task.record else None
    seconds = time.perf_counter() - begin
    rows = results.results_frame(specification, batch.figures, batch.policies, batch.errors, seconds)
    return rows, curves


def _option_columns(task: Task, agents: Agents) -> dict[str, pl.Series]:
    """Return a column for each option of the sweep, null where this task has none."""
    worlds = [_flat(options) for options in task.worlds]
    of_world = np.repeat(np.arange(len(worlds)), task.num_combinations * len(task.seeds))
    of_agent = np.tile(np.repeat(np.arange(task.num_combinations), len(task.seeds)), len(worlds))
    columns = {}
    for name, is_text in task.columns.items():
        kind = pl.String if is_text else pl.Float64
        if name in agents.columns:
            columns[name] = _at(agents.columns[name], of_agent, kind)
        else:
            columns[name] = _at([options.get(name) for options in worlds], of_world, kind)
    return columns


def _at(entries: list[Any], index: np.ndarray[Any, Any], kind: Any) -> pl.Series:
    """Return the column of the entries at these places."""
    return pl.Series(entries, dtype=kind).gather(index)


class Agents(NamedTuple):
    """The agents of all combinations of a task, as one stack, and what describes them."""

    stack: Any
    texts: list[str]
    columns: dict[str, list[Any]]


@functools.lru_cache(maxsize=16)
def _agents(kind: str, combinations: str, num_states: int, num_actions: int) -> Agents:
    options: list[Options] = json.loads(combinations)
    flat = [_flat(choice) for choice in options]
    names = dict.fromkeys(name for choice in flat for name in choice)
    return Agents(
        stack=stacked([build_agent(kind, choice, num_states, num_actions) for choice in options]),
        texts=[canonical_text(kind, choice) for choice in options],
        columns={name: [choice.get(name) for choice in flat] for name in names},
    )


def _repeated(stack: Any, count: int) -> Any:
    """Return a stack with every entry `count` times, in arrays of its own."""
    return type(stack)._make(
        _repeated(field, count) if isinstance(field, tuple) else np.repeat(field, count, axis=0)
        for field in stack
    )


@dataclass
class Estimate:
    """What a sweep will take on this machine, from a short trial of every agent."""

    seconds: float
    memory: int  # bytes, beyond those of Python itself
    disk: int


def estimate(sweep: Sweep, jobs: int) -> Estimate:
    """Run a little of each agent in the first world, and reckon from that."""
    trials = {}
    for task in plan(sweep):
        if task.label not in trials:
            few = json.loads(task.combinations)[: max(1, 200_000 // task.steps)]
            trial = dataclasses.replace(
                task,
                worlds=task.worlds[:1],
                combinations=json.dumps(few),
                num_combinations=len(few),
                seeds=task.seeds[:1],
                episodes=1,
            )
            execute(trial)  # compiles
            begin = time.perf_counter()
            execute(trial)
            trials[task.label] = (time.perf_counter() - begin) / trial.num_steps
            largest = task
    steps = sweep.num_steps / sum(map(len, sweep.agents))
    seconds = sum(len(entry) * steps * trials[entry.label or entry.kind] for entry in sweep.agents)
    world = build_world(largest.world, largest.worlds[0])
    numbers = world.num_states * (2 * world.num_actions + 2) + 4 * sweep.record + 40
    return Estimate(
        seconds=seconds / jobs,
        memory=2 * jobs * largest.num_runs * numbers * 8,
        disk=sweep.num_runs * (60 + 2 * world.num_states + 32 * sweep.record),
    )


# --- All tasks ----------------------------------------------------------------------


@dataclass
class Outcome:
    """How a sweep ended."""

    runs: int
    failed: int  # runs that broke a rule: they are in the table, with their sentence
    lost: int  # runs that the executor lost: they are missing, and running again runs them
    seconds: float


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    executor: Executor,
    jobs: int,
    progress: Advance = no_progress,
) -> Outcome:
    """Run what is missing of a sweep, then merge. Stopping at any moment loses nothing finished."""
    begin = time.perf_counter()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder), _logging(folder) as log:
        _claim(sweep, folder)
        if (folder / results.RESULTS).exists():
            _clean_up(folder)
            progress(sweep.num_steps, earlier=True)
            return Outcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        parts = folder / "parts"
        parts.mkdir(exist_ok=True)
        log.info("%s: %d runs, %d steps", sweep.name, sweep.num_runs, sweep.num_steps)
        tasks, lost = _run_missing(sweep, parts, executor, jobs, progress, log)
        if lost:
            log.info("%d runs were lost", lost)
            return Outcome(sweep.num_runs, 0, lost, time.perf_counter() - begin)
        names = [_part(parts, index) for index in range(tasks)]
        curve_names = [_curve_part(path) for path in names] if sweep.record else []
        results.merge(names, folder, curve_names)
        _clean_up(folder)
        outcome = Outcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        log.info("finished after %.1f s; %d runs failed", outcome.seconds, outcome.failed)
        return outcome


def _run_missing(
    sweep: Sweep,
    parts: Path,
    executor: Executor,
    jobs: int,
    progress: Advance,
    log: logging.Logger,
) -> tuple[int, int]:
    """Execute the tasks that have no part file; return how many tasks there are, and how many runs were lost."""
    waiting: dict[Future[Any], tuple[int, Task]] = {}
    missing = iter(enumerate(plan(sweep)))
    tasks = lost = 0
    try:
        while True:
            while len(waiting) < 2 * jobs and (entry := next(missing, None)) is not None:
                index, task = entry
                tasks += 1
                if _part(parts, index).exists():
                    progress(task.num_steps, earlier=True)
                else:
                    waiting[executor.submit(execute, task)] = entry
            if not waiting:
                return tasks, lost
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                index, task = waiting.pop(future)
                try:
                    rows, curves = future.result()
                except Exception as error:  # noqa: BLE001 - whatever the executor raises, the others go on
                    lost += task.num_runs
                    log.info("task %d was lost: %r", index, error)
                    continue
                path = _part(parts, index)
                if curves is not None:
                    results.write_part(_curve_part(path), curves)
                results.write_part(path, rows)
                failures = len(rows) - rows["error"].null_count()
                log.info("task %d: %d runs, %d failed", index, task.num_runs, failures)
                progress(task.num_steps, failures)
    finally:
        for future in waiting:
            future.cancel()


def _part(parts: Path, index: int) -> Path:
    return parts / f"{index:08d}.parquet"


def _curve_part(part: Path) -> Path:
    return part.with_suffix(".curves.parquet")


def _count_failed(folder: Path) -> int:
    return int(pl.scan_parquet(folder / results.RESULTS).select(pl.col("error").count()).collect().item())


def _clean_up(folder: Path) -> None:
    shutil.rmtree(folder / "parts", ignore_errors=True)


@contextlib.contextmanager
def executor(jobs: int | None, cluster: str | None = None) -> Iterator[tuple[Executor, int]]:
    """Yield an executor and how much it does at once: threads here, or a Dask cluster's workers."""
    if cluster is None:
        width = jobs or os.cpu_count() or 1
        with ThreadPoolExecutor(width) as pool:
            yield pool, width
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("a cluster needs Dask: pip install 'sojourn[dask]'") from None
    try:
        client: Any = Client(cluster, timeout=5)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"there is no Dask scheduler at {cluster}: {error}") from None
    with client:
        width = jobs or max(1, sum(client.nthreads().values()))
        with client.get_executor(pure=False, retries=3) as pool:
            yield pool, width


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder; the system lets go of it when the process ends, however it ends."""
    with (folder / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"{folder} is in use by another sweep that is running; wait for it or choose another"
            ) from None
        yield


@contextlib.contextmanager
def _logging(folder: Path) -> Iterator[logging.Logger]:
    """Write a log into the folder."""
    log = logging.getLogger(f"sojourn.sweep.{folder}")
    log.propagate = False
    log.setLevel(logging.INFO)
    handler = logging.FileHandler(folder / "sweep.log")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    try:
        yield log
    finally:
        log.removeHandler(handler)
        handler.close()


def _claim(sweep: Sweep, folder: Path) -> None:
    """Note the sweep in its folder, or refuse a folder that holds another one."""
    path = folder / "sweep.json"
    data = json.loads(sweep.to_json())
    data |= {"schema_version": results.SCHEMA_VERSION, "batch": [BATCH_STEPS, BATCH_RUNS]}
    text = json.dumps(data, indent=1) + "\n"
    if not path.exists():
        others = [entry.name for entry in folder.iterdir() if entry.name not in ("lock", "sweep.log")]
        if others:
            raise ValueError(f"{folder} is not empty and holds no sweep; choose another folder")
        results.write_whole(path, lambda partial: partial.write_text(text))
    elif path.read_text() != text:
        raise ValueError(f"{folder} holds another sweep (see its sweep.json); choose another folder")
