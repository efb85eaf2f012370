"""Commands about the paper: `reproduce` runs its studies, `claims` lists its claims with verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.app import AsJson, Formats, Jobs, Out, app, command, echo_json, echo_lines, goes_on, say
from sojourn.cli.parsing import formats_of, numbers_of

if TYPE_CHECKING:
    from sojourn.data.files import Json
    from sojourn_paper.claims import Claim

reproduce = typer.Typer(
    no_args_is_help=True,
    help="Run one of the paper's two studies, or one of Sojourn's own, on change, networks and environments.",
)
app.add_typer(reproduce, name="reproduce")


@command(
    "sojourn reproduce robustness",
    "sojourn reproduce robustness --seeds 20 --out out/twenty-seeds",
    group=reproduce,
)
def robustness(
    out: Out = Path("out/robustness"),
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.", min=1)] = 5,
    steps: Annotated[int, typer.Option(help="Steps in an episode.", min=2, max=3000)] = 1000,
    episodes: Annotated[int, typer.Option(help="Episodes in a run.", min=1)] = 4,
    formats: Formats = "png,svg",
    jobs: Jobs = None,
) -> None:
    """Run the simulation study: which agents end with action B in the two-state family."""
    from sojourn.runs.progress import progress
    from sojourn_paper.robustness import section
    from sojourn_paper.robustness.plan import specification

    kinds = formats_of(formats)
    with goes_on(), progress("robustness", specification(seeds, steps, episodes).num_steps) as advance:
        found = section.robustness(out, seeds, steps, episodes, jobs=jobs, progress=advance, formats=kinds)
    _say_all(section.headlines(found), out)


@command(
    "sojourn reproduce bitcoin",
    "sojourn reproduce bitcoin --data btcusd.parquet --out out/real",
    "sojourn reproduce bitcoin --data btcusd.parquet --segments 0-4,7 --seeds 5",
    group=reproduce,
)
def bitcoin(
    data: Annotated[
        Path | None, typer.Option(help="Minute bars, as CSV, CSV.gz or Parquet; synthetic ones by default.")
    ] = None,
    segment_length: Annotated[
        int | None,
        typer.Option(help="Bars in a segment; by default 350000, or 50000 if they are synthetic.", min=2),
    ] = None,
    segments: Annotated[
        str | None, typer.Option(help="Segments to run, counted from 0, such as 0-4,7; all by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.", min=1)] = 30,
    state_sizes: Annotated[
        str, typer.Option(help="Numbers of past directions that a state holds; each is run.")
    ] = "3,6,9,12",
    by_magnitude: Annotated[
        bool,
        typer.Option("--by-magnitude", help="Scale durations by |move|, the other way to read the paper."),
    ] = False,
    fill: Annotated[int, typer.Option(help="Fill gaps of up to this many bars.", min=0)] = 0,
    repair: Annotated[bool, typer.Option("--repair", help="Treat damaged rows as missing bars.")] = False,
    out: Out = Path("out/bitcoin"),
    formats: Formats = "png,svg",
    jobs: Jobs = None,
) -> None:
    """Run the market study: which agent accumulates more on segments of minute bars."""
    from sojourn.runs.progress import progress
    from sojourn.worlds.market.instruments import SYNTHETIC
    from sojourn_paper.bitcoin import section
    from sojourn_paper.bitcoin.plan import Source, specification

    if data is None and (fill or repair):
        raise ValueError("--fill and --repair need a file; give one with --data")
    length = segment_length or (50_000 if data is None else 350_000)
    source = Source(SYNTHETIC if data is None else str(data), length, fill, repair, by_magnitude)
    chosen = None if segments is None else numbers_of("--segments", segments, 0)
    sizes = numbers_of("--state-sizes", state_sizes, 1)
    sweep = specification(source, seeds, sizes, chosen)
    kinds = formats_of(formats)
    label = "bitcoin (synthetic)" if data is None else "bitcoin"
    with goes_on(), progress(label, sweep.num_steps) as advance:
        found = section.bitcoin(out, source, sweep, jobs, advance, kinds)
    _say_all(section.headlines(found), out)


@command(
    "sojourn reproduce drift",
    "sojourn reproduce drift --streams 20 --worlds 40 --out out/small",
    group=reproduce,
)
def drift(
    out: Out = Path("out/drift"),
    streams: Annotated[
        int, typer.Option(help="Number of random streams, besides those with names.", min=2)
    ] = 120,
    worlds: Annotated[
        int, typer.Option(help="Number of random worlds; each has a mirror, too.", min=2)
    ] = 400,
    seeds: Annotated[
        int, typer.Option(help="Number of seeds to measure on; 3 others are used for tuning.", min=1)
    ] = 3,
    formats: Formats = "png,svg",
    jobs: Jobs = None,
) -> None:
    """Run the study of change: which estimators and agents follow it best, and whether the paper's trend can be seen."""
    from sojourn.runs.progress import progress
    from sojourn_paper.drift import section
    from sojourn_paper.drift.plan import Size

    size, kinds = Size(streams, worlds, seeds), formats_of(formats)
    with goes_on(), progress("drift", section.num_steps(size)) as advance:
        found = section.drift(out, size, jobs, advance, kinds)
    _say_all(section.headlines(found), out)


@command(
    "sojourn reproduce observations",
    "sojourn reproduce observations --seeds 5 --rate-seeds 0 --out out/five-seeds",
    "sojourn reproduce observations --length 0.1 --out out/short",
    group=reproduce,
)
def observations(
    out: Out = Path("out/observations"),
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.", min=1)] = 3,
    rate_seeds: Annotated[
        int, typer.Option(help="Number of seeds for runs with other rates and without durations.", min=0)
    ] = 2,
    length: Annotated[float, typer.Option(help="Length of runs, as a share of the usual length.")] = 1.0,
    formats: Formats = "png,svg",
    jobs: Jobs = None,
) -> None:
    """Run the study of networks: deep Q and PPO where observations cannot be listed, next to the best gains."""
    from sojourn.runs.progress import progress
    from sojourn_paper import observations as study

    size, kinds = study.Size(seeds, rate_seeds, length), formats_of(formats)
    with goes_on(), progress("observations", sum(cell.steps for cell in study.all_cells(size))) as advance:
        found = study.observations(out, size, jobs, advance, kinds)
    _say_all(study.headlines(found), out)


@command(
    "sojourn reproduce environments",
    "sojourn reproduce environments --environments cart-pole,pendulum --seeds 2 --length 0.1 --out out/short",
    group=reproduce,
)
def environments(
    out: Out = Path("out/environments"),
    names: Annotated[
        str | None,
        typer.Option(
            "--environments",
            help="Environments, such as cart-pole,lunar-lander; all that are installed by default.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Number of seeds, from 0 on; where a run takes minutes, at most 2.", min=1)
    ] = 5,
    length: Annotated[float, typer.Option(help="Length of runs, as a share of the usual length.")] = 1.0,
    formats: Formats = "png,svg",
    jobs: Jobs = None,
) -> None:
    """Run the study of environments that nobody here wrote: what agents earn with the policy they kept, and with their last one."""
    from sojourn.runs.progress import progress
    from sojourn_paper import environments as study

    wanted = list(study.PLACES) if names is None else [name.strip() for name in names.split(",")]
    kinds = formats_of(formats)
    total = sum(cell.steps for cell in study.cells(wanted, seeds, length))
    with goes_on(), progress("environments", total) as advance:
        found = study.environments(out, wanted, seeds, length, jobs, advance, kinds)
    _say_all(study.headlines(found), out)


def _say_all(lines: list[str], out: Path) -> None:
    echo_lines(lines)
    say(f"{out / 'README.md'} says what was found; {out / 'figures'} shows it")


# --- Claims -------------------------------------------------------------------------

_COLOURS = {"holds": "green", "holds with a condition": "yellow", "does not hold": "red"}


@command("sojourn claims", "sojourn claims monotonicity", "sojourn claims --verdict 'does not hold' --json")
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
    from sojourn_paper.claims import choose, claims_page, load_claims

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

    from sojourn_paper.claims import counts, errors

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
