"""Every kind of world and agent by the name that sweeps and commands call it.

Worlds are listed in `sojourn.worlds.named`, problems in `sojourn.models.problems`, agents in
`sojourn.agents.named`; those that users add are found here too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from sojourn.agents.named import AGENTS
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.rules.names import found
from sojourn.worlds.named import WORLDS, NamedWorld

if TYPE_CHECKING:
    from sojourn.agents.protocol import Agent
    from sojourn.models.smdp import SMDP
    from sojourn.worlds.protocol import World

ACTIONS = ("given", "reversed")  # how the actions of a model may be numbered
_MODEL_IN_FILE = "sojourn.worlds.of_model:model_in_file"
_WORLD_OF_MODEL = "sojourn.worlds.of_model:WorldOfModel"


def world_kinds() -> dict[str, NamedWorld]:
    """Return every kind of world by name: those in `WORLDS`, models in files, and all problems."""
    models: dict[str, Callable[..., SMDP]] = {"model": found(_MODEL_IN_FILE)}  # type: ignore[dict-item]
    models |= {name.replace("-", "_"): model for name, model in PROBLEMS.items()}
    return WORLDS | {name: _of_model(name, model) for name, model in models.items()}


def agent_kinds() -> dict[str, Callable[..., Agent]]:
    """Return the constructor of every agent by the name that sweeps call it."""
    return {agent.kind: agent.make for agent in AGENTS.values()}


@functools.lru_cache(maxsize=256)
def _of_model(name: str, model: Callable[..., SMDP]) -> NamedWorld:
    about = (inspect.getdoc(model) or name).partition("\n")[0].rstrip(".")
    of_model: Callable[..., Callable[..., World]] = found(_WORLD_OF_MODEL)  # type: ignore[assignment]
    return NamedWorld(name, of_model(model), about, model)
