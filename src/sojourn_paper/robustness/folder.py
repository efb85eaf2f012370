"""The simulation study, from its sweep to its folder."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from sojourn.data.child import read_table
from sojourn.data.files import own_folder, write_text, write_whole
from sojourn.report import figures
from sojourn.report.blocks import Budget
from sojourn.report.figures import drawing
from sojourn.report.markdown import markdown
from sojourn.runs.executors import executor
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import RESULTS, TIMINGS, claim_folder, load_results
from sojourn.runs.store import run_sweep
from sojourn_paper.robustness import charts, plan, tables
from sojourn_paper.robustness import section as words
from sojourn_paper.robustness.section import section
from sojourn_paper.robustness.tables import Summary, numbers


def robustness(
    out: Path,
    seeds: int = 5,
    steps: int = 1000,
    episodes: int = 4,
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Summary:
    """Run the paper's simulation study into a folder; return its summary."""
    claim_folder(out)
    sweep = plan.specification(seeds, steps, episodes)
    with executor(jobs) as (pool, width):
        run_sweep(sweep, own_folder(out / "sweep"), pool, width, progress).whole()
    # The sweep may have been stopped and resumed, so the seconds of its tasks are added up.
    seconds = float(read_table(out / "sweep" / TIMINGS)["seconds"].sum()) / width
    begin = time.perf_counter()
    runs = tables.with_success(load_results(out / "sweep"))
    write_whole(out / RESULTS, runs.write_parquet)
    with drawing(jobs, formats) as write_sheets:
        found = tables.tabulate(runs, seeds, steps, jobs)
        tables.write(out, found)
        write_sheets(charts.sheets(found, steps), out / "figures")
    summary = words.with_words(numbers(found, sweep, steps, seconds + time.perf_counter() - begin), found)
    write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    write_text(out / "README.md", markdown(section(out, summary, Budget())))
    return summary
