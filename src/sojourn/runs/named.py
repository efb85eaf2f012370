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
from typing import Literal, NamedTuple, TypeAlias

from sojourn.agents.named import AGENTS
from sojourn.agents.protocol import Agent
from sojourn.models import load_model
from sojourn.models.problems import PROBLEMS
from sojourn.models.smdp import SMDP
from sojourn.rules.options import Given, Options
from sojourn.worlds.market.segments import market_segment
from sojourn.worlds.protocol import World
from sojourn.worlds.tabular import Tabular, TabularWorld
from sojourn.worlds.two_state import TwoState

ACTIONS = ("given", "reversed")
Order: TypeAlias = Literal["given", "reversed"]


class NamedWorld(NamedTuple):
    """A kind of world: its name, how it is made, and what it is."""

    name: str  # in tables and files, with underscores
    make: Callable[..., World]
    about: str  # what it is, in a line
    model: Callable[..., SMDP] | None = None  # the finite model behind it, whose gain is then known
    not_options: tuple[str, ...] = ()  # parameters of `make` that nobody sets by name
    example: Options = MappingProxyType({})  # options of a small one, for tests and documentation


WORLDS: dict[str, NamedWorld] = {}


def add_world(world: NamedWorld) -> None:
    """Make a kind of world known by its name, to sweeps, the documentation and the checks.

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
    models = {"model": model_in_file} | {name.replace("-", "_"): model for name, model in PROBLEMS.items()}
    return WORLDS | {name: _of_model(name, model) for name, model in models.items()}


def agent_kinds() -> dict[str, Callable[..., Agent]]:
    """Return the constructor of every agent by the name that sweeps call it."""
    return {agent.kind: agent.make for agent in AGENTS.values()}


def model_in_file(data: str | None = None) -> SMDP:
    """Read the model in a TOML or JSON file."""
    if data is None:
        raise ValueError("data is missing; it must be the TOML or JSON file of a model")
    return load_model(data)


class WorldOfModel:
    """Makes worlds of a model; beside its options they have `actions`: "given", or "reversed" in number.

    >>> WorldOfModel(PROBLEMS["long-shot"])(actions="reversed", short_duration=2.0).num_actions
    2
    """

    def __init__(self, model: Callable[..., SMDP]) -> None:
        self.model = model
        own = inspect.Parameter(
            "actions", inspect.Parameter.KEYWORD_ONLY, default=ACTIONS[0], annotation=Order
        )
        others = inspect.signature(model, eval_str=True).parameters.values()
        self.__signature__ = inspect.Signature([*others, own])

    def __call__(self, actions: Order = "given", **options: Given) -> TabularWorld:
        """Return the world of the model with these options."""
        model = self.model(**options)
        return Tabular(model if actions == ACTIONS[0] else model.with_actions_reversed())


@functools.lru_cache(maxsize=256)
def _of_model(name: str, model: Callable[..., SMDP]) -> NamedWorld:
    about = (inspect.getdoc(model) or name).partition("\n")[0].rstrip(".")
    return NamedWorld(name, WorldOfModel(model), about, model)


for _world in (
    NamedWorld(
        "two_state",
        TwoState,
        "two states whose rewards and durations drift apart",
        not_options=("noise_key", "t"),
        example={"log_scale": 0.001},
    ),
    NamedWorld(
        "market",
        market_segment,
        "at every bar of a segment of an instrument, buy or sell",
        example={"segment_length": 1000},
    ),
):
    add_world(_world)
