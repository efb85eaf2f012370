"""Runs a sweep into a folder, on any executor; it can be killed at any time and resumed.

A sweep is cut into tasks, always in the same way (`sojourn.runs.tasks`). Each finished task becomes a part in the
folder, sealed with a checksum and written atomically. Running the sweep again executes the tasks that have no part
yet. When none is missing, the parts are merged into the final tables. So the tables are the same however often the
sweep was stopped. A part that was damaged in the meantime is set aside, and its task is executed again.

The folder holds `sweep.json` (the sweep), `sweep.log`, `parts/` while it is not finished,
and the tables of `sojourn.runs.results` when it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import io
import itertools
import json
import logging
import math
import re
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.data.files import open_to_append, own_folder, remove_leftovers, write_bytes, write_text
from sojourn.data.hints import Choice
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told, warn
from sojourn.rules.jit.cache import source_digest
from sojourn.runs import results, tasks
from sojourn.runs.batch import Batch
from sojourn.runs.build import is_reversed, model_behind
from sojourn.runs.catalogue import world_kind
from sojourn.runs.progress import Advance, StopFlag, no_progress
from sojourn.runs.spec import Sweep, as_word, cell_ids
from sojourn.runs.tasks import Executed, OtherRulesError, Task, Variants, built_world, execute, plan, rules_of
from sojourn.worlds.protocol import gain
from sojourn.worlds.truth import knows_truth

if TYPE_CHECKING:
    from sojourn.exact.policies import PolicyGains
    from sojourn.models.smdp import SMDP

_SWEEP, _LOG, _RULES = "sweep.json", "sweep.log", "rules"
_FILES = (_SWEEP, results.RESULTS, results.CURVES, results.TIMINGS)
_PART = re.compile(r"(\d{8})\.(rows|curves)\.([0-9a-f]{32})\.parquet")
_ROUNDS = 3  # if parts are damaged in every round, the disk is faulty


@dataclass
class SweepOutcome:
    """How a sweep ended."""

    runs: int
    failed: int  # runs that broke a rule: the table has them, with their error
    lost: int  # runs that the executor lost: missing until the next call makes them
    seconds: float
    reason: str = ""  # why the last ones were lost

    def whole(self) -> SweepOutcome:
        """Return this outcome if no runs were lost; otherwise raise an error."""
        if self.lost:
            raise ValueError(
                f"{self.lost:,} runs were lost ({self.reason}); give the same command again to make them"
            )
        return self


@told
def run_sweep(
    sweep: Sweep, folder: str | Path, executor: Executor, jobs: int, progress: Advance = no_progress
) -> SweepOutcome:
    """Run the tasks of a sweep that are not in its folder yet, then merge all results into tables.

    It can be stopped at any moment: finished tasks are kept, and the next call resumes from there.

    `folder` belongs to this sweep alone. `executor` is any executor of `concurrent.futures`, and `jobs` is how many
    tasks it runs at once; `progress` is called with the steps and failed runs of each finished task.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sojourn.runs.spec import parse_sweep
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
            return SweepOutcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        log.info("%r: %d runs, %d steps", sweep.name, sweep.num_runs, sweep.num_steps)
        parts = Parts(folder, curves=sweep.record > 0)
        parts.claim(source_digest())
        work = _Work(sweep, parts, executor, jobs, progress, log)
        files = work.run_until_complete(folder)
        if lost := sweep.num_runs - work.runs:
            log.info("%d runs were lost: %r", lost, work.reason)
            return SweepOutcome(sweep.num_runs, 0, lost, time.perf_counter() - begin, work.reason)
        results.merge(files[0], folder, files[1] if sweep.record else [])
        _clean_up(folder)
        outcome = SweepOutcome(sweep.num_runs, _count_failed(folder), 0, time.perf_counter() - begin)
        log.info("finished after %.1f s; %d runs failed", outcome.seconds, outcome.failed)
        return outcome


@dataclass
class _Work:
    """The execution of a sweep's tasks, and how far it has come."""

    sweep: Sweep
    parts: Parts
    executor: Executor
    jobs: int
    progress: Advance
    log: logging.Logger
    tasks: list[str] = field(default_factory=list)  # the identities of the tasks so far, in order
    runs: int = 0  # the number of runs written to parts
    reason: str = ""  # why the last lost task failed

    def run_until_complete(self, folder: Path) -> list[list[Path]]:
        """Execute missing tasks until all parts are intact; return their files, or none if runs were lost."""
        for _ in range(_ROUNDS):
            self.run_missing()
            if self.runs < self.sweep.num_runs:
                return []
            files, bad = self.parts.verify(self.tasks)
            if files:
                return files
            for name in bad:
                self.log.info("%s was damaged, and set aside", name)
            some = f"{', '.join(bad[:3])}{' and others' if len(bad) > 3 else ''}"
            warn(
                f"{len(bad):,} parts of the sweep in {folder} were damaged ({some}); they are kept in "
                f"{folder / 'set-aside'}, and their runs are made again"
            )
        raise OSError(f"{folder} damages what is written to it; choose a folder on another disk")

    def run_missing(self) -> None:
        """Execute the tasks that have no part; if this is interrupted, running tasks stop too."""
        self.tasks, self.runs, self.reason = [], 0, ""
        stop, missing = StopFlag(), self.missing()
        waiting: dict[Future[Executed], tuple[int, Task]] = {}
        try:
            while True:
                for index, task in itertools.islice(missing, max(0, 2 * self.jobs - len(waiting))):
                    waiting[self.executor.submit(execute, task, stop)] = index, task
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    self.write(future, *waiting.pop(future))
        except BrokenExecutor as error:
            self.reason = str(error)
        except BaseException:
            stop.set()
            raise
        finally:
            for future in waiting:
                future.cancel()

    def missing(self) -> Iterator[tuple[int, Task]]:
        """Yield the tasks that have no part, with their numbers."""
        written = self.parts.written()
        for index, task in enumerate(plan(self.sweep)):
            self.tasks.append(identity(task, rules_of(task)))
            if index in written:
                self.runs += task.num_runs
                self.progress(task.num_steps, earlier=True)
            else:
                yield index, task

    def write(self, future: Future[Executed], index: int, task: Task) -> None:
        """Write the part of a finished task, unless the task was lost."""
        try:
            executed = future.result()
        except (BrokenExecutor, OtherRulesError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the executor raises, the others continue
            self.reason = f"{type(error).__name__}: {error}"
            self.log.info("task %d was lost: %r", index, error)
            return
        _refuse_other_rules(executed, task)
        rows, curves = tabulate(task, executed.batch, executed.seconds)
        self.parts.write(index, self.tasks[index], rows, curves)
        self.runs += task.num_runs
        failures = len(rows) - rows["error"].null_count()
        self.log.info("task %d: %d runs, %d failed", index, task.num_runs, failures)
        self.progress(task.num_steps, failures)


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
    """Lock the folder; the operating system releases the lock however the process ends."""
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
    log = logging.getLogger(f"sojourn.runs.store.{folder}")
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
    written = path.read_text(encoding="utf-8", errors="replace")
    if written == text:
        return
    if _without_versions(written) == _without_versions(text):
        raise ValueError(
            f"{folder} holds this sweep as another version of Sojourn ran it; if it is finished, `sojourn results` still "
            "reads it, but choose another folder to run it again"
        )
    if sweep.sources and _without_sources(written) == _without_sources(text):
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


# --- Parts ----------------------------------------------------------------------------


def identity(task: Task, rules: str) -> str:
    """Return a hash of a task and of its rules, which together determine the contents of its part."""
    return hashlib.sha256(f"{rules} {task}".encode()).hexdigest()


class Parts:
    """The parts of a sweep in its folder: the results of each task, in files that are verified before merging.

    Each file has a seal in its name: a hash of its bytes and of its task. The task determines which cells, seeds
    and points the file holds, and by which rules they were run. A file with a wrong seal is set aside and never
    parsed; its task is executed again.
    """

    def __init__(self, folder: Path, *, curves: bool) -> None:
        self._folder, self._aside = own_folder(folder / "parts"), folder / "set-aside"
        self._kinds = ("rows", "curves") if curves else ("rows",)

    def claim(self, rules: str) -> None:
        """Raise an error if the sweep was started with other rules, which may give different numbers."""
        path = self._folder / _RULES
        begun_with = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
        if self.written() and begun_with != rules:
            raise ValueError(
                f"{self._folder.parent} was begun with another version of Sojourn, whose rules may give different "
                "numbers; finish it with that version, or choose another folder"
            )
        if begun_with != rules:
            write_text(path, rules + "\n")

    def written(self) -> set[int]:
        """Return the indices of the tasks whose files exist; `verify` checks them."""
        kinds: dict[int, set[str]] = {}
        for path in self._folder.iterdir():
            if found := _PART.fullmatch(path.name):
                kinds.setdefault(int(found[1]), set()).add(found[2])
        return {index for index, has in kinds.items() if has.issuperset(self._kinds)}

    def write(self, index: int, task: str, rows: pl.DataFrame, curves: pl.DataFrame | None) -> None:
        """Write the results of a task, given by its identity. The rows come last: once they exist, the part is complete."""
        for kind, table in (("curves", curves), ("rows", rows)):
            if table is not None:
                buffer = io.BytesIO()
                table.write_parquet(buffer, compression="uncompressed", statistics=False)  # fast, not small
                buffer.seek(0)
                write_bytes(
                    self._folder / f"{index:08d}.{kind}.{_seal(task, kind, buffer)}.parquet",
                    buffer.getvalue(),
                )

    def verify(self, tasks: list[str]) -> tuple[list[list[Path]], list[str]]:
        """Verify all parts; return the files of each kind in the order of the tasks, given by their identities.

        Damaged files are set aside, and their names are returned too. If any file is damaged or missing, no
        files to merge are returned.
        """
        sound: dict[tuple[int, str], Path] = {}
        bad = []
        for path in sorted(self._folder.iterdir()):
            if found := _PART.fullmatch(path.name):
                index, kind = int(found[1]), found[2]
                if index < len(tasks) and _is_sealed(path, tasks[index], kind, found[3]):
                    sound[index, kind] = path
                else:
                    bad.append(path.name)
                    self._set_aside(path)
        if bad or len(sound) < len(tasks) * len(self._kinds):
            return [], bad
        return [[sound[index, kind] for index in range(len(tasks))] for kind in self._kinds], []

    def _set_aside(self, path: Path) -> None:
        own_folder(self._aside)
        number = 0
        while (place := self._aside / f"{path.name}.{number}").exists():
            number += 1
        path.rename(place)


def _is_sealed(path: Path, task: str, kind: str, seal: str) -> bool:
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    with path.open("rb") as handle:
        return _seal(task, kind, handle) == seal


def _seal(task: str, kind: str, handle: io.BytesIO | io.BufferedReader) -> str:
    """Return the seal of an open file, read from its beginning."""
    return hashlib.file_digest(handle, lambda: hashlib.sha256(f"{task} {kind} ".encode())).hexdigest()[:32]


# --- The rows of a task ---------------------------------------------------------------


def tabulate(task: Task, batch: Batch, seconds: float) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return a task's rows for the results and the curves."""
    ids = [cell for text in task.worlds.texts for cell in cell_ids(text, task.agents.texts, task.length)]
    first = np.zeros(task.num_runs, dtype=np.int64)
    specification = {
        "cell": _at(ids, np.repeat(np.arange(len(ids)), len(task.seeds)), pl.String()),
        "world": _at([task.worlds.kind], first, pl.String()),
        "agent": _at([task.agents.label], first, pl.String()),
        **_option_columns(task),
        **_length_columns(task, batch),
        "episodes": pl.Series(np.full(task.num_runs, task.length.episodes)),
        "seed": pl.Series(np.tile(task.seeds, len(ids))),
    }
    gains = _exact_gains(task, batch)
    rows = results.results_frame(specification, batch, *gains, seconds, policies=task.policies)
    if not task.record:
        return rows, None
    points = task.recording.points
    if task.mean:
        count = len(task.seeds)
        each = {name: column.gather_every(count) for name, column in specification.items() if name != "seed"}
        return rows, results.mean_curves_frame(each, points, batch.curves, batch.spreads, count)
    return rows, results.curves_frame(specification, points, batch.curves)


def _length_columns(task: Task, batch: Batch) -> dict[str, pl.Series]:
    """Return the planned steps of each run; if it ends at a time, that time and the steps taken."""
    if math.isinf(task.length.time):
        return {"steps": pl.Series(np.full(task.num_runs, task.length.steps))}
    time = pl.Series(np.full(task.num_runs, task.length.time))
    return {"time": time, "steps": pl.Series(batch.figures()["steps"])}


def _option_columns(task: Task) -> dict[str, pl.Series]:
    """Return a column for each option of the sweep, null where this task has none."""
    world = np.repeat(np.arange(len(task.worlds)), task.runs_a_world)
    agent = np.tile(np.repeat(np.arange(len(task.agents)), len(task.seeds)), len(task.worlds))
    columns = {}
    for name, is_text in task.columns.items():
        variants, index = (task.agents, agent) if name in task.agents.columns else (task.worlds, world)
        entries = variants.columns.get(name, [None] * len(variants))
        columns[name] = _at(entries, index, pl.String() if is_text else pl.Float64())
    return columns


def _at(entries: Sequence[Choice | None], index: Ints, kind: pl.DataType) -> pl.Series:
    """Return a column of the entries at these indices; numbers in a text column become words."""
    if kind == pl.String:
        entries = [
            as_word(entry) if isinstance(entry, bool) else None if entry is None else str(entry)
            for entry in entries
        ]
    return pl.Series(entries, dtype=kind).gather(index)


def _exact_gains(task: Task, batch: Batch) -> tuple[Floats, Floats]:
    """Return the exact gains of each run's world and of its final policy.

    They are NaN without a model, and for policies also where the run failed or has no policy.
    """
    gains, policy_gains = np.full((2, len(task.worlds), task.runs_a_world), np.nan)
    sound = (~batch.diverged & (batch.errors == "")).reshape(gains.shape)
    for index, variant in enumerate(task.worlds.each()):
        gains[index] = _gain(variant)
        if task.policies and (known := _judge(variant)):
            judge, last = known
            for run in np.flatnonzero(sound[index]).tolist():
                policy = batch.policies[index * task.runs_a_world + run]
                policy_gains[index, run] = judge((last - policy if last is not None else policy).tolist())
    return gains.ravel(), policy_gains.ravel()


@functools.lru_cache(maxsize=256)
def _gain(variant: Variants) -> float:
    """Return the exact gain of a world, or NaN if it is not known."""
    if world_kind(variant.kind).model is None:
        world = built_world(variant)
        known = None if knows_truth(world) else gain(world)  # a world that changes has no single gain
        return np.nan if known is None else known
    from sojourn.exact.solve import solve

    model = _model(variant)
    return np.nan if model is None else float(solve(model).gains[0])  # worlds start in state 0


@functools.lru_cache(maxsize=64)
def _judge(variant: Variants) -> tuple[PolicyGains, int | None] | None:
    """Return the evaluator of a world's policies, and its last action if actions are numbered in reverse."""
    model = _model(variant)
    if model is None:
        return None
    from sojourn.exact.policies import PolicyGains

    is_last_first = is_reversed(variant.kind, variant.options[0])
    return PolicyGains(model), model.num_actions - 1 if is_last_first else None


@functools.lru_cache(maxsize=1)
def _model(variant: Variants) -> SMDP | None:
    return model_behind(variant.kind, variant.options[0])
