"""What a planner has seen of each pair of state and action, and the small models that it plans with.

`SparseCounts` have, for each pair, how often it was seen, the means of reward and duration, the sums of squares around
these means, and how often each state came next. Only successors that were seen take room: a pair's successors are a chain
of links, in the order in which they were first seen. Everything is in two arrays of floats, because every further
array would add seconds of compilation; the names below say which column is which.

A model has the means of what was seen, and what the planner hopes unknown pairs will pay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.solver import Model
from sojourn.rules.arrays import MOST_COUNTED, Floats, Ints
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.values import replaced

NONE = -1.0  # the end of a chain

# Columns of `pairs`. Squares are sums of squared differences from the mean; FIRST is the first link of the chain;
# ERROR is for the planner: the standard error of the pair's value.
VISITS, REWARD, DURATION, REWARD_SQUARES, DURATION_SQUARES, FIRST, ERROR = range(7)
# Columns of `links`: the state that came next, how often, and the link after this one.
SUCCESSOR, TIMES, NEXT = range(3)


class SparseCounts(NamedTuple):
    """What was seen of each pair."""

    pairs: Floats  # [state, action, column]
    links: Floats  # [link, column]
    used: int  # links in use


def no_counts(num_states: int, num_actions: int) -> SparseCounts:
    """Return the counts of a learner that has seen nothing."""
    pairs = np.zeros((num_states, num_actions, 7))
    pairs[:, :, FIRST] = NONE
    return SparseCounts(pairs, np.zeros((2 * num_states * num_actions + 16, 3)), 0)


@inlined
def has_room(counts: SparseCounts) -> bool:
    """Whether one more successor can be counted."""
    return bool(counts.used < counts.links.shape[0])


@compiled_apart
def with_room(counts: SparseCounts) -> SparseCounts:
    """Return the same counts with twice the room for successors."""
    links = np.zeros((2 * counts.links.shape[0], 3))
    for link in range(counts.used):
        for column in range(3):
            links[link, column] = counts.links[link, column]
    return replaced(counts, links=links)


@compiled_apart
def count(
    counts: SparseCounts, state: int, action: int, reward: float, duration: float, next_state: int
) -> SparseCounts:
    """Return the counts with one more transition; the arrays are written in place."""
    pairs, links, used = counts.pairs, counts.links, counts.used
    pairs[state, action, VISITS] += 1.0
    visits = pairs[state, action, VISITS]
    shift = reward - pairs[state, action, REWARD]
    pairs[state, action, REWARD] += shift / visits
    pairs[state, action, REWARD_SQUARES] += shift * (reward - pairs[state, action, REWARD])
    shift = duration - pairs[state, action, DURATION]
    pairs[state, action, DURATION] += shift / visits
    pairs[state, action, DURATION_SQUARES] += shift * (duration - pairs[state, action, DURATION])

    link, last = int(pairs[state, action, FIRST]), int(NONE)
    while link >= 0 and links[link, SUCCESSOR] != next_state:
        last = link
        link = int(links[link, NEXT])
    if link < 0:
        link = used
        used += 1
        links[link, SUCCESSOR] = next_state
        links[link, NEXT] = NONE
        if last < 0:
            pairs[state, action, FIRST] = link
        else:
            links[last, NEXT] = link
    links[link, TIMES] += 1.0
    return replaced(counts, used=used)


def wrong_counts(counts: SparseCounts, shape: tuple[int, int]) -> str:
    """Return what is wrong with counts that came from elsewhere, or an empty text; compiled code does not check them."""
    pairs, links, used = counts.pairs, counts.links, counts.used
    if pairs.shape != (*shape, 7):
        return f"counts have the shape {pairs.shape}"
    if links.ndim != 2 or links.shape[1] != 3 or not 0 <= used <= len(links):
        return f"{used} links do not fit an array of the shape {links.shape}"
    first, successor, following = pairs[:, :, FIRST], links[:used, SUCCESSOR], links[:used, NEXT]
    led_to = np.concatenate([first[first != NONE], following[following != NONE]])
    sound = (
        np.isin(led_to, np.arange(used)).all()
        and len(np.unique(led_to))
        == len(led_to)  # no two chains meet, so all together are not longer than `used`
        and np.isin(successor, np.arange(shape[0])).all()
        and ((following == NONE) | (following > np.arange(used))).all()  # a chain only goes on, and ends
    )
    if not sound:
        return "counts have links or states out of range"
    counted = np.concatenate([pairs[:, :, VISITS].ravel(), links[:used, TIMES]])
    squares = pairs[:, :, [REWARD_SQUARES, DURATION_SQUARES, ERROR]]
    sound = (
        ((counted >= 0.0) & (counted <= MOST_COUNTED)).all()
        and np.isfinite(pairs[:, :, [REWARD, DURATION]]).all()
        and (squares >= 0.0).all()
    )
    return "" if sound else "counts are not counts, or have means that are not finite or squares below 0"


# --- Models ---------------------------------------------------------------------------


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
