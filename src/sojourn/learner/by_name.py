"""Learners in files: train and save one, resume a saved one, and measure what its policy earns.

Agents and environments are given by name, for the command line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.agents.networks.protocol import ObservingAgent
from sojourn.data.files import Json
from sojourn.data.hints import Given, fitted
from sojourn.envs import make
from sojourn.envs.protocol import Environment
from sojourn.learner.choice import OBSERVERS
from sojourn.learner.driver import interruptible, uninterrupted
from sojourn.learner.history import checkpoints
from sojourn.learner.learner import Learner
from sojourn.learner.saved import saved_environment
from sojourn.learner.verdict import Verdict
from sojourn.learner.watch import tensorboard as writer
from sojourn.runs.build import build_agent

_ID, _MODULE = re.compile(r"[\w./-]{1,200}", re.ASCII), re.compile(r"[\w.]{1,200}", re.ASCII)
_STEPS = 100_000  # the default length of training
_EVALUATED = 10_000.0  # by default, an evaluation lasts as long as this many steps of training took


class Place(NamedTuple):
    """An environment by its id, with its options."""

    env_id: str
    options: Mapping[str, Given]
    max_episode_steps: int | None = None

    def made(self) -> Environment:
        """Return a new environment of this kind."""
        return make(self.env_id, self.options, self.max_episode_steps)


class Beginning(NamedTuple):
    """The configuration of a new learner: an agent by name, such as harmonic-r, and the settings of `Learner`.

    Without a name, the learner chooses the agent.
    """

    agent: str | None
    options: Mapping[str, Given]
    duration: str | float = "duration"
    bins: Json = None
    seed: int = 0


class Training(NamedTuple):
    """How long to train, in steps or in the environment's time, where to write TensorBoard's files, and what is done when."""

    steps: int | None = None
    time: float | None = None
    tensorboard: Path | None = None
    evaluate_every: int | None = None
    save_every: int | None = None


class Status(NamedTuple):
    """The status of a learner: what it is, what it has seen so far, and its learned rate."""

    chosen: str
    agent: str
    estimator: str
    states: int | None  # None if they cannot be enumerated
    actions: int
    steps: int
    duration: float
    reward: float
    rate: float
    earned: float | None


def begun(file: Path, place: Place, beginning: Beginning | None) -> Learner:
    """Return a new learner, or the one in the file if no configuration is given."""
    if beginning is None:
        return Learner.load(file, place.made)
    return Learner(
        place.made,
        None if beginning.agent is None else _named(beginning.agent, beginning.options),
        duration=beginning.duration,
        bins=beginning.bins,
        seed=beginning.seed,
    )


def _named(name: str, options: Mapping[str, Given]) -> functools.partial[Any]:
    """Bind an agent's options to its constructor, so that they are not mistaken for those of `Learner`."""
    kind = name.replace("-", "_")
    made: functools.partial[Any]
    if kind in OBSERVERS:
        make = OBSERVERS[kind]
        not_options = ("spaces", "num_inputs", "num_actions", "bounds")
        made = functools.partial(make, **fitted(make, options, besides=not_options))
    else:
        made = functools.partial(build_agent, kind, options)
    setattr(made, "__name__", name)  # noqa: B010 - an attribute that type checkers do not know
    return made


def train_into(file: Path, learner: Learner, training: Training) -> tuple[Status, bool]:
    """Train a learner, and save it in the file.

    Return its status, and whether it was interrupted. Whatever ends the training, what was learned is saved.
    """
    callbacks = [] if training.tensorboard is None else [writer(str(training.tensorboard))]
    if training.save_every is not None:
        callbacks.append(checkpoints(str(file), training.save_every))
    steps = (training.steps or _STEPS) if training.time is None else None
    interrupted = False
    with interruptible():  # until everything is saved, Ctrl-C only asks the training to end
        try:
            learner.train(
                steps,
                duration=training.time,
                evaluate_every=training.evaluate_every,
                callbacks=callbacks,
                progress=True,
            )
        except KeyboardInterrupt:
            interrupted = True
        finally:
            with uninterrupted():
                if learner.totals.steps:
                    learner.save(file)
    return standing(learner), interrupted


def verdict_on(learner: Learner, time: float | None = None, seed: int = 1) -> Verdict:
    """Follow a learner's greedy policy for a while; return what it earns, and reasons not to trust it.

    By default, for as long as 10,000 steps took in training.
    """
    totals = learner.totals
    if time is None:
        time = _EVALUATED * totals.duration / totals.steps if totals.duration else _EVALUATED
    return learner.verdict(duration=time, seed=seed, progress=True)


def place_for(file: Path, env_id: str | None, options: Mapping[str, Given]) -> Place:
    """Return the environment in which to evaluate a saved learner: the one named, or that of its training.

    A file is only data: it may name a registered environment, but not a module to import, which has to be named
    again. The options of the training apply unless others are given.
    """
    saved = saved_environment(file)
    if env_id is None:
        if saved is None or not _ID.fullmatch(saved["id"]):
            raise ValueError(f"{file} does not say which environment it is for; give it with --env")
        if saved["module"] is not None:
            name = saved["module"] if _MODULE.fullmatch(saved["module"]) else "MODULE"
            raise ValueError(
                f"{file} was trained in {saved['id']} from a module of yours, which a file may not import by itself; name it "
                f"with --env {name}:{saved['id']}"
            )
        if saved["kwargs"] is None:
            raise ValueError(
                f"{file} was trained in {saved['id']} with options that a file cannot hold; give --env and --env-option"
            )
        env_id = saved["id"]
    if saved is None or env_id.rpartition(":")[2] != saved["id"]:
        return Place(env_id, options)
    return Place(env_id, {**(saved["kwargs"] or {}), **options}, saved["max_episode_steps"])


def standing(learner: Learner) -> Status:
    """Return the status of a learner."""
    totals = learner.totals
    return Status(
        chosen=learner.chosen,
        agent=getattr(learner.agent, "kind", type(learner.agent).__name__),
        estimator=type(getattr(learner.agent, "estimator", learner.agent.rate)).__name__,
        states=None if isinstance(learner.agent, ObservingAgent) else learner.states.num_states,
        actions=learner.num_actions,
        steps=totals.steps,
        duration=totals.duration,
        reward=totals.reward,
        rate=learner.rate,
        earned=totals.reward / totals.duration if totals.duration else None,
    )
