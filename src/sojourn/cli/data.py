"""Commands for files of minute bars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.app import AsJson, app, echo_json, examples, say

data = typer.Typer(no_args_is_help=True, help="Check a file of minute bars, or download the paper's.")
app.add_typer(data, name="data")


@data.command(
    epilog=examples(
        "sojourn data check btcusd.parquet",
        "sojourn data check btcusd.csv.gz --fill 60 --repair --json",
    )
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


@data.command(
    epilog=examples(
        "sojourn data fetch --out data",
    )
)
def fetch(
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("data"),
) -> None:
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
