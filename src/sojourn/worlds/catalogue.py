"""The catalogue of worlds by name, with what sweeps, environments and checks need to know about each.

A world of your own needs no entry: refer to it as `package.module:MyQueue` everywhere. To give it a short name:

    add_world(NamedWorld("my_queue", MyQueue, "a queue with two servers"))

Sweeps then know the kind "my-queue", with the parameters of `MyQueue` as its options, and Gymnasium
knows the environment "sojourn/MyQueue-v0". Problems are worlds as well; they are listed in
`sojourn.models.problems`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from sojourn.data.hints import Options
from sojourn.data.names import found, users_constructor
from sojourn.models.problems.catalogue import PROBLEMS

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP
    from sojourn.worlds.protocol import World


_WORLD_OF_USER = "sojourn.worlds.tabular:WorldOfUser"


class NamedWorld(NamedTuple):
    """A kind of world: its name, how it is made, and what it is."""

    name: str  # in tables and files, with underscores
    constructor: Callable[..., World] | str  # or its name, as package.module:name
    about: str  # a description in one line
    model: Callable[..., SMDP] | None = None  # the finite model behind it, whose gain is then known
    not_options: tuple[str, ...] = ()  # parameters of `make` that are not options
    example: Options = MappingProxyType({})  # options of a small instance, for tests and documentation
    environment: str = ""  # package.module:class of its environment; without one it is a plain `WorldEnv`

    @property
    def make(self) -> Callable[..., World]:
        """Its constructor."""
        return found(self.constructor) if isinstance(self.constructor, str) else self.constructor  # type: ignore[return-value]


WORLDS: dict[str, NamedWorld] = {}
_CONTINUOUS, _CHANGES = "sojourn.worlds.continuous:", "sojourn.worlds.changes:"


def add_world(world: NamedWorld) -> None:
    """Register a kind of world by name for sweeps, environments and checks.

    >>> from sojourn.worlds.two_state import TwoState
    >>> add_world(NamedWorld("steady", lambda: TwoState(log_scale=0.0), "two states that do not drift"))
    >>> WORLDS.pop("steady").make().num_states
    2
    """
    if "-" in world.name:
        raise ValueError(f"the world {world.name!r} has a hyphen in its name; write an underscore")
    if world.name in WORLDS or world.name.replace("_", "-") in PROBLEMS or world.name == "model":
        raise ValueError(f"there is a world {world.name!r} already; give this one another name")
    WORLDS[world.name] = world


def users_world(name: str) -> NamedWorld:
    """Return the entry of a user's world by its name, `package.module:constructor`.

    The constructor makes worlds, or models, whose gain is then known. If its module has added an entry, that one
    is returned.
    """
    make = users_constructor(name)
    for world in WORLDS.values():
        if world.constructor in (make, name):
            return world._replace(name=name)
    about = (inspect.getdoc(make) or name).partition("\n")[0].rstrip(".")
    of_user: Callable[..., Callable[..., World]] = found(_WORLD_OF_USER)  # type: ignore[assignment]
    return NamedWorld(name, of_user(name, make), about, None if isinstance(make, type) else make)


for _world in (
    NamedWorld(
        "two_state",
        "sojourn.worlds.two_state:TwoState",
        "two states whose rewards and durations drift apart",
        not_options=("noise_key", "t", "chosen"),
        example={"log_scale": 0.001},
        environment="sojourn.envs.registered:TwoStateEnv",
    ),
    NamedWorld(
        "market",
        "sojourn.worlds.market.instruments:market_segment",
        "at every bar of a segment of an instrument, buy or sell",
        example={"segment_length": 1000},
        environment="sojourn.envs.registered:MarketEnv",
    ),
    NamedWorld("wear", _CONTINUOUS + "Wear", "a machine that wears: do another job, or replace it"),
    NamedWorld("offers", _CONTINUOUS + "Offers", "jobs are offered one by one: take this one, or search on"),
    NamedWorld("offers_16", _CONTINUOUS + "Offers16", "the same offers, seen through sixteen mixed numbers"),
    NamedWorld(
        "workload", _CONTINUOUS + "Workload", "jobs arrive at a server: admit this one, or turn it away"
    ),
    NamedWorld("c_mu", _CONTINUOUS + "CMu", "six kinds of customers wait for one server: whom to serve next"),
    NamedWorld("hold", _CONTINUOUS + "Hold", "a mass on a line is to be held at 0: which force to apply"),
    NamedWorld(
        "update_or_wait", _CONTINUOUS + "UpdateOrWait", "how long to wait before the next update is sent"
    ),
    NamedWorld("fleet", _CONTINUOUS + "Fleet", "four machines wear, and one crew mends them: which one next"),
    NamedWorld("pay_rise", _CHANGES + "pay_rise", "a long job, or a short one whose pay goes up and down"),
    NamedWorld("seasons", _CHANGES + "seasons", "two jobs whose pay changes with the seasons"),
    NamedWorld("rush_hours", _CHANGES + "rush_hours", "a queue whose arrivals are slow, then fast"),
    NamedWorld("fading_trade", _CHANGES + "fading_trade", "a long job whose pay fades away, or a short one"),
    NamedWorld("heavy_tails", _CHANGES + "heavy_tails", "jobs whose pay changes and has a heavy tail"),
    NamedWorld("random_changes", _CHANGES + "random_changes", "one of many random worlds that change"),
    NamedWorld("ripening_bait", _CHANGES + "ripening_bait", "a bait that ripens fast and rots, in turns"),
    NamedWorld("rotting_bait", _CHANGES + "rotting_bait", "a bait that is good at first, and rots"),
):
    add_world(_world)
