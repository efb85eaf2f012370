"""The audit of a model: the exact long-run value of every estimator of the rate.

It answers two questions about a learner before it is run. Does its rate come to the gain of the
policy that it follows (`limits`)? And if not, is the policy that is greedy for the rate it comes
to still an optimal one (`frontier`)? An estimator may be wrong and do no harm, while its limit
lies in the interval; outside of it, a learner that explores enough is led away from the optimal
policy even when it has found it.

A learner that explores little may stay with a policy for a bad reason: with a rate that is too low all values grow, and
those of actions that are seldom taken lag behind. `lock_in` has the equations of that, and `confirmed` finds
the policies that are kept so: `Audit.self_confirming`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sojourn.exact.audit.confirmed import Search, SelfConfirming
from sojourn.exact.audit.frontier import Frontier, Line, frontier, greedy_line, interval
from sojourn.exact.audit.limits import steps_of
from sojourn.exact.audit.lock_in import followed
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.models.chain import PolicyLike, by_number
from sojourn.models.smdp import SMDP
from sojourn.rates.named import ESTIMATORS
from sojourn.rates.protocol import Rate, limit, value
from sojourn.rates.steps import Steps
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.numbers import fraction

_ROUNDING = 1e-9


class Limit(NamedTuple):
    """What an estimator comes to under the policy.

    rate            the limit; None if the estimator has no `limit` rule, and then so is all that follows from it
    error           the limit less the policy's gain; 0 exactly where it differs from 0 by rounding alone
    keeps_optimum   whether only optimal policies are greedy for this rate
    greedy_gain     what the policy earns that is greedy for this rate
    drift           v / alpha: while a learner follows the policy with the audit's `exploration` at this rate, a step
                    moves its values by the step size times this, in the mean. It is 0 for the policy's gain
    settled_gain    what is earned in the end by following the greedy policy, taking its limit, following the policy
                    that is greedy for that, and so on; None if this goes in circles

    Falling values make actions look good that are seldom taken, since those fall more seldom; growing values make
    them look bad. An infinite limit has an `error` and no more; a policy of probabilities has no `drift`.

    >>> from sojourn.models.problems import long_return
    >>> limit = audit(long_return())["Harmonic"]  # half of 15, since the way back counts as a rate of 0
    >>> limit.rate, limit.error, limit.keeps_optimum
    (7.5, -2.5, False)

    A round of two steps earns 30 - 7.5 * 3 = 7.5 more than it is charged. At an exploration of 0.2 each of its two pairs is
    taken in a share of 0.45 of the steps, so that v / alpha = 7.5 / (1 / 0.45 + 1 / 0.45):

    >>> round(limit.drift, 9)
    1.6875
    """

    estimator: str
    agents: tuple[str, ...]
    rate: float | None = None
    error: float | None = None
    keeps_optimum: bool | None = None
    greedy_gain: float | None = None
    drift: float | None = None
    settled_gain: float | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """What every estimator of the rate makes of a model under a policy.

    `gain` is the policy's, `best_gain` the largest of all; an optimal policy is greedy for the rates
    from `low` to `high`. `limits` has a row for each estimator; `audit["Harmonic"]` is one of them. `held` are the lowest
    and highest rate at which a learner that follows the policy with this `exploration` keeps it, None if it never does
    or the policy has probabilities.

    >>> from sojourn.models.problems import jobs
    >>> found = audit(jobs())  # where the harmonic mean is right, and the arithmetic one is not
    >>> [limit.estimator for limit in found if abs(limit.error) > 1e-9]
    ['MeanOfRates', 'Fixed']

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

    @cached_property
    def self_confirming(self) -> dict[str, tuple[SelfConfirming, ...]]:
        """The policies that a learner with this exploration keeps, the best first, for each estimator with a limit.

        All are there if `complete` is true. Otherwise the model has too many policies to look at each, and these
        are the ones that a learner comes to who begins with the audited policy (an optimal one if that has probabilities).
        """
        return self._search.confirmed(self.estimators)

    @property
    def complete(self) -> bool:
        """Whether every policy was looked at, of which a model may have up to 512 for that."""
        return self._search.complete

    @property
    def num_policies(self) -> int:
        """How many policies the model has, in the states that a learner comes to again and again."""
        return self._search.num_policies

    @cached_property
    def _search(self) -> Search:
        start = self.policy if self.policy.ndim == 1 else solve(self.model).policy
        return Search(self.model, start.astype(np.int64), self.exploration, self.best_gain)

    def __getitem__(self, estimator: str) -> Limit:
        for one in self.limits:
            if one.estimator == estimator:
                return one
        names = ", ".join(one.estimator for one in self.limits)
        raise KeyError(f"there is no estimator {estimator!r}; there are {names}")

    def __iter__(self) -> Iterator[Limit]:
        return iter(self.limits)

    def frontier(self) -> Frontier:
        """Return F, the most that any policy has of r - rate d per step, over the rates of interest."""
        rates = [one.rate for one in self.limits] + [self.gain, self.best_gain, self.low, self.high]
        finite = [rate for rate in rates if rate is not None and np.isfinite(rate)]
        margin = 0.15 * (max(finite) - min(finite)) or 1.0
        return frontier(self.model, min(finite) - margin, max(finite) + margin)


def audit(
    model: SMDP,
    policy: PolicyLike | None = None,
    estimators: Mapping[str, Rate] | Iterable[Rate] | None = None,
    *,
    exploration: float = 0.2,
) -> Audit:
    """Return the exact long-run limit of every estimator under a policy, an optimal one unless given.

    A policy is an action for each state, probabilities [state, action], or {state: action} by names; it must have one
    recurrent class, and the model one optimal gain. `estimators` are those to look at instead of all
    that have a name, with labels of your own if you give a mapping. `exploration` is the share of random actions of
    the learners whose lock-in is predicted; the limits do not depend on it.

    In `long_shot` the short action earns 1 or 9 in a time of 1, and so 5; the harmonic mean of these rates
    is 1.8. An optimal policy is greedy for rates above 7/3, so an agent that learns 1.8 takes the long
    action, which earns 3, and stays with it:

    >>> from sojourn.models.problems import long_shot
    >>> found = audit(long_shot())
    >>> found.gain, found.low, found.high
    (5.0, 2.3333333333333335, inf)
    >>> round(found["Harmonic"].rate, 9), found["Harmonic"].keeps_optimum, found["Harmonic"].settled_gain
    (1.8, False, 3.0)
    >>> found["Cumulative"].error
    0.0

    Rates from 7/3 on do no harm, whatever they are:

    >>> from sojourn.rates.contrast import Fixed
    >>> audit(long_shot(), estimators={"three": Fixed(3.0)})["three"].keeps_optimum
    True

    A learner that explores half of the time keeps A at far lower rates too. While it follows A, B is taken a third as often,
    and A stays ahead where 3 (5 - rate) is more than 12 - 4 rate, above -3:

    >>> audit(long_shot(), exploration=0.5).held
    (-3.0, inf)
    """
    named = _labelled(estimators)
    best = solve(model)
    best_gain = best.gain
    chosen = best.policy if policy is None else by_number(model, policy)
    steps = steps_of(model, chosen, evaluate(model, chosen))
    low, high = interval(model, best)
    slack = _ROUNDING * float(np.abs(model.reward / model.duration).max())
    kept = followed(model, chosen, exploration) if chosen.ndim == 1 else None
    walk = _Greedy(model)
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
        error = _cleaned(rate - steps.gain, slack)
        limits.append(
            Limit(
                estimator=name,
                agents=agents,
                rate=rate,
                error=error,
                keeps_optimum=low + slack < rate < high - slack,
                greedy_gain=walk.line(rate).gain,
                drift=None if kept is None else kept.drift(rate) if error else 0.0,
                settled_gain=walk.settled(estimator, steps),
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
    )


def _cleaned(number: float, slack: float) -> float:
    """Return a number, or 0 if it differs from 0 only by rounding; nobody else decides this."""
    return number if abs(number) > slack else 0.0


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
        value(rate)  # which refuses what is not an estimator
        if name in result:
            raise ValueError(f"two estimators are called {name}; give a mapping with a label for each")
        result[name] = ((), rate)
    return result


class _Greedy:
    """Finds the policy that is greedy for a rate, each once."""

    def __init__(self, model: SMDP) -> None:
        self._model = model
        self._lines: dict[float, Line] = {}

    def line(self, rate: float) -> Line:
        if rate not in self._lines:
            self._lines[rate] = greedy_line(self._model, rate)
        return self._lines[rate]

    def settled(self, estimator: Rate, steps: Steps) -> float | None:
        seen: list[bytes] = []
        while True:
            rate = limit(estimator, steps)
            if not math.isfinite(rate):
                return None
            line = self.line(rate)
            key = line.policy.tobytes()
            if key in seen:
                return line.gain if seen[-1] == key else None
            seen.append(key)
            worth = evaluate(self._model, line.policy)
            if len(worth.classes) > 1:
                return None
            steps = steps_of(self._model, line.policy, worth)
