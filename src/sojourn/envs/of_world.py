"""Environments for worlds without an environment class of their own, each made when it is first asked for."""

from __future__ import annotations

import functools
from typing import Any

from sojourn.data.hints import fitted
from sojourn.envs.headings import headed
from sojourn.envs.named import class_name, title
from sojourn.envs.worlds import WorldEnv
from sojourn.worlds.named import WORLDS


def __getattr__(name: str) -> type[WorldEnv]:
    for world in WORLDS.values():
        if class_name(world.name.replace("_", "-")) == name:
            return _env(world.name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _env(name: str) -> type[WorldEnv]:
    """Return the class of a world's environment, which takes the arguments of the world."""
    world = WORLDS[name]

    def __init__(self: WorldEnv, *, compiled: bool = True, **options: Any) -> None:  # noqa: N807 - of the class below
        made = world.make(**fitted(world.make, options, besides=world.not_options))
        WorldEnv.__init__(self, made, compiled=compiled)

    dashed = world.name.replace("_", "-")
    told = f"`sojourn/{title(dashed)}-v0`: {world.about}.\n"
    if "States:" in (world.make.__doc__ or ""):
        told = f"{told}\n{headed(dashed, world.make).partition(chr(10) * 2)[2]}"
    return type(
        class_name(dashed), (WorldEnv,), {"__init__": __init__, "__doc__": told, "__module__": __name__}
    )
