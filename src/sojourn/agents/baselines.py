"""Agents to compare with: random actions, a given policy, and bandits, which do not look ahead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.agents.bandits import Bandit, Choice, EpsilonGreedy, UpperConfidence
from sojourn.agents.checks import ready_agent
from sojourn.agents.construct import estimator
from sojourn.agents.exploration import Decay, Linear, exploration_of
from sojourn.agents.policies import Follower, PolicyAgent, RandomAgent
from sojourn.agents.protocol import Agent
from sojourn.agents.values.protocol import entries
from sojourn.agents.values.table import zeros
from sojourn.data.numbers import at_least_zero, unmasked, within
from sojourn.rates.centred import MeanDuration
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Cumulative
from sojourn.rules.door import told
from sojourn.rules.values import copied


def random_agent(num_states: int, num_actions: int, *, rate: Rate | None = None) -> RandomAgent:
    """Take random actions, all equally likely, as a baseline; the rate is `Cumulative` unless you give another.

    >>> from sojourn.agents.protocol import act
    >>> from sojourn.rules.streams import stream
    >>> agent, rng = random_agent(num_states=1, num_actions=3), stream(0)
    >>> sorted({act(agent, 0, rng) for _ in range(50)})
    [0, 1, 2]
    """
    known = estimator(lambda _: Cumulative(), None, rate)
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
    known = estimator(lambda _: Cumulative(), None, rate)
    return PolicyAgent(values=values, rate=known, carried=0.0, accepted=True, actions=actions)


def follow(agent: Agent, *, rate: Rate | None = None) -> Follower:
    """Follow the greedy policy of an agent, without exploring or learning, to see what it earns.

    >>> from sojourn.agents.literature import smart
    >>> from sojourn.agents.protocol import act
    >>> from sojourn.rules.streams import stream
    >>> act(follow(smart(num_states=1, num_actions=2, initial=[[0.0, 5.0]])), 0, stream(0))
    1
    """
    known = estimator(lambda _: Cumulative(), None, rate)
    return Follower(values=copied(ready_agent(agent).values), rate=known, carried=0.0, accepted=True)


def greedy_bandit(
    num_states: int,
    num_actions: int,
    *,
    exploration: float | Decay | Linear = 0.1,
    rate: Rate | None = None,
) -> Bandit:
    """An epsilon-greedy bandit over rates: in each state it takes the action that has earned most per unit time.

    >>> from sojourn.agents.protocol import learn
    >>> agent = greedy_bandit(num_states=1, num_actions=2)
    >>> for action, reward, duration in ((0, 6.0, 2.0), (0, 0.0, 1.0), (1, 5.0, 2.0)):
    ...     agent = learn(agent, 0, action, reward, duration, 0)
    >>> agent.q
    array([[2. , 2.5]])
    """
    return _bandit(num_states, num_actions, EpsilonGreedy(exploration_of(exploration)), rate)


def ucb_bandit(
    num_states: int, num_actions: int, *, confidence: float = 1.0, rate: Rate | None = None
) -> Bandit:
    """A bandit over rates by upper confidence bounds (UCB1 of Auer, Cesa-Bianchi and Fischer 2002).

    `confidence` is in units of the rate; choose it about as large as the spread of the rates of single steps.

    >>> from sojourn.agents.protocol import act, learn
    >>> from sojourn.rules.streams import stream
    >>> agent = learn(ucb_bandit(num_states=1, num_actions=2), 0, 0, 6.0, 2.0, 0)
    >>> act(agent, 0, stream(0))  # each action is tried once
    1
    """
    return _bandit(num_states, num_actions, UpperConfidence(at_least_zero("confidence", confidence)), rate)


def _bandit(num_states: int, num_actions: int, choice: Choice, rate: Rate | None) -> Bandit:
    return Bandit(
        values=zeros(num_states, num_actions),
        rate=estimator(lambda _: Cumulative(), None, rate),
        choice=choice,
        visits=zeros(num_states, num_actions),
        rewards=zeros(num_states, num_actions),
        times=zeros(num_states, num_actions),
        durations=MeanDuration(),
        carried=0.0,
        accepted=True,
    )
