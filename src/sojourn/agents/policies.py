"""Agents that follow a policy and learn only what it earns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.protocol import draw, learn, misfit
from sojourn.agents.values.protocol import Values, best, entries, nth_available, sizes
from sojourn.rates.carry import carry
from sojourn.rates.protocol import Rate
from sojourn.rules.arrays import Floats, Ints, misread, outside
from sojourn.rules.random import uniform
from sojourn.rules.streams import Stream
from sojourn.rules.vectors import State


class PolicyAgent(NamedTuple):
    """A fixed action in every state, which is the best one by its values. Every step counts as greedy."""

    values: Values
    rate: Rate
    carried: float
    accepted: bool
    actions: Ints

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


@misfit.register
def misfit_policy(agent: PolicyAgent) -> str:
    """It must have one action for each state, and all of them must exist."""
    num_states, num_actions = sizes(agent.values)
    return misread("actions", agent.actions, np.int64, (num_states,)) or outside(
        "actions", agent.actions, 0, num_actions - 1
    )


@draw.register
def draw_policy(agent: PolicyAgent, state: int, rng: Stream) -> tuple[int, bool]:
    """The action of this state."""
    return agent.actions[state], False


@learn.register
def learn_policy(
    agent: PolicyAgent,
    state: State,
    action: int,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool,
) -> PolicyAgent:
    """Update only the rate."""
    rate, carried = carry(agent.rate, agent.carried, reward, duration)
    return PolicyAgent(values=agent.values, rate=rate, carried=carried, accepted=True, actions=agent.actions)


class RandomAgent(NamedTuple):
    """All actions are equally likely, and the values stay 0. Every step counts as greedy."""

    values: Values
    rate: Rate
    carried: float
    accepted: bool

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


@draw.register
def draw_random(agent: RandomAgent, state: State, rng: Stream) -> tuple[int, bool]:
    """Any action."""
    return nth_available(agent.values, state, uniform(rng)), False


@learn.register
def learn_random(
    agent: RandomAgent,
    state: State,
    action: int,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool,
) -> RandomAgent:
    """Update only the rate."""
    rate, carried = carry(agent.rate, agent.carried, reward, duration)
    return RandomAgent(values=agent.values, rate=rate, carried=carried, accepted=True)


class RandomNumbers(NamedTuple):
    """Any number from `low` to `high`, for actions that are numbers. Every step counts as greedy."""

    values: Values
    rate: Rate
    carried: float
    accepted: bool
    low: float
    high: float


@draw.register
def draw_number(agent: RandomNumbers, state: State, rng: Stream) -> tuple[float, bool]:
    """Any number, all equally likely."""
    return agent.low + (agent.high - agent.low) * uniform(rng), False


@learn.register
def learn_numbers(
    agent: RandomNumbers,
    state: State,
    action: float,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool,
) -> RandomNumbers:
    """Update only the rate."""
    rate, carried = carry(agent.rate, agent.carried, reward, duration)
    return RandomNumbers(
        values=agent.values, rate=rate, carried=carried, accepted=True, low=agent.low, high=agent.high
    )


class Follower(NamedTuple):
    """The best action by its values, which stay as they are. Every step counts as greedy."""

    values: Values
    rate: Rate
    carried: float
    accepted: bool


@draw.register
def draw_follower(agent: Follower, state: State, rng: Stream) -> tuple[int, bool]:
    """The best action; the first if several are equally good."""
    return best(agent.values, state, 0.0)[0], False


@learn.register
def learn_follower(
    agent: Follower,
    state: State,
    action: int,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool,
) -> Follower:
    """Update only the rate."""
    rate, carried = carry(agent.rate, agent.carried, reward, duration)
    return Follower(values=agent.values, rate=rate, carried=carried, accepted=True)
