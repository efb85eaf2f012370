"""Every kind of world and agent by the name that sweeps and commands call it.

Worlds are listed in `sojourn.worlds.named`, problems in `sojourn.models.problems`, agents in
`sojourn.agents.named`; those that users add are found here too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from sojourn.agents.named import AGENTS, NamedAgent
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.rules.names import found
from sojourn.worlds.named import WORLDS, NamedWorld

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP
    from sojourn.worlds.protocol import World

_MODEL_IN_FILE = "sojourn.worlds.of_model:model_in_file"
_WORLD_OF_MODEL = "sojourn.worlds.of_model:WorldOfModel"


def world_names() -> list[str]:
    """Return the name of every kind of world: those in `WORLDS`, models in files, and all problems."""
    return [*WORLDS, "model", *_problems()]


def world_kind(name: str) -> NamedWorld:
    """Return one kind of world. Only this one is looked up, so that a broken entry harms no other."""
    if name in WORLDS:
        return WORLDS[name]
    if name == "model":
        return _of_model(name, found(_MODEL_IN_FILE))
    return _of_model(name, PROBLEMS[_problems()[name]])


def agent_kinds() -> dict[str, NamedAgent]:
    """Return the entry of every agent by the name that sweeps call it."""
    return {agent.kind: agent for agent in AGENTS.values()}


def _problems() -> dict[str, str]:
    """Return the names of problems by those that sweeps call them."""
    return {name.replace("-", "_"): name for name in PROBLEMS}


@functools.lru_cache(maxsize=256)
def _of_model(name: str, model: Callable[..., SMDP]) -> NamedWorld:
    about = (inspect.getdoc(model) or name).partition("\n")[0].rstrip(".")
    of_model: Callable[..., Callable[..., World]] = found(_WORLD_OF_MODEL)  # type: ignore[assignment]
    return NamedWorld(name, of_model(model), about, model)
