"""Counts: what a learner of models has seen of each pair of state and action.

For each pair: how often, the means of reward and duration, and the sums of squares around them; and which states
came next how often. Only successors that have been seen take room: a pair's successors are a chain of entries in
arrays that all pairs share, in the order in which they were first seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.bridge import compiled_apart, inlined

NONE = -1  # the end of a chain


class Counts(NamedTuple):
    """What was seen: arrays [state, action], and the entries of the chains."""

    visits: Ints
    reward: Floats  # means
    duration: Floats
    reward_squares: Floats  # sums of squared differences from the mean
    duration_squares: Floats
    first: Ints  # the first entry of each pair's chain
    following: Ints  # the entry after each entry
    successor: Ints
    times: Floats  # how often this successor was seen
    used: int  # entries in use


def no_counts(num_states: int, num_actions: int) -> Counts:
    """Return the counts of a learner that has seen nothing."""
    pairs = (num_states, num_actions)
    room = 2 * num_states * num_actions + 16
    return Counts(
        visits=np.zeros(pairs, np.int64),
        reward=np.zeros(pairs),
        duration=np.zeros(pairs),
        reward_squares=np.zeros(pairs),
        duration_squares=np.zeros(pairs),
        first=np.full(pairs, NONE),
        following=np.full(room, NONE),
        successor=np.zeros(room, np.int64),
        times=np.zeros(room),
        used=0,
    )


@inlined
def has_room(counts: Counts) -> bool:
    """Whether one more successor can be counted."""
    return counts.used < len(counts.times)


@compiled_apart
def with_room(counts: Counts) -> Counts:
    """Return the same counts with twice the room for successors."""
    size = len(counts.times)
    following = np.full(2 * size, NONE)
    successor = np.zeros(2 * size, np.int64)
    times = np.zeros(2 * size)
    for entry in range(counts.used):
        following[entry] = counts.following[entry]
        successor[entry] = counts.successor[entry]
        times[entry] = counts.times[entry]
    return Counts(
        visits=counts.visits,
        reward=counts.reward,
        duration=counts.duration,
        reward_squares=counts.reward_squares,
        duration_squares=counts.duration_squares,
        first=counts.first,
        following=following,
        successor=successor,
        times=times,
        used=counts.used,
    )


@compiled_apart
def count(
    counts: Counts, state: int, action: int, reward: float, duration: float, next_state: int
) -> Counts:
    """Return the counts with one transition more; the arrays are written in place."""
    counts.visits[state, action] += 1
    visits = counts.visits[state, action]
    shift = reward - counts.reward[state, action]
    counts.reward[state, action] += shift / visits
    counts.reward_squares[state, action] += shift * (reward - counts.reward[state, action])
    shift = duration - counts.duration[state, action]
    counts.duration[state, action] += shift / visits
    counts.duration_squares[state, action] += shift * (duration - counts.duration[state, action])

    used = counts.used
    entry, last = counts.first[state, action], NONE
    while entry != NONE and counts.successor[entry] != next_state:
        last = entry
        entry = counts.following[entry]
    if entry == NONE:
        entry = used
        used += 1
        counts.successor[entry] = next_state
        if last == NONE:
            counts.first[state, action] = entry
        else:
            counts.following[last] = entry
    counts.times[entry] += 1.0
    return Counts(
        visits=counts.visits,
        reward=counts.reward,
        duration=counts.duration,
        reward_squares=counts.reward_squares,
        duration_squares=counts.duration_squares,
        first=counts.first,
        following=counts.following,
        successor=counts.successor,
        times=counts.times,
        used=used,
    )
