"""Commands that train and evaluate agents in Gymnasium environments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.app import AsJson, command, echo_json, echo_lines, say
from sojourn.cli.entry import INTERRUPTED
from sojourn.cli.parsing import env_name, key_or_number, options_of, plain

if TYPE_CHECKING:
    from sojourn.data.files import Json
    from sojourn.learner.verdict import Verdict

EnvOptions = Annotated[
    list[str] | None, typer.Option("--env-option", "-e", help="Option of the environment, as key=value.")
]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--module", help="Your module that defines a class in the file; may be given several times."
    ),
]


@command("sojourn envs", "sojourn envs --json")
def envs(as_json: AsJson = False) -> None:
    """List Sojourn's environments."""
    from sojourn.envs import ENVIRONMENTS, summary

    if as_json:
        echo_json([{"id": env_id, "summary": summary(env_id)} for env_id in ENVIRONMENTS])
    else:
        echo_lines(f"{env_id:24} {summary(env_id)}" for env_id in ENVIRONMENTS)


@command(
    "sojourn train sojourn/AdmissionControl-v0 --steps 30000",
    "sojourn train sojourn/TwoState-v0 -e log_scale=1e-3 --max-episode-steps 1000 --agent smart -a step_size=0.01",
    "sojourn train FrozenLake-v1 --duration 1 --out lake.sojourn",
    "sojourn train FrozenLake-v1 --duration 1 --out lake.sojourn --resume",
)
def train(
    env_id: Annotated[
        str, typer.Argument(help="Gymnasium id of the environment, or module:Name for one of your own.")
    ],
    agent: Annotated[
        str | None,
        typer.Option(help="Agent, such as planner, smart or harmonic-r; chosen for you by default."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Number of steps to train; 100000 by default.", min=1)
    ] = None,
    time: Annotated[
        float | None, typer.Option(help="Train for this long on the environment's clock, instead of --steps.")
    ] = None,
    out: Annotated[Path, typer.Option(help="File to save the learner in.")] = Path("learner.sojourn"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue training the learner saved in the --out file.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the environment and the agent.", min=0)] = 0,
    env_option: EnvOptions = None,
    agent_option: Annotated[
        list[str] | None,
        typer.Option("--agent-option", "-a", help="Option of the agent, such as step_size=0.01."),
    ] = None,
    duration: Annotated[
        str, typer.Option(help="Key of the duration in info, or a constant number.")
    ] = "duration",
    bins: Annotated[
        str | None, typer.Option(help="Bins for continuous observations, such as 8 or [8, 4, ...].")
    ] = None,
    max_episode_steps: Annotated[
        int | None, typer.Option(help="Start a new episode after this many steps.", min=1)
    ] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder for TensorBoard's files.")] = None,
    evaluate_every: Annotated[
        int | None,
        typer.Option(help="Measure what the policy earns after every so many steps, such as 10000.", min=1),
    ] = None,
    save_every: Annotated[
        int | None,
        typer.Option(help="Save the learner about every so many steps, not only at the end.", min=1),
    ] = None,
    module: Modules = None,
    as_json: AsJson = False,
) -> None:
    """Train an agent in a Gymnasium environment, save it, and say what its policy earns.

    Ctrl-C ends the training and saves what has been learned; --resume continues from there.
    """
    from sojourn.learner.by_name import Beginning, Place, Training, begun, train_into, verdict_on

    if steps is not None and time is not None:
        raise ValueError("--steps and --time cannot both be given; leave one out")
    _check_out(out, resume)
    if resume and (agent or agent_option or bins):
        raise ValueError(
            "--agent, --agent-option and --bins are taken from the saved learner; leave them out with --resume"
        )
    if agent_option and agent is None:
        raise ValueError("--agent-option needs --agent; name the agent too, such as --agent smart")
    place = Place(env_name(env_id), options_of(env_option, "--env-option"), max_episode_steps)
    options = options_of(agent_option, "--agent-option")
    cut = None if bins is None else plain(bins)
    _import_all(module)
    new = Beginning(agent, options, key_or_number(duration), cut, seed)
    learner = begun(out, place, None if resume else new)
    if not as_json:
        say(f"agent: {learner.chosen}")
    stands, interrupted = train_into(
        out, learner, Training(steps, time, tensorboard, evaluate_every, save_every)
    )
    if interrupted and not stands.steps:
        say("sojourn: interrupted before the first step; nothing was saved", err=True)
        raise typer.Exit(INTERRUPTED)
    if not as_json:
        say(
            f"{out}: {stands.steps:,} steps, {stands.duration:.6g} units of time; learned rate {stands.rate:.6g}, "
            f"earned while learning {'nothing' if stands.earned is None else f'{stands.earned:.6g}'}"
        )
    found = None if interrupted else verdict_on(learner)
    if as_json:
        told = {"env": env_id, **stands._asdict(), "file": str(out), "interrupted": interrupted}
        echo_json({**told, "verdict": None if found is None else _verdict_data(found)})
    elif found is not None:
        echo_lines(str(found).splitlines())
    if interrupted:
        say("sojourn: interrupted; use --resume to continue", err=True)
        raise typer.Exit(INTERRUPTED)


def _import_all(modules: list[str] | None) -> None:
    """Import the user's modules, so that saved files can contain their classes."""
    from sojourn.data.names import imported

    for module in modules or ():
        imported(module)


def _verdict_data(found: Verdict) -> dict[str, Json]:
    """Return a verdict as JSON data."""
    rest = {name: one for name, one in found._asdict().items() if name not in ("evaluation", "baseline")}
    return {**found.evaluation._asdict(), "sentence": found.sentence, **rest}


def _check_out(out: Path, resume: bool) -> None:
    """Refuse a file to which the learner cannot be saved, before training starts."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder; choose a file for the learner")
    if resume and not out.exists():
        raise ValueError(f"{out} does not exist; leave out --resume to train a new learner")
    if out.exists() and not resume:
        raise ValueError(f"{out} exists; use --resume to continue training it, or choose another --out")
    if not out.parent.is_dir():
        raise ValueError(f"{out} cannot be written, as there is no folder {out.parent}; make it first")


@command(
    "sojourn evaluate learner.sojourn",
    "sojourn evaluate learner.sojourn --time 100000 --seed 7 --json",
    "sojourn evaluate learner.sojourn --env my_code:MyEnv",
    "sojourn evaluate learner.sojourn --module my_code",
    "sojourn evaluate learner.sojourn --out out/verdict",
    "sojourn evaluate learner.sojourn --best best.json",
)
def evaluate(
    file: Annotated[Path, typer.Argument(help="A saved learner.")],
    time: Annotated[
        float | None,
        typer.Option(
            help="How long to follow the policy, on the environment's clock; about 10,000 steps by default."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the environment.", min=0)] = 1,
    env: Annotated[
        str | None,
        typer.Option(help="Another environment, or module:Name if it was trained in one of your own."),
    ] = None,
    env_option: EnvOptions = None,
    module: Modules = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the verdict, which `sojourn report` shows.")
    ] = None,
    best: Annotated[
        Path | None,
        typer.Option(
            help="Find the best policy in the course of the training, measure that in other episodes, and write it to this file."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a saved learner's greedy policy earns per unit time, with a 95 % interval, and say whether to trust it.

    If the time is too short for an interval, it says roughly how much is needed. With --best, the best policy of the
    training is measured instead, and written to a file as by `sojourn policy`.
    """
    if best is not None and out is not None:
        raise ValueError("--out is for a verdict on the last policy, and --best finds another; leave one out")
    from sojourn.answers.verdict import judged
    from sojourn.learner.by_name import begun, place_for, verdict_on

    _import_all(module)
    named = None if env is None else env_name(env)
    place = place_for(file, named, options_of(env_option, "--env-option"))
    if best is not None:
        kept = begun(file, place, None).find_best(duration=time, seed=seed, progress=True)
        kept.write(best)
        if as_json:
            echo_json(
                {"file": str(file), "best": str(best), "trained": kept.steps, **kept.evaluation._asdict()}
            )
        else:
            echo_lines(
                [
                    f"{best}: the policy after {kept.steps:,} steps of training earns {kept.evaluation.sentence}"
                ]
            )
        return
    found = verdict_on(begun(file, place, None), time, seed)
    if out is not None:
        judged(file.name, found).write(out)
    if as_json:
        echo_json({"file": str(file), **_verdict_data(found)})
    else:
        echo_lines([f"{file}: {found.sentence}", *(f"warning: {each}" for each in found.warnings)])


@command(
    "sojourn policy learner.sojourn",
    "sojourn policy learner.sojourn --out policy.csv",
    "sojourn policy learner.sojourn --out policy.json",
    "sojourn policy policy.json --about",
)
def policy(
    file: Annotated[Path, typer.Argument(help="A saved learner, or a policy as JSON.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write: .json for a policy that can be loaded, .csv for a table; of a network, .onnx or .py, too."
        ),
    ] = None,
    about: Annotated[
        bool, typer.Option("--about", help="Say how the agent was made, and what it was trained with.")
    ] = False,
    module: Modules = None,
) -> None:
    """Write a saved learner's policy to a file, or print it: the best action of each visited state.

    No environment is needed. Only differences between values have a meaning. --about prints the facts of the policy: its
    agent with all options, what it observes, and how long it was trained.
    """
    from sojourn.deploy.reading import about_lines
    from sojourn.exact.policy_files import SolvedPolicy
    from sojourn.learner.policy import LearnedPolicy
    from sojourn.learner.saved import load_policy

    _import_all(module)
    found = load_policy(file)
    if about:
        echo_lines(about_lines(found.about))
    elif out is None and isinstance(found, LearnedPolicy | SolvedPolicy):
        echo_lines(found.table().write_csv().splitlines())
    elif out is None:
        echo_lines([f"{file}: {found.size}, which has no table of states", *about_lines(found.about)])
    if out is not None:
        found.write(out)
        say(f"{out}: {found.size}")
