"""Builds worlds and agents from names and options, as sweeps and commands give them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sojourn.agents.protocol import Agent, draw, learn
from sojourn.data.hints import Given, fitted, option_kinds, wants_list
from sojourn.data.names import found, is_users, made
from sojourn.data.numbers import shown
from sojourn.runs.catalogue import agent_kind, world_kind
from sojourn.worlds.protocol import World, step

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP
    from sojourn.rates.protocol import Rate

_ORDER = "actions"  # the option of worlds made from models: how their actions are numbered
_NAMED_RATE = "sojourn.rates.catalogue:named_rate"  # looked up on demand, since it imports all estimators
_SIZES = ("num_states", "num_inputs", "num_actions")  # which an agent gets from its world


def build_world(kind: str, options: Mapping[str, Given]) -> World:
    """Return a world by name, with these options.

    >>> build_world("river_swim", {"num_states": 4.0}).num_states
    4
    """
    world = world_kind(kind)
    wanted = option_kinds(world.make)
    for name, given in options.items():
        if name in wanted and wants_list(wanted[name]) and not isinstance(given, list | tuple):
            advice = (
                "; write the model into a file, and give that file as the data of a world of the kind model"
            )
            raise TypeError(
                f"{name} is {shown(given)}, but it must be a list, and a sweep takes a list for several choices"
                f"{advice if world.model else ''}"
            )
    return world.make(**fitted(world.make, options, besides=world.not_options))


def model_behind(kind: str, options: Mapping[str, Given]) -> SMDP | None:
    """Return the model behind a world, with its actions in their given order; None if there is no model.

    >>> model_behind("river_swim", {"num_states": 4.0, "actions": "reversed"})
    SMDP(4 states, 8 pairs, 14 rows)
    """
    make = world_kind(kind).model
    if make is None:
        return None
    own = {name: given for name, given in options.items() if name != _ORDER or name in option_kinds(make)}
    model = make(**fitted(make, own))
    return None if step.knows(type(model)) else model  # a user's function may return a world instead


def is_reversed(kind: str, options: Mapping[str, Given]) -> bool:
    """Whether a world numbers the actions of its model from the last to the first.

    >>> is_reversed("river_swim", {"actions": "reversed"}), is_reversed("river_swim", {})
    (True, False)
    """
    make = world_kind(kind).model
    # The model itself may have an option of this name, with another meaning.
    own = make is not None and _ORDER in option_kinds(make)
    return options.get(_ORDER) == "reversed" and not own


def build_agent(kind: str, options: Mapping[str, Given], num_states: int, num_actions: int) -> Agent:
    """Return an agent by name, with these options, for a world of this size.

    >>> build_agent("harmonic_r", {"exploration": {"start": 1, "factor": 0.5}}, 2, 3).values
    Table(q=array([[0., 0., 0.],
           [0., 0., 0.]]))
    >>> build_agent("smart", {"rate": {"kind": "time-smoothed", "step_size": 0.1}}, 2, 3).rate.step_size
    0.1
    """
    make = agent_kind(kind).make
    rate = options.get("rate")
    given: dict[str, Any] = dict(options)
    if isinstance(rate, str | Mapping):
        named_rate: Callable[..., Rate] = found(_NAMED_RATE)  # type: ignore[assignment]
        given["rate"] = named_rate(rate)
    if not is_users(kind):
        return make(num_states, num_actions, **fitted(make, given, besides=_SIZES))
    try:
        inspect.signature(make).bind_partial(num_states, num_actions)
    except TypeError:
        raise TypeError(
            f"{kind!r} does not take the number of states and the number of actions first, as agents must"
        ) from None
    sizes = list(inspect.signature(make).parameters)[:2]
    agent: Agent = made(kind, make, num_states, num_actions, **fitted(make, given, besides=sizes))
    if not (draw.knows(type(agent)) and learn.knows(type(agent))):
        raise TypeError(
            f"{kind!r} makes {shown(agent)}, which is not an agent; an agent is a NamedTuple with draw and learn "
            "registered for it"
        )
    return agent
