"""The study of change, from its streams and sweeps to its folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

import polars as pl

from sojourn.data.child import read_table
from sojourn.data.files import own_folder, write_json, write_text
from sojourn.data.hints import as_json
from sojourn.report import figures
from sojourn.report.blocks import Budget
from sojourn.report.figures import drawing
from sojourn.report.markdown import markdown
from sojourn.runs.executors import executor
from sojourn.runs.folder import run_sweep
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import TIMINGS, claim_folder, load_results
from sojourn.runs.spec import Sweep
from sojourn.worlds.changes.random_ones import drawn
from sojourn_paper.drift import charts, family, plan, tables, tracking
from sojourn_paper.drift import section as words
from sojourn_paper.drift.plan import Size
from sojourn_paper.drift.section import section
from sojourn_paper.drift.tables import Summary
from sojourn_paper.robustness.tables import realised


def num_steps(size: Size) -> int:
    """Return how many steps the whole study takes at most."""
    return tracking.num_steps(size) + sum(sweep.num_steps for sweep in plan.sweeps(size).values())


def drift(
    out: Path,
    size: Size = Size(),  # noqa: B008 - it cannot be changed
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Summary:
    """Run the study of change into a folder; return what was found."""
    claim_folder(out)
    begin = time.perf_counter()
    own_folder(out)
    with executor(jobs) as (pool, width):
        swept = {
            name: _swept(sweep, out / name, pool, width, progress)
            for name, sweep in plan.sweeps(size).items()
        }
        measured = tables.Measured(
            streams=tracking.measure(out / "streams", size, pool, progress),
            random_worlds=swept.pop("sweep"),
            kinds=_kinds(size),
            family=swept.pop("family"),
            named_worlds=list(swept.values()),
            realised=realised(family.SEEN, min(size.seeds, 5)),
            foretold=family.foretold(size, pool),
        )
    with drawing(jobs, formats) as write_sheets:
        found = tables.tabulate(measured)
        tables.write(out, found)
        write_sheets(charts.sheets(found), out / "figures")
    # Sweeps may have been stopped and resumed, so the seconds of their tasks are added up.
    earlier = (
        sum(float(read_table(out / name / TIMINGS)["seconds"].sum()) for name in plan.sweeps(size)) / width
    )
    seconds = max(earlier, time.perf_counter() - begin)
    summary = words.with_words(tables.summarised(found, size, num_steps(size), seconds))
    write_text(out / "README.md", markdown(section(out, as_json(summary), Budget())))
    write_json(out / "summary.json", as_json(summary))  # last, since it means that everything is done
    return summary


def _swept(sweep: Sweep, folder: Path, pool: Executor, width: int, progress: Advance) -> pl.DataFrame:
    run_sweep(sweep, own_folder(folder), pool, width, progress).whole()
    return load_results(folder)


def _kinds(size: Size) -> pl.DataFrame:
    """Return the kind of each random world, which says which action is best."""
    numbers = range(size.worlds)
    return pl.DataFrame(
        {"number": [float(number) for number in numbers], "kind": [drawn(number).kind for number in numbers]}
    )
