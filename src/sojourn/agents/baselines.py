"""Agents to compare with, which follow a policy and learn only what it earns: random actions, or a given policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from sojourn.agents.constructors import estimator
from sojourn.agents.protocol import Agent, draw, learn, misfit, ready_agent
from sojourn.agents.values.protocol import Values, best, entries, nth_available, sizes, zeros
from sojourn.data.moved import moved_names
from sojourn.data.numbers import unmasked, within
from sojourn.rates.protocol import Rate, carry
from sojourn.rates.ratio import Cumulative
from sojourn.rules.arrays import Floats, Ints, misread, outside
from sojourn.rules.door import told
from sojourn.rules.random import Stream, uniform
from sojourn.rules.values import copied, replaced
from sojourn.rules.vectors import Action, State

__getattr__ = moved_names(__name__)


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


# --- The constructors -----------------------------------------------------------------


def random_agent(num_states: int, num_actions: int, *, rate: Rate | None = None) -> RandomAgent:
    """Take random actions, all equally likely, as a baseline; the rate is `Cumulative` unless you give another.

    >>> from sojourn.agents.protocol import act
    >>> from sojourn.rules.random import stream
    >>> agent, rng = random_agent(num_states=1, num_actions=3), stream(0)
    >>> sorted({act(agent, 0, rng) for _ in range(50)})
    [0, 1, 2]
    """
    known = estimator(Cumulative, None, rate)
    return RandomAgent(values=zeros(num_states, num_actions), rate=known, carried=0.0, accepted=True)


@told
def policy_agent(policy: Sequence[int], num_actions: int, *, rate: Rate | None = None) -> PolicyAgent:
    """Follow a policy, given as the action of each state, to see what it earns.

    >>> policy_agent([0, 1, 1], num_actions=2).q.shape
    (3, 2)
    """
    values = zeros(len(policy), num_actions)
    unmasked("policy", policy)
    actions = np.array([within(f"policy[{s}]", action, num_actions) for s, action in enumerate(policy)])
    entries(values)[np.arange(len(actions)), actions] = 1.0  # so that the greedy policy is the one followed
    known = estimator(Cumulative, None, rate)
    return PolicyAgent(values=values, rate=known, carried=0.0, accepted=True, actions=actions)


def follow(agent: Agent, *, rate: Rate | None = None) -> Follower:
    """Follow the greedy policy of an agent, without exploring or learning, to see what it earns.

    >>> from sojourn.agents.constructors import smart
    >>> from sojourn.agents.protocol import act
    >>> from sojourn.rules.random import stream
    >>> act(follow(smart(num_states=1, num_actions=2, initial=[[0.0, 5.0]])), 0, stream(0))
    1
    """
    known = estimator(Cumulative, None, rate)
    return Follower(values=copied(ready_agent(agent).values), rate=known, carried=0.0, accepted=True)
