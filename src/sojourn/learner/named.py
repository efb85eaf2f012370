"""Learners by name: what the command line makes of words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sojourn.envs import ENVIRONMENTS, make, summary
from sojourn.learner.learner import Learner, saved_environment
from sojourn.rules.numbers import shown
from sojourn.runs.build import build_agent


def environment_of(path: Path) -> Any:
    """Return an environment like the one that a saved learner was trained in.

    A file is data: it may name an environment that is registered, but no module to import.
    """
    saved = saved_environment(path)
    if saved is None or saved["kwargs"] is None or ":" in saved["id"]:
        raise ValueError(f"{path} does not say which environment it is for; give it with --env")
    return make(saved["id"], saved["kwargs"], saved["max_episode_steps"])


def new_learner(env: Any, agent: str, options: dict[str, Any], **settings: Any) -> Learner:
    """Return a learner with an agent by name, such as harmonic-r."""
    kind = agent.replace("-", "_")
    return Learner(
        env,
        lambda num_states, num_actions: build_agent(kind, options, num_states, num_actions),
        **settings,
    )


def check_out(out: Path, resume: bool) -> None:
    """Refuse a file that a learner cannot be saved to, before it has learned anything."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder; choose a file for the learner")
    if resume and not out.exists():
        raise ValueError(f"{out} does not exist, so there is nothing to go on with")
    if out.exists() and not resume:
        raise ValueError(f"{out} exists; --resume goes on with it, or choose another --out")
    if not out.parent.is_dir():
        raise ValueError(f"{out} cannot be written: there is no folder {out.parent}")


def environments() -> list[tuple[str, str]]:
    """Return the id of every environment here, and what it is in a line."""
    return [(env_id, summary(env_id)) for env_id in ENVIRONMENTS]


def told(learner: Learner) -> dict[str, Any]:
    """Return how a learner stands, for machines."""
    totals = learner.totals
    return {
        "agent": type(learner.agent).__name__,
        "estimator": type(learner.agent.rate).__name__,
        "states": learner.states.num_states,
        "actions": learner.num_actions,
        "steps": totals.steps,
        "skipped": learner.skipped,
        "duration": totals.duration,
        "reward": totals.reward,
        "rate": learner.rate,
        "earned": totals.reward / totals.duration if totals.duration else None,
    }


def options_of(texts: list[str], name: str) -> dict[str, Any]:
    """Return options given as key=value; what is JSON, such as a number or a list, is read as such.

    >>> options_of(["log_scale=1e-3", "duration=scaled"], "--env-option")
    {'log_scale': 0.001, 'duration': 'scaled'}
    """
    options: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not (sign and key.strip()):
            raise ValueError(f"{name} {shown(text)} must be written as key=value")
        options[key.strip().replace("-", "_")] = plain(value)
    return options


def actions_of(text: str) -> list[int]:
    """Return a policy given as actions with commas or spaces between them.

    >>> actions_of("0,1, 0")
    [0, 1, 0]
    """
    words = text.replace(",", " ").split()
    if not words or not all(word.isdecimal() for word in words):
        raise ValueError(f"--policy {shown(text)} must be the action of each state, such as 0,1,0")
    return [int(word) for word in words]


def plain(text: str) -> Any:
    """Return a text as what it is in JSON, or as the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
