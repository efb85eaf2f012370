"""Every kind of world and agent by the name that sweeps and commands call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sojourn.agents.named import AGENTS
from sojourn.agents.protocol import Agent
from sojourn.models.problems.named import MODELS
from sojourn.models.smdp import SMDP
from sojourn.worlds.market.segments import market_segment
from sojourn.worlds.tabular import Tabular, TabularWorld
from sojourn.worlds.two_state import TwoState

ACTIONS = ("given", "reversed")


def _world(model: Callable[..., SMDP]) -> Callable[..., TabularWorld]:
    """Return the world of a model, which takes one option more: its actions as `given` or `reversed`."""

    def made(actions: str = ACTIONS[0], **options: Any) -> TabularWorld:
        if actions not in ACTIONS:
            raise ValueError(f"actions is {actions!r}; it must be {' or '.join(ACTIONS)}")
        found = model(**options)
        return Tabular(found if actions == ACTIONS[0] else found.with_actions_reversed())

    own = inspect.Parameter("actions", inspect.Parameter.KEYWORD_ONLY, default=ACTIONS[0])
    made.__signature__ = inspect.Signature([*inspect.signature(model).parameters.values(), own])  # type: ignore[attr-defined]
    return made


TABULAR_WORLDS = {name: _world(model) for name, model in MODELS.items()}

WORLDS: dict[str, Callable[..., Any]] = {
    "two_state": TwoState,
    "market": market_segment,
    **TABULAR_WORLDS,
}


def agent_kinds() -> dict[str, Callable[..., Agent]]:
    """Return the constructor of every agent by the name that sweeps call it."""
    return {agent.kind: agent.make for agent in AGENTS.values()}
