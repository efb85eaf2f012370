"""The command that makes one page of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.app import app, examples, say


@app.command(
    epilog=examples(
        "sojourn report out/robustness out/bitcoin --out out/report.html",
        "sojourn report out --title 'All of today' --claims",
    )
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
    from sojourn.studies.page import write_report

    say(f"{write_report(folders, out, title, claims)} is written; open it in a browser")
