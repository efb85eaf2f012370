"""Lock-in: which policies a learner with a wrong rate keeps for ever, solved exactly.

Suppose a learner follows a policy pi at the rate rho, except for a share epsilon of random actions. It takes the pair
(s, a) in a share mu(s, a) of its steps, and each time moves Q(s, a) by alpha times the error delta. In the long run
all values must grow equally fast, by v in each step, or the differences between them would not settle. So alpha mu(s,
a) times the mean of delta is v for every pair:

    Q(s, a) = r(s, a) - rho d(s, a) + sum of P(s' | s, a) max Q(s', .) - v / (alpha mu(s, a))

The value of a pair that is seldom taken lags behind what the pair is worth, and the faster values grow, the more it lags.
At the pairs of pi these are the equations of a policy's bias and gain, with durations of 1 / mu and the gain v / alpha; the
values of all other pairs follow from them. The step size cancels. A policy that is greedy for this Q is *self-confirming*:
the learner stays with it.

Q and v are linear in rho, so the rates at which a policy is self-confirming form an interval.

Step sizes alpha / mu(s, a) (`FrequencyAdjusted`) move the value of each pair by alpha times the mean error in each step, so
mu drops out: the values of all pairs lag by the same v / alpha, which is the policy's mean of r - rho d per step. Then a
policy is self-confirming only if it is best for r - rho d, and at no rate is a policy kept only because others are seldom tried.

While a learner follows a policy and explores, its rate converges to the estimator's limit on the steps that the policy
itself would have taken, so the policy is kept if it is self-confirming at that limit. `PolicySearch` finds such policies. It
examines a small model policy by policy, and a larger one along the path of a learner: from a given policy to the one that is
greedy for the values that result from it, and so on, until a policy is kept or comes up again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.moved import moved_names
from sojourn.data.numbers import finite, fraction
from sojourn.exact.audit.limits import size_of, steps_of_shares
from sojourn.exact.chains import Valued, valued
from sojourn.exact.policies import by_factors, evaluate
from sojourn.models.chain import Chain, chain_of_pairs, expected, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rates.protocol import Rate, Steps, limit
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.door import told

__getattr__ = moved_names(__name__)

MOST_POLICIES = 512  # a model with more is searched along the path of a learner
_MOST_STEPS = 50  # of that path
_TIE = 1e-9  # relative to the largest value: values that are closer are equal
_EQUAL = (
    1e-9  # relative to what a policy earns and loses per unit time: gains that are closer are equally good
)


class LearnedValues(NamedTuple):
    """The values that a learner has in the long run if it follows a policy at a fixed rate, up to a common constant.

    `q` [state, action] are the values, nan where a pair is not taken in the long run or does not exist. `drift` is v /
    alpha: each step moves the values on average by the step size times this. `margin` is the smallest lead, over all states,
    of the policy's action over the next best; the policy is self-confirming if the margin is not below 0.

    >>> import sojourn as sj
    >>> sj.exact.learned_values(sj.problems.long_shot(), [1], rate=3.0, exploration=0.5).margin  # B earns 3: nothing grows
    -2.0
    """

    q: Floats
    drift: float
    margin: float


@dataclass(frozen=True, eq=False)
class FollowedPolicy:
    """A policy that a learner follows while it explores, and the learner's long-run values at every rate.

    The value of each pair is `of_reward` - rate `of_time`, and v / alpha is `growth[0]` - rate `growth[1]`. `shares`
    are the shares of the pairs in all steps. `gain` is the policy's own, without exploration. It is None if the policy has
    several recurrent classes: their values grow apart until one overtakes the other, so the policy is not kept.
    """

    model: SMDP = field(repr=False)
    policy: Ints
    pairs: Ints = field(repr=False)
    shares: Floats = field(repr=False)
    of_reward: Floats = field(repr=False)
    of_time: Floats = field(repr=False)
    growth: tuple[float, float] = field(repr=False)
    gain: float | None

    def drift(self, rate: float) -> float:
        """Return v / alpha at a rate."""
        return self.growth[0] - rate * self.growth[1]

    def values(self, rate: float) -> Floats:
        """Return the value of each pair at a rate, nan for pairs that are not taken in the long run."""
        return self.of_reward - rate * self.of_time

    def margin(self, rate: float) -> float:
        """Return the smallest lead of the policy's action in any state; -inf if its classes grow apart."""
        if self.gain is None:
            return -math.inf
        ahead, slope = self._leads()
        return float((ahead - rate * slope).min(initial=math.inf))

    def confirms(self, rate: float) -> bool:
        """Return whether the policy is self-confirming at a rate."""
        return self.margin(rate) >= -self._slack(rate)

    def interval(self) -> tuple[float, float] | None:
        """Return the lowest and the highest rate at which the policy is self-confirming, or None if there is none."""
        if self.gain is None:
            return None
        ahead, slope = self._leads()
        level = np.abs(slope) <= _TIE * np.abs(self.of_time[self._taken]).max()
        if (ahead[level] < -self._slack(0.0)).any():
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = ahead / slope
        high = float(ends[~level & (slope > 0.0)].min(initial=math.inf))
        low = float(ends[~level & (slope < 0.0)].max(initial=-math.inf))
        return (low, high) if low <= high else None

    def greedy(self, rate: float) -> Ints:
        """Return the policy that is greedy for the values at a rate; where actions tie, the followed one is kept."""
        values, policy = self.values(rate), self.policy.copy()
        for state in np.flatnonzero(self._taken[self.pairs]):
            first, end = self.model.pair_offsets[state : state + 2]
            best = first + int(np.argmax(values[first:end]))
            if values[best] > values[self.pairs[state]] + self._slack(rate):
                policy[state] = self.model.action[best]
        return policy

    @cached_property
    def steps(self) -> Steps:
        """The law of the steps that the policy itself would have taken, explored or not."""
        own = np.zeros(self.model.num_pairs)
        own[self.pairs] = self.shares[self.pairs]
        return steps_of_shares(self.model, own / own.sum())._replace(relative=self.gain)

    @property
    def _taken(self) -> Flags:
        return np.asarray(self.shares > 0.0)

    def _leads(self) -> tuple[Floats, Floats]:
        """Return the lead of the policy's pair over each other pair: at rate 0, and its loss per unit of the rate."""
        others = self._taken
        others[self.pairs] = False
        own = self.pairs[self.model.state_of_pair()[others]]
        return self.of_reward[own] - self.of_reward[others], self.of_time[own] - self.of_time[others]

    def _slack(self, rate: float) -> float:
        taken = self._taken
        return _TIE * float(
            np.abs(self.of_reward[taken]).max() + abs(rate) * np.abs(self.of_time[taken]).max()
        )


def followed(
    model: SMDP, policy: ArrayLike, exploration: float, frequency_adjusted: bool = False
) -> FollowedPolicy:
    """Return the long-run values of a learner that follows a policy, one action for each state, and explores."""
    own = np.asarray(policy)
    if own.ndim != 1:
        raise ValueError(f"policy has the shape {own.shape}; it must have one action for each state")
    pairs, state = pairs_of(model, own), model.state_of_pair()
    chance = fraction("exploration", exploration) / np.diff(model.pair_offsets)[state]
    chance[pairs] += 1.0 - exploration
    table = np.zeros((model.num_states, model.num_actions))
    table[state, model.action] = chance
    shares = evaluate(model, table).stationary[state] * chance
    visited = np.flatnonzero(shares[pairs] > 0.0)
    chain = chain_of_pairs(model, pairs)
    speeds = (
        np.asarray(shares > 0.0, dtype=np.float64) if frequency_adjusted else shares
    )  # over the step size
    inner, lasting = chain.matrix[visited][:, visited], 1.0 / speeds[pairs[visited]]
    earned, passed = (
        _valued(Chain(inner, each[visited], lasting)) for each in (chain.reward, chain.duration)
    )
    own_worth = _valued(Chain(inner, chain.reward[visited], chain.duration[visited]))
    return FollowedPolicy(
        model=model,
        policy=own,
        pairs=pairs,
        shares=shares,
        of_reward=_of_pairs(model, speeds, visited, model.reward, earned),
        of_time=_of_pairs(model, speeds, visited, model.duration, passed),
        growth=(float(earned.gains[0]), float(passed.gains[0])),
        gain=float(own_worth.gains[0]) if len(own_worth.classes) == 1 else None,
    )


def _valued(chain: Chain) -> Valued:
    """Solve a chain; in large ones the state that is left out must be visited often, or rounding spoils the answer."""
    factored = by_factors(chain)
    return valued(chain) if factored is None else factored[0]


def _of_pairs(model: SMDP, speeds: Floats, visited: Ints, amount: Floats, found: Valued) -> Floats:
    """Return the values of all pairs for one amount, either reward or time; nan for pairs that are not taken."""
    value, growth = np.zeros(model.num_states), np.zeros(model.num_states)
    value[visited], growth[visited] = found.bias, found.gains
    with np.errstate(divide="ignore", invalid="ignore"):
        lag = growth[model.state_of_pair()] / speeds
    return np.where(speeds > 0.0, amount + expected(model, value) - lag, np.nan)


@told
def learned_values(
    model: SMDP,
    policy: ArrayLike,
    rate: float,
    exploration: float = 0.2,
    *,
    frequency_adjusted: bool = False,
) -> LearnedValues:
    """Return the long-run values of a learner with a fixed rate that follows a policy and explores.

    In `long_shot` at a rate of 1.8, a step of A is worth 5 - 1.8 = 3.2 and one of B 12 - 1.8 * 4 = 4.8. At an exploration of
    0.2, A is taken nine times as often as B, and its value grows by 0.9 * 3.2 = 2.88 times the step size. B lags behind by
    2.88 / 0.1 = 28.8, so A stays ahead by 28.8 - 4.8 = 24:

    >>> from sojourn.models.problems import long_shot
    >>> found = learned_values(long_shot(), [0], rate=1.8, exploration=0.2)
    >>> round(found.drift, 9), round(found.margin, 9)
    (2.88, 24.0)

    With step sizes alpha / mu (`FrequencyAdjusted`) both values lag by the 3.2 that A is worth, and B is ahead by 4.8 - 3.2:

    >>> round(learned_values(long_shot(), [0], rate=1.8, frequency_adjusted=True).margin, 9)
    -1.6
    """
    rate = finite("rate", rate)
    kept = followed(model, policy, exploration, frequency_adjusted)
    q = np.full((model.num_states, model.num_actions), np.nan)
    q[model.state_of_pair(), model.action] = kept.values(rate)
    return LearnedValues(q, kept.drift(rate), kept.margin(rate))


# --- The search for self-confirming policies ----------------------------------------------


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


class PolicySearch:
    """Searches a model for self-confirming policies and works out each policy once.

    `complete` says that every policy is examined, so that no self-confirming policy is missed.
    """

    def __init__(
        self,
        model: SMDP,
        start: Ints,
        exploration: float,
        best_gain: float,
        frequency_adjusted: bool = False,
    ) -> None:
        """Search from the policy `start` if there are too many policies to examine all."""
        self._model, self._start, self._best = model, start, best_gain
        self._learner = exploration, frequency_adjusted
        self._choices = _choices(model)
        self._known: dict[bytes, FollowedPolicy] = {}
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

    def _candidates(self, estimator: Rate) -> Iterator[tuple[FollowedPolicy, float]]:
        """Go through the policies to examine, each with the estimator's limit, leaving out infinite limits."""
        policies = (np.array(each) for each in itertools.product(*self._choices)) if self.complete else None
        for kept in map(self._of, policies) if policies is not None else self._way(estimator):
            rate = limit(estimator, kept.steps)
            if kept.gain is not None and math.isfinite(rate):
                yield kept, rate

    def _way(self, estimator: Rate) -> Iterator[FollowedPolicy]:
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

    def _of(self, policy: Ints) -> FollowedPolicy:
        key = policy.tobytes()
        if key not in self._known:
            self._known[key] = followed(self._model, policy, *self._learner)
        return self._known[key]

    def _judged(self, kept: FollowedPolicy, rate: float) -> SelfConfirming:
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
