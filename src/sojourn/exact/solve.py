"""Solve a model with the solver that suits it, for the gain or another criterion.

Models of up to 300 states are solved by policy iteration, which is exact. Larger ones begin with sweeps of modified policy
iteration. If the bounds do not meet soon, the rate at which they approach each other says how many more sweeps it would take,
and the width of the policy's graph says what policy iteration with sparse factorisations would take. The cheaper of the two
goes on from the policy that was reached, or in models of more than 200,000 states from that of a coarser model. Random models mix fast and are left to the sweeps; queues, rings and other
narrow graphs are factorised. The choice depends on the model alone, not on a clock. If the gain depends on the start, each
end component is solved in this way.

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

import contextlib
import math
import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import positive, within
from sojourn.exact.bounds import Goal, Solution, not_solved
from sojourn.exact.coarse import coarse_start
from sojourn.exact.constraints import Constraint, checked_limits
from sojourn.exact.criteria import Paid, asked, solve_total
from sojourn.exact.direct import cost_in_sweeps, direct_policy_iteration, is_narrow
from sojourn.exact.errors import NotSolvedError, Reached, StoppedError
from sojourn.exact.mixtures import Master
from sojourn.exact.modified import modified_policy_iteration
from sojourn.exact.multichain import by_components
from sojourn.exact.policies import evaluate
from sojourn.exact.policy_iteration import policy_iteration
from sojourn.exact.within_limits import within_limits
from sojourn.models.chain import pairs_of
from sojourn.models.smdp import SMDP, check_model
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

_SMALL = 300  # states: up to here policy iteration is as fast, and exact
_HUGE = 200_000  # states: from here on a coarser model shows policy iteration where to begin
_TRIAL = 150  # sweeps; after two trials the rate is known
_SHARE = 8.0  # if factorisations are cheap, this part of their time is spent on sweeps first
_SWEEPS = 300_000  # at most
_TIE = 1e-12  # relative to the largest rate: ratios that are closer are equal
_MOST = 1000  # rounds of the search for the largest ratio; ten are many


def solve(
    model: SMDP,
    tolerance: float = 1e-8,
    *,
    maximise: str = "reward",
    per: str = "duration",
    limits: Sequence[Constraint] = (),
    discount: float | None = None,
    paid: Paid = "start",
    until: Hashable | Iterable[Hashable] | None = None,
    steps: int | None = None,
) -> Solution:
    """Return an optimal policy, its gain to within `tolerance`, and bounds that prove it.

    The gain is the reward per unit time, or with `maximise` and `per` any amount of the model per any other one that cannot
    stay 0 for ever, such as `maximise="items", per="energy"`. "steps" is an amount too. With `limits`, such as
    `[sj.exact.at_most("lost", 0.05, per="calls")]`, it is the best policy that keeps them, which may have to draw its action
    in some states; the solution has the prices of the limits.

    The tolerance has no unit. It is relative to what the policy earns and loses per unit time around its gain g, the mean
    of |r - g d| over the mean of d, so the answer does not depend on the units of money and time. It matters for models
    of more than 300 states; smaller ones are solved as exactly as floats allow.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> found = solve(model)
    >>> found.gain, found.policy, found.bias
    (1.0, array([0, 0]), array([ 0., -3.]))

    Instead of the gain it can be a total that counts; the solution then has its `values` from each state. With `discount`, what
    is paid after a time t counts exp(-discount t), and rewards are `paid` at the "start" of a step, at its "end", or "during"
    it. With `until`, the total ends when one of these states is reached, and with `steps` after so many of them. Totals are
    found as exactly as floats allow, whatever the tolerance.

    >>> solve(model, discount=0.5).values
    array([4.62607057, 1.03221587])
    >>> solve(model, steps=3).values, solve(model, until=1).values
    (array([8., 4.]), array([4., 0.]))
    """
    check_model(model)
    positive("tolerance", tolerance)
    total = asked(model, discount, paid, until, steps, maximise)
    if total is not None:
        if limits or per != "duration":
            raise ValueError(
                "a total cannot have limits, and is not counted per anything; leave out limits and per, or discount, until "
                "and steps"
            )
        return solve_total(model, total)
    if limits:
        excess = [each.excess(model) for each in checked_limits(limits)]
        master = Master(model.seen_as(maximise, per), excess, from_last, tolerance)
        return within_limits(master, limits, model)
    return _free(model.seen_as(maximise, per), tolerance)


def _free(model: SMDP, tolerance: float) -> Solution:
    if model.num_states > _SMALL:
        return _large(model, tolerance)
    if len(model.structure.parts) > 1:
        return by_components(model, policy_iteration)
    return policy_iteration(model)


def from_last(model: SMDP, tolerance: float, last: Solution | None) -> Solution:
    """Solve a model that differs only in its rewards from one whose solution is known."""
    if last is None:
        return _free(model, tolerance)
    if model.num_states <= _SMALL:
        return policy_iteration(model, start=last.policy)
    if last.solver == "policy iteration":
        with contextlib.suppress(NotSolvedError):
            return direct_policy_iteration(model, pairs_of(model, last.policy), tolerance)
    return _large(model, tolerance, last.bias)


def _large(model: SMDP, tolerance: float, bias: Floats | None = None) -> Solution:
    """Solve a model of more than 300 states, or its end components if there are several; `bias` is a guess."""
    began, judge = time.perf_counter(), _Judge(model, tolerance)
    try:
        # If the bounds meet, the gain is one number, and there is no need to look for end components.
        found = modified_policy_iteration(model, tolerance, max_sweeps=judge.trial(), go_on=judge, bias=bias)
    except StoppedError as stopped:
        found = _without_sweeps(model, tolerance, stopped.reached, judge.budget(stopped.reached))
    return replace(found, seconds=time.perf_counter() - began)


class _Judge:
    """Decides after some sweeps whether more of them are cheaper than factorisations."""

    def __init__(self, model: SMDP, tolerance: float) -> None:
        self._model, self._goal = model, Goal(model, tolerance)
        self._last: Reached | None = None
        self._budget = math.nan

    def trial(self) -> int:
        """Return how many sweeps to take first: few if factorisations are cheap."""
        if is_narrow(self._model):
            self._budget = cost_in_sweeps(self._model, self._model.pair_offsets[:-1])
        if self._is_certain():
            return 1
        return _TRIAL if not self._budget <= _SHARE * _TRIAL else max(int(self._budget / _SHARE), 1)

    def _is_certain(self) -> bool:
        """Return whether factorisations are better without a trial; in huge models it would cost as much as a coarser model."""
        return self._budget < math.inf and self._model.num_states > _HUGE

    def budget(self, reached: Reached) -> float:
        """Return how many sweeps cost as much as factorisations; infinity if these are too large."""
        if math.isnan(self._budget):
            self._budget = cost_in_sweeps(self._model, reached.pairs)
        return self._budget

    def __call__(self, reached: Reached) -> int:
        """Return how many more sweeps to take."""
        last, self._last = self._last, reached
        if last is None:
            return 0 if self._is_certain() or self._budget <= _SHARE * _TRIAL else _TRIAL
        left = self._left(last, reached)
        if reached.sweeps + left > self.budget(reached) or reached.sweeps >= _SWEEPS:
            return 0
        if left == math.inf and len(self._model.structure.parts) > 1:
            return 0
        return int(max(_TRIAL, min(left, reached.sweeps)))

    def _left(self, last: Reached, now: Reached) -> float:
        """Return how many more sweeps it takes if the bounds go on approaching each other as they did."""
        if not 0.0 < now.apart < last.apart:
            return math.inf
        further = math.log(max(now.apart / self._goal.allowed(now.pairs, now.gain), 1.0))
        return (now.sweeps - last.sweeps) * further / math.log(last.apart / now.apart)


def _without_sweeps(model: SMDP, tolerance: float, reached: Reached, budget: float) -> Solution:
    """Go on by policy iteration from where the sweeps have stopped, in each end component if the gain is not one number."""
    found = refused = None
    if budget < math.inf:
        try:
            start = coarse_start(model, reached.pairs) if model.num_states > _HUGE else reached.pairs
            found = direct_policy_iteration(model, start, tolerance)
        except NotSolvedError as error:
            refused = error
    if found is not None and not found.is_coarse:
        return found
    if len(model.structure.parts) > 1:
        return by_components(model, lambda part: _inside(part, tolerance))
    if found is not None:
        return found
    if refused is not None and reached.sweeps < _SWEEPS:
        with contextlib.suppress(NotSolvedError):
            return modified_policy_iteration(model, tolerance, max_sweeps=_SWEEPS)
    raise refused or not_solved(model, reached.sweeps, reached.bias, tolerance)


def _inside(model: SMDP, tolerance: float) -> Solution:
    """Solve an end component."""
    return _large(model, tolerance) if model.num_states > _SMALL else policy_iteration(model)


# --- The ratio criterion ------------------------------------------------------------------


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
