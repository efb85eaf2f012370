"""The planner: it learns a model of its world and plans with it. There is nothing to tune.

It counts what it sees. It plans when the pair it is about to take has been seen twice as often as at the last plan,
and when it has followed its plan for longer than the one before. A plan is the best policy of the mean model, in
which every pair is what it was on average; a pair that was never tried is left out.

    to try     while some pair of the states seen is unknown, but for at most 2 T^0.6 of T steps: the plan leads to the
               pairs seen least often, as if they paid more than anything seen so far. A pair is known once it has been
               seen 2 log T times, if all states have been seen. There is no limit as long as all steps have paid the
               same per unit time; as long as nothing has been paid, the plan only looks for the shortest way.
    to earn    otherwise the agent follows the plan, but with doubt: in each state it draws a value for each action,
               with mean Q(s, a) and its standard error (Thompson 1933), and takes the action with the largest.

The error of Q(s, a) is that of the mean of n draws of r - g t + h(s'), with its variance pooled with that of all pairs.
So an action is tried as long as it may be the best one, in states that the agent visits anyway, and a try costs only a
single step. All this is the same in any units of money and time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.counts import (
    ERROR,
    SUCCESSOR,
    VISITS,
    SparseCounts,
    count,
    has_room,
    no_counts,
    with_room,
    wrong_counts,
)
from sojourn.agents.planning.plan import ACTION, GUESS, SEEN, TRY, Course, gone_on, is_due, plan, wrong_course
from sojourn.agents.protocol import draw, learn, looks_ahead, misfit, pauses, think
from sojourn.agents.values.protocol import best, entries, read
from sojourn.agents.values.table import Table, zeros
from sojourn.rates.protocol import limit, limit_is_gain, update, value, value_as_kept
from sojourn.rules.arrays import Floats, infinite
from sojourn.rules.random import normal
from sojourn.rules.replace import replaced
from sojourn.rules.streams import Stream


class PlannedRate(NamedTuple):
    """The gain of the best policy of the mean model."""

    rate: float = 0.0


@update.register
def update_planned(rate: PlannedRate, reward: float, duration: float) -> PlannedRate:
    """Nothing changes, as plans set the rate."""
    return rate


value.register(PlannedRate)(value_as_kept)
limit.register(PlannedRate)(limit_is_gain)


class Planner(NamedTuple):
    """An agent that counts, plans and follows its plan."""

    values: Table  # Q(s, a) of the mean model
    rate: PlannedRate
    accepted: bool
    pausing: bool
    counts: SparseCounts
    states: Floats  # [state, column]
    course: Course

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


def planner(num_states: int, num_actions: int) -> Planner:
    """Learn a model of the world from counts, plan with it, and follow the plan; there is nothing to tune.

    >>> agent = planner(num_states=2, num_actions=1)
    >>> agent = think(learn(agent, 0, 0, 6.0, 2.0, 1), 1)
    >>> agent = think(learn(agent, 1, 0, 0.0, 1.0, 0), 0)
    >>> round(float(value(agent.rate)), 3)  # 6 in a time of 2, and then the way back in 1
    2.0
    """
    return Planner(
        values=zeros(num_states, num_actions),
        rate=PlannedRate(),
        accepted=False,
        pausing=False,
        counts=no_counts(num_states, num_actions),
        states=np.zeros((num_states, 9)),
        course=Course(),
    )


# --- The agent's rules --------------------------------------------------------------


@looks_ahead.register
def looks_ahead_planner(agent: Planner) -> bool:
    """It does not: it counts, and its plans look ahead."""
    return False


@misfit.register
def misfit_planner(agent: Planner) -> str:
    """Its counts must have as many pairs as its values, and the actions of its plans must exist."""
    num_states, num_actions = agent.q.shape
    if agent.states.shape != (num_states, 9):
        return f"states have the shape {agent.states.shape}"
    actions = agent.states[:, ACTION : ACTION + 2]
    if not ((actions >= 0.0) & (actions < num_actions)).all():
        return "plan has an action out of range"
    wrong = (
        infinite("plan", agent.states)
        or wrong_counts(agent.counts, (num_states, num_actions))
        or wrong_course(agent.course)
    )
    if wrong:
        return wrong
    led_to = agent.counts.links[: agent.counts.used, SUCCESSOR].astype(np.int64)
    is_seen = (agent.states[led_to, SEEN] > 0.0).all()
    return "" if is_seen else "counts lead to a state that was not seen"


@draw.register
def draw_planned(agent: Planner, state: int, rng: Stream) -> tuple[int, bool]:
    """To try, the plan's action; to earn, the action with the largest value drawn."""
    pairs = agent.counts.pairs
    action = int(agent.states[state, ACTION + TRY])
    if agent.course.trying and read(agent.values, state, action) != -np.inf:
        return action, True
    highest = -np.inf
    for other in range(pairs.shape[1]):
        drawn = read(agent.values, state, other)
        if drawn != -np.inf:
            if pairs[state, other, VISITS] == 0.0:
                drawn = agent.states[state, GUESS]
            drawn += pairs[state, other, ERROR] * normal(rng)
            if (
                not drawn <= highest
            ):  # so that NaN, if values have diverged, is still an action that is available
                action = other
                highest = drawn
    return action, False


@learn.register
def learn_model(
    agent: Planner,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> Planner:
    """Count the transition; pause if it is time to plan, or if there is no room for more counts."""
    counts, states = agent.counts, agent.states
    if not has_room(counts):
        counts = with_room(counts)
    counts = count(counts, state, action, reward, duration, next_state)
    states[state, SEEN] = 1.0
    states[next_state, SEEN] = 1.0
    course = gone_on(agent.course, reward, duration)
    return replaced(
        agent,
        accepted=action == best(agent.values, state, 0.0)[0],
        pausing=is_due(counts, states, course, next_state) or not has_room(counts),
        counts=counts,
        course=course,
    )


@pauses.register
def pauses_planner(agent: Planner) -> bool:
    """When it is time to plan, or there is no room for more counts."""
    return agent.pausing


@think.register
def think_planner(agent: Planner, state: int) -> Planner:
    """Make room for counts, and plan if it is time."""
    counts, course = agent.counts, agent.course
    gain = agent.rate.rate
    if not has_room(counts):
        counts = with_room(counts)
    if course.steps > 0 and is_due(counts, agent.states, course, state):
        gain, course = plan(agent.values.q, counts, agent.states, course, state)
    return replaced(agent, rate=PlannedRate(rate=gain), pausing=False, counts=counts, course=course)
