"""How an agent was made: its name and all of its options, for a learner's file and for policy files."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from sojourn.agents.intra_option import intra_option
from sojourn.agents.networks.base import NetworkAgent
from sojourn.agents.protocol import described
from sojourn.agents.vector_observer import VectorObserver
from sojourn.data.numbers import shown
from sojourn.rules.values import is_value
from sojourn.runs.build import build_agent
from sojourn.runs.catalogue import agent_kind, plain_kind

OURS = (NetworkAgent, VectorObserver)  # agents that know how they were made
_NOT_OPTIONS = ("num_states", "num_inputs", "num_actions", "spaces")


class Recipe(TypedDict):
    """How an agent was made: its name and all of its options, those that were left at their defaults too."""

    agent: str
    options: dict[str, Any]


def recipe_of(make: Any, options: Mapping[str, Any]) -> Recipe:
    """Return how a constructor, or the agent of this name, is made with these options, in words that JSON can hold.

    >>> from sojourn.agents.constructors import smart
    >>> made = recipe_of(smart, {"exploration": 0.1})
    >>> made["agent"], made["options"]["step_size"], made["options"]["exploration"]
    ('smart', 0.01, 0.1)
    """
    given = dict(options)
    while isinstance(make, functools.partial):
        if make.func is build_agent:  # as the command line names an agent
            make, given = make.args[0], {**make.args[1], **given}
        else:
            make, given = make.func, {**make.keywords, **given}
    if isinstance(make, str):
        kind = plain_kind(make)
        make = intra_option if kind == "intra_option" else agent_kind(kind).make
    try:
        known = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        known = ()  # type: ignore[assignment]
    usual = {one.name: one.default for one in known if one.default is not one.empty}
    chosen = {name: one for name, one in {**usual, **given}.items() if name not in _NOT_OPTIONS}
    return {"agent": getattr(make, "__name__", type(make).__name__), "options": plain(chosen)}


def recipe_of_agent(agent: Any) -> Recipe:
    """Return what is known of an agent that was already made: for a value its fields, apart from arrays."""
    if isinstance(agent, OURS) and agent.kind:
        return {"agent": agent.kind, "options": plain(agent.options)}
    value: Any = agent
    if not is_value(agent):
        return {"agent": type(agent).__name__, "options": {}}
    fields = {name: part for name, part in value._asdict().items() if name not in ("values", "accepted")}
    return {"agent": described(value), "options": plain(fields)}


def plain(thing: Any) -> Any:
    """Return a thing as JSON can hold it; what it cannot hold becomes a short text."""
    if isinstance(thing, np.generic):
        thing = thing.item()
    if isinstance(thing, Mapping):
        return {str(name): plain(part) for name, part in thing.items()}
    if isinstance(thing, np.ndarray):
        return f"an array of the shape {thing.shape}"
    if isinstance(thing, list | tuple) and not is_value(thing):
        return [plain(part) for part in thing]
    if (
        thing is None
        or isinstance(thing, bool | int | str)
        or (isinstance(thing, float) and math.isfinite(thing))
    ):
        return thing
    return shown(thing)
