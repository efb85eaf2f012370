"""The command for the paper's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.app import AsJson, app, echo_json, echo_lines, examples, say

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
    name: Annotated[str | None, typer.Argument(metavar="ID", help="Show this claim in full.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Only claims with this verdict, such as 'does not hold'.")
    ] = None,
    as_json: AsJson = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the documentation's page, as Markdown.")
    ] = False,
) -> None:
    """List the paper's claims, with a verdict on each."""
    from sojourn.studies.claims.ledger import choose, load_claims
    from sojourn.studies.claims.words import claims_page

    if name is not None and verdict is not None:
        raise ValueError("an ID and --verdict cannot both be given; leave one out")
    chosen = choose(load_claims(), name, verdict)
    if markdown:
        echo_lines(claims_page(chosen).removesuffix("\n").split("\n"))
    elif as_json:
        found: list[Json] = [claim._asdict() for claim in chosen]
        echo_json(found if name is None else found[0])
    elif name is not None:
        _print_one(chosen[0])
    else:
        _print_all(chosen)


def _print_all(claims: list[Claim]) -> None:
    from itertools import groupby

    from sojourn.studies.claims.ledger import counts, errors

    width = max((len(claim.id) for claim in claims), default=0)
    for section, members in groupby(claims, key=lambda claim: claim.section):
        say(section, bold=True)
        for claim in members:
            say(f"  {claim.id:{width}}  ", ending=claim.verdict, colour=_COLOURS.get(claim.verdict, ""))
            echo_lines(_wrapped(claim.claim, "      "))
        say("")
    wrong = f" ({errors(claims)} different errors)"
    told = ", ".join(
        f"{count} {verdict}{wrong if verdict == 'does not hold' else ''}"
        for verdict, count in counts(claims).items()
        if count
    )
    say(f"{len(claims)} claims: {told}; sojourn claims ID says why")


def _print_one(claim: Claim) -> None:
    say(f"{claim.id}: ", bold=True, ending=claim.verdict, colour=_COLOURS.get(claim.verdict, ""))
    say(f"  {claim.where}")
    for text in (claim.claim, claim.reason):
        say("")
        echo_lines(_wrapped(text, "  "))
    say("")
    for entry in claim.evidence:
        say(f"  {'python -m pytest ' if entry in claim.tests else ''}{entry}")


def _wrapped(text: str, indent: str) -> list[str]:
    import shutil
    import textwrap

    width = min(100, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)
