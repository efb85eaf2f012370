"""The command line: parses, calls, prints."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
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
    from sojourn.progress import progress
    from sojourn.reproduce import robustness as studies
    from sojourn.studies.robustness import specification

    with _goes_on(), progress("robustness", specification(seeds, steps, episodes).num_steps) as advance:
        summary = studies.robustness(out, seeds, steps, episodes, jobs, advance)
    for line in studies.headlines(summary):
        typer.echo(line)
    typer.echo(f"{out / 'README.md'} says what was found; {out / 'figures'} shows it")


@reproduce.command()
def bitcoin(
    data: Annotated[
        Path | None, typer.Option(help="Minute bars, as CSV, CSV.gz or Parquet; synthetic ones by default.")
    ] = None,
    segment_length: Annotated[
        int | None, typer.Option(help="Bars in a segment: 350000, or 50000 of the synthetic ones.", min=2)
    ] = None,
    segments: Annotated[
        str | None, typer.Option(help="Segments to run, from 0 on, such as 0-4,7; all by default.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 on.", min=1)] = 30,
    state_sizes: Annotated[str, typer.Option(help="Numbers of directions to remember.")] = "3,6,9,12",
    by_magnitude: Annotated[
        bool,
        typer.Option("--by-magnitude", help="Scale durations by |move|: the other reading of the paper."),
    ] = False,
    fill: Annotated[int, typer.Option(help="Fill gaps of up to so many bars.", min=0)] = 0,
    repair: Annotated[bool, typer.Option("--repair", help="Treat damaged rows as missing bars.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and a README.")] = Path(
        "out/bitcoin"
    ),
    jobs: Jobs = None,
) -> None:
    """Run the market study: who accumulates more, on segments of minute bars."""
    from sojourn.instrument import SYNTHETIC
    from sojourn.progress import progress
    from sojourn.reproduce import bitcoin as studies
    from sojourn.studies.bitcoin import Source, specification

    if data is None and (fill or repair):
        raise ValueError("--fill and --repair are for a file; give it with --data")
    length = segment_length or (50_000 if data is None else 350_000)
    source = Source(SYNTHETIC if data is None else str(data), length, fill, repair, by_magnitude)
    chosen = None if segments is None else _numbers("--segments", segments, 0)
    sizes = _numbers("--state-sizes", state_sizes, 1)
    sweep = specification(source, seeds, sizes, chosen)
    label = "bitcoin (synthetic)" if data is None else "bitcoin"
    with _goes_on(), progress(label, sweep.num_steps) as advance:
        summary = studies.bitcoin(out, source, sweep, jobs, advance)
    for line in studies.headlines(summary):
        typer.echo(line)
    typer.echo(f"{out / 'README.md'} says what was found; {out / 'figures'} shows it")


def _numbers(option: str, text: str, least: int) -> tuple[int, ...]:
    """Return the different numbers in text such as 0-4,7, ascending."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True) and len(last or first) < 10):
            raise ValueError(f"{option} is {text!r}; it must be numbers and ranges, such as 0-4,7")
        if int(last or first) - int(first) > 1_000_000:
            raise ValueError(f"{option} is {text!r}; that is more than there can be")
        numbers.update(range(int(first), int(last or first) + 1))
    if not numbers or min(numbers) < least:
        raise ValueError(f"{option} is {text!r}; its numbers must be at least {least}, and ranges ascend")
    return tuple(sorted(numbers))


@contextlib.contextmanager
def _goes_on() -> Iterator[None]:
    """End an interrupted command with a sentence."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("sojourn: interrupted; the same command goes on from here", err=True)
        raise typer.Exit(130) from None


data = typer.Typer(no_args_is_help=True, help="Look at files of minute bars, or fetch the paper's.")
app.add_typer(data, name="data")


@data.command()
def check(
    file: Annotated[Path, typer.Argument(help="Bars, as CSV, CSV.gz or Parquet.")],
    fill: Annotated[int, typer.Option(help="Fill gaps of up to so many bars.", min=0)] = 0,
    repair: Annotated[bool, typer.Option("--repair", help="Treat damaged rows as missing bars.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a file of bars holds, and everything in it that is not as it should be."""
    import json

    from sojourn.bars import describe, load_bars

    held = describe(load_bars(file, fill=fill, repair=repair))
    if as_json:
        typer.echo(json.dumps(held))
        return
    typer.echo(f"{file}")
    typer.echo(
        f"  bars      {held['bars']:,} = {held['rows']:,} rows - {held['dropped']:,} dropped + {held['filled']:,} filled"
    )
    typer.echo(f"  time      {held['first']} to {held['last']} UTC, every {held['interval']:,} s")
    typer.echo(
        f"  prices    {held['lowest']:,} to {held['highest']:,}; {held['unmoved']:.1%} of the bars do not move"
    )
    typer.echo(f"  sha256    {held['sha256']}")
    for finding in held["findings"]:
        typer.echo(f"  found     {finding['what']}: {finding['count']:,}, first {finding['first']}")
        typer.echo(f"            {finding['remedy']}")
    if not held["findings"]:
        typer.echo("  found     nothing wrong")


@data.command()
def fetch(
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("data"),
) -> None:
    """Download the minute bars of the paper from Kaggle."""
    try:
        import kagglehub
    except ImportError:
        raise ValueError("kagglehub is not installed; pip install 'sojourn[kaggle]' does it") from None
    from sojourn.bars import fetch_bars

    for file in fetch_bars(out, kagglehub.dataset_download):
        typer.echo(f"{file} is there; look at it with: sojourn data check {file}")


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
EnvOptions = Annotated[
    list[str] | None, typer.Option("--env-option", "-e", help="Option of the environment, as key=value.")
]


@app.command()
def envs(as_json: AsJson = False) -> None:
    """List Sojourn's environments."""
    import json

    from sojourn.training import environments

    if as_json:
        typer.echo(json.dumps([{"id": env_id, "summary": line} for env_id, line in environments()]))
        return
    for env_id, line in environments():
        typer.echo(f"{env_id:24} {line}")


@app.command()
def train(
    env_id: Annotated[str, typer.Argument(help="Gymnasium's id of the environment.")],
    agent: Annotated[str, typer.Option(help="smart, harmonic-r, differential-q, ...")] = "harmonic-r",
    steps: Annotated[int | None, typer.Option(help="Steps to train; 100000 by default.", min=1)] = None,
    time: Annotated[float | None, typer.Option(help="Time of the environment to train for instead.")] = None,
    out: Annotated[Path, typer.Option(help="File for the learner.")] = Path("learner.sojourn"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the learner in that file.")] = False,
    seed: Annotated[int, typer.Option(help="Of the environment and the agent.", min=0)] = 0,
    env_option: EnvOptions = None,
    agent_option: Annotated[
        list[str] | None, typer.Option("--agent-option", "-a", help="Option of the agent: step_size=0.01.")
    ] = None,
    duration: Annotated[str, typer.Option(help="Key of info with the duration, or a number.")] = "duration",
    zero_duration: Annotated[str, typer.Option(help="For steps that take no time: error or skip.")] = "error",
    bins: Annotated[
        str | None, typer.Option(help="Bins of continuous observations: 8, or [8, 4, ...].")
    ] = None,
    max_episode_steps: Annotated[int | None, typer.Option(help="Begin anew after so many.", min=1)] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder to write for TensorBoard.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train an agent in a Gymnasium environment, and save it.

    Ctrl-C ends the training and saves what has been learned; --resume goes on from there.

    Example: sojourn train sojourn/TwoState-v0 -e log_scale=1e-3 --max-episode-steps 1000 --steps 4000
    """
    import json

    from sojourn import training
    from sojourn.envs import make
    from sojourn.learner import Learner
    from sojourn.watch import tensorboard as writer

    if steps is not None and time is not None:
        raise ValueError("--steps and --time cannot both be given")
    if resume != out.exists():
        raise ValueError(
            f"{out} does not exist, so there is nothing to go on with"
            if resume
            else f"{out} exists; --resume goes on with it, or choose another --out"
        )
    env = make(env_id, training.options_of(env_option or [], "--env-option"), max_episode_steps)
    if resume:
        learner = Learner.load(out, env)
    else:
        learner = training.new_learner(
            env,
            agent,
            training.options_of(agent_option or [], "--agent-option"),
            duration=training.plain(duration),
            zero_duration=zero_duration,
            bins=None if bins is None else training.plain(bins),
            seed=seed,
        )
    callbacks = [] if tensorboard is None else [writer(str(tensorboard))]
    budget = {"duration": time} if time is not None else {"steps": steps or 100_000}
    interrupted = False
    try:
        learner.train(**budget, callbacks=callbacks, progress=True)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if learner.totals.steps:  # whatever ended the training, what was learned is kept
            learner.save(out)
    held = {"env": env_id, **training.told(learner), "file": str(out), "interrupted": interrupted}
    if as_json:
        typer.echo(json.dumps(held))
    else:
        typer.echo(
            f"{out}: {held['steps']:,} steps, {held['duration']:.6g} units of time; learned rate {held['rate']:.6g}, "
            f"earned while learning {held['earned']:.6g}"
        )
    if interrupted:
        typer.echo("sojourn: interrupted; --resume goes on from here", err=True)
        raise typer.Exit(130)


@app.command()
def evaluate(
    file: Annotated[Path, typer.Argument(help="A learner that was saved.")],
    time: Annotated[
        float | None, typer.Option(help="Time to follow the policy for; as 10,000 steps took by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the environment.", min=0)] = 1,
    env: Annotated[str | None, typer.Option(help="Another environment than that of the training.")] = None,
    env_option: EnvOptions = None,
    as_json: AsJson = False,
) -> None:
    """Say what a saved learner's greedy policy earns per unit time, with a 95 % interval."""
    import json

    from sojourn import training
    from sojourn.envs import make
    from sojourn.learner import Learner

    if env is None:
        made = training.environment_of(file)
    else:
        made = make(env, training.options_of(env_option or [], "--env-option"))
    learner = Learner.load(file, made)
    totals = learner.totals
    if time is None:
        time = 10_000.0 * totals.duration / totals.steps if totals.steps else 10_000.0
    found = learner.evaluate(duration=time, seed=seed)
    if as_json:
        typer.echo(json.dumps({"file": str(file), **found._asdict(), "learned_rate": learner.rate}))
        return
    typer.echo(
        f"{file}: {found.rate:.6g} per unit time, 95 % interval {found.low:.6g} to {found.high:.6g} "
        f"({found.steps:,} steps, {found.batches} batches); learned rate {learner.rate:.6g}"
    )


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
    warnings.formatwarning = lambda message, *_, **__: f"sojourn: {message}\n"
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
