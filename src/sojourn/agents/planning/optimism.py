"""The most hopeful of the models that what was seen leaves plausible: what UCRL-SMDP and CT-UCRL plan with.

A model is plausible if, for each pair, the probabilities of its successors differ from the shares seen by at most a
radius (the sum of the differences), and its mean reward and duration lie in intervals. The most hopeful one is found
by policy iteration over both policies and models: with values h and the gain g, each pair gets the reward and the
probabilities that make r - g t + p h largest, and the duration too; the planner's solver then finds the best policy of
this model, with new h and g. The gain grows in each round, and a round that does not raise it is the last.

The papers do this by extended value iteration, up to an error of about 1/sqrt(t). The limit is the same; theirs is
slow where rates differ much, as a step of it must be as short as the shortest sojourn.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from sojourn.agents.planning.model import (
    DURATION,
    ERROR,
    FIRST,
    NEXT,
    REWARD,
    SUCCESSOR,
    TIMES,
    VISITS,
    SparseCounts,
)
from sojourn.agents.planning.solver import Model
from sojourn.data.numbers import at_least_zero
from sojourn.rules.arrays import Floats
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, checked

KEPT = ERROR  # the column of a pair's total of durations, without those that are truncated


class Limits(NamedTuple):
    """What is plausible for all pairs."""

    lowest: float  # of the rewards of a step
    highest: float
    top: float  # of a pair's mean reward
    shortest: float
    longest: float
    least: float  # no plan's duration is below this
    of_pairs: float  # log(2 S A t / delta)
    of_successors: float  # 14 S log(2 A t / delta)


class Plausible(NamedTuple):
    """What is plausible for a pair."""

    reward: float  # at most
    shortest: float
    longest: float
    radius: float  # of the probabilities of successors


class Confidence(Value, Protocol):
    """How much a pair may differ from what was seen of it."""


@rule()
def plausible(confidence: Confidence, pairs: Floats, state: int, action: int, limits: Limits) -> Plausible:
    """Return what is plausible for a pair."""
    raise no_rule("plausible", confidence)


@checked(radius=at_least_zero)
class BoundedSteps(NamedTuple):
    """UCRL-SMDP, for rewards and durations of steps that are bounded (Fruit and Lazaric 2017).

    With L = log(2 S A t / delta), a pair seen n times, and half the ranges of rewards and durations as their sigma,
    both radii are sigma sqrt(14 L / n). That of successors is sqrt(14 S log(2 A t / delta) / n).
    """

    delta: float
    radius: float  # what all radii are multiplied by
    lowest: float  # inf: the least reward of a step so far, and so on
    highest: float
    shortest: float
    longest: float


@plausible.register
def plausible_bounded(
    confidence: BoundedSteps, pairs: Floats, state: int, action: int, limits: Limits
) -> Plausible:
    """Hoeffding's bounds, with half the range of the steps as their scale."""
    visits = max(pairs[state, action, VISITS], 1.0)
    half = 0.5 * confidence.radius * math.sqrt(14.0 * limits.of_pairs / visits)
    reward, shortest, longest = limits.top, limits.shortest, limits.longest
    if pairs[state, action, VISITS] > 0.0:
        reward = min(pairs[state, action, REWARD] + half * (limits.highest - limits.lowest), reward)
        mean, away = pairs[state, action, DURATION], half * (limits.longest - limits.shortest)
        shortest, longest = max(mean - away, shortest), min(mean + away, longest)
    return Plausible(
        reward=reward,
        shortest=shortest,
        longest=longest,
        radius=confidence.radius * math.sqrt(limits.of_successors / visits)
        if pairs[state, action, VISITS] > 0.0
        else 2.0,
    )


@checked(radius=at_least_zero)
class ExponentialSojourns(NamedTuple):
    """CT-UCRL, for exponential sojourns and rewards that are known (Gao and Zhou 2022).

    With L = log(2 S A t / delta) and a pair seen n times, the mean sojourn is within 4 longest sqrt(14 L / n) of the
    truncated mean, which leaves out the i-th sojourn if it is longer than longest sqrt(2 i / log(1 / delta)) (Bubeck,
    Cesa-Bianchi and Lugosi 2013). The radius of successors is sqrt(14 S log(2 A t / delta) / n). The reward of a pair
    is its mean so far, and the highest for a pair that was never tried.
    """

    delta: float
    radius: float
    highest: float  # inf: unknown
    shortest: float
    longest: float


@plausible.register
def plausible_exponential(
    confidence: ExponentialSojourns, pairs: Floats, state: int, action: int, limits: Limits
) -> Plausible:
    """The truncated mean of sojourns, and rewards without any doubt."""
    visits = pairs[state, action, VISITS]
    if visits == 0.0:
        return Plausible(reward=limits.top, shortest=limits.shortest, longest=limits.longest, radius=2.0)
    mean = pairs[state, action, KEPT] / visits
    away = 4.0 * limits.longest * confidence.radius * math.sqrt(14.0 * limits.of_pairs / visits)
    return Plausible(
        reward=pairs[state, action, REWARD],
        shortest=min(max(mean - away, limits.shortest), limits.longest),
        longest=max(min(mean + away, limits.longest), limits.shortest),
        radius=confidence.radius * math.sqrt(limits.of_successors / visits),
    )


@compiled_apart
def hopeful_model(
    confidence: Confidence, counts: SparseCounts, q: Floats, h: Floats, gain: float, limits: Limits
) -> Model:
    """Return the plausible model that is best for a gain and values h of all states."""
    pairs, links = counts.pairs, counts.links
    num_states, num_actions = q.shape
    size = num_states * num_actions
    begin = np.zeros(size + 1, np.int64)
    successor, share = np.empty(counts.used + size, np.int64), np.empty(counts.used + size)
    rewards, durations, allowed = np.zeros(size), np.zeros(size), np.zeros(size, np.bool_)
    heaven = 0
    for state in range(num_states):
        heaven = state if h[state] > h[heaven] else heaven
    end = 0
    for state in range(num_states):
        for action in range(num_actions):
            pair = state * num_actions + action
            begin[pair] = end
            if q[state, action] == -np.inf:
                continue
            allowed[pair] = True
            hope = plausible(confidence, pairs, state, action, limits)
            rewards[pair] = hope.reward
            durations[pair] = max(hope.shortest if gain > 0.0 else hope.longest, limits.least)
            successor[end] = heaven
            share[end] = 0.0
            end += 1
            link = int(pairs[state, action, FIRST])
            while link >= 0:
                where, part = int(links[link, SUCCESSOR]), links[link, TIMES] / pairs[state, action, VISITS]
                link = int(links[link, NEXT])
                if where == heaven:
                    share[begin[pair]] = part
                    continue
                place = end  # the others are sorted, the best ones first
                while place > begin[pair] + 1 and h[successor[place - 1]] < h[where]:
                    successor[place] = successor[place - 1]
                    share[place] = share[place - 1]
                    place -= 1
                successor[place] = where
                share[place] = part
                end += 1
            lift = min(0.5 * hope.radius, 1.0 - share[begin[pair]])
            share[begin[pair]] = 1.0 if hope.radius >= 2.0 else share[begin[pair]] + lift
            last = end - 1
            while last > begin[pair] and lift > 0.0:  # the worst ones lose what heaven has gained
                taken = min(lift, share[last])
                share[last] -= taken
                lift -= taken
                last -= 1
    begin[size] = end
    return Model(begin, successor, share, rewards, durations, allowed)
