"""Find the self-confirming policies of a model for an estimator of the rate.

While a learner follows a policy and explores, its rate converges to the estimator's limit on the steps that the policy
itself would have taken; `lock_in` says whether the learner keeps the policy at that rate. A small model is searched policy
by policy. A larger one is searched along the path of a learner: from a given policy to the one that is greedy for the
values that result from it, and so on, until a policy is kept or comes up again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sojourn.exact.audit.limits import size_of
from sojourn.exact.audit.lock_in import Followed, followed
from sojourn.exact.policies import evaluate
from sojourn.models.smdp import SMDP
from sojourn.rates.protocol import Rate, limit
from sojourn.rules.arrays import Ints

MOST_POLICIES = 512  # a model with more is searched along the path of a learner
_MOST_STEPS = 50  # of that path
_EQUAL = (
    1e-9  # relative to what the policy earns and loses per unit time: gains that are closer are equally good
)


class SelfConfirming(NamedTuple):
    """A policy that a learner keeps once it follows it, with the learner's rate and drift there.

    `gain` is the gain of the policy and `rate` the limit of the estimator. `drift` is v / alpha: each step moves the values
    by the step size times this. `margin` is by how much the policy's actions stay ahead of the others; it is infinite if
    there is no choice. `trap` says that the policy is not optimal.

    >>> import sojourn as sj
    >>> found = sj.audit(sj.problems.long_return(), exploration=0.2).self_confirming["Harmonic"]
    >>> [(one.policy.tolist(), round(one.gain, 3), round(one.rate, 3), one.trap) for one in found]
    [([0, 0], 10.0, 7.5, False), ([0, 1], 10.0, 7.5, False), ([1, 0], 7.624, 3.85, True), ([1, 1], 7.624, 3.85, True)]
    """

    policy: Ints
    gain: float
    rate: float
    drift: float
    margin: float
    trap: bool


class Search:
    """Searches a model for self-confirming policies and works out each policy once.

    `complete` says that every policy is examined, so that no self-confirming policy is missed.
    """

    def __init__(self, model: SMDP, start: Ints, exploration: float, best_gain: float) -> None:
        """Search from the policy `start` if there are too many policies to examine all."""
        self._model, self._start, self._exploration, self._best = model, start, exploration, best_gain
        self._choices = _choices(model)
        self._known: dict[bytes, Followed] = {}
        self.num_policies = math.prod(len(actions) for actions in self._choices)
        self.complete = self.num_policies <= MOST_POLICIES

    def confirmed(self, estimators: Mapping[str, Rate]) -> dict[str, tuple[SelfConfirming, ...]]:
        """Return the self-confirming policies of each estimator that has a finite limit, the best first."""
        result = {}
        for name, estimator in estimators.items():
            tried = list(self._candidates(estimator)) if limit.knows(type(estimator)) else []
            if tried:
                found = [self._judged(kept, rate) for kept, rate in tried if kept.confirms(rate)]
                result[name] = tuple(sorted(found, key=lambda one: -one.gain))
        return result

    def _candidates(self, estimator: Rate) -> Iterator[tuple[Followed, float]]:
        """Go through the policies to examine, each with the estimator's limit, leaving out infinite limits."""
        policies = (np.array(each) for each in itertools.product(*self._choices)) if self.complete else None
        for kept in map(self._of, policies) if policies is not None else self._way(estimator):
            rate = limit(estimator, kept.steps)
            if kept.gain is not None and math.isfinite(rate):
                yield kept, rate

    def _way(self, estimator: Rate) -> Iterator[Followed]:
        """Follow the path of a learner from the start until a policy comes up again."""
        policy, seen = self._start, set[bytes]()
        while policy.tobytes() not in seen and len(seen) < _MOST_STEPS:
            seen.add(policy.tobytes())
            kept = self._of(policy)
            yield kept
            rate = limit(estimator, kept.steps)
            if kept.gain is None or not math.isfinite(rate):
                return
            policy = kept.greedy(rate)

    def _of(self, policy: Ints) -> Followed:
        key = policy.tobytes()
        if key not in self._known:
            self._known[key] = followed(self._model, policy, self._exploration)
        return self._known[key]

    def _judged(self, kept: Followed, rate: float) -> SelfConfirming:
        assert kept.gain is not None  # or it would not be self-confirming
        size = max(size_of(kept.steps), abs(self._best))
        return SelfConfirming(
            policy=kept.policy,
            gain=kept.gain,
            rate=rate,
            drift=kept.drift(rate),
            margin=kept.margin(rate),
            trap=kept.gain < self._best - _EQUAL * size,
        )


def _choices(model: SMDP) -> list[Ints]:
    """Return the actions to choose from in each state; one is enough in states that a learner leaves for good."""
    counts = np.diff(model.pair_offsets)
    even = np.zeros((model.num_states, model.num_actions))
    even[model.state_of_pair(), model.action] = (1.0 / counts)[model.state_of_pair()]
    again = np.concatenate(evaluate(model, even).classes)
    counts = np.where(np.isin(np.arange(model.num_states), again), counts, 1)
    actions = model.action.astype(np.int64)
    return [
        actions[first : first + count] for first, count in zip(model.pair_offsets[:-1], counts, strict=True)
    ]
