"""Commands for sweeps and their results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.app import Jobs, app, echo_table, examples, goes_on, say

Folder = Annotated[Path, typer.Argument(help="Folder with the results of a sweep.")]


@app.command(
    epilog=examples(
        "sojourn sweep experiments/first-look.toml --out out/first-look",
        "sojourn sweep experiments/first-look.toml --out out/first-look --dry-run",
        "sojourn sweep large.toml --out out/large --cluster tcp://scheduler:8786",
    )
)
def sweep(
    file: Annotated[Path, typer.Argument(help="TOML file that describes the sweep.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.")],
    jobs: Jobs = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler: tcp://...")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print how much there is to run, and stop.")
    ] = False,
) -> None:
    """Run a sweep, except for the runs that the folder already has.

    The command can be interrupted and started again at any time. Its exit code
    is 3 if some runs failed; the table has them, with the reason.
    """
    from sojourn.runs.executors import executor
    from sojourn.runs.folder import run_sweep
    from sojourn.runs.progress import progress
    from sojourn.runs.tasks import estimate
    from sojourn.runs.toml import load_sweep

    specification = load_sweep(file)
    counts = f"{specification.num_cells:,} cells, {specification.num_runs:,} runs, {specification.num_steps:,} steps"
    if dry_run:
        forecast = estimate(specification, jobs or os.cpu_count() or 1)
        say(
            f"{specification.name}: {counts}; about {forecast.seconds:,.0f} s, "
            f"{forecast.memory / 1e6:,.0f} MB of memory besides Python's own, {forecast.disk / 1e6:,.1f} MB on disk"
        )
        return
    say(f"{specification.name}: {counts}", err=True)
    with (
        goes_on(),
        executor(jobs, cluster) as (pool, width),
        progress(specification.name, specification.num_steps) as advance,
    ):
        outcome = run_sweep(specification, out, pool, width, advance).whole()
    say(f"{out}: {outcome.runs:,} runs in {outcome.seconds:.1f} s, {outcome.failed:,} failed", err=True)
    if outcome.failed:
        raise typer.Exit(3)


@app.command(
    epilog=examples(
        "sojourn results out/first-look",
        "sojourn results out/first-look --csv runs.csv",
    )
)
def results(
    folder: Folder,
    csv: Annotated[
        Path | None, typer.Option(help="Write the runs to this file as CSV, and curves to a file next to it.")
    ] = None,
) -> None:
    """Summarise the results of a sweep, or export them.

    With --csv runs.csv, recorded curves are written to runs.curves.csv.
    """
    from sojourn.runs.results import CURVES, export_csv, load_curves, load_results, summary_table

    table = load_results(folder)
    if csv is not None:
        export_csv(table, csv)
        if (folder / CURVES).is_file():
            export_csv(load_curves(folder), csv.with_suffix(f".curves{csv.suffix}"))
        return
    echo_table(summary_table(table, str(folder)))
