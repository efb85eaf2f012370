"""The ratio criterion: mean reward over mean time, both over all runs.

If a policy may end in one of several recurrent classes, reward per time has two meanings. `solve` has the *time
average*, the mean over runs of what a run earns per unit time. The *ratio* is the mean reward of n steps over their
mean time, as n grows: classes with long steps weigh more. They agree where the gain does not depend on chance. With
p(c) the probability of ending in class c, and r(c), d(c) the mean reward and duration of a step there,

    time average = sum of p(c) r(c) / d(c)          ratio = (sum of p(c) r(c)) / (sum of p(c) d(c))

A policy has the largest ratio g if no policy has a mean of r - g d above 0 in a step, and it has 0. So the largest
ratio is found as Newton's method finds a root: take the policy with the most of r - g d, and its ratio for the next g.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Ints
from sojourn.rules.numbers import within

_TIE = 1e-12  # relative to the largest rate: ratios that are closer are equal
_MOST = 1000  # rounds; ten are many


class RatioSolution(NamedTuple):
    """A policy with the largest ratio of mean reward to mean time, and that ratio.

    >>> from sojourn.models.problems import gemini
    >>> solve_ratio(gemini())  # not to gamble
    RatioSolution(gain=4.0, policy=array([1, 0, 0]))
    """

    gain: float
    policy: Ints


def solve_ratio(model: SMDP, start: int = 0) -> RatioSolution:
    """Return a policy with the largest ratio of mean reward to mean time from a state, and that ratio.

    From the start of `feinberg` one comes to a loop of 10 in a time of 1, or to one of 10 in a time of 2:

    >>> from sojourn.models.problems import feinberg
    >>> round(solve_ratio(feinberg()).gain, 9)  # 10 / 1.5, where the time average is 7.5
    6.666666667
    """
    start = within("start", start, model.num_states)
    ones = np.ones(model.num_pairs)
    slack = _TIE * float(np.abs(model.reward / np.where(model.duration > 0.0, model.duration, 1.0)).max())
    policy = solve(model).policy
    best = ratio_of(model, policy, start)
    for _ in range(_MOST):
        greedy = solve(model.with_means(model.reward - best * model.duration, ones)).policy
        found = ratio_of(model, greedy, start)
        if found <= best + slack:
            return RatioSolution(best, policy)
        best, policy = found, greedy
    raise ArithmeticError(
        "the ratio goes on growing, which only rounding can do; scale rewards and durations"
    )


def ratio_of(model: SMDP, policy: ArrayLike, start: int = 0) -> float:
    """Return the ratio of mean reward to mean time of a policy from a state.

    >>> from sojourn.models.problems import gemini
    >>> ratio_of(gemini(), [0, 0, 0]), ratio_of(gemini(), [1, 0, 0])
    (1.0, 4.0)
    """
    ones = np.ones(model.num_pairs)
    reward, duration = (
        float(evaluate(model.with_means(each, ones), policy).gains[start])
        for each in (model.reward, model.duration)
    )
    return reward / duration
