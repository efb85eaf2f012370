"""Run a sweep into a folder, on any executor, so that it survives being killed.

A sweep is cut into tasks, always in the same way (`sojourn.runs.tasks`). Each finished task becomes a
part file in the folder, written whole or not at all.
Running the sweep again executes the tasks that have no part file yet, and when none is
missing, merges the parts into the final tables. So it does not matter when or how often the
sweep was stopped: a table is the same as if it never had been.

The folder holds `sweep.json` (the sweep), `sweep.log`, `parts/` while it is not finished,
and the tables of `sojourn.runs.results` when it is.
"""

from __future__ import annotations

import contextlib
import fcntl
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

import polars as pl

from sojourn.rules.files import remove_leftovers, write_text
from sojourn.runs import results, tasks
from sojourn.runs.halt import Halt
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.rows import tabulate
from sojourn.runs.spec import Sweep
from sojourn.runs.stack import Batch
from sojourn.runs.tasks import Task, execute, plan

_SWEEP, _LOG = "sweep.json", "sweep.log"
_FILES = (_SWEEP, results.RESULTS, results.CURVES, results.TIMINGS)


@dataclass
class Outcome:
    """How a sweep ended."""

    runs: int
    failed: int  # runs that broke a rule: they are in the table, with their sentence
    lost: int  # runs that the executor lost: they are missing, and running again runs them
    seconds: float
    reason: str = ""  # why the last of them were lost


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    executor: Executor,
    jobs: int,
    progress: Advance = no_progress,
) -> Outcome:
    """Run the tasks of a sweep that are missing in a folder, then merge all into tables.

    It can be stopped at any moment: what is finished is kept, and the next call goes on from there.

    `folder` belongs to this sweep alone. `executor` is any of `concurrent.futures`, `jobs` how much it
    does at once; `progress` is called with the steps and failed runs of each finished task.

    >>> import tempfile
    >>> from sojourn.runs.toml import parse_sweep
    >>> small = parse_sweep({
    ...     "seeds": 3, "steps": 10,
    ...     "world": [{"kind": "two-state", "log_scale": 0.01}], "agent": [{"kind": "smart"}],
    ... })
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     outcome = run_sweep(small, folder, pool, jobs=2)
    ...     table = results.load_results(folder)
    >>> outcome.runs, outcome.failed, table["seed"].to_list()
    (3, 0, [0, 1, 2])
    """
    begin = time.perf_counter()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder), _logging(folder) as log:
        for name in _FILES:
            remove_leftovers(folder / name)
        _claim(sweep, folder)
        if (folder / results.RESULTS).exists():
            _clean_up(folder)
            progress(sweep.num_steps, earlier=True)
            return Outcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        parts = folder / "parts"
        parts.mkdir(exist_ok=True)
        log.info("%s: %d runs, %d steps", sweep.name, sweep.num_runs, sweep.num_steps)
        done = _run_missing(sweep, _Work(parts, executor, jobs, progress, log))
        if done.lost:
            log.info("%d runs were lost", done.lost)
            return Outcome(sweep.num_runs, 0, done.lost, time.perf_counter() - begin, done.reason)
        names = [_part(parts, index) for index in range(done.num_tasks)]
        curve_names = [_curve_part(path) for path in names] if sweep.record else []
        results.merge(names, folder, curve_names)
        _clean_up(folder)
        outcome = Outcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        log.info("finished after %.1f s; %d runs failed", outcome.seconds, outcome.failed)
        return outcome


class _Done(NamedTuple):
    """What came of the tasks that were missing."""

    num_tasks: int  # of the whole sweep
    lost: int  # runs
    reason: str  # why the last of them were lost


@dataclass
class _Work:
    """Where tasks are executed, where their parts are written, and who is told of them."""

    parts: Path
    executor: Executor
    jobs: int
    progress: Advance
    log: logging.Logger


def _run_missing(sweep: Sweep, work: _Work) -> _Done:
    """Execute the tasks that have no part file; if anything stops this, those that are running stop too."""
    waiting: dict[Future[tuple[Batch, float]], tuple[int, Task]] = {}
    missing = iter(enumerate(plan(sweep)))
    num_tasks = lost = 0
    reason = ""
    halt = Halt()
    try:
        while True:
            while len(waiting) < 2 * work.jobs and (entry := next(missing, None)) is not None:
                index, task = entry
                num_tasks += 1
                if _part(work.parts, index).exists():
                    work.progress(task.num_steps, earlier=True)
                else:
                    waiting[work.executor.submit(execute, task, halt)] = entry
            if not waiting:
                return _Done(num_tasks, lost, reason)
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                index, task = waiting.pop(future)
                try:
                    batch, seconds = future.result()
                except Exception as error:  # noqa: BLE001 - whatever the executor raises, the others go on
                    lost += task.num_runs
                    reason = f"{type(error).__name__}: {error}"
                    work.log.info("task %d was lost: %r", index, error)
                    continue
                failures = _write_parts(_part(work.parts, index), task, batch, seconds)
                work.log.info("task %d: %d runs, %d failed", index, task.num_runs, failures)
                work.progress(task.num_steps, failures)
    except BaseException:
        halt.now()
        raise
    finally:
        for future in waiting:
            future.cancel()


def _write_parts(path: Path, task: Task, batch: Batch, seconds: float) -> int:
    """Write what came of a task; return how many of its runs failed."""
    rows, curves = tabulate(task, batch, seconds)
    if curves is not None:
        results.write_part(_curve_part(path), curves)
    results.write_part(path, rows)
    return len(rows) - rows["error"].null_count()


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
            try:
                yield pool, width
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
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
    """Lock the folder; the system unlocks it when the process ends, however it ends."""
    with (folder / ".lock").open("a") as handle:
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
    log = logging.getLogger(f"sojourn.runs.folder.{folder}")
    log.propagate = False
    log.setLevel(logging.INFO)
    handler = logging.FileHandler(folder / _LOG)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    try:
        yield log
    finally:
        log.removeHandler(handler)
        handler.close()


def _claim(sweep: Sweep, folder: Path) -> None:
    """Write the sweep into its folder, or refuse a folder that holds another one."""
    path = folder / _SWEEP
    data = json.loads(sweep.to_json())
    data |= {
        "schema_version": results.SCHEMA_VERSION,
        "batch": [tasks.BATCH_STEPS, tasks.BATCH_RUNS, tasks.BATCH_VALUES],
    }
    text = json.dumps(data, indent=1) + "\n"
    if not path.exists():
        if any(entry.name not in (".lock", _LOG) for entry in folder.iterdir()):
            raise ValueError(f"{folder} is not empty and holds no sweep; choose another folder")
        write_text(path, text)
    elif path.read_text() != text:
        raise ValueError(f"{folder} holds another sweep (see its sweep.json); choose another folder")
