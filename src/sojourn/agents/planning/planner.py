"""The planner: it learns a model of its world and plans with it. There is nothing to tune.

It counts what it sees. Now and then it plans: when the pair it is about to take has been seen twice as often as at
the last plan, and after stretches that grow by one step each. A plan is the best policy of the mean model, in which
every pair is what it was on average; a pair that was never tried is left out.

    to try     while a pair of the states seen is unknown, and at most 2 T^0.6 of T steps: the plan goes where pairs
               seen least often are, as if they paid more than anything seen so far. A pair is known when it was seen
               2 log T times, if all states were seen.
    to earn    else the agent follows the plan, with doubt: in each state it draws each action's value from what it may
               be, its mean Q(s, a) and standard error (Thompson 1933), and takes the best.

The error of Q(s, a) is that of n draws of r - g t + h(s'), its variance pooled with that of all pairs. So an action is
tried as long as it may be the best one, where the agent goes anyway, and at the price of single steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.counts import Counts, count, has_room, no_counts, with_room
from sojourn.agents.planning.model import Outlook, Places, model_of, places_of
from sojourn.agents.planning.solve import Model, Plan, improve, look_ahead
from sojourn.agents.protocol import draw, learn, pauses, think
from sojourn.agents.values.protocol import best, entries, read
from sojourn.agents.values.table import Table, zeros
from sojourn.rates.protocol import limit, limit_is_gain, update, value, value_as_kept
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.elementary import exp, log
from sojourn.rules.random import normal
from sojourn.rules.streams import Stream

_TRIES, _POWER = 2.0, 0.6  # at most 2 T^0.6 steps to try
_KNOWN = 2.0  # a pair seen 2 log T times is known
_WORK = 4000.0  # entries of plans that a step may cost in the long run; a thousand take about a microsecond
_CREDIT = 20.0  # steps' worth of work that may be done ahead

_BEST, _TRY = range(2)  # the two kinds of plan


class PlannedRate(NamedTuple):
    """The gain of the best policy by the mean of what was seen."""

    rate: float = 0.0


@update.register
def update_planned(rate: PlannedRate, reward: float, duration: float) -> PlannedRate:
    """Nothing: plans say it."""
    return rate


value.register(PlannedRate)(value_as_kept)
limit.register(PlannedRate)(limit_is_gain)


class Plans(NamedTuple):
    """What the last plans came to; the next ones begin there. Arrays [state, kind of plan], unless said."""

    policy: Ints
    h: Floats
    w: Floats
    visits: Ints  # [state] of the planned pair, when it was planned
    error: Floats  # [state, action] the standard error of a value
    guess: Floats  # [state] the value of an action that was not tried
    seen: Flags  # [state]


class Course(NamedTuple):
    """When plans were made, and what was seen on the way."""

    steps: int = 0
    begun: int = 0  # the step of the last plan
    stretch: int = 0  # how long the one before was followed
    trying: bool = True
    tries: int = 0
    reward: float = 0.0
    clock: float = 0.0
    carried: float = 0.0  # the reward of steps that took no time, since time last passed
    lowest: float = np.inf  # the least reward per unit time of a step
    highest: float = -np.inf
    work: float = 0.0  # done ahead of what the steps so far allow


class Planner(NamedTuple):
    """An agent that counts, plans and follows its plan."""

    values: Table  # Q(s, a) of the mean model
    rate: PlannedRate
    accepted: bool
    pausing: bool
    counts: Counts
    plans: Plans
    course: Course

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


def planner(num_states: int, num_actions: int) -> Planner:
    """Learn a model of the world from counts, plan with it, and follow the plan: there is nothing to tune.

    >>> agent = planner(num_states=2, num_actions=1)
    >>> agent = learn(learn(agent, 0, 0, 6.0, 2.0, 1), 1, 0, 0.0, 1.0, 0)
    >>> round(value(think(agent, 0).rate), 9)
    2.0
    """
    values = zeros(num_states, num_actions)
    plans = Plans(
        policy=np.zeros((num_states, 2), np.int64),
        h=np.zeros((num_states, 2)),
        w=np.zeros((num_states, 2)),
        visits=np.zeros(num_states, np.int64),
        error=np.zeros((num_states, num_actions)),
        guess=np.zeros(num_states),
        seen=np.zeros(num_states, np.bool_),
    )
    counts = no_counts(num_states, num_actions)
    return Planner(values, PlannedRate(), accepted=False, pausing=False, counts=counts, plans=plans, course=Course())


# --- The agent's two rules ----------------------------------------------------------


@draw.register
def draw_planned(agent: Planner, state: int, rng: Stream) -> tuple[int, bool]:
    """To try, the plan's action; to earn, the one whose value is the largest draw of what it may be."""
    plans, visits = agent.plans, agent.counts.visits
    trying = agent.course.trying
    action = plans.policy[state, _TRY]
    if trying and read(agent.values, state, action) != -np.inf:
        return action, True
    highest = -np.inf
    for other in range(visits.shape[1]):
        drawn = read(agent.values, state, other)
        if drawn != -np.inf:
            if visits[state, other] == 0:
                drawn = plans.guess[state]
            drawn += plans.error[state, other] * normal(rng)
            if drawn > highest:
                action, highest = other, drawn
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
    """Count the transition, and plan anew if it is time."""
    accepted = action == best(agent.values, state, 0.0)[0]
    counts, plans = agent.counts, agent.plans
    if not has_room(counts):
        counts = with_room(counts)
    counts = count(counts, state, action, reward, duration, next_state)
    plans.seen[state] = True
    plans.seen[next_state] = True
    course = gone_on(agent.course, reward, duration)
    pausing = is_due(counts, plans, course, next_state) or not has_room(counts)
    return Planner(
        values=agent.values,
        rate=agent.rate,
        accepted=accepted,
        pausing=pausing,
        counts=counts,
        plans=plans,
        course=course,
    )


@pauses.register
def pauses_planner(agent: Planner) -> bool:
    """When it is time to plan, or room for counts is short."""
    return agent.pausing


@think.register
def think_planner(agent: Planner, state: int) -> Planner:
    """Make room, and plan if it is time."""
    counts, rate, course = agent.counts, agent.rate, agent.course
    if not has_room(counts):
        counts = with_room(counts)
    if is_due(counts, agent.plans, course, state):
        rate, course = plan(agent.values, counts, agent.plans, course, state)
    return Planner(
        values=agent.values,
        rate=rate,
        accepted=agent.accepted,
        pausing=False,
        counts=counts,
        plans=agent.plans,
        course=course,
    )


@compiled_apart
def gone_on(course: Course, reward: float, duration: float) -> Course:
    """Return the course after one step."""
    lowest, highest, carried = course.lowest, course.highest, course.carried + reward
    if duration > 0.0:
        lowest, highest = min(lowest, carried / duration), max(highest, carried / duration)
        carried = 0.0
    return Course(
        steps=course.steps + 1,
        begun=course.begun,
        stretch=course.stretch,
        trying=course.trying,
        tries=course.tries + course.trying,
        reward=course.reward + reward,
        clock=course.clock + duration,
        carried=carried,
        lowest=lowest,
        highest=highest,
        work=max(course.work - _WORK, 0.0),
    )


# --- Planning -----------------------------------------------------------------------


@compiled_apart
def is_due(counts: Counts, plans: Plans, course: Course, state: int) -> bool:
    """Whether to plan anew: the planned pair was seen twice as often as before, or the plan is old."""
    if course.work > _CREDIT * _WORK:
        return False
    if course.steps - course.begun > course.stretch + 1:
        return True
    visits = counts.visits[state, plans.policy[state, _TRY if course.trying else _BEST]]
    return visits >= max(2 * plans.visits[state], 1)


@compiled_apart
def plan(
    values: Table, counts: Counts, plans: Plans, course: Course, state: int
) -> tuple[PlannedRate, Course]:
    """Plan from `state`, where the agent stands: the best policy by what was seen, and what to do next."""
    places = places_of(plans.seen)
    home = places.place[state]
    available = available_in(values, places)
    reward = course.reward / course.steps
    duration = course.clock / course.steps if course.clock > 0.0 else 1.0

    mean = Outlook(known=-1, promise=0.0, reward=reward, duration=duration)
    model = model_of(counts, available, places, home, mean)
    gain, work = planned(model, plans, places, _BEST, home)
    write_values(values, counts, model, plans, places, gain)
    write_errors(values, counts, model, plans, places, gain)

    steps = log(course.steps + 1.0)
    least = least_visits(counts, available, places)
    unknown = least < _KNOWN * steps or len(places.states) < len(plans.seen)
    all_the_same = not course.highest > course.lowest
    trying = unknown and (all_the_same or course.tries < _TRIES * exp(_POWER * steps))
    if trying:
        hope = Outlook(known=least, promise=promised(course), reward=reward, duration=duration)
        model = model_of(counts, available, places, home, hope)
        work += planned(model, plans, places, _TRY, home)[1]
    for k in range(len(places.states)):
        there = places.states[k]
        plans.visits[there] = counts.visits[there, plans.policy[there, _TRY if trying else _BEST]]
    return PlannedRate(rate=gain), Course(
        steps=course.steps,
        begun=course.steps,
        stretch=course.steps - course.begun,
        trying=trying,
        tries=course.tries,
        reward=course.reward,
        clock=course.clock,
        carried=course.carried,
        lowest=course.lowest,
        highest=course.highest,
        work=course.work + work,
    )


@compiled_apart
def promised(course: Course) -> float:
    """Return more than any step paid so far per unit time."""
    if not course.highest >= course.lowest:
        return 1.0  # no time has passed yet
    return course.highest + max(course.highest - course.lowest, abs(course.highest), 1e-6)


@compiled_apart
def available_in(values: Table, places: Places) -> Flags:
    """Return which actions the states seen have, as an array [state, action] of all states."""
    available = np.zeros(values.q.shape, np.bool_)
    for k in range(len(places.states)):
        state = places.states[k]
        for action in range(available.shape[1]):
            available[state, action] = values.q[state, action] != -np.inf
    return available


@compiled_apart
def least_visits(counts: Counts, available: Flags, places: Places) -> int:
    """Return how often the pair was seen that was seen least, of the states seen."""
    least = np.int64(2**62)
    for k in range(len(places.states)):
        for action in range(counts.visits.shape[1]):
            if available[places.states[k], action]:
                least = min(least, counts.visits[places.states[k], action])
    return least


@compiled_apart
def planned(model: Model, plans: Plans, places: Places, kind: int, home: int) -> tuple[float, int]:
    """Improve the plan of a kind for a model; return its gain, and the work."""
    size = len(places.states)
    num_actions = len(model.allowed) // size
    now = Plan(np.empty(size, np.int64), np.empty(size), np.empty(size))
    for k in range(size):
        state = places.states[k]
        action = plans.policy[state, kind]
        for other in range(num_actions - 1, -1, -1):
            if not model.allowed[k * num_actions + action] and model.allowed[k * num_actions + other]:
                action = other
        now.policy[k] = action
        now.h[k] = plans.h[state, kind]
        now.w[k] = plans.w[state, kind]
    gain, work = improve(model, now, home, num_actions)
    for k in range(size):
        state = places.states[k]
        plans.policy[state, kind] = now.policy[k]
        plans.h[state, kind] = now.h[k]
        plans.w[state, kind] = now.w[k]
    return gain, work


@compiled_apart
def write_values(
    values: Table, counts: Counts, model: Model, plans: Plans, places: Places, gain: float
) -> None:
    """Write Q(s, a) of the mean model; a pair that was never tried is below all others."""
    num_actions = counts.visits.shape[1]
    h = plans.h[places.states, _BEST]
    lowest, highest = np.inf, -np.inf
    for k in range(len(h)):
        for action in range(num_actions):
            if counts.visits[places.states[k], action] > 0:
                ahead = look_ahead(model, h, k * num_actions + action, gain)
                lowest, highest = min(lowest, ahead), max(highest, ahead)
    untried = lowest - (highest - lowest) - 1.0
    for state in range(len(places.place)):
        for action in range(num_actions):
            if values.q[state, action] != -np.inf:
                values.q[state, action] = untried
                if counts.visits[state, action] > 0:
                    pair = places.place[state] * num_actions + action
                    values.q[state, action] = look_ahead(model, h, pair, gain)


@compiled_apart
def write_errors(
    values: Table, counts: Counts, model: Model, plans: Plans, places: Places, gain: float
) -> None:
    """Write the standard error of each Q(s, a): that of the mean of r - g t + h(s'), its variance pooled."""
    num_actions = counts.visits.shape[1]
    h = plans.h[places.states, _BEST]
    total, freedom = 0.0, 0
    for k in range(len(h)):
        state = places.states[k]
        for action in range(num_actions):
            visits = counts.visits[state, action]
            squares = 0.0
            if visits > 0:
                pair = k * num_actions + action
                squares = counts.reward_squares[state, action] + visits * variance(model, h, pair)
                squares += gain * gain * counts.duration_squares[state, action]
                total += squares
                freedom += visits - 1
            plans.error[state, action] = squares
    pooled = total / max(freedom, 1)
    for k in range(len(h)):
        state = places.states[k]
        sum_of_values, tried = 0.0, 0
        for action in range(num_actions):
            visits = counts.visits[state, action]
            if visits > 0:
                sum_of_values += values.q[state, action]
                tried += 1
            squares = plans.error[state, action] + 2.0 * pooled
            plans.error[state, action] = math.sqrt(squares / (visits + 1.0) / visits if visits > 0 else pooled)
        plans.guess[state] = sum_of_values / max(tried, 1)


@compiled_apart
def variance(model: Model, h: Floats, pair: int) -> float:
    """Return the variance of h(s') after a pair."""
    mean, spread = 0.0, 0.0
    for entry in range(model.begin[pair], model.begin[pair + 1]):
        mean += model.share[entry] * h[model.successor[entry]]
    for entry in range(model.begin[pair], model.begin[pair + 1]):
        away = h[model.successor[entry]] - mean
        spread += model.share[entry] * away * away
    return spread
