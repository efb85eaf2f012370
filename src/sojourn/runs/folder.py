"""Run a sweep into a folder, on any executor; it can be killed at any time and resumed.

A sweep is cut into tasks, always in the same way (`sojourn.runs.tasks`). Each finished task becomes a
part in the folder, sealed and written whole or not at all (`sojourn.runs.parts`).
Running the sweep again executes the tasks that have no part yet. When none is
missing, the parts are merged into the final tables. So it does not matter when or how often the
sweep was stopped: the tables are the same as if it had never been. Nor does it matter if parts were
damaged in the meantime: a damaged part is set aside, and its task is executed again.

The folder holds `sweep.json` (the sweep), `sweep.log`, `parts/` while it is not finished,
and the tables of `sojourn.runs.results` when it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import logging
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.data.files import open_to_append, remove_leftovers, write_text
from sojourn.rules.door import told, warn
from sojourn.rules.jit.cache import source_digest
from sojourn.runs import results, tasks
from sojourn.runs.halt import Halt
from sojourn.runs.parts import Parts, identity
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.rows import tabulate
from sojourn.runs.spec import Sweep
from sojourn.runs.tasks import Executed, OtherRulesError, Task, execute, plan, rules_of

_SWEEP, _LOG = "sweep.json", "sweep.log"
_FILES = (_SWEEP, results.RESULTS, results.CURVES, results.TIMINGS)
_ROUNDS = 3  # if parts are damaged in every round, the disk is at fault


@dataclass
class Outcome:
    """How a sweep ended."""

    runs: int
    failed: int  # runs that broke a rule: they are in the table, with their error
    lost: int  # runs that the executor lost: they are missing, and the next call makes them
    seconds: float
    reason: str = ""  # why the last of them were lost

    def whole(self) -> Outcome:
        """Return this outcome if no runs were lost; otherwise raise an error."""
        if self.lost:
            raise ValueError(
                f"{self.lost:,} runs were lost ({self.reason}); give the same command again to make them"
            )
        return self


@told
def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    executor: Executor,
    jobs: int,
    progress: Advance = no_progress,
) -> Outcome:
    """Run the tasks of a sweep that are not in its folder yet, then merge all of them into tables.

    It can be stopped at any moment: what is finished is kept, and the next call goes on from there.

    `folder` belongs to this sweep alone. `executor` is any executor of `concurrent.futures`, and `jobs` is how many
    tasks it runs at once; `progress` is called with the steps and failed runs of each finished task.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
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
        if (folder / results.RESULTS).is_file():
            _clean_up(folder)
            progress(sweep.num_steps, earlier=True)
            return Outcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        log.info("%r: %d runs, %d steps", sweep.name, sweep.num_runs, sweep.num_steps)
        parts = Parts(folder, curves=sweep.record > 0)
        parts.claim(source_digest())
        done, files = _run_to_the_end(sweep, _Work(parts, executor, jobs, progress, log), folder)
        if lost := sweep.num_runs - done.runs:
            log.info("%d runs were lost: %r", lost, done.reason)
            return Outcome(sweep.num_runs, 0, lost, time.perf_counter() - begin, done.reason)
        results.merge(files[0], folder, files[1] if sweep.record else [])
        _clean_up(folder)
        outcome = Outcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        log.info("finished after %.1f s; %d runs failed", outcome.seconds, outcome.failed)
        return outcome


@dataclass
class _Done:
    """How far the tasks of a sweep have come."""

    tasks: list[str] = field(default_factory=list)  # the identities of the tasks so far, in their order
    runs: int = 0  # how many runs have been written to parts
    reason: str = ""  # why the last task that was lost has no part


@dataclass
class _Work:
    """Where tasks are executed, where their parts are written, and where progress is reported."""

    parts: Parts
    executor: Executor
    jobs: int
    progress: Advance
    log: logging.Logger


def _run_to_the_end(sweep: Sweep, work: _Work, folder: Path) -> tuple[_Done, list[list[Path]]]:
    """Execute the missing tasks until all parts are there and sound; return their files."""
    for _ in range(_ROUNDS):
        done = _run_missing(sweep, work)
        if done.runs < sweep.num_runs:
            return done, []
        files, bad = work.parts.looked_through(done.tasks)
        if files:
            return done, files
        for name in bad:
            work.log.info("%s was damaged, and set aside", name)
        some = f"{', '.join(bad[:3])}{' and others' if len(bad) > 3 else ''}"
        warn(
            f"{len(bad):,} parts of the sweep in {folder} were damaged ({some}); they are kept in "
            f"{folder / 'set-aside'}, and their runs are made again"
        )
    raise OSError(f"{folder} damages what is written to it; choose a folder on another disk")


def _run_missing(sweep: Sweep, work: _Work) -> _Done:
    """Execute the tasks that have no part; if anything stops this, running tasks stop too."""
    done, halt = _Done(), Halt()
    missing = _missing(sweep, work, done)
    waiting: dict[Future[Executed], tuple[int, Task]] = {}
    try:
        while True:
            for index, task in itertools.islice(missing, max(0, 2 * work.jobs - len(waiting))):
                waiting[work.executor.submit(execute, task, halt)] = index, task
            if not waiting:
                return done
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                _keep(future, *waiting.pop(future), work, done)
    except BrokenExecutor as error:
        done.reason = str(error)
        return done
    except BaseException:
        halt.now()
        raise
    finally:
        for future in waiting:
            future.cancel()


def _missing(sweep: Sweep, work: _Work, done: _Done) -> Iterator[tuple[int, Task]]:
    """Yield the tasks that have no part, with their numbers."""
    written = work.parts.written()
    for index, task in enumerate(plan(sweep)):
        done.tasks.append(identity(task, rules_of(task)))
        if index in written:
            done.runs += task.num_runs
            work.progress(task.num_steps, earlier=True)
        else:
            yield index, task


def _keep(future: Future[Executed], index: int, task: Task, work: _Work, done: _Done) -> None:
    """Write the part of a finished task, unless the task was lost."""
    try:
        executed = future.result()
    except (BrokenExecutor, OtherRulesError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever the executor raises, the others go on
        done.reason = f"{type(error).__name__}: {error}"
        work.log.info("task %d was lost: %r", index, error)
        return
    _refuse_other_rules(executed, task)
    rows, curves = tabulate(task, executed.batch, executed.seconds)
    work.parts.write(index, done.tasks[index], rows, curves)
    done.runs += task.num_runs
    failures = len(rows) - rows["error"].null_count()
    work.log.info("task %d: %d runs, %d failed", index, task.num_runs, failures)
    work.progress(task.num_steps, failures)


def _refuse_other_rules(executed: Executed, task: Task) -> None:
    """Raise an error if a worker has other rules, which may give different numbers under the same ids."""
    if not isinstance(executed, Executed) or executed.rules != rules_of(task):  # earlier versions do not say
        place = executed.place if isinstance(executed, Executed) else "one of the workers"
        raise ValueError(
            f"the rules at {place} are not those of this command, so nothing that was run there is kept; install the "
            "same version of Sojourn there, and give the same command again"
        )


def _count_failed(folder: Path) -> int:
    return int(pl.scan_parquet(folder / results.RESULTS).select(pl.col("error").count()).collect().item())


def _clean_up(folder: Path) -> None:
    shutil.rmtree(folder / "parts", ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder; the system unlocks it when the process ends, however it ends."""
    with open_to_append(folder / ".lock") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"{folder} is in use by another sweep that is running; wait for it, or choose another folder"
            ) from None
        yield


@contextlib.contextmanager
def _logging(folder: Path) -> Iterator[logging.Logger]:
    """Write a log into the folder."""
    log = logging.getLogger(f"sojourn.runs.folder.{folder}")
    log.propagate = False
    log.setLevel(logging.INFO)
    handler = logging.StreamHandler(open_to_append(folder / _LOG))
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    try:
        yield log
    finally:
        log.removeHandler(handler)
        handler.close()
        handler.stream.close()


def _claim(sweep: Sweep, folder: Path) -> None:
    """Write the sweep into its folder, or raise an error if the folder holds another one."""
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
        return
    held = path.read_text(encoding="utf-8", errors="replace")
    if held == text:
        return
    if _without_versions(held) == _without_versions(text):
        raise ValueError(
            f"{folder} holds this sweep as another version of Sojourn ran it; if it is finished, `sojourn results` still "
            "reads it, but choose another folder to run it again"
        )
    if sweep.sources and _without_sources(held) == _without_sources(text):
        raise ValueError(
            f"{folder} holds this sweep as it was before the source behind {' or '.join(sweep.sources)} was edited, "
            "which gives its cells other ids; choose another folder"
        )
    raise ValueError(f"{folder} holds another sweep (see its sweep.json); choose another folder")


def _without_sources(text: str) -> Any:
    """Return the content of a `sweep.json` without the hashes of users' own source."""
    try:
        return {key: part for key, part in json.loads(text).items() if key != "sources"}
    except (ValueError, AttributeError):
        return None


def _without_versions(text: str) -> list[str]:
    """Return the lines of a `sweep.json` that do not say which version wrote it."""
    return [line for line in text.splitlines() if "_version" not in line]
