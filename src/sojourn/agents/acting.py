"""What it takes to act as an agent does, without its learning: a network, or sets of tiles (`sojourn.deploy`)."""

from __future__ import annotations

from typing import TypeAlias

from sojourn.deploy.networks import Network
from sojourn.deploy.tiled import TileSet
from sojourn.rules.rule import rule
from sojourn.rules.values import Value

Actor: TypeAlias = Network | list[TileSet]


@rule(compiled=False)
def actor(learned: Value) -> Actor:
    """Return what a network agent has learned, or values of vectors, as what acts by them.

    To make a new kind of agent deployable, register this rule for its `Learned` or for its values.
    """
    raise TypeError(
        f"{type(learned).__name__} has nothing that a policy file can hold; register sojourn.agents.acting.actor for it"
    )
