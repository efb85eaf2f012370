"""The ratio criterion: mean reward over mean time, both over all runs.

If a policy may end up in one of several recurrent classes, reward per time has two meanings. `solve` uses the *time
average*, the mean over runs of what a run earns per unit time. The *ratio* is the mean reward of n steps over their
mean time, as n grows, in which classes with long steps weigh more. The two agree if the gain does not depend on chance. With
p(c) the probability of ending up in class c, and r(c) and d(c) the mean reward and duration of a step there,

    time average = sum of p(c) r(c) / d(c)          ratio = (sum of p(c) r(c)) / (sum of p(c) d(c))

A policy has the largest ratio g if its own mean of r - g d per step is 0 and that of no policy is above 0. So the largest
ratio is found in the way that Newton's method finds a root: take the policy with the largest mean of r - g d, and use its
ratio as the next g.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import within
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Ints
from sojourn.rules.door import told

_TIE = 1e-12  # relative to the largest rate: ratios that are closer are equal
_MOST = 1000  # rounds; ten are many


class RatioSolution(NamedTuple):
    """A policy with the largest ratio of mean reward to mean time, and that ratio.

    >>> from sojourn.models.problems import gemini
    >>> solve_ratio(gemini())  # the policy that does not gamble
    RatioSolution(gain=4.0, policy=array([1, 0, 0]))
    """

    gain: float
    policy: Ints


@told
def solve_ratio(model: SMDP, start: int = 0) -> RatioSolution:
    """Return a policy with the largest ratio of mean reward to mean time from the state `start`, and that ratio.

    The start of `feinberg` leads to a loop that earns 10 in a time of 1, or to one that earns 10 in a time of 2:

    >>> from sojourn.models.problems import feinberg
    >>> round(solve_ratio(feinberg()).gain, 9)  # 10 / 1.5, where the time average is 7.5
    6.666666667
    """
    start = within("start", start, model.num_states)
    ones = np.ones(model.num_pairs)
    # A step that takes no time is measured against the longest duration.
    length = np.where(model.duration > 0.0, model.duration, model.duration.max())
    slack = _TIE * float(np.abs(model.reward / length).max())
    policy = solve(model).policy
    best = ratio_of(model, policy, start)
    for _ in range(_MOST):
        greedy = solve(model.with_means(model.reward - best * model.duration, ones)).policy
        found = ratio_of(model, greedy, start)
        if found <= best + slack:
            return RatioSolution(best, policy)
        best, policy = found, greedy
    raise ArithmeticError(
        "the ratio keeps growing because of rounding; scale rewards and durations to similar sizes"
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
