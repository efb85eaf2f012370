"""The parts that agents are made of, for agents of your own; each is a rule or a function that compiles.

    epsilon_greedy(values, state, epsilon, ties, rng)    the draw: (action, explored)
    RandomTies(), LowestTies()                           which of several equally good actions it takes
    is_best(ties, values, state, action)                 acceptance: whether an action counts as greedy

    exploration_of(given)                                for constructors: from a number, a `Decay` or a `Linear`
    chance(exploration), later(exploration)              epsilon now, and the exploration after one more step
    step_size_of(given, empty)                           for constructors: from a number, a `Visits` or a `FrequencyAdjusted`;
                                                         `empty` makes a table to count visits in
    sized(step_size, state, action)                      alpha for this visit, and the step sizes after it

    zeros(num_states, num_actions)                       a table Q(s, a)
    read(values, state, action)                          Q(s, a)
    best(values, state, share)                           the best action and its value; a share of 0 takes the first
    move(values, state, action, amount)                  Q(s, a) += amount

    timed(rate, duration), levelled(rate, ahead)         centring: in every step, tell `Centred` the duration before you
                                                         ask for value(rate), and max Q(s', .) after it
    carry(rate, carried, reward, duration)               evidence for the rate, if a step may take no time

Sojourn's own agents use all of them. The page "Your own agent" of the documentation puts some of them together.

>>> from sojourn.rules.random import stream
>>> table = move(zeros(num_states=1, num_actions=3), 0, 2, 1.5)
>>> epsilon_greedy(table, 0, 0.0, RandomTies(), stream(0))  # without exploration: the best action
(2, False)
>>> bool(is_best(RandomTies(), table, 0, 2)), bool(is_best(RandomTies(), table, 0, 1))
(True, False)
>>> size, schedule = sized(step_size_of(0.1, lambda: zeros(1, 3)), 0, 2)
>>> size, chance(later(exploration_of(0.2)))
(0.1, 0.2)
"""

from __future__ import annotations

from sojourn.agents.exploration import (
    LowestTies,
    RandomTies,
    chance,
    epsilon_greedy,
    exploration_of,
    is_best,
    later,
)
from sojourn.agents.step_sizes import sized, step_size_of
from sojourn.agents.values.protocol import best, move, read, zeros
from sojourn.rates.centred import levelled, timed
from sojourn.rates.protocol import carry

__all__ = [
    "LowestTies", "RandomTies", "best", "carry", "chance", "epsilon_greedy", "exploration_of", "is_best", "later", "levelled",
    "move", "read", "sized", "step_size_of", "timed", "zeros",
]  # fmt: skip
