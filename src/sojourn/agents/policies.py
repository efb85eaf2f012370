"""Agents that follow a policy and learn only what it earns."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from sojourn.agents.protocol import draw, learn, misfit
from sojourn.agents.values.protocol import Values, best, entries, nth_available, sizes
from sojourn.rates.protocol import Rate, carry
from sojourn.rules.arrays import Floats, Ints, misread, outside
from sojourn.rules.random import uniform
from sojourn.rules.replace import replaced
from sojourn.rules.streams import Stream
from sojourn.rules.vectors import Action, State


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


F = TypeVar("F", PolicyAgent, RandomAgent, RandomNumbers, Follower)


@learn.register(PolicyAgent)
@learn.register(RandomAgent)
@learn.register(RandomNumbers)
@learn.register(Follower)
def learn_rate(
    agent: F,
    state: State,
    action: Action,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool,
) -> F:
    """Update only the rate."""
    rate, carried = carry(agent.rate, agent.carried, reward, duration)
    return replaced(agent, rate=rate, carried=carried, accepted=True)
