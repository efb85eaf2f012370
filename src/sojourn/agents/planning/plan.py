"""When the planner plans, and how: it finds the best policy of the mean model, and one that tries unknown pairs.

The planner itself is in `planner.py`, which says why it plans like this.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.counts import DURATION_SQUARES, ERROR, REWARD_SQUARES, VISITS, SparseCounts
from sojourn.agents.planning.model import Outlook, model_of
from sojourn.agents.planning.solve import Model, improve, look_ahead
from sojourn.rules.arrays import MOST_COUNTED, Floats, Ints
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.elementary import exp, log
from sojourn.rules.replace import replaced

_TRIES, _POWER = 2.0, 0.6  # at most 2 T^0.6 steps to try
_KNOWN = 2.0  # a pair seen 2 log T times is known
_SAME = 1e-12  # steps that pay the same per unit time, but for this share, say nothing about what is better
_LAZY = 0.01  # of what an unknown pair pays: by how much a way must be better while nothing else was paid
_WORK = 4000.0  # entries of plans that a step may cost in the long run; a thousand take about a microsecond
_CREDIT = 20.0  # steps' worth of work that may be done ahead

# Columns of `states`. There are two kinds of plan, the best one and one to try something. Each has an action, a value
# and the expected time until home, from which the next plan of the kind begins. PLANNED is how often the planned pair
# had been seen, GUESS the value of an action that was not tried, SEEN whether the state was seen.
BEST, TRY = range(2)
ACTION, VALUE, TIME, PLANNED, GUESS, SEEN = 0, 2, 4, 6, 7, 8


class Course(NamedTuple):
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


def wrong_course(course: Course) -> str:
    """Return what is wrong with a course that came from elsewhere, or an empty text."""
    counts = (course.begun, course.stretch, course.tries)
    sound = 0 <= course.steps <= MOST_COUNTED and all(0 <= count <= course.steps for count in counts)
    numbers = (course.reward, course.clock, course.carried, course.work)
    if not sound or not np.isfinite(numbers).all() or min(course.clock, course.work) < 0.0:
        return f"course of {course.steps} steps has counts or totals of no such course"
    return (
        ""
        if course.lowest == course.lowest and course.highest == course.highest
        else "course has rates that are NaN"
    )


@inlined
def gone_on(course: Course, reward: float, duration: float) -> Course:
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
    )


@inlined
def is_due(counts: SparseCounts, states: Floats, course: Course, state: int) -> bool:
    """Whether to plan again: the planned pair was seen twice as often as before, or the plan is old."""
    if course.work > _CREDIT * _WORK:
        return False
    if course.steps - course.begun > course.stretch + 1:
        return True
    action = int(states[state, ACTION + (TRY if course.trying else BEST)])
    return bool(counts.pairs[state, action, VISITS] >= max(2.0 * states[state, PLANNED], 1.0))


@compiled_apart
def plan(q: Floats, counts: SparseCounts, states: Floats, course: Course, state: int) -> tuple[float, Course]:
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
    trying = unknown and (all_the_same or course.tries < _TRIES * exp(_POWER * steps))
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
def promised(course: Course) -> float:
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
