"""Build worlds and agents from a name and options, as sweeps and commands write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sojourn.agents.protocol import Agent
from sojourn.rules.numbers import nearest, shown
from sojourn.rules.options import Given, fitted, option_kinds, wants_list
from sojourn.runs.named import agent_kinds, world_kind, world_names
from sojourn.worlds.protocol import World

_SIZES = ("num_states", "num_inputs", "num_actions")  # which an agent has from its world


def build_world(kind: str, options: Mapping[str, Given]) -> World:
    """Return a world by name, with these options.

    >>> build_world("river_swim", {"num_states": 4.0}).num_states
    4
    """
    world = world_kind(_known("world", kind, world_names()))
    wanted = option_kinds(world.make)
    for name, given in options.items():
        if name in wanted and wants_list(wanted[name]) and not isinstance(given, list | tuple):
            advice = "; write the model into a file, and give that as the data of a world of the kind model"
            raise TypeError(
                f"{name} is {shown(given)}, but is a list, which a sweep takes for several choices"
                f"{advice if world.model else ''}"
            )
    return world.make(**fitted(world.make, options, besides=world.not_options))


def build_agent(kind: str, options: Mapping[str, Given], num_states: int, num_actions: int) -> Agent:
    """Return an agent by name, with these options, for a world of this size.

    >>> build_agent("harmonic_r", {"exploration": {"start": 1, "factor": 0.5}}, 2, 3).values
    Table(q=array([[0., 0., 0.],
           [0., 0., 0.]]))
    """
    kinds = agent_kinds()
    make = kinds[_known("agent", kind, kinds)].make
    return make(num_states, num_actions, **fitted(make, options, besides=_SIZES))


def _known(what: str, name: str, names: Iterable[str]) -> str:
    if name not in names:
        raise ValueError(f"unknown {what} {shown(name)}{nearest(name, names)}")
    return name
