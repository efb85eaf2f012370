"""Commands for sweeps and their results, the report, and files of minute bars."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.app import AsJson, Jobs, app, command, echo_json, echo_lines, goes_on, say

Folder = Annotated[Path, typer.Argument(help="Folder with the results of a sweep.")]


@command(
    "sojourn sweep experiments/first-look.toml --out out/first-look",
    "sojourn sweep experiments/first-look.toml --out out/first-look --dry-run",
    "sojourn sweep large.toml --out out/large --cluster tcp://scheduler:8786",
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
    from sojourn.runs.progress import progress
    from sojourn.runs.spec import load_sweep
    from sojourn.runs.store import run_sweep
    from sojourn.runs.tasks import estimate

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


@command("sojourn results out/first-look", "sojourn results out/first-look --csv runs.csv")
def results(
    folder: Folder,
    csv: Annotated[
        Path | None, typer.Option(help="Write the runs to this file as CSV, and curves to a file next to it.")
    ] = None,
) -> None:
    """Summarise the results of a sweep, or export them.

    With --csv runs.csv, recorded curves are written to runs.curves.csv.
    """
    from sojourn.answers.sweep import summary
    from sojourn.report import terminal
    from sojourn.runs.results import CURVES, export_csv, load_curves, load_results

    table = load_results(folder)
    if csv is not None:
        export_csv(table, csv)
        if (folder / CURVES).is_file():
            export_csv(load_curves(folder), csv.with_suffix(f".curves{csv.suffix}"))
        return
    echo_lines([str(folder), *terminal.lines([summary(table)])])


# --- The page ----------------------------------------------------------------------------


@command(
    "sojourn report out/robustness out/bitcoin --out out/report.html",
    "sojourn report out --title 'All of today' --claims",
)
def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Folders written by reproduce, sweep, compare, solve, audit, log, rates or evaluate.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Sojourn report",
    claims: Annotated[
        bool, typer.Option("--claims", help="Add the paper's claims, with a verdict on each.")
    ] = False,
) -> None:
    """Write one HTML page with charts and tables of results; the page needs no network.

    If a folder contains such folders, all of them are shown.
    """
    from sojourn.answers.page import write_report

    say(f"{write_report(folders, out, title, claims)} is written; open it in a browser")


# --- Minute bars -------------------------------------------------------------------------

data = typer.Typer(no_args_is_help=True, help="Check a file of minute bars, or download the paper's.")
app.add_typer(data, name="data")


@command(
    "sojourn data check btcusd.parquet",
    "sojourn data check btcusd.csv.gz --fill 60 --repair --json",
    group=data,
)
def check(
    file: Annotated[Path, typer.Argument(help="File of bars: CSV, CSV.gz or Parquet.")],
    fill: Annotated[int, typer.Option(help="Fill gaps of up to this many bars.", min=0)] = 0,
    repair: Annotated[bool, typer.Option("--repair", help="Treat damaged rows as missing bars.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a file of bars contains and everything that is wrong with it."""
    from sojourn.worlds.market.bars import describe, load_bars

    held = describe(load_bars(file, fill=fill, repair=repair))
    if as_json:
        echo_json(held)
        return
    say(f"{file}")
    say(
        f"  bars      {held['bars']:,} = {held['rows']:,} rows - {held['dropped']:,} dropped + {held['filled']:,} filled"
    )
    say(f"  time      {held['first']} to {held['last']} UTC, every {held['interval']:,} s")
    say(
        f"  prices    {held['lowest']:,} to {held['highest']:,}; {held['unmoved']:.1%} of the bars do not move"
    )
    say(f"  sha256    {held['sha256']}")
    for finding in held["findings"]:
        say(f"  found     {finding['what']}: {finding['count']:,}, first {finding['first']}")
        say(f"            {finding['remedy']}")
    if not held["findings"]:
        say("  found     nothing wrong")


@command("sojourn data fetch --out data", group=data)
def fetch(out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("data")) -> None:
    """Download the paper's minute bars from Kaggle."""
    try:
        import kagglehub
    except ImportError:
        raise ValueError(
            "kagglehub is not installed; install it with: pip install 'sojourn[kaggle]'"
        ) from None
    from sojourn.worlds.market.bars import fetch_bars

    for file in fetch_bars(out, kagglehub.dataset_download):
        say(f"{file} is downloaded; check it with: sojourn data check {file}")
