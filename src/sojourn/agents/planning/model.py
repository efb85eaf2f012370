"""The models that a planner plans with: what it saw, taken at its word, and what unknown pairs may promise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.counts import NONE, Counts
from sojourn.agents.planning.solve import Model
from sojourn.rules.arrays import Flags, Ints
from sojourn.rules.bridge import compiled_apart

_LEAST = 1e-6  # of the mean duration: a plan must not go round for ever in no time


class Outlook(NamedTuple):
    """What a plan assumes beyond the counts."""

    known: int  # a pair seen at most so often is unknown; -1 if all are known
    promise: float  # what an unknown pair pays per unit time
    reward: float  # the mean of a step, over all that was seen
    duration: float


class Places(NamedTuple):
    """The states that were seen, and the place of each state among them."""

    states: Ints
    place: Ints


@compiled_apart
def places_of(seen: Flags) -> Places:
    """Return the places of the states that were seen."""
    count = 0
    for state in range(len(seen)):
        count += seen[state]
    states, place = np.empty(count, np.int64), np.full(len(seen), NONE)
    count = 0
    for state in range(len(seen)):
        if seen[state]:
            states[count] = state
            place[state] = count
            count += 1
    return Places(states, place)


@compiled_apart
def model_of(counts: Counts, available: Flags, places: Places, home: int, outlook: Outlook) -> Model:
    """Return a model of the states seen.

    An unknown pair stays where it is and pays what is promised. A pair never tried is not allowed, unless nothing
    was tried in its state: then it leads `home` as a mean step would.
    """
    num_actions = counts.visits.shape[1]
    pairs = len(places.states) * num_actions
    begin = np.zeros(pairs + 1, np.int64)
    successor, share = np.empty(counts.used + pairs, np.int64), np.empty(counts.used + pairs)
    reward, duration, allowed = np.zeros(pairs), np.ones(pairs), np.zeros(pairs, np.bool_)
    end = 0
    for k in range(len(places.states)):
        state = places.states[k]
        tried = False
        for action in range(num_actions):
            tried = tried or counts.visits[state, action] > 0
        for action in range(num_actions):
            pair, visits = k * num_actions + action, counts.visits[state, action]
            begin[pair] = end
            if not available[state, action]:
                continue
            allowed[pair] = True
            if visits <= outlook.known:
                successor[end] = k
                share[end] = 1.0
                end += 1
                reward[pair] = outlook.promise * outlook.duration
                duration[pair] = outlook.duration
            elif visits == 0:
                successor[end] = home
                share[end] = 1.0
                end += 1
                reward[pair] = outlook.reward
                duration[pair] = outlook.duration
                allowed[pair] = not tried
            else:
                entry = counts.first[state, action]
                while entry != NONE:
                    successor[end] = places.place[counts.successor[entry]]
                    share[end] = counts.times[entry] / visits
                    end += 1
                    entry = counts.following[entry]
                reward[pair] = counts.reward[state, action]
                duration[pair] = max(counts.duration[state, action], _LEAST * outlook.duration)
    begin[pairs] = end
    return Model(begin, successor, share, reward, duration, allowed)
