"""Check that an agent's values fit a world's states and actions, and leave out actions that a state does not have."""

from __future__ import annotations

from sojourn.agents.protocol import A, Agent
from sojourn.agents.values.protocol import reads_vectors, restricted, sizes
from sojourn.rules.values import replaced
from sojourn.worlds.protocol import World, controlled, extent, observed


def unlike(world: World, agent: Agent) -> str:
    """Return why the agent's values do not fit the world's states and actions, or an empty text if they do."""
    name, wanted = type(world).__name__, extent(world)
    is_vector = observed(world) is not None
    if reads_vectors(agent.values) != is_vector:
        kind = type(agent.values).__name__
        if is_vector:
            return f"the states of {name} are vectors, but the agent's values are a {kind}; take sojourn.tile_q, for example"
        return f"the states of {name} are numbered, but the agent's values are {kind}; take an agent with a table"
    if sizes(agent.values) == wanted:
        return ""
    states = "numbers in a state" if is_vector else "states"
    actions = "actions that are numbers" if controlled(world) is not None else f"{wanted[1]} actions"
    return f"the agent's values have the shape {sizes(agent.values)}, but {name} has {wanted[0]} {states} and {actions}"


def without_missing(world: World, agent: A) -> A:
    """Return an agent, or a stack of agents, that never takes an action the state does not have."""
    available = getattr(world, "available", None)
    if available is None or available.all():
        return agent
    return replaced(agent, values=restricted(agent.values, available))
