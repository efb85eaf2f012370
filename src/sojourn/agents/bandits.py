"""Bandits over rates: they take the action whose own rate is best, and ignore what follows.

The value of a pair is what it earned, divided by the time it took. That is the best one can do where all actions
lead to the same place, and a baseline elsewhere. As in other agents, a mean duration is raised to at least a tenth
of the mean over all steps before anything is divided by it, since some pairs may take no time.

    EpsilonGreedy    any action with probability epsilon, otherwise one with the best rate
    UpperConfidence  the action with the largest rate + c sqrt(ln N(s) / n(s, a)); each action once at first
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.agents.constructors import estimator
from sojourn.agents.exploration import Decay, Exploration, Linear, chance, exploration_of, later
from sojourn.agents.protocol import draw, learn, misfit
from sojourn.agents.values.protocol import (
    Table,
    Values,
    best,
    entries,
    move,
    nth_available,
    read,
    sizes,
    zeros,
)
from sojourn.data.numbers import at_least_zero, finite
from sojourn.rates.centred import MeanDuration, averaged
from sojourn.rates.protocol import Rate, carry, ratio
from sojourn.rates.ratio import Cumulative
from sojourn.rules.arrays import MOST_COUNTED, Floats, misread, outside
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import log
from sojourn.rules.random import Stream, uniform
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, checked


class ArmChoice(Value, Protocol):
    """How a bandit chooses."""


C = TypeVar("C", bound=ArmChoice)


@rule()
def chosen(choice: ArmChoice, values: Values, visits: Table, state: int, u: float) -> tuple[int, bool]:
    """Return the action that a uniform number u leads to, and whether it explores."""
    raise no_rule("chosen", choice)


@rule()
def next_choice(choice: C) -> C:
    """Return how the bandit chooses after one more step."""
    raise no_rule("next_choice", choice)


class EpsilonGreedy(NamedTuple):
    """Any action with probability epsilon, otherwise one with the best rate."""

    exploration: Exploration


class UpperConfidence(NamedTuple):
    """The action with the largest upper bound of its rate; `confidence` is c, in units of the rate."""

    confidence: float


@chosen.register
def chosen_greedily(
    choice: EpsilonGreedy, values: Values, visits: Table, state: int, u: float
) -> tuple[int, bool]:
    """One random number decides whether to explore, and which of several equally good actions to take."""
    epsilon = chance(choice.exploration)
    if u < epsilon:
        return nth_available(values, state, u / epsilon), True
    return best(values, state, (u - epsilon) / (1.0 - epsilon))[0], False


@next_choice.register
def next_greedily(choice: EpsilonGreedy) -> EpsilonGreedy:
    """The exploration moves on by one step."""
    return EpsilonGreedy(exploration=later(choice.exploration))


@chosen.register
def chosen_by_bound(
    choice: UpperConfidence, values: Values, visits: Table, state: int, u: float
) -> tuple[int, bool]:
    """The largest upper bound; u decides between equal ones."""
    total = 0.0
    for action in range(sizes(values)[1]):
        total += read(visits, state, action)
    highest, count = -np.inf, 0
    for action in range(sizes(values)[1]):
        bound = _bound(choice.confidence, read(values, state, action), read(visits, state, action), total)
        count = count + 1 if bound == highest else 1 if bound > highest else count
        highest = max(highest, bound)
    left, taken = int(u * count), 0
    for action in range(sizes(values)[1]):
        bound = _bound(choice.confidence, read(values, state, action), read(visits, state, action), total)
        if bound == highest:
            if left == 0:
                taken = action
            left -= 1
    return taken, False


@inlined
def _bound(confidence: float, worth: float, visits: float, total: float) -> float:
    """Return the upper bound of an action's rate: -inf if it is not available, inf if it was never tried."""
    if worth == -np.inf:
        return -np.inf
    return worth + confidence * math.sqrt(log(total) / visits) if visits > 0.0 else np.inf


@next_choice.register
def next_by_bound(choice: UpperConfidence) -> UpperConfidence:
    """The bounds shrink by themselves."""
    return choice


@checked(carried=finite)
class Bandit(NamedTuple):
    """A bandit in every state; its values are rates."""

    values: Values
    rate: Rate
    choice: ArmChoice
    visits: Table
    rewards: Table
    times: Table
    durations: MeanDuration
    carried: float
    accepted: bool

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


@misfit.register
def misfit_bandit(agent: Bandit) -> str:
    """All its tables must be as large as its values."""
    shape, tables = sizes(agent.values), (agent.visits, agent.rewards, agent.times)
    for name, table in zip(("visits", "rewards", "times"), tables, strict=True):
        wrong = misread(name, table.q, np.float64, shape)
        if wrong:
            return wrong
    return outside("visits", agent.visits.q, 0.0, MOST_COUNTED)


@draw.register
def draw_bandit(agent: Bandit, state: int, rng: Stream) -> tuple[int, bool]:
    """The action that its `choice` gives."""
    return chosen(agent.choice, agent.values, agent.visits, state, uniform(rng))


@learn.register
def learn_bandit(
    agent: Bandit,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> Bandit:
    """Update the pair's own rate, and the agent's rate if the action was one of the best."""
    known = read(agent.values, state, action)
    accepted = known == best(agent.values, state, 0.0)[1]
    visits = move(agent.visits, state, action, 1.0)
    rewards = move(agent.rewards, state, action, reward)
    times = move(agent.times, state, action, duration)
    durations = averaged(agent.durations, duration)
    count = read(visits, state, action)
    time = max(read(times, state, action) / count, 0.1 * durations.mean)
    worth = ratio(read(rewards, state, action) / count, time)
    rate, carried = agent.rate, agent.carried
    if accepted:
        rate, carried = carry(rate, carried, reward, duration)
    return Bandit(
        values=move(agent.values, state, action, worth - known),
        rate=rate,
        choice=next_choice(agent.choice),
        visits=visits,
        rewards=rewards,
        times=times,
        durations=durations,
        carried=carried,
        accepted=accepted,
    )


# --- The constructors -----------------------------------------------------------------


def greedy_bandit(
    num_states: int,
    num_actions: int,
    *,
    exploration: float | Decay | Linear = 0.1,
    rate: Rate | None = None,
) -> Bandit:
    """An epsilon-greedy bandit over rates, as a control: in each state it takes the action that has earned most per unit time.

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
    >>> from sojourn.rules.random import stream
    >>> agent = learn(ucb_bandit(num_states=1, num_actions=2), 0, 0, 6.0, 2.0, 0)
    >>> act(agent, 0, stream(0))  # each action is tried once
    1
    """
    return _bandit(num_states, num_actions, UpperConfidence(at_least_zero("confidence", confidence)), rate)


def _bandit(num_states: int, num_actions: int, choice: ArmChoice, rate: Rate | None) -> Bandit:
    return Bandit(
        values=zeros(num_states, num_actions),
        rate=estimator(Cumulative, None, rate),
        choice=choice,
        visits=zeros(num_states, num_actions),
        rewards=zeros(num_states, num_actions),
        times=zeros(num_states, num_actions),
        durations=MeanDuration(),
        carried=0.0,
        accepted=True,
    )
