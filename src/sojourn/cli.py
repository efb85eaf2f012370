"""The command line: parses, calls, prints."""

from __future__ import annotations

import sys
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


@app.command()
def reproduce(
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.", min=1)] = 10,
    step_size: Annotated[float, typer.Option(help="Step size of Q.")] = 0.01,
    rate_step_size: Annotated[float, typer.Option(help="Step size of the rate estimators.")] = 0.01,
    steps: Annotated[int, typer.Option(help="Steps in an episode.", min=1)] = 1000,
    episodes: Annotated[int, typer.Option(help="Episodes of a run.", min=1)] = 4,
) -> None:
    """Train the paper's three agents on the two-state family and print what each learned."""
    from rich.console import Console

    from sojourn.studies.preview import preview

    Console().print(preview(seeds, step_size, rate_step_size, steps, episodes))


def main() -> None:
    """Run the command line; an error is one sentence, not a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        sys.exit(f"sojourn: {error}")
    except KeyboardInterrupt:
        sys.exit("sojourn: interrupted")
