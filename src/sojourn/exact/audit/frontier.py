"""Find the policy that is greedy at a given rate, whether the rate is right or wrong.

A learner with the rate rho values a step by r - rho d. In the end the policy that collects the most of this per step
is greedy,

    F(rho) = max over policies of r(pi) - rho d(pi)

where r(pi) and d(pi) are the mean reward and the mean duration of a step under the policy. Each policy is a line over rho
with the slope -d(pi), and crosses zero at its gain. F is the maximum of all lines, so it is convex, falls, and is 0 at the
optimal gain. At its corners the greedy policy changes, and around the optimal gain lies the *interval* of rates at which an
optimal policy is greedy. To the left of the interval, long actions are taken too often, since a low rate makes time cheap;
to the right, short ones are.

For a given rho, F(rho) is an average-reward problem with rewards r - rho d and durations 1, which `solve` solves exactly.
An end of the interval is found in the way that Newton's method finds a root: take the policy that is greedy far out, go to
where its line meets that of the optimal policy, and see which policy is greedy there. Each new line meets the optimal
one nearer to the gain, until none does.
"""

from __future__ import annotations

import heapq
import itertools
import math
from typing import NamedTuple

import numpy as np

from sojourn.exact.bounds import Solution
from sojourn.exact.multichain import restricted
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.models.chain import expected, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints

_TIE = 1e-9  # relative to what the policies earn and lose: policies that are closer are equally good
_MOST_SOLVED = 100  # rates at which a frontier finds the greedy policy


class Line(NamedTuple):
    """A policy with the mean reward and the mean duration of its steps, and the mean size of their rewards."""

    policy: Ints
    reward: float
    duration: float
    size: float

    @property
    def gain(self) -> float:
        """The gain, which is where the line crosses zero."""
        return self.reward / self.duration

    def at(self, rate: float) -> float:
        """The height of the line at a rate."""
        return self.reward - rate * self.duration

    def crossing(self, other: Line) -> float:
        """The rate at which two lines meet."""
        return (self.reward - other.reward) / (self.duration - other.duration)


class Point(NamedTuple):
    """A rate, and the line of a policy that is greedy at it."""

    rate: float
    line: Line

    @property
    def height(self) -> float:
        """F at the rate."""
        return self.line.at(self.rate)


class RateFrontier(NamedTuple):
    """F between two rates: its ends and corners, and the gain of the policy that is greedy to the right of each."""

    rate: Floats
    value: Floats
    gain: Floats


def greedy_line(model: SMDP, rate: float) -> Line:
    """Return the line of a policy that is greedy at a rate.

    >>> from sojourn.models.problems import long_shot
    >>> greedy_line(long_shot(), rate=1.8)[1:3], greedy_line(long_shot(), rate=4.0)[1:3]
    ((12.0, 4.0), (5.0, 1.0))
    """
    return _best_line(model, model.reward - rate * model.duration)


def interval(model: SMDP, best: Solution) -> tuple[float, float]:
    """Return the lowest and the highest rate at which an optimal policy is greedy.

    In `long_shot`, A earns 5 in a time of 1 and B earns 12 in a time of 4; at a rate of 7/3 they are equally good:

    >>> from sojourn.models.problems import long_shot
    >>> interval(long_shot(), solve(long_shot()))
    (2.3333333333333335, inf)
    """
    tied = _tied(model, best)
    return _end(model, tied, sign=1.0), _end(model, tied, sign=-1.0)


def frontier(model: SMDP, low: float, high: float) -> RateFrontier:
    """Return F from one rate to another.

    All values are exact. If F has very many corners, not all of them are returned; points between them stand for the
    others, most of them where F bends most.

    >>> from sojourn.models.problems import long_shot
    >>> frontier(long_shot(), 0.0, 6.0)
    RateFrontier(rate=array([0.        , 2.33333333, 6.        ]), value=array([12.        ,  2.66666667, -1.        ]), gain=array([3., 5., 5.]))
    """
    first, last = Point(low, greedy_line(model, low)), Point(high, greedy_line(model, high))
    points = {low: first.line, high: last.line}
    stretches = [(0.0, 0, first, last)]
    for number in itertools.count(1):
        if not stretches or number > _MOST_SOLVED:
            break
        _, _, left, right = heapq.heappop(stretches)
        if left.line.duration <= right.line.duration * (1.0 + _TIE):
            continue  # one line all the way
        rate = min(max(left.line.crossing(right.line), left.rate), right.rate)
        middle = Point(rate, greedy_line(model, rate))
        if middle.height <= left.line.at(rate) + _rounding(rate, middle.line, left.line):
            points[rate] = right.line  # a corner
            continue
        for side, ends in enumerate(((left, middle), (middle, right))):
            heapq.heappush(stretches, (-_unknown(*ends), 2 * number + side, *ends))
    for _, _, left, right in stretches:
        points |= {left.rate: left.line, right.rate: right.line}
    rates = sorted(points)
    values = [points[rate].at(rate) for rate in rates]
    return RateFrontier(np.array(rates), np.array(values), np.array([points[rate].gain for rate in rates]))


def _unknown(left: Point, right: Point) -> float:
    """Return how far F, which is convex, can lie above the lines of two points between them."""
    if left.line.duration <= right.line.duration * (1.0 + _TIE):
        return 0.0
    rate = left.line.crossing(right.line)
    share = (rate - left.rate) / (right.rate - left.rate)
    return left.height + share * (right.height - left.height) - left.line.at(rate)


def _end(model: SMDP, tied: SMDP, sign: float) -> float:
    """Return one end of the interval: the lower for sign 1, where longer steps win, and the upper for sign -1."""
    optimal, other = _best_line(tied, sign * tied.duration), _best_line(model, sign * model.duration)
    while sign * (other.duration - optimal.duration) > _TIE * optimal.duration:
        rate = other.crossing(optimal)
        greedy = greedy_line(model, rate)
        if greedy.at(rate) <= optimal.at(rate) + _rounding(rate, greedy, optimal):
            return rate
        if not sign * (greedy.duration - optimal.duration) > _TIE * optimal.duration:
            return rate  # never, but for rounding
        other = greedy
    return -sign * math.inf


def _best_line(model: SMDP, worth: Floats) -> Line:
    """Return the line of a policy that collects the most worth per step, given what each pair is worth."""
    per_step = model.with_means(worth, np.ones(model.num_pairs))
    policy = solve(per_step).policy
    # A policy may stay in several parts of the model, if they are worth the same or not connected.
    found = evaluate(per_step, policy)
    best = max(range(len(found.classes)), key=lambda part: float(found.gains[found.classes[part][0]]))
    states, law = found.classes[best], found.class_laws[best]
    pairs = pairs_of(model, policy)[states]
    reward, duration = model.reward[pairs], model.duration[pairs]
    return Line(policy, float(law @ reward), float(law @ duration), float(law @ np.abs(reward)))


def _tied(model: SMDP, best: Solution) -> SMDP:
    """Return the model with only the actions that an optimal policy may take."""
    ahead, here = expected(model, best.bias), best.bias[model.state_of_pair()]
    surplus = model.reward - best.gain * model.duration + ahead - here
    scale = np.abs(model.reward) + abs(best.gain) * model.duration + float(np.abs(best.bias).max())
    kept = surplus >= -np.maximum(_TIE * scale, 2.0 * best.residual)
    return restricted(model, np.arange(model.num_states), kept)[0]


def _rounding(rate: float, *lines: Line) -> float:
    """Return the difference, in reward per step, below which lines differ at a rate only by rounding."""
    return _TIE * max(line.size + abs(rate) * line.duration for line in lines)
