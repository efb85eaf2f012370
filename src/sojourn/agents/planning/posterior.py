"""A model drawn from the posterior: what TSDE plans with.

Every pair of state and action is drawn by itself, from what was seen of it and a prior:

    successors  Dirichlet(1/S + how often each of the S states came next)
    reward      normal with unknown mean and variance. The prior is normal-inverse-gamma, worth one step (`strength`)
                that paid the mean of all steps; its variance has the shape 2, around the variance of all steps.
    duration    gamma with an unknown mean and a known shape k. The prior of the mean is inverse gamma with shape 2,
                around the mean of all steps. 1/k is the squared coefficient of variation, pooled over all pairs.

The paper has known rewards and steps of equal length, so the laws of rewards and durations are ours, and so are priors
in units taken from the data (empirical Bayes), which make the agent the same in any units of money and time. Means
that are drawn apart say nothing of rewards that go with durations; this makes the draws too wide, never too narrow.

The successors that never came have a weight of 1 together. A Dirichlet process with a uniform base of S states has
the same law as Dirichlet(1/S, ..., 1/S) (Ferguson, Ann. Statist. 1, 1973), so its sticks (Sethuraman, Statist.
Sinica 4, 1994) are broken until a millionth is left: some 14 successors in place of S.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sojourn.agents.planning.model import (
    DURATION,
    DURATION_SQUARES,
    FIRST,
    NEXT,
    REWARD,
    REWARD_SQUARES,
    SUCCESSOR,
    TIMES,
    VISITS,
    SparseCounts,
)
from sojourn.agents.planning.solver import Model
from sojourn.rules.arrays import Floats
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.random import Stream, gamma, integer, normal, uniform

_STICKS = 60  # at most, so that a row has room; e^-60 would be left in the mean
_LEFT = 1e-6  # of a pair's weight: the last stick takes what is left
_FREEDOM = 2.0  # the shape of both inverse gamma priors, the least whole one with a mean


class UsualStep(NamedTuple):
    """The mean of all steps, around which the priors are."""

    steps: float
    reward: float
    duration: float


@inlined
def drawn_reward(
    rng: Stream, visits: float, mean: float, squares: float, prior: float, spread: float, strength: float
) -> float:
    """Draw the mean reward of a pair; the prior is worth `strength` steps that paid `prior`, with the variance `spread`.

    >>> from sojourn.rules.random import stream
    >>> drawn_reward(stream(0), 0.0, 0.0, 0.0, 3.0, 0.0, 1.0)  # nothing seen, and all steps paid 3
    3.0
    """
    away, share = mean - prior, visits / (visits + strength)
    scale = spread + 0.5 * (squares + strength * share * away * away)
    variance = scale / gamma(rng, _FREEDOM + 0.5 * visits)
    return prior + share * away + normal(rng) * math.sqrt(variance / (visits + strength))


@inlined
def drawn_duration(rng: Stream, visits: float, mean: float, shape: float, prior: float) -> float:
    """Draw the mean duration of a pair whose durations are gamma with this shape.

    >>> from sojourn.rules.random import stream
    >>> round(drawn_duration(stream(0), 100.0, 2.5, 1e9, 1.0), 3)  # 100 steps that took 2.5 each, without any noise
    2.5
    """
    seen = shape * visits
    return (prior * (_FREEDOM - 1.0) + seen * mean) / gamma(rng, _FREEDOM + seen)


@compiled_apart
def spread_of_rewards(counts: SparseCounts, usual: UsualStep) -> float:
    """Return the variance of the rewards of all steps; if all paid the same, its square, or 1 if that was nothing."""
    pairs, reward, squares = counts.pairs, usual.reward, 0.0
    for state in range(pairs.shape[0]):
        for action in range(pairs.shape[1]):
            away = pairs[state, action, REWARD] - reward
            squares += pairs[state, action, VISITS] * away * away + pairs[state, action, REWARD_SQUARES]
    spread = squares / usual.steps
    if spread <= 1e-24 * reward * reward:
        spread = reward * reward
    return spread if spread > 0.0 else 1.0


@compiled_apart
def shape_of_durations(counts: SparseCounts) -> float:
    """Return 1 / CV^2 of durations within pairs, pooled over all pairs, with one prior degree of freedom and CV 1.

    >>> from sojourn.agents.planning.model import count, no_counts
    >>> counts = no_counts(num_states=1, num_actions=1)
    >>> for _ in range(10):
    ...     counts = count(counts, 0, 0, 1.0, 4.0, 0)
    >>> float(shape_of_durations(counts))  # they are all alike
    10.0
    """
    pairs, squares, freedom = counts.pairs, 1.0, 1.0
    for state in range(pairs.shape[0]):
        for action in range(pairs.shape[1]):
            mean, visits = pairs[state, action, DURATION], pairs[state, action, VISITS]
            if mean > 0.0:
                squares += pairs[state, action, DURATION_SQUARES] / (mean * mean)
                freedom += visits - 1.0
    return freedom / squares


@compiled_apart
def drawn_model(counts: SparseCounts, q: Floats, usual: UsualStep, strength: float, rng: Stream) -> Model:
    """Draw a model of all states; pairs that are -inf in q are not available."""
    pairs, links = counts.pairs, counts.links
    num_states, num_actions = q.shape
    size = num_states * num_actions
    begin = np.zeros(size + 1, np.int64)
    most = counts.used + _STICKS * size
    successor, share = np.empty(most, np.int64), np.empty(most)
    rewards, durations, allowed = np.zeros(size), np.zeros(size), np.zeros(size, np.bool_)
    spread, shape = spread_of_rewards(counts, usual), shape_of_durations(counts)
    end = 0
    for state in range(num_states):
        for action in range(num_actions):
            pair, visits = state * num_actions + action, pairs[state, action, VISITS]
            begin[pair] = end
            if q[state, action] == -np.inf:
                continue
            allowed[pair] = True
            total = 0.0
            link = int(pairs[state, action, FIRST])
            while link >= 0:
                successor[end] = int(links[link, SUCCESSOR])
                share[end] = gamma(rng, links[link, TIMES])
                total += share[end]
                end += 1
                link = int(links[link, NEXT])
            left = gamma(rng, 1.0)
            total += left
            for stick in range(_STICKS):
                last = left <= _LEFT * total or stick == _STICKS - 1
                piece = left if last else left * uniform(rng)
                successor[end] = integer(rng, num_states)
                share[end] = piece
                left -= piece
                end += 1
                if last:
                    break
            for entry in range(begin[pair], end):
                share[entry] /= total
            mean, squares = pairs[state, action, REWARD], pairs[state, action, REWARD_SQUARES]
            rewards[pair] = drawn_reward(rng, visits, mean, squares, usual.reward, spread, strength)
            mean = drawn_duration(rng, visits, pairs[state, action, DURATION], shape, usual.duration)
            durations[pair] = max(mean, 1e-6 * usual.duration)
    begin[size] = end
    return Model(begin, successor, share, rewards, durations, allowed)
