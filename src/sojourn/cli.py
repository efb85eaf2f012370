"""The command line: parses, calls, prints."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from sojourn import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _sojourn(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Average-reward reinforcement learning in semi-Markov decision processes."""


Folder = Annotated[Path, typer.Argument(help="Folder with the results of a sweep.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; one for each core by default.", min=1)]


reproduce = typer.Typer(no_args_is_help=True, help="Re-run a study of the paper.")
app.add_typer(reproduce, name="reproduce")


@reproduce.command()
def robustness(
    out: Annotated[Path, typer.Option(help="Folder for results, figures and a README.")] = Path(
        "out/robustness"
    ),
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.", min=1)] = 5,
    steps: Annotated[int, typer.Option(help="Steps in an episode.", min=2, max=3000)] = 1000,
    episodes: Annotated[int, typer.Option(help="Episodes of a run.", min=1)] = 4,
    jobs: Jobs = None,
) -> None:
    """Run the simulation study: which agents end with action B on the two-state family."""
    from sojourn import reproduce as studies
    from sojourn.progress import progress
    from sojourn.studies.robustness import specification

    with _goes_on(), progress("robustness", specification(seeds, steps, episodes).num_steps) as advance:
        summary = studies.robustness(out, seeds, steps, episodes, jobs, advance)
    for line in studies.headlines(summary):
        typer.echo(line)
    typer.echo(f"{out / 'README.md'} says what was found; {out / 'figures'} shows it")


@contextlib.contextmanager
def _goes_on() -> Iterator[None]:
    """End an interrupted command with a sentence."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("sojourn: interrupted; the same command goes on from here", err=True)
        raise typer.Exit(130) from None


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(help="TOML file that describes the sweep.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.")],
    jobs: Jobs = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler: tcp://...")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and stop.")] = False,
) -> None:
    """Run all runs of a sweep that are missing in a folder.

    It can be interrupted and started again at any time. The exit code is 3 if some runs
    failed: they are in the table, with the reason.
    """
    from sojourn import sweep as sweeps
    from sojourn.progress import progress
    from sojourn.spec import load_sweep
    from sojourn.tasks import estimate

    specification = load_sweep(file)
    counts = f"{specification.num_cells:,} cells, {specification.num_runs:,} runs, {specification.num_steps:,} steps"
    if dry_run:
        forecast = estimate(specification, jobs or os.cpu_count() or 1)
        typer.echo(
            f"{specification.name}: {counts}; about {forecast.seconds:,.0f} s, "
            f"{forecast.memory / 1e6:,.0f} MB of memory beside Python's own, {forecast.disk / 1e6:,.1f} MB on disk"
        )
        return
    typer.echo(f"{specification.name}: {counts}", err=True)
    with (
        _goes_on(),
        sweeps.executor(jobs, cluster) as (pool, width),
        progress(specification.name, specification.num_steps) as advance,
    ):
        outcome = sweeps.run_sweep(specification, out, pool, width, advance)
    if outcome.lost:
        typer.echo(
            f"sojourn: {outcome.lost:,} runs were lost ({outcome.reason}); the same command runs them again",
            err=True,
        )
        raise typer.Exit(1)
    typer.echo(
        f"{out}: {outcome.runs:,} runs in {outcome.seconds:.1f} s, {outcome.failed:,} failed", err=True
    )
    if outcome.failed:
        raise typer.Exit(3)


@app.command()
def results(
    folder: Folder,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this file, as CSV.")] = None,
) -> None:
    """Summarise the results of a sweep, or export them."""
    from sojourn.results import export_csv, load_results, summary_table

    table = load_results(folder)
    if csv is not None:
        export_csv(table, csv)
        return
    from rich.console import Console

    Console().print(summary_table(table, str(folder)))


def main() -> None:
    """Run the command line; an error is one sentence, and with SOJOURN_DEBUG=1 a traceback too."""
    try:
        app()
    except Exception as error:
        if os.environ.get("SOJOURN_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename:
            sys.exit(f"sojourn: {error.filename}: {error.strerror}")
        expected = isinstance(error, ValueError | TypeError | OSError)
        sys.exit(f"sojourn: {error}" if expected else f"sojourn: {type(error).__name__}: {error}")
    except KeyboardInterrupt:
        sys.exit("sojourn: interrupted")
