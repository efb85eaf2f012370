"""The Bitcoin study, from its sweep to its folder."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sojourn.data.child import read_table
from sojourn.data.files import own_folder, write_text, write_whole
from sojourn.report import figures
from sojourn.report.blocks import Budget
from sojourn.report.figures import drawing
from sojourn.report.markdown import markdown
from sojourn.runs.executors import executor
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import CURVES, RESULTS, TIMINGS, claim_folder, load_results
from sojourn.runs.spec import Sweep
from sojourn.runs.store import run_sweep
from sojourn_paper.bitcoin import charts, tables
from sojourn_paper.bitcoin import section as words
from sojourn_paper.bitcoin.plan import Source
from sojourn_paper.bitcoin.section import section
from sojourn_paper.bitcoin.tables import Summary, numbers


def bitcoin(
    out: Path,
    source: Source,
    sweep: Sweep,
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Summary:
    """Run the paper's Bitcoin study into a folder; return its summary."""
    claim_folder(out)
    with executor(jobs) as (pool, width):
        run_sweep(sweep, own_folder(out / "sweep"), pool, width, progress).whole()
    # The sweep may have been stopped and resumed, so the seconds of its tasks are added up.
    seconds = float(read_table(out / "sweep" / TIMINGS)["seconds"].sum()) / width
    begin = time.perf_counter()
    with drawing(jobs, formats) as write_sheets:
        found, bars = _tabulate(out, source), source.bars()
        data = "synthetic data" if bars.synthetic else bars.name  # in the titles
        write_sheets(charts.sheets(found, data), out / "figures")
    measured = numbers(found, source, sweep, seconds + time.perf_counter() - begin)
    summary = words.with_words(measured, found, source)
    write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    write_text(out / "README.md", markdown(section(out, summary, Budget())))
    return summary


def _tabulate(out: Path, source: Source) -> tables.Tables:
    """Make the study's tables from those of the sweep, and write them."""
    runs = tables.tidy(load_results(out / "sweep"))
    failed = runs.filter(pl.col("error").is_not_null())
    if failed.height:
        raise ValueError(f"{failed.height} runs failed, the first because {failed['error'][0]}")
    write_whole(out / RESULTS, runs.drop("cell", "error").write_parquet)
    found = tables.tabulate(runs, read_table(out / "sweep" / CURVES), source)
    tables.write(out, found)
    return found
