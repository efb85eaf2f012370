"""What was seen of each pair of state and action, as counts and sums, for agents that learn a model.

Successors are stored sparsely: each pair has a list of the states it has led to, and how often, in cells of one
pool. A full pool takes no new successors; shares are then those of the known successors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import MOST_COUNTED, Floats, Ints, infinite, outside
from sojourn.rules.bridge import inlined
from sojourn.rules.replace import replaced

_SUCCESSORS = 64  # different ones that a pair has room for, on average over all pairs


class Counts(NamedTuple):
    """Visits, rewards and durations of each pair, and where it led.

    `head` is the first cell of a pair's list, `link` the next one after a cell, both counted from 1, with 0 for the
    end; `used` is the number of cells in use.

    >>> counts = counted_step(no_counts(2, 1), 0, 0, 3.0, 2.0, 1)
    >>> counts.rewards[0, 0], counts.successor[:1], counts.times_led[:1]
    (np.float64(3.0), array([1]), array([1.]))
    """

    num_states: int
    visits: Floats
    rewards: Floats
    durations: Floats
    head: Ints
    link: Ints
    successor: Ints
    times_led: Floats
    used: int


def no_counts(num_states: int, num_actions: int) -> Counts:
    """Return empty counts, with room for 64 successors per pair, or for all states if there are fewer."""
    shape = (num_states, num_actions)
    # There are a few cells more than states, so that the pool is not mistaken for an array with a row for each state.
    cells = num_states * num_actions * min(num_states, _SUCCESSORS) + num_states + 2
    return Counts(
        num_states=num_states,
        visits=np.zeros(shape),
        rewards=np.zeros(shape),
        durations=np.zeros(shape),
        head=np.zeros(shape, dtype=np.int64),
        link=np.zeros(cells, dtype=np.int64),
        successor=np.zeros(cells, dtype=np.int64),
        times_led=np.zeros(cells),
        used=0,
    )


@inlined
def counted_step(
    counts: Counts, state: int, action: int, reward: float, duration: float, next_state: int
) -> Counts:
    """Return counts with one more step, written in place. A next state beyond the last one means the state itself."""
    to = next_state if next_state < counts.num_states else state
    counts.visits[state, action] += 1.0
    counts.rewards[state, action] += reward
    counts.durations[state, action] += duration
    cell, used = counts.head[state, action], counts.used
    while cell > 0 and counts.successor[cell - 1] != to:
        cell = counts.link[cell - 1]
    if cell == 0 and used < len(counts.link):
        used += 1
        cell = used
        counts.successor[cell - 1] = to
        counts.link[cell - 1] = counts.head[state, action]
        counts.head[state, action] = cell
    if cell > 0:
        counts.times_led[cell - 1] += 1.0
    return replaced(counts, used=used)


def wrong_counts(counts: Counts, shape: tuple[int, int]) -> str:
    """Return what is wrong with counts that came from elsewhere, or an empty text; compiled code does not check them."""
    for name in ("visits", "rewards", "durations", "head"):
        array = getattr(counts, name)
        if array.shape != shape:
            return f"{name} has the shape {array.shape}"
    cells = len(counts.link)
    if not counts.link.shape == counts.successor.shape == counts.times_led.shape == (cells,):
        return "pool of successors has arrays of different lengths"
    sound = (
        0 <= counts.used <= cells
        and 0 < counts.num_states <= shape[0]
        and counts.head.dtype == counts.link.dtype == counts.successor.dtype == np.int64
        and ((counts.head >= 0) & (counts.head <= counts.used)).all()
        and (counts.link >= 0).all()
        and (counts.link[: counts.used] <= np.arange(counts.used)).all()  # a list only goes back, and ends
        and ((counts.successor >= 0) & (counts.successor < shape[0])).all()
    )
    if not sound:
        return "pool of successors has links or states out of range"
    return (
        outside("visits", counts.visits, 0.0, MOST_COUNTED)
        or outside("times_led", counts.times_led, 0.0, MOST_COUNTED)
        or infinite("rewards", counts.rewards)
        or infinite("durations", counts.durations)
    )
