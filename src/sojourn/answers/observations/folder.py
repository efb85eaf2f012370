"""The study, from its runs to its folder. Every run has its own file, so a study that was stopped can be resumed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sojourn import __version__
from sojourn.answers.observations import charts, judge, plan
from sojourn.answers.observations.judge import Observations, Outcome, Run, Truth
from sojourn.answers.observations.plan import Asked, cells
from sojourn.answers.observations.section import section
from sojourn.data.files import load_json, own_folder, write_json, write_text, write_whole
from sojourn.data.hints import as_json, read_record
from sojourn.data.names import is_users, users_constructor
from sojourn.learner.learner import Learner
from sojourn.report import figures
from sojourn.report.blocks import Budget
from sojourn.report.figures import drawing
from sojourn.report.markdown import markdown
from sojourn.rules.intervals import mean_interval
from sojourn.rules.jit.identity import source_of
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import RESULTS, claim_folder
from sojourn.runs.spec import RULES_VERSION
from sojourn.worlds.protocol import gain

RUNS, OBSERVATIONS = "runs", "observations.json"


def observations(
    out: Path,
    settings: plan.Settings = plan.Settings(),  # noqa: B008 - it cannot be changed
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Observations:
    """Run the study into a folder; return what was found."""
    plan.checked_settings(settings)
    runs = completed(
        out, list(dict.fromkeys([*plan.first(settings), *plan.second(settings)])), jobs, progress
    )
    found = summarised(runs, settings)
    write(found, runs, out, formats)
    return found


def comparison(
    asked: Asked,
    out: Path,
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Observations:
    """Compare agents, write the results into a folder, and return what was found; runs already there are kept."""
    wanted = cells(asked)
    runs = completed(out, wanted, jobs, progress)
    found = Observations(
        seeds=asked.seeds,
        rate_seeds=0,
        length=1.0,
        truths=tuple(
            replace(truth(problem), bar=None) for problem in dict.fromkeys(cell.problem for cell in wanted)
        ),
        first=outcomes([runs[cell] for cell in wanted]),
        second=(),
        version=__version__,
    )
    write(found, runs, out, formats)
    return found


def completed(
    out: Path, wanted: Sequence[plan.Cell], jobs: int | None, progress: Advance
) -> dict[plan.Cell, Run]:
    """Make the runs that a folder does not have yet, and return all of them."""
    claim_folder(out, RUNS)
    files = {cell: own_folder(out / RUNS) / _name(cell) for cell in wanted}
    missing = [cell for cell, file in files.items() if not file.is_file()]
    progress(sum(cell.steps for cell in set(wanted) - set(missing)), earlier=True)
    for cell, run in _measured(missing, jobs or os.cpu_count() or 1):
        write_json(files[cell], as_json(run))
        progress(cell.steps)
    return {cell: _read(file) for cell, file in files.items()}


def write(found: Observations, runs: Mapping[plan.Cell, Run], out: Path, formats: Sequence[str]) -> None:
    """Write what was found into the folder of the runs."""
    write_whole(out / RESULTS, pl.DataFrame(list(runs.values())).write_parquet)
    with drawing(1, formats) as write_sheets:  # two figures are drawn before another process has started
        write_sheets(charts.sheets(found), out / "figures")
    write_text(out / "README.md", markdown(section(out, as_json(found), Budget())))
    write_json(out / OBSERVATIONS, as_json(found))  # last, since it means that everything is done


def measured(cell: plan.Cell) -> Run:
    """Run and judge one cell."""
    begin = time.process_time()
    learner = trained(cell)
    seconds = time.process_time() - begin
    found = judge.judged(
        cell.problem, lambda seen, info: learner.act(seen, info.get("action_mask")), cell.seed
    )
    best = judge.best_gain(cell.problem)
    return Run(
        problem=cell.problem,
        agent=cell.agent,
        variant=cell.variant.label,
        seed=cell.seed,
        steps=cell.steps,
        gain=found,
        relative_gain=1.0 - (best - found) / abs(best),
        learned_rate=learner.rate,
        seconds=seconds,
    )


def trained(cell: plan.Cell) -> Learner:
    """Return the agent of a cell, after its steps."""
    learner = begun(cell)
    learner.train(cell.steps)
    return learner


def begun(cell: plan.Cell) -> Learner:
    """Return the agent of a cell before its first step; a user's own agent keeps its own settings."""
    env, variant = judge.environment(cell.problem), cell.variant
    if is_users(cell.agent):
        return Learner(env, users_constructor(cell.agent), seed=cell.seed)
    return Learner(
        env,
        cell.agent,
        duration=1.0 if variant.ignores_durations else "duration",
        seed=cell.seed,
        rate=variant.rate(),
        centring=variant.centring,
    )


def _name(cell: plan.Cell) -> str:
    """Return the name of a run's file, which depends on the rules and on the source of a user's agent."""
    variant = cell.variant.label.replace(", ", "-").replace(" ", "-").lower()
    agent = f"{cell.agent}-{source_of(cell.agent)[:16]}" if is_users(cell.agent) else cell.agent
    return f"{cell.problem}-{agent.replace(':', '-')}-{variant}-{cell.steps}-{cell.seed}-rules-{RULES_VERSION}.json"


def _read(file: Path) -> Run:
    try:
        return read_record(Run, load_json(file))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} cannot be read ({error}); remove it, and the run is made again") from None


def _measured(cells: Sequence[plan.Cell], width: int) -> Iterator[tuple[plan.Cell, Run]]:
    """Yield runs as they end, `width` at once: in processes, since most of a run is Python."""
    if width == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, measured(cell)
        return
    # A process that has used Polars must not fork. Ctrl-C reaches only this process, which then ends the others.
    fresh = multiprocessing.get_context("spawn")
    workers = min(width, len(cells))
    with ProcessPoolExecutor(workers, fresh, signal.signal, _DEAF) as pool, _ended_with(pool):
        begun = {pool.submit(measured, cell): cell for cell in cells}
        for done in as_completed(begun):
            yield begun[done], done.result()


_DEAF = (signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _ended_with(pool: ProcessPoolExecutor) -> Iterator[None]:
    """End the processes of a pool at once if anything goes wrong here."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise


def summarised(runs: Mapping[plan.Cell, Run], settings: plan.Settings) -> Observations:
    """Return the means over seeds of both parts."""
    return Observations(
        seeds=settings.seeds,
        rate_seeds=settings.rate_seeds,
        length=settings.length,
        truths=tuple(truth(problem) for problem in plan.BARS),
        first=outcomes([runs[cell] for cell in plan.first(settings)]),
        second=outcomes([runs[cell] for cell in plan.second(settings)]),
        version=__version__,
    )


def truth(problem: str) -> Truth:
    """Return what is known about a problem."""
    exact = gain(judge.environment(problem).world)
    return Truth(problem, judge.best_gain(problem), exact is not None, plan.BARS[problem])


def outcomes(runs: Sequence[Run]) -> tuple[Outcome, ...]:
    """Return the means of runs over seeds, in the order of problems."""
    grouped: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run.problem, run.agent, run.variant), []).append(run)
    places = list(plan.BARS)
    return tuple(sorted(map(_outcome, grouped.values()), key=lambda one: places.index(one.problem)))


def _outcome(runs: Sequence[Run]) -> Outcome:
    relative = np.array([run.relative_gain for run in runs])
    low, high = mean_interval(relative)
    return Outcome(
        problem=runs[0].problem,
        agent=runs[0].agent,
        variant=runs[0].variant,
        steps=runs[0].steps,
        seeds=len(runs),
        gain=float(np.mean([run.gain for run in runs])),
        relative_gain=float(relative.mean()),
        low=low,
        high=high,
        learned_rate=float(np.mean([run.learned_rate for run in runs])),
        seconds=float(np.mean([run.seconds for run in runs])),
    )
