"""SparseCounts: what an agent that learns a model has seen of each pair of state and action.

For each pair they have how often it was seen, the means of reward and duration, the sums of squares around these
means, and how often each state came next. Only successors that were seen take room: a pair's successors are a chain
of links, in the order in which they were first seen. Everything is in two arrays of floats, because every further
array would add seconds of compilation; the names below say which column is which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import MOST_COUNTED, Floats
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.replace import replaced

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
