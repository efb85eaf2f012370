"""Every kind of world and agent by the name that sweeps and commands call it.

`WORLDS` has an entry for each world. To add one of your own:

    add_world(NamedWorld("my_queue", MyQueue, "a queue with two servers"))

Sweeps then know the kind "my-queue", with the parameters of `MyQueue` as its options. Every problem in
`sojourn.models.problems.PROBLEMS`, those that users add included, is a kind of world as well. Agents
are added in `sojourn.agents.named`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sojourn.agents.named import AGENTS
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.rules.names import found
from sojourn.rules.options import Options

if TYPE_CHECKING:
    from sojourn.agents.protocol import Agent
    from sojourn.models.smdp import SMDP
    from sojourn.worlds.protocol import World

ACTIONS = ("given", "reversed")  # how the actions of a model may be numbered
_MODEL_IN_FILE = "sojourn.worlds.of_model:model_in_file"
_WORLD_OF_MODEL = "sojourn.worlds.of_model:WorldOfModel"


class NamedWorld(NamedTuple):
    """A kind of world: its name, how it is made, and what it is."""

    name: str  # in tables and files, with underscores
    constructor: Callable[..., World] | str  # or its name, as package.module:name
    about: str  # what it is, in a line
    model: Callable[..., SMDP] | None = None  # the finite model behind it, whose gain is then known
    not_options: tuple[str, ...] = ()  # parameters of `make` that nobody sets by name
    example: Options = MappingProxyType({})  # options of a small one, for tests and documentation

    @property
    def make(self) -> Callable[..., World]:
        """Its constructor."""
        return found(self.constructor) if isinstance(self.constructor, str) else self.constructor  # type: ignore[return-value]


WORLDS: dict[str, NamedWorld] = {}


def add_world(world: NamedWorld) -> None:
    """Make a kind of world known by its name, to sweeps, the documentation and the checks.

    >>> from sojourn.worlds.two_state import TwoState
    >>> add_world(NamedWorld("steady", lambda: TwoState(log_scale=0.0), "two states that do not drift"))
    >>> world_kinds()["steady"].make().num_states
    2
    >>> del WORLDS["steady"]
    """
    if "-" in world.name:
        raise ValueError(f"the world {world.name!r} has a hyphen in its name; write an underscore")
    if world.name in world_kinds():
        raise ValueError(f"there is a world {world.name!r} already; give this one another name")
    WORLDS[world.name] = world


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


for _world in (
    NamedWorld(
        "two_state",
        "sojourn.worlds.two_state:TwoState",
        "two states whose rewards and durations drift apart",
        not_options=("noise_key", "t"),
        example={"log_scale": 0.001},
    ),
    NamedWorld(
        "market",
        "sojourn.worlds.market.segments:market_segment",
        "at every bar of a segment of an instrument, buy or sell",
        example={"segment_length": 1000},
    ),
):
    add_world(_world)
