"""The command for the paper's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.app import AsJson, app, echo_json, examples

if TYPE_CHECKING:
    from sojourn.rules.records import Json
    from sojourn.studies.claims.ledger import Claim

_COLOURS = {"holds": "green", "holds with a condition": "yellow", "does not hold": "red"}


@app.command(
    epilog=examples(
        "sojourn claims",
        "sojourn claims monotonicity",
        "sojourn claims --verdict 'does not hold' --json",
    )
)
def claims(
    name: Annotated[str | None, typer.Argument(metavar="ID", help="One claim, in full.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Only claims with this verdict, such as 'does not hold'.")
    ] = None,
    as_json: AsJson = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the page of the documentation.")
    ] = False,
) -> None:
    """List the paper's claims, with a verdict on each."""
    from sojourn.studies.claims.ledger import choose, load_claims
    from sojourn.studies.claims.words import claims_page

    if name is not None and verdict is not None:
        raise ValueError("an ID and --verdict cannot both be given")
    chosen = choose(load_claims(), name, verdict)
    if markdown:
        typer.echo(claims_page(chosen), nl=False)
    elif as_json:
        found: list[Json] = [claim._asdict() for claim in chosen]
        echo_json(found if name is None else found[0])
    elif name is not None:
        _print_one(chosen[0])
    else:
        _print_all(chosen)


def _print_all(claims: list[Claim]) -> None:
    from itertools import groupby

    from sojourn.studies.claims.ledger import counts

    width = max((len(claim.id) for claim in claims), default=0)
    for section, members in groupby(claims, key=lambda claim: claim.section):
        typer.secho(section, bold=True)
        for claim in members:
            typer.echo(f"  {claim.id:{width}}  {_styled(claim.verdict)}")
            typer.echo(_wrapped(claim.claim, "      "))
        typer.echo()
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts(claims).items() if count)
    typer.echo(f"{len(claims)} claims: {told}; sojourn claims ID says why")


def _print_one(claim: Claim) -> None:
    typer.secho(f"{claim.id}: {_styled(claim.verdict)}", bold=True)
    typer.echo(f"  {claim.where}")
    for text in (claim.claim, claim.reason):
        typer.echo()
        typer.echo(_wrapped(text, "  "))
    typer.echo()
    for entry in claim.evidence:
        typer.echo(f"  {'python -m pytest ' if entry in claim.tests else ''}{entry}")


def _styled(verdict: str) -> str:
    return typer.style(verdict, fg=_COLOURS.get(verdict))


def _wrapped(text: str, indent: str) -> str:
    import shutil
    import textwrap

    width = min(100, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)
