"""The models that a planner plans with: the means of what it saw, and what it hopes unknown pairs will pay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.counts import (
    DURATION,
    FIRST,
    NEXT,
    REWARD,
    SUCCESSOR,
    TIMES,
    VISITS,
    SparseCounts,
)
from sojourn.agents.planning.solve import Model
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.bridge import compiled_apart

_LEAST = 1e-6  # of the mean duration: a plan must not loop for ever without time passing


class Outlook(NamedTuple):
    """What a plan assumes beyond the counts."""

    known: float  # a pair seen at most this often is unknown; -1 if all are known
    promise: float  # what an unknown pair pays per step of the mean duration
    worth: float  # what rewards seen are multiplied by: 1, or 0 if they say nothing yet
    reward: float  # the mean of all steps seen
    duration: float


@compiled_apart
def model_of(
    counts: SparseCounts, q: Floats, states: Ints, place: Ints, home: int, outlook: Outlook
) -> Model:
    """Return a model of the states seen, each at its `place`. Pairs that are -inf in q are not available.

    An unknown pair stays where it is and pays the promise. A pair that was never tried is not allowed, unless nothing
    was tried in its state; it then leads `home`, with the mean reward and duration of a step.
    """
    pairs, links = counts.pairs, counts.links
    num_actions = pairs.shape[1]
    size = len(states) * num_actions
    begin = np.zeros(size + 1, np.int64)
    successor, share = np.empty(counts.used + size, np.int64), np.empty(counts.used + size)
    reward, duration, allowed = np.zeros(size), np.zeros(size), np.zeros(size, np.bool_)
    end = 0
    for k in range(len(states)):
        state = states[k]
        tried = False
        for action in range(num_actions):
            tried = tried or pairs[state, action, VISITS] > 0.0
        for action in range(num_actions):
            pair, visits = k * num_actions + action, pairs[state, action, VISITS]
            begin[pair] = end
            if q[state, action] == -np.inf:
                continue
            allowed[pair] = True
            if visits <= outlook.known:
                successor[end] = k
                share[end] = 1.0
                end += 1
                reward[pair] = outlook.promise
                duration[pair] = outlook.duration
            elif visits == 0.0:
                successor[end] = home
                share[end] = 1.0
                end += 1
                reward[pair] = outlook.reward
                duration[pair] = outlook.duration
                allowed[pair] = not tried
            else:
                link = int(pairs[state, action, FIRST])
                while link >= 0:
                    successor[end] = place[int(links[link, SUCCESSOR])]
                    share[end] = links[link, TIMES] / visits
                    end += 1
                    link = int(links[link, NEXT])
                reward[pair] = outlook.worth * pairs[state, action, REWARD]
                duration[pair] = max(pairs[state, action, DURATION], _LEAST * outlook.duration)
    begin[size] = end
    return Model(begin, successor, share, reward, duration, allowed)
