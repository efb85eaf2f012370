"""Try out in Python the rules that a user wrote, before they are compiled."""

from __future__ import annotations

import numpy as np

from sojourn.agents.protocol import Agent, draw, learn
from sojourn.rules.returned import returned, same_kind
from sojourn.rules.streams import streams
from sojourn.rules.values import copied
from sojourn.worlds.protocol import World, start, step


def rehearse(world: World, agent: Agent) -> None:
    """Take two steps and check what each rule returns; world and agent stay as they were."""
    agent = copied(agent)
    world_rng, agent_rng = streams(0, 2)
    world, state = returned(start, world, world_rng, parts=("world", "state"))
    for _ in range(2):
        if not 0 <= state < world.num_states:
            return  # the loop itself says this best
        action, explored = returned(draw, agent, int(state), agent_rng, parts=("action", "explored"))
        if not 0 <= action < world.num_actions:
            return
        world, next_state, reward, duration = returned(
            step,
            world,
            int(state),
            int(action),
            world_rng,
            parts=("world", "next_state", "reward", "duration"),
        )
        if not (0 <= next_state < world.num_states and 0.0 <= duration < np.inf and abs(reward) < np.inf):
            return
        after = learn.bare(agent, int(state), int(action), reward, duration, int(next_state), explored)
        agent, state = same_kind("learn", agent, after), next_state
