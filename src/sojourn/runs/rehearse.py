"""Try out a user's rules in Python before they are compiled."""

from __future__ import annotations

import numpy as np

from sojourn.agents.protocol import Agent, draw, learn
from sojourn.rules.rehearsal import returned, same_kind
from sojourn.rules.streams import streams
from sojourn.rules.values import copied
from sojourn.rules.vectors import Action, is_offered, is_state
from sojourn.worlds.protocol import World, controlled, extent, start, step


def rehearse(world: World, agent: Agent) -> None:
    """Take two steps and check what each rule returns; world and agent stay as they were."""
    agent = copied(agent)
    world_rng, agent_rng = streams(0, 2)
    world, state = returned(start, world, world_rng, parts=("world", "state"))
    for _ in range(2):
        size, num_actions = extent(world)
        if not is_state(state, size):
            return  # the loop itself has the better message for this
        action, explored = returned(draw, agent, state, agent_rng, parts=("action", "explored"))
        _check_action(world, agent, action)
        if not is_offered(state, action, size, num_actions):
            return
        world, next_state, reward, duration = returned(
            step,
            world,
            state,
            action,
            world_rng,
            parts=("world", "next_state", "reward", "duration"),
        )
        if not (is_state(next_state, size) and 0.0 <= duration < np.inf and abs(reward) < np.inf):
            return
        after = learn.bare(agent, state, action, reward, duration, next_state, explored)
        agent, state = same_kind("learn", agent, after), next_state


def _check_action(world: World, agent: Agent, action: Action) -> None:
    """Raise an error if the world's actions are whole numbers and this one is a float, or the other way round."""
    counts = controlled(world) is None
    if isinstance(action, int | np.integer) != counts:
        wanted = "a whole number" if counts else "a float"
        raise TypeError(
            f"draw of {type(agent).__name__} returned {action!r} as the action; it must be {wanted}"
        )
