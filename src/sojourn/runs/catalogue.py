"""All kinds of worlds and agents, by the names that sweeps and commands use.

Worlds are listed in `sojourn.worlds.catalogue`, problems in `sojourn.models.problems`, agents in
`sojourn.agents.catalogue`, including those that users add. A name with a colon, such as `package.module:constructor`,
refers to a user's own code, which need not be listed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sojourn.agents.catalogue import AGENTS, NamedAgent, named_agent
from sojourn.data.hints import Choice
from sojourn.data.names import found, is_users
from sojourn.data.numbers import nearest, shown
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.rules.jit.identity import source_of
from sojourn.worlds.catalogue import WORLDS, NamedWorld, users_world

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP
    from sojourn.worlds.protocol import World

_MODEL_IN_FILE = "sojourn.worlds.tabular:model_in_file"
_WORLD_OF_MODEL = "sojourn.worlds.tabular:WorldOfModel"


def world_names() -> list[str]:
    """Return the name of every kind of world: those in `WORLDS`, models in files, and all problems."""
    return [*WORLDS, "model", *_problems()]


def world_kind(name: str) -> NamedWorld:
    """Return one kind of world. No other entry is loaded, so a broken entry does not affect the rest."""
    if is_users(name):
        return users_world(name)
    if name not in (names := world_names()):
        raise ValueError(f"unknown world {shown(name)}{nearest(name, names)}")
    if name in WORLDS:
        return WORLDS[name]
    if name == "model":
        return _of_model(name, found(_MODEL_IN_FILE))
    return _of_model(name, PROBLEMS[_problems()[name]])


def agent_kinds() -> dict[str, NamedAgent]:
    """Return the entry of every listed agent, by the name that sweeps use."""
    return {agent.kind: agent for agent in AGENTS.values()}


def agent_kind(name: str) -> NamedAgent:
    """Return one kind of agent by its constructor's name, which may be a user's own.

    >>> agent_kind("rvi_q").make.__name__
    'rvi_q'
    """
    if is_users(name):
        return named_agent(name)
    kinds = agent_kinds()
    if name not in kinds:
        raise ValueError(f"unknown agent {shown(name)}{nearest(name, kinds)}")
    return kinds[name]


def plain_kind(name: str) -> str:
    """Return the name of a kind with underscores, as in the catalogues; a user's own name is kept.

    >>> plain_kind("two-state"), plain_kind("mine:queue")
    ('two_state', 'mine:queue')
    """
    return name if is_users(name) else name.replace("-", "_")


def refuse_world(name: str, what_for: str) -> None:
    """Raise an error for a world's name where a model is needed; `what_for` says what for.

    >>> refuse_world("two-state", "solve")
    Traceback (most recent call last):
    ValueError: two-state is a world, not a model, so it has no list of states and laws to solve; `sojourn train` trains agents in it
    """
    if plain_kind(name) in WORLDS:
        raise ValueError(
            f"{name} is a world, not a model, so it has no list of states and laws to {what_for}; `sojourn train` trains "
            "agents in it"
        )


def users_sources(kind: str, options: Mapping[str, Choice]) -> dict[str, str]:
    """Return the names of users' own code in a kind and its options, each with its source hash.

    >>> users_sources("smart", {"rate": "time-smoothed"})
    {}
    """
    rate = options.get("rate")  # the only option that can name an estimator
    names = (kind, rate.get("kind") if isinstance(rate, Mapping) else rate)
    return {name: source_of(name) for name in names if isinstance(name, str) and is_users(name)}


def _problems() -> dict[str, str]:
    """Return the names of problems, keyed by the names that sweeps use."""
    return {name.replace("-", "_"): name for name in PROBLEMS}


@functools.lru_cache(maxsize=256)
def _of_model(name: str, model: Callable[..., SMDP]) -> NamedWorld:
    about = (inspect.getdoc(model) or name).partition("\n")[0].rstrip(".")
    of_model: Callable[..., Callable[..., World]] = found(_WORLD_OF_MODEL)  # type: ignore[assignment]
    return NamedWorld(name, of_model(model), about, model)
