"""The audit of a model: the exact long-run value of every estimator of the rate.

It answers two questions about a learner before the learner is run. Does its rate converge to the gain of the
policy that it follows (`limits`)? And if not, is the policy that is greedy at that limit still an optimal
one (`frontier`)? A wrong estimator does no harm as long as its limit lies in the interval. If the limit lies outside,
a learner that explores enough is led away from the optimal policy even after it has found it.

A learner that explores little may stay with a policy for a bad reason: if the rate is too low, all values grow, and
those of actions that are seldom taken lag behind. `lock_in` has the equations for this, and finds the policies that are
kept in this way: `Audit.self_confirming`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sojourn.data.numbers import fraction
from sojourn.exact.audit.frontier import Line, RateFrontier, frontier, greedy_line, interval
from sojourn.exact.audit.limits import size_of, steps_of
from sojourn.exact.audit.lock_in import PolicySearch, SelfConfirming, followed
from sojourn.exact.audit.step_sizes import LongRun
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.models.chain import PolicyLike, by_number
from sojourn.models.smdp import SMDP
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.protocol import Rate, Steps, limit, value
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

_ROUNDING = 1e-9  # relative to what is earned and lost per unit time


class Limit(NamedTuple):
    """The limit of an estimator under the policy, and what follows from it.

    rate            the limit; None if the estimator has no `limit` rule, and then all fields below are None too
    error           the limit minus the policy's gain; exactly 0 if the two differ only by rounding
    keeps_optimum   whether only optimal policies are greedy at this rate
    greedy_gain     the gain of the policy that is greedy at this rate
    drift           v / alpha: while a learner follows the policy with the audit's `exploration` at this rate, each step
                    moves its values on average by the step size times this. It is 0 if the rate is the policy's gain
    settled_gain    the gain at the end of this process: follow the greedy policy, take the estimator's limit under it,
                    follow the policy that is greedy at that limit, and so on; None if this goes in circles
    mean            the mean of the estimate over many steps at the step size that the estimator has; known for
                    `TimeSmoothed`, `Incremental` (if its evidence is the reward) and `Exponential`, else None
    mean_is         "exact"; "first order" if terms of the order of the step size squared are left out; "no finite variance"
                    if the step size is too large for such durations and an error may grow; None if not known

    All other fields are about `rate`, the limit for small step sizes.

    Falling values make seldom-taken actions look good, since their values fall less often; growing values make
    them look bad. For an infinite limit only `error` is given. A policy with probabilities has no `drift`.

    >>> from sojourn.models.problems import long_return
    >>> limit = audit(long_return())["Harmonic"]  # half of 15, since the way back counts as a rate of 0
    >>> limit.rate, limit.error, limit.keeps_optimum
    (7.5, -2.5, False)

    A round of two steps earns 30 - 7.5 * 3 = 7.5 more than it is charged. At an exploration of 0.2, each of its two pairs
    makes up 0.45 of the steps, so v / alpha = 7.5 / (1 / 0.45 + 1 / 0.45):

    >>> round(limit.drift, 9)
    1.6875

    A `TimeSmoothed` that forgets half in each unit of time moves in each round from 6.43 to 12.86 (three quarters of the
    way to 15, in a time of 2) and back to 6.43 (half of the way to 0, in a time of 1):

    >>> from sojourn.rates.contrast import TimeSmoothed
    >>> limit = audit(long_return(), estimators=[TimeSmoothed(step_size=0.5)])["TimeSmoothed"]
    >>> limit.rate, round(limit.mean, 9), limit.mean_is
    (10.0, 9.642857143, 'exact')
    """

    estimator: str
    agents: tuple[str, ...]
    rate: float | None = None
    error: float | None = None
    keeps_optimum: bool | None = None
    greedy_gain: float | None = None
    drift: float | None = None
    settled_gain: float | None = None
    mean: float | None = None
    mean_is: str | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """The limit of every estimator of the rate in a model, under a policy.

    `gain` is the gain of the policy, `best_gain` the largest of any policy. An optimal policy is greedy at the rates
    from `low` to `high`. `limits` has a row for each estimator; `audit["Harmonic"]` is one of them. `held` is the lowest
    and the highest rate at which a learner that follows the policy with this `exploration` keeps it; it is None if the
    learner never keeps it or the policy has probabilities.

    >>> from sojourn.models.problems import jobs
    >>> found = audit(jobs())  # here the harmonic mean is right, and the arithmetic and the geometric one are not
    >>> [limit.estimator for limit in found if limit.error is not None and abs(limit.error) > 1e-9]
    ['MeanOfRates', 'PowerMean', 'Fixed']

    With the rate fixed at 0, a learner that has begun with the worse machine stays there:

    >>> [(one.policy.tolist(), round(one.gain, 6), one.trap) for one in found.self_confirming["Fixed"]]
    [([1], 1.111111, False), ([0], 1.0, True)]
    """

    model: SMDP = field(repr=False)
    policy: Ints | Floats = field(repr=False)
    gain: float
    best_gain: float
    low: float
    high: float
    exploration: float
    held: tuple[float, float] | None
    limits: tuple[Limit, ...] = field(repr=False)
    estimators: Mapping[str, Rate] = field(repr=False)
    frequency_adjusted: bool = False

    @functools.cached_property
    def self_confirming(self) -> dict[str, tuple[SelfConfirming, ...]]:
        """The policies that a learner with this exploration keeps, the best first, for each estimator with a limit.

        If `complete` is true, these are all of them. Otherwise the model has too many policies to examine each, and these
        are the ones reached by a learner that starts with the audited policy (or with an optimal one, if the audited
        policy has probabilities).
        """
        return self._search.confirmed(self.estimators)

    @property
    def complete(self) -> bool:
        """Whether every policy was examined; this is done for models with at most 512 policies."""
        return self._search.complete

    @property
    def num_policies(self) -> int:
        """The number of policies, counting only choices in states that a learner visits again and again."""
        return self._search.num_policies

    @functools.cached_property
    def _search(self) -> PolicySearch:
        start = self.policy if self.policy.ndim == 1 else solve(self.model).policy
        learner = self.exploration, self.best_gain, self.frequency_adjusted
        return PolicySearch(self.model, start.astype(np.int64), *learner)

    def __getitem__(self, estimator: str) -> Limit:
        for one in self.limits:
            if one.estimator == estimator:
                return one
        names = ", ".join(one.estimator for one in self.limits)
        raise KeyError(f"there is no estimator {estimator!r}; there are {names}")

    def __iter__(self) -> Iterator[Limit]:
        return iter(self.limits)

    def frontier(self) -> RateFrontier:
        """Return F, the largest mean of r - rate d per step that any policy has, over the rates of interest."""
        rates = [one.rate for one in self.limits] + [self.gain, self.best_gain, self.low, self.high]
        finite = [rate for rate in rates if rate is not None and np.isfinite(rate)]
        low, high = min(finite), max(finite)
        margin = 0.15 * (high - low) or abs(finite[0]) or 1.0 / float(self.model.duration.mean())
        return frontier(self.model, low - margin, high + margin)


@told
def audit(
    model: SMDP,
    policy: PolicyLike | None = None,
    estimators: Mapping[str, Rate] | Iterable[Rate] | None = None,
    *,
    exploration: float = 0.2,
    frequency_adjusted: bool = False,
) -> Audit:
    """Return the exact long-run limit of every estimator under a policy, by default an optimal one.

    A policy is an action for each state, probabilities [state, action], or {state: action} by names. It must have one
    recurrent class, and the model must have one optimal gain. `estimators` are the estimators to audit, with their step
    sizes, instead of all the named ones with a step size of 0.01; give a mapping to choose their labels. `exploration` is
    the share of random actions of the learners whose lock-in is predicted; `frequency_adjusted` says that their step sizes
    are (`FrequencyAdjusted`). The limits depend on neither.

    In `long_shot` the short action earns 1 or 9 in a time of 1, and so 5 on average; the harmonic mean of these rates
    is 1.8. An optimal policy is greedy at rates above 7/3, so an agent that learns 1.8 takes the long
    action, which earns 3, and stays with it:

    >>> from sojourn.models.problems import long_shot
    >>> found = audit(long_shot())
    >>> found.gain, found.low, found.high
    (5.0, 2.3333333333333335, inf)
    >>> round(found["Harmonic"].rate, 9), found["Harmonic"].keeps_optimum, found["Harmonic"].settled_gain
    (1.8, False, 3.0)
    >>> found["Cumulative"].error
    0.0

    No rate above 7/3 does any harm:

    >>> from sojourn.rates.contrast import Fixed
    >>> audit(long_shot(), estimators={"three": Fixed(3.0)})["three"].keeps_optimum
    True

    A learner that explores half of the time keeps A at far lower rates too. While it follows A, it takes B a third as often,
    and A stays ahead as long as 3 (5 - rate) is more than 12 - 4 rate, so at all rates above -3:

    >>> audit(long_shot(), exploration=0.5).held
    (-3.0, inf)

    With frequency-adjusted step sizes, the rates at which A is kept are those at which it is greedy:

    >>> tuple(round(rate, 9) for rate in audit(long_shot(), frequency_adjusted=True).held)
    (2.333333333, inf)
    """
    named = _labelled(estimators)
    best = solve(model)
    best_gain = best.gain
    chosen = best.policy if policy is None else by_number(model, policy)
    worth = evaluate(model, chosen)
    steps, long_run = steps_of(model, chosen, worth), LongRun(model, worth)
    low, high = interval(model, best)
    kept = followed(model, chosen, exploration, frequency_adjusted) if chosen.ndim == 1 else None
    line = functools.cache(functools.partial(greedy_line, model))
    limits = []
    for name, (agents, estimator) in named.items():
        if not limit.knows(type(estimator)):
            limits.append(Limit(name, agents))
            continue
        rate = limit(estimator, steps)
        if math.isnan(rate):
            raise ValueError(f"the limit rule of {type(estimator).__name__} returned nan for {steps}")
        if math.isinf(rate):
            limits.append(Limit(name, agents, rate, error=rate))
            continue
        slack = _ROUNDING * max(size_of(steps), abs(rate))
        error = rate - steps.gain if abs(rate - steps.gain) > slack else 0.0
        mean, mean_is = long_run.mean(estimator)
        limits.append(
            Limit(
                estimator=name,
                agents=agents,
                rate=rate,
                error=error,
                keeps_optimum=low + slack < rate < high - slack,
                greedy_gain=line(rate).gain,
                drift=None if kept is None else kept.drift(rate) if error else 0.0,
                settled_gain=_settled(model, line, estimator, steps),
                mean=mean,
                mean_is=mean_is,
            )
        )
    return Audit(
        model=model,
        policy=chosen,
        gain=steps.gain,
        best_gain=best_gain,
        low=low,
        high=high,
        exploration=fraction("exploration", exploration),
        held=None if kept is None else kept.interval(),
        limits=tuple(limits),
        estimators={name: estimator for name, (_, estimator) in named.items()},
        frequency_adjusted=frequency_adjusted,
    )


def _labelled(
    estimators: Mapping[str, Rate] | Iterable[Rate] | None,
) -> dict[str, tuple[tuple[str, ...], Rate]]:
    """Return for each name the agents that use the estimator, and the estimator itself."""
    if estimators is None:
        return {name: (entry.agents, entry.make()) for name, entry in ESTIMATORS.items()}
    given = (
        estimators.items() if isinstance(estimators, Mapping) else ((type(r).__name__, r) for r in estimators)
    )
    result: dict[str, tuple[tuple[str, ...], Rate]] = {}
    for name, rate in given:
        value(rate)  # raises an error if it is not an estimator
        if name in result:
            raise ValueError(f"two estimators are called {name}; give a mapping with a label for each")
        result[name] = ((), rate)
    return result


def _settled(model: SMDP, line: Callable[[float], Line], estimator: Rate, steps: Steps) -> float | None:
    """Return the gain at the end of the process that `Limit.settled_gain` describes; `line` is that of a rate."""
    seen: list[bytes] = []
    while True:
        rate = limit(estimator, steps)
        if not math.isfinite(rate):
            return None
        greedy = line(rate)
        key = greedy.policy.tobytes()
        if key in seen:
            return greedy.gain if seen[-1] == key else None
        seen.append(key)
        worth = evaluate(model, greedy.policy)
        if len(worth.classes) > 1:
            return None
        steps = steps_of(model, greedy.policy, worth)
