"""The planner: it learns a model of its world and plans with it. There is nothing to tune.

It counts what it sees. It plans when the pair it is about to take has been seen twice as often as at the last plan,
and when it has followed its plan for longer than the one before. A plan is the best policy of the mean model, in
which every pair is what it was on average; a pair that was never tried is left out.

    to try     while some pair of the states seen is unknown, but for at most 2 T^0.6 of T steps, and no longer than so
               many steps take on average: the plan leads to the pairs seen least often, as if they paid more than
               anything seen so far. A pair is known once it has been seen log T times, if all states have been seen.
               There is no limit as long as all steps have paid the same per unit time; as long as nothing has been
               paid, the plan only looks for the shortest way.
    to earn    otherwise the agent follows the plan, but with doubt: in each state it draws a value for each action,
               with mean Q(s, a) and its standard error, and takes the action with the largest.

The error of Q(s, a) is that of the mean of n draws of r - g t + h(s'), with its variance pooled with that of all pairs.
So an action is tried as long as it may be the best one, in states that the agent visits anyway, and a try costs only a
single step. All this is the same in any units of money and time.

The parts are known: the rules for when to plan again are those of TSDE (Ouyang, Gagrani, Nayyar and Jain, NIPS 2017),
and the values drawn are randomised values (Osband, Van Roy and Wen, ICML 2016). But TSDE draws a model from the posterior
and follows its best policy, while this planner never draws a model: it is not posterior sampling, and no bound on its
regret is known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.model import (
    DURATION_SQUARES,
    ERROR,
    REWARD_SQUARES,
    SUCCESSOR,
    VISITS,
    Outlook,
    SparseCounts,
    count,
    has_room,
    model_of,
    no_counts,
    with_room,
    wrong_counts,
)
from sojourn.agents.planning.solver import Model, improve, look_ahead
from sojourn.agents.protocol import draw, learn, looks_ahead, misfit, pauses, think
from sojourn.agents.values.protocol import Table, best, entries, read, zeros
from sojourn.rates.protocol import limit, limit_is_gain, update, value, value_as_kept
from sojourn.rules.arrays import MOST_COUNTED, Floats, Ints, infinite
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.elementary import exp, log
from sojourn.rules.random import Stream, normal
from sojourn.rules.values import replaced

# --- When to plan, and how: the best policy of the mean model, and one that tries unknown pairs ---


_TRIES, _POWER = 2.0, 0.6  # at most 2 T^0.6 steps to try, and the time of as many mean steps
_KNOWN = 1.0  # a pair seen log T times is known
_SAME = 1e-12  # steps that pay the same per unit time, but for this share, say nothing about what is better
_LAZY = 0.01  # of what an unknown pair pays: by how much a way must be better while nothing else was paid
_WORK = 4000.0  # entries of plans that a step may cost in the long run; a thousand take about a microsecond
_CREDIT = 20.0  # steps' worth of work that may be done ahead

# Columns of `states`. There are two kinds of plan, the best one and one to try something. Each has an action, a value
# and the expected time until home, from which the next plan of the kind begins. PLANNED is how often the planned pair
# had been seen, GUESS the value of an action that was not tried, SEEN whether the state was seen.
BEST, TRY = range(2)
ACTION, VALUE, TIME, PLANNED, GUESS, SEEN = 0, 2, 4, 6, 7, 8


class PlanHistory(NamedTuple):
    """When plans were made, and what was seen on the way."""

    steps: int = 0
    begun: int = 0  # the step of the last plan
    stretch: int = 0  # for how many steps the plan before it was followed
    trying: bool = True
    tries: int = 0
    reward: float = 0.0
    clock: float = 0.0
    carried: float = 0.0  # the reward of steps that took no time, since time last passed
    lowest: float = np.inf  # the least reward per unit time of a step
    highest: float = -np.inf
    work: float = 0.0  # done ahead of what the steps so far allow
    tried: float = 0.0  # the time that tries took


def wrong_history(course: PlanHistory) -> str:
    """Return what is wrong with a course that came from elsewhere, or an empty text."""
    counts = (course.begun, course.stretch, course.tries)
    sound = 0 <= course.steps <= MOST_COUNTED and all(0 <= count <= course.steps for count in counts)
    numbers = (course.reward, course.clock, course.carried, course.work, course.tried)
    if not sound or not np.isfinite(numbers).all() or min(course.clock, course.work, course.tried) < 0.0:
        return f"course of {course.steps} steps has counts or totals of no such course"
    return (
        ""
        if course.lowest == course.lowest and course.highest == course.highest
        else "course has rates that are NaN"
    )


def wrong_plans(states: Floats, counts: SparseCounts, shape: tuple[int, int]) -> str:
    """Return what is wrong with plans and counts that came from elsewhere, or an empty text."""
    num_states, num_actions = shape
    if states.shape != (num_states, 9):
        return f"states have the shape {states.shape}"
    actions = states[:, ACTION : ACTION + 2]
    if not ((actions >= 0.0) & (actions < num_actions)).all():
        return "plan has an action out of range"
    wrong = infinite("plan", states) or wrong_counts(counts, shape)
    if wrong:
        return wrong
    led_to = counts.links[: counts.used, SUCCESSOR].astype(np.int64)
    return "" if (states[led_to, SEEN] > 0.0).all() else "counts lead to a state that was not seen"


@inlined
def gone_on(course: PlanHistory, reward: float, duration: float) -> PlanHistory:
    """Return the course after one step."""
    lowest, highest, carried = course.lowest, course.highest, course.carried + reward
    if duration > 0.0:
        lowest, highest = min(lowest, carried / duration), max(highest, carried / duration)
        carried = 0.0
    return replaced(
        course,
        steps=course.steps + 1,
        tries=course.tries + course.trying,
        reward=course.reward + reward,
        clock=course.clock + duration,
        carried=carried,
        lowest=lowest,
        highest=highest,
        work=max(course.work - _WORK, 0.0),
        tried=course.tried + duration if course.trying else course.tried,
    )


@inlined
def is_due(counts: SparseCounts, states: Floats, course: PlanHistory, state: int) -> bool:
    """Whether to plan again: the planned pair was seen twice as often as before, or the plan is old."""
    if course.work > _CREDIT * _WORK:
        return False
    if course.steps - course.begun > course.stretch + 1:
        return True
    action = int(states[state, ACTION + (TRY if course.trying else BEST)])
    return bool(counts.pairs[state, action, VISITS] >= max(2.0 * states[state, PLANNED], 1.0))


@compiled_apart
def plan(
    q: Floats, counts: SparseCounts, states: Floats, course: PlanHistory, state: int
) -> tuple[float, PlanHistory]:
    """Plan from the agent's current state: the best policy by what was seen, and what to do next."""
    states[state, SEEN] = 1.0  # in case it was not
    seen, place = places_of(states)
    home = place[state]
    reward = course.reward / course.steps
    timeless = not course.clock > 0.0
    duration = 1.0 if timeless else course.clock / course.steps

    mean = Outlook(known=-1.0, promise=0.0, worth=1.0, reward=reward, duration=duration)
    model = model_of(counts, q, seen, place, home, mean)
    gain, work = planned(model, states, seen, BEST, home, 0.0)
    write_values(q, counts, model, states, seen, gain)
    write_errors(q, counts, model, states, seen, gain)

    steps = log(course.steps + 1.0)
    least = least_visits(q, counts, seen)
    unknown = least < _KNOWN * steps or len(seen) < len(place)
    largest = max(abs(course.highest), abs(course.lowest))
    all_the_same = timeless or course.highest - course.lowest <= _SAME * largest
    allowed = _TRIES * exp(_POWER * steps)
    trying = unknown and (all_the_same or (course.tries < allowed and course.tried <= allowed * duration))
    if trying:
        # As long as no time has passed, or nothing was paid, rewards have no scale: an unknown pair pays 1, others nothing.
        unscaled = timeless or largest == 0.0
        promise, worth = (1.0, 0.0) if unscaled else (promised(course) * duration, 1.0)
        hope = Outlook(known=least, promise=promise, worth=worth, reward=worth * reward, duration=duration)
        model = model_of(counts, q, seen, place, home, hope)
        work += planned(model, states, seen, TRY, home, _LAZY if unscaled else 0.0)[1]
        if unscaled:  # the next plan must not begin with values in a unit of our own
            forget(states, VALUE + TRY)
    if timeless:  # nor with times in such a unit; and a rate needs time
        gain = 0.0
        forget(states, TIME + BEST)
        forget(states, TIME + TRY)
    for k in range(len(seen)):
        action = int(states[seen[k], ACTION + (TRY if trying else BEST)])
        states[seen[k], PLANNED] = counts.pairs[seen[k], action, VISITS]
    return gain, replaced(
        course,
        begun=course.steps,
        stretch=course.steps - course.begun,
        trying=trying,
        work=course.work + work,
    )


@inlined
def promised(course: PlanHistory) -> float:
    """Return a rate above that of any step so far; some step must have paid or cost something."""
    return course.highest + max(course.highest - course.lowest, abs(course.highest))


@inlined
def forget(states: Floats, column: int) -> None:
    """Set a column of all states to 0."""
    for state in range(states.shape[0]):
        states[state, column] = 0.0


@inlined
def places_of(states: Floats) -> tuple[Ints, Ints]:
    """Return the states that were seen, and for each state its place among them, or -1."""
    count = 0
    for state in range(states.shape[0]):
        count += states[state, SEEN] > 0.0
    seen, place = np.empty(count, np.int64), np.empty(states.shape[0], np.int64)
    count = 0
    for state in range(states.shape[0]):
        place[state] = -1
        if states[state, SEEN] > 0.0:
            seen[count] = state
            place[state] = count
            count += 1
    return seen, place


@inlined
def least_visits(q: Floats, counts: SparseCounts, seen: Ints) -> float:
    """Return how often the least seen pair of the states seen was seen."""
    least = np.inf
    for k in range(len(seen)):
        for action in range(q.shape[1]):
            if q[seen[k], action] != -np.inf:
                least = min(least, counts.pairs[seen[k], action, VISITS])
    return least


@compiled_apart
def planned(
    model: Model, states: Floats, seen: Ints, kind: int, home: int, margin: float
) -> tuple[float, int]:
    """Improve the plan of a kind for a model; return its gain and the work done."""
    size = len(seen)
    num_actions = len(model.allowed) // size
    policy, h, w = np.empty(size, np.int64), np.empty(size), np.empty(size)
    for k in range(size):
        action = int(states[seen[k], ACTION + kind])
        for other in range(num_actions - 1, -1, -1):
            if not model.allowed[k * num_actions + action] and model.allowed[k * num_actions + other]:
                action = other
        policy[k] = action
        h[k] = states[seen[k], VALUE + kind]
        w[k] = states[seen[k], TIME + kind]
    gain, work = improve(model, policy, h, w, home, margin)
    for k in range(size):
        states[seen[k], ACTION + kind] = policy[k]
        states[seen[k], VALUE + kind] = h[k]
        states[seen[k], TIME + kind] = w[k]
    return gain, work


@compiled_apart
def write_values(
    q: Floats, counts: SparseCounts, model: Model, states: Floats, seen: Ints, gain: float
) -> None:
    """Write Q(s, a) of the mean model; a pair that was never tried gets a value below all others."""
    num_actions = q.shape[1]
    h = np.empty(len(seen))
    for k in range(len(seen)):
        h[k] = states[seen[k], VALUE + BEST]
    lowest, highest = np.inf, -np.inf
    for k in range(len(seen)):
        for action in range(num_actions):
            if counts.pairs[seen[k], action, VISITS] > 0.0 and q[seen[k], action] != -np.inf:
                ahead = look_ahead(model, h, k * num_actions + action, gain)
                q[seen[k], action] = ahead
                lowest, highest = min(lowest, ahead), max(highest, ahead)
    below = max(highest - lowest, abs(highest))
    untried = lowest - (below if below > 0.0 else 1.0)
    for state in range(q.shape[0]):
        for action in range(num_actions):
            if counts.pairs[state, action, VISITS] == 0.0 and q[state, action] != -np.inf:
                q[state, action] = untried


@compiled_apart
def write_errors(
    q: Floats, counts: SparseCounts, model: Model, states: Floats, seen: Ints, gain: float
) -> None:
    """Write the standard error of each Q(s, a): that of the mean of r - g t + h(s'), with its variance pooled."""
    pairs, num_actions = counts.pairs, q.shape[1]
    total, freedom = 0.0, 0.0
    for k in range(len(seen)):
        for action in range(num_actions):
            pair, visits = k * num_actions + action, pairs[seen[k], action, VISITS]
            if visits > 0.0:
                mean, square = 0.0, 0.0
                for entry in range(model.begin[pair], model.begin[pair + 1]):
                    mean += model.share[entry] * states[seen[model.successor[entry]], VALUE + BEST]
                for entry in range(model.begin[pair], model.begin[pair + 1]):
                    away = states[seen[model.successor[entry]], VALUE + BEST] - mean
                    square += model.share[entry] * away * away
                square = visits * square + pairs[seen[k], action, REWARD_SQUARES]
                square += gain * gain * pairs[seen[k], action, DURATION_SQUARES]
                total += square
                freedom += visits - 1.0
                pairs[seen[k], action, ERROR] = square
    pooled = total / max(freedom, 1.0)
    for k in range(len(seen)):
        tried, values = 0, 0.0
        for action in range(num_actions):
            visits = pairs[seen[k], action, VISITS]
            if visits > 0.0 and q[seen[k], action] != -np.inf:
                tried += 1
                values += q[seen[k], action]
            square = (pairs[seen[k], action, ERROR] + 2.0 * pooled) / (visits + 1.0) / max(visits, 1.0)
            pairs[seen[k], action, ERROR] = math.sqrt(square if visits > 0.0 else pooled)
        states[seen[k], GUESS] = values / max(tried, 1)


# --- The agent ------------------------------------------------------------------------


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
    course: PlanHistory

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


def planner(num_states: int, num_actions: int) -> Planner:
    """Learn a model of the world from counts, plan with it, and follow the plan; there is nothing to tune.

    When it plans again is as in TSDE (Ouyang et al. 2017), and between plans it draws randomised values (Osband et al. 2016).
    It is not posterior sampling, and no bound on its regret is known.

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
        course=PlanHistory(),
    )


# --- The agent's rules --------------------------------------------------------------


@looks_ahead.register
def looks_ahead_planner(agent: Planner) -> bool:
    """It does not: it counts, and its plans look ahead."""
    return False


@misfit.register
def misfit_planner(agent: Planner) -> str:
    """Its counts must have as many pairs as its values, and the actions of its plans must exist."""
    return wrong_plans(agent.states, agent.counts, agent.q.shape) or wrong_history(agent.course)


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
