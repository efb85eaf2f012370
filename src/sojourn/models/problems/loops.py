"""Small problems from the literature: two states, a river, two loops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from sojourn.data.numbers import finite, positive, probability, whole
from sojourn.models.matrices import from_arrays, from_matrices
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.door import told

Tables: TypeAlias = Sequence[Sequence[Sequence[float]]]  # [action][state][next state]
_TRANSITIONS = (((0.7, 0.3), (0.4, 0.6)), ((0.9, 0.1), (0.2, 0.8)))
_REWARDS = (((6.0, -5.0), (7.0, 12.0)), ((10.0, 17.0), (-14.0, 13.0)))
_DURATIONS = (((1.0, 5.0), (120.0, 60.0)), ((50.0, 75.0), (7.0, 2.0)))

MOST_STATES = 100_000  # of these problems; larger models are better made from arrays
MOST_SWUM = 1000  # states of a river, which is made from a dense array


@told
def gosavi(
    *, transitions: Tables = _TRANSITIONS, rewards: Tables = _REWARDS, durations: Tables = _DURATIONS
) -> SMDP:
    """An example of a semi-Markov decision process by Gosavi: two states with durations from 1 to 120.

    Each action has a matrix of probabilities P, of rewards R and of durations T, which are those of the
    step from one state to another:

        P(0) = .7 .3   P(1) = .9 .1   R(0) = 6 -5   R(1) =  10 17   T(0) =   1  5   T(1) = 50 75
               .4 .6          .2 .8          7 12         -14 13         120 60           7  2

    States: two.

    Actions: two in both.

    Rewards: R(action)[state, next state].

    Durations: T(action)[state, next state].

    Source: A. Gosavi, "Simulation-Based Optimization", 2nd edition, Springer 2015, the example of the
    chapters on semi-Markov decision problems.

    >>> model = gosavi()
    >>> model.reward.round(6), model.duration.round(6)
    (array([ 2.7, 10.7, 10. ,  7.6]), array([ 2.2, 52.5, 84. ,  3. ]))
    """
    return from_matrices(transitions, rewards, durations)


def river_swim(
    *,
    num_states: int = 6,
    forward: float = 0.3,
    back: float = 0.1,
    end: float = 0.7,
    left_reward: float = 5.0,
    right_reward: float = 10_000.0,
) -> SMDP:
    """The RiverSwim problem: swim against the current to a large reward, or with it to a small one.

    Swimming left always succeeds. Swimming right in the middle moves one state to the right with probability .3, stays with .6
    and moves back with .1. At the left end it stays with .7 and moves right with .3; at the right end it
    moves back with .7 and stays with .3. These are the numbers of the source; later papers
    often use others (.35, .6 and .05, rewards of 0.005 and 1).

    States: 0 is the left end, the last one the right end.

    Actions: 0 swims left, 1 right.

    Rewards: 5 for swimming left at the left end, 10,000 for swimming right and staying at the right end, 0 otherwise.

    Durations: 1.

    Source: A. L. Strehl and M. L. Littman, "An analysis of model-based interval estimation for Markov
    decision processes", Journal of Computer and System Sciences 74, 2008.

    >>> river_swim().reward
    array([   5.,    0.,    0.,    0.,    0.,    0.,    0.,    0.,    0.,
              0.,    0., 3000.])
    """
    last = whole("num_states", num_states, least=2, most=MOST_SWUM) - 1
    forward, back, end = (
        probability(name, number) for name, number in (("forward", forward), ("back", back), ("end", end))
    )
    if forward + back > 1.0:
        raise ValueError(f"forward is {forward} and back is {back}; together they must be at most 1")
    chances, rewards = np.zeros((2, num_states, 2, num_states))
    for state in range(num_states):
        chances[state, 0, max(state - 1, 0)] = 1.0
        if 0 < state < last:
            chances[state, 1, state - 1 : state + 2] = (back, 1.0 - back - forward, forward)
    chances[0, 1, :2] = (end, 1.0 - end)
    chances[last, 1, -2:] = (end, 1.0 - end)
    rewards[0, 0, 0] = finite("left_reward", left_reward)
    rewards[last, 1, last] = finite("right_reward", right_reward)
    return from_arrays(chances, rewards, action_names=("left", "right"))


def two_choice(
    *,
    short_length: int = 5,
    short_reward: float = 5.0,
    long_length: int = 10,
    long_reward: float = 20.0,
    step_duration: float = 1.0,
) -> SMDP:
    """Two loops from one state: a short one with a small reward, a long one with a large reward.

    The reward comes with the last step of a loop. The gains are 5 / 5 = 1 and 20 / 10 = 2. Discounted
    with factor g, the short loop is worth 5 g^4 / (1 - g^5) and the
    long one 20 g^9 / (1 - g^10), so the short one looks better if g^5 < 1/3, which is g below 0.80.

    States: 0 has the choice; then come those of the short loop in order, then those of the long one.

    Actions: in state 0, 0 is the short loop and 1 the long one; elsewhere there is only 0.

    Rewards: 5 at the end of the short loop, 20 at the end of the long one, 0 otherwise.

    Durations: 1.

    Source: after A. Schwartz, "A reinforcement learning method for maximizing undiscounted rewards", ICML
    1993, and S. Mahadevan, "Average reward reinforcement learning", Machine Learning 22, 1996; the
    lengths and rewards are our choice.

    >>> two_choice()
    SMDP(14 states, 15 pairs, 15 rows)
    """
    short = whole("short_length", short_length, most=MOST_STATES)
    total = short + whole("long_length", long_length, most=MOST_STATES) - 1
    step_duration = positive("step_duration", step_duration)
    rewards = finite("short_reward", short_reward), finite("long_reward", long_reward)
    rows: list[Transition] = []
    for action, inner in enumerate((range(1, short), range(short, total))):
        for state, after in itertools.pairwise([0, *inner, 0]):
            reward = rewards[action] if after == 0 else 0.0
            rows.append((state, action if state == 0 else 0, after, 1.0, reward, step_duration))
    return from_transitions(rows)
