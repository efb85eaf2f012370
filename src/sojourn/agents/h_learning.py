"""H-learning (Tadepalli and Ok 1998): average reward with a learned model, for steps that take time.

The agent counts what it sees. After each step it takes the state that it left, and sets the value of every action
tried there to what its model says,

    Q(s, u) = r(s, u) - rho d(s, u) + sum over s' of p(s' | s, u) max Q(s', .)

where r, d and p are the means and shares so far, and max Q(s, .) is what the authors call h(s). After a greedy step
the rate gets the evidence r + h(s') - h(s), with h as it was before the step. If all durations are 1 and the rate is
`Cumulative`, this is the algorithm as published, in which the step size of the rate is 1/n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.constructors import estimator, initial_table
from sojourn.agents.exploration import (
    Decay,
    Exploration,
    Linear,
    Ties,
    chance,
    epsilon_greedy,
    exploration_of,
    is_best,
    later,
    ties_of,
)
from sojourn.agents.protocol import draw, is_greedy, learn, misfit
from sojourn.agents.values.protocol import Values, best, entries, move, read, sizes
from sojourn.data.numbers import finite
from sojourn.rates.protocol import Rate, carry, value
from sojourn.rates.ratio import Cumulative
from sojourn.rules.arrays import MOST_COUNTED, Floats, Ints, infinite, outside
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told
from sojourn.rules.random import Stream
from sojourn.rules.values import checked, replaced

# --- Counts ---------------------------------------------------------------------------
#
# Successors are stored sparsely: each pair has a list of the states it has led to, and how often, in cells of one pool. A
# full pool takes no new successors; shares are then those of the known successors.


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


# --- The agent ------------------------------------------------------------------------


_value = value.bare


@checked(carried=finite)
class HLearning(NamedTuple):
    """An agent that learns a model, and from the model the values of the states it visits."""

    values: Values
    rate: Rate
    counts: Counts
    exploration: Exploration
    ties: Ties
    carried: float
    accepted: bool

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


@misfit.register
def misfit_h(agent: HLearning) -> str:
    """Its counts must have as many pairs as its values."""
    return wrong_counts(agent.counts, sizes(agent.values))


@is_greedy.register
def is_greedy_h(agent: HLearning, state: int, action: int) -> bool:
    """Whether its way to break ties counts the action as greedy."""
    return is_best(agent.ties, agent.values, state, action)


@draw.register
def draw_h(agent: HLearning, state: int, rng: Stream) -> tuple[int, bool]:
    """Any action with probability epsilon, otherwise a greedy one."""
    return epsilon_greedy(agent.values, state, chance(agent.exploration), agent.ties, rng)


@learn.register
def learn_h(
    agent: HLearning,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> HLearning:
    """Update the counts, then the rate if the action was greedy, then all values of this state."""
    values, rate, carried = agent.values, agent.rate, agent.carried
    accepted = not explored or is_best(agent.ties, values, state, action)
    here, ahead = best(values, state, 0.0)[1], best(values, next_state, 0.0)[1]
    counts = counted_step(agent.counts, state, action, reward, duration, next_state)
    if accepted:
        rate, carried = carry(rate, carried, reward + ahead - here, duration)
    rho = _value(rate)
    for other in range(sizes(values)[1]):
        if counts.visits[state, other] > 0.0 and read(values, state, other) != -np.inf:
            worth = backed_up(counts, values, rho, state, other, here)
            values = move(values, state, other, worth - read(values, state, other))
    return HLearning(
        values=values,
        rate=rate,
        counts=counts,
        exploration=later(agent.exploration),
        ties=agent.ties,
        carried=carried,
        accepted=accepted,
    )


@inlined
def backed_up(counts: Counts, values: Values, rho: float, state: int, action: int, here: float) -> float:
    """Return r - rho d + sum p max Q(s', .) of a pair; `here` is max Q(s, .) before any value moved."""
    ahead, led = 0.0, 0.0
    cell = counts.head[state, action]
    while cell > 0:
        to, times = counts.successor[cell - 1], counts.times_led[cell - 1]
        ahead += times * (here if to == state else best(values, to, 0.0)[1])
        led += times
        cell = counts.link[cell - 1]
    visits = counts.visits[state, action]
    earned: float = (counts.rewards[state, action] - rho * counts.durations[state, action]) / visits
    return earned + (ahead / led if led > 0.0 else here)


@told
def h_learning(
    num_states: int,
    num_actions: int,
    *,
    exploration: float | Decay | Linear = 0.1,
    ties: str = "random",
    initial: ArrayLike = 0.0,
    rate: Rate | None = None,
) -> HLearning:
    """H-learning (Tadepalli and Ok 1998), for steps that take time: it learns a model, and has no step size.

    It has room for an average of 64 different successors per pair. The rate is `Cumulative`.

    Two visits to the only pair, each with a reward of 6 in a time of 2, make the rate 3 and the value 6 - 3 * 2:

    >>> from sojourn.agents.protocol import learn
    >>> agent = h_learning(num_states=1, num_actions=1)
    >>> agent = learn(learn(agent, 0, 0, 6.0, 2.0, 0), 0, 0, 6.0, 2.0, 0)
    >>> value(agent.rate), agent.q, agent.counts.visits
    (3.0, array([[0.]]), array([[2.]]))
    """
    return HLearning(
        values=initial_table(num_states, num_actions, initial),
        rate=estimator(Cumulative, None, rate),
        counts=no_counts(num_states, num_actions),
        exploration=exploration_of(exploration),
        ties=ties_of(ties),
        carried=0.0,
        accepted=False,
    )
