"""Commands that train and evaluate agents in Gymnasium environments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.app import AsJson, app, echo_json, examples

EnvOptions = Annotated[
    list[str] | None, typer.Option("--env-option", "-e", help="Option of the environment, as key=value.")
]


@app.command(
    epilog=examples(
        "sojourn envs",
        "sojourn envs --json",
    )
)
def envs(as_json: AsJson = False) -> None:
    """List Sojourn's environments."""
    from sojourn.learner.named import environments

    if as_json:
        echo_json([{"id": env_id, "summary": line} for env_id, line in environments()])
        return
    for env_id, line in environments():
        typer.echo(f"{env_id:24} {line}")


@app.command(
    epilog=examples(
        "sojourn train sojourn/AdmissionControl-v0 --agent smart --steps 1000000",
        "sojourn train sojourn/TwoState-v0 -e log_scale=1e-3 --max-episode-steps 1000 -a step_size=0.01",
        "sojourn train FrozenLake-v1 --duration 1 --out lake.sojourn",
        "sojourn train FrozenLake-v1 --duration 1 --out lake.sojourn --resume",
    )
)
def train(
    env_id: Annotated[str, typer.Argument(help="Gymnasium's id of the environment.")],
    agent: Annotated[
        str | None, typer.Option(help="smart, harmonic-r, differential-q, ...; smart by default.")
    ] = None,
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
    """
    from sojourn.envs import make
    from sojourn.learner import named as training
    from sojourn.learner.learner import Learner
    from sojourn.learner.watch import tensorboard as writer

    if steps is not None and time is not None:
        raise ValueError("--steps and --time cannot both be given")
    training.check_out(out, resume)
    if resume and (agent or agent_option or bins):
        raise ValueError(
            "--agent, --agent-option and --bins are those of the saved learner; leave them out with --resume"
        )
    env = make(env_id, training.options_of(env_option or [], "--env-option"), max_episode_steps)
    if resume:
        learner = Learner.load(out, env)
    else:
        learner = training.new_learner(
            env,
            agent or "smart",
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
        echo_json(held)
    else:
        typer.echo(
            f"{out}: {held['steps']:,} steps, {held['duration']:.6g} units of time; learned rate {held['rate']:.6g}, "
            f"earned while learning {held['earned']:.6g}"
        )
    if interrupted:
        typer.echo("sojourn: interrupted; --resume goes on from here", err=True)
        raise typer.Exit(130)


@app.command(
    epilog=examples(
        "sojourn evaluate learner.sojourn",
        "sojourn evaluate learner.sojourn --time 100000 --seed 7 --json",
    )
)
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
    from sojourn.envs import make
    from sojourn.learner import named as training
    from sojourn.learner.learner import Learner

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
        echo_json({"file": str(file), **found._asdict(), "learned_rate": learner.rate})
        return
    typer.echo(
        f"{file}: {found.rate:.6g} per unit time, 95 % interval {found.low:.6g} to {found.high:.6g} "
        f"(steps: {found.steps:,}, batches: {found.batches}); learned rate {learner.rate:.6g}"
    )
