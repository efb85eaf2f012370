"""Commands about exact answers."""

from __future__ import annotations

from typing import Annotated

import typer

from sojourn.cli.app import AsJson, app


@app.command()
def solve(
    name: Annotated[
        str, typer.Argument(help="A problem, such as gosavi, or a TOML or JSON file of a model.")
    ],
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="Option of the problem, as key=value.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem or a model exactly: the largest gain, and a policy that has it.

    Costs are negative rewards.

    Example: sojourn solve admission-control -o capacity=10
    """
    import json

    from sojourn import training

    found = training.solved(name, training.options_of(option or [], "--option"))
    if as_json:
        typer.echo(json.dumps(found))
        return
    typer.echo(
        f"{name}: gain {found['gain']:.10g} per unit time, between {found['lower']:.10g} and {found['upper']:.10g} "
        f"({found['states']:,} states, {found['solver']}, {found['seconds']:.2g} s)"
    )
    policy = found["policy"]
    shown = " ".join(map(str, policy[:60])) + (" ..." if len(policy) > 60 else "")
    typer.echo(f"policy, the action of each state: {shown}")
