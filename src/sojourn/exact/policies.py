"""The exact gain of a policy, its bias, and the share of steps that it spends in each state; the gains of many policies.

A policy turns the model into a chain with transition matrix P, mean rewards r and mean durations d. In a
recurrent class the gain g and the bias h solve

    h + g d = r + P h,       h = 0 in one state

and the stationary law x of the steps solves x P = x, with g = x r / x d. From a transient
state the gain is the mean gain of the classes that it leads to, and h(s) + g(s) d(s) = r(s) +
P h holds there as well. A policy with several recurrent classes may have several gains (Puterman, "Markov
Decision Processes", appendix A and chapter 11).
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from scipy.special import ndtri

from sojourn.data.names import users_constructor
from sojourn.data.numbers import positive, proper_fraction, shown
from sojourn.exact.chains import LARGEST, Valued, stationary, valued
from sojourn.exact.criteria import Paid, TotalValue, asked, evaluate_total
from sojourn.exact.deviation import step_variances, without_laws
from sojourn.exact.direct import MOST_ENTRIES, Factored, estimate
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.sensitivity import Sensitivity, losses, sensitivity
from sojourn.models.chain import (
    Chain,
    PolicyLike,
    chain_of,
    chain_of_pairs,
    classes_of,
    pair_shares,
    pairs_of,
    state_means,
)
from sojourn.models.smdp import SMDP, check_model, no_amount
from sojourn.models.structure import named, one_gain
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.blas import one_thread
from sojourn.rules.door import told

_CORRECTIONS, _CLOSE = 3, 1e-9  # of a factorisation, and how little the last may move the answer


@told
@dataclass(frozen=True, eq=False, repr=False)
class PolicyValue:
    """What a policy is worth in the long run.

    `gains` and `bias` have a number for each state. `classes` are the states of each recurrent class, and `class_laws`
    the share of steps that each of these states has in the long run.

    >>> import sojourn as sj
    >>> worth = sj.evaluate(sj.problems.long_return(), [0, 0])  # 30 in a time of 2, then 0 in one of 1
    >>> worth
    PolicyValue(gain=10.0)
    >>> worth.mean_reward, worth.mean_duration, worth.stationary
    (15.0, 1.5, array([0.5, 0.5]))
    """

    model: SMDP
    gains: Floats
    bias: Floats
    classes: tuple[Ints, ...]
    class_laws: tuple[Floats, ...]
    state_duration: Floats
    state_reward: Floats
    state_amounts: Mapping[str, Floats] = field(default_factory=dict)
    pair_shares: Floats = field(default_factory=lambda: np.empty(0))  # of the times in its state

    def __repr__(self) -> str:
        """Return the gain, or the gains if they differ."""
        try:
            return f"PolicyValue(gain={self.gain!r})"
        except ValueError:
            return f"PolicyValue(gains={shown(self.gains.tolist())})"

    @property
    def gain(self) -> float:
        """The gain, if it is the same from every state; otherwise an error is raised."""
        sizes = [
            float(law @ np.abs(self.state_reward[states]) / (law @ self.state_duration[states]))
            for law, states in zip(self.class_laws, self.classes, strict=True)
        ]
        return one_gain(self.gains, rounding=1e-12 * max(sizes))

    @property
    def stationary(self) -> Floats:
        """The share of steps that each state has in the long run, if there is only one recurrent class."""
        if len(self.classes) > 1:
            shown = ", ".join(named(self.model, states) for states in self.classes[:5])
            raise ValueError(
                f"the policy has {len(self.classes)} recurrent classes, {shown}, and a law for each; use class_laws"
            )
        law = np.zeros(self.model.num_states)
        law[self.classes[0]] = self.class_laws[0]
        return law

    @property
    def mean_duration(self) -> float:
        """The mean duration of a step in the long run."""
        return float(self.stationary @ self.state_duration)

    @property
    def mean_cycle(self) -> Floats:
        """The mean time between two visits to each state; infinite for states that are not visited again.

        A state with the share x of the steps is visited once in 1/x steps on average.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(self.mean_duration / self.stationary)

    @property
    def time_shares(self) -> Floats:
        """The share of time that is spent in each state in the long run; `stationary` is the share of steps."""
        spent = self.stationary * self.state_duration
        return np.asarray(spent / spent.sum())

    def mean(self, amount: str) -> float:
        """Return the mean of an amount in a step in the long run: "reward", "duration", "steps" or one of the model's."""
        if amount == "steps":
            return 1.0
        if amount not in self.state_amounts:
            raise no_amount(amount, self.model.amounts)
        return float(self.stationary @ self.state_amounts[amount])

    def per(self, amount: str, other: str = "duration") -> float:
        """Return how much of one amount there is in the long run per unit of another one, or per unit time.

        A line loses every second call while it is busy:

        >>> import sojourn as sj
        >>> line = sj.models.from_dict({
        ...     "free": {"wait": {"reward": 0, "duration": 2, "amounts": {"calls": 1}, "next": "busy"}},
        ...     "busy": {"talk": {"reward": 5, "duration": 3, "amounts": {"calls": 1.5, "lost": 1.5}, "next": "free"}},
        ... })
        >>> worth = sj.evaluate(line, [0, 1])
        >>> worth.per("lost", "calls"), worth.per("lost"), worth.per("calls", "steps")
        (0.6, 0.3, 1.25)
        """
        below, above = self.mean(other), self.mean(amount)
        if below == 0.0:
            raise ValueError(
                f"the policy has no {other} in the long run, so nothing can be counted per {other}; count per another amount"
            )
        return above / below

    @property
    def rates(self) -> dict[str, float]:
        """Every amount per unit time in the long run, by name; "reward" is the gain and "steps" the decisions."""
        return {name: self.per(name) for name in ("reward", "steps", *self.model.amounts)}

    @property
    def mean_reward(self) -> float:
        """The mean reward of a step in the long run."""
        return float(self.stationary @ self.state_reward)

    @functools.cached_property
    def class_deviations(self) -> tuple[float, ...]:
        """The deviation in each recurrent class."""
        return self._deviations(flowing=False)

    def _deviations(self, *, flowing: bool) -> tuple[float, ...]:
        variances = step_variances(self.model, self.gains, self.bias, flowing=flowing)
        weighted = self.pair_shares * np.where(self.pair_shares > 0.0, variances, 0.0)
        in_state = np.add.reduceat(weighted, self.model.pair_offsets[:-1])
        return tuple(
            math.sqrt(float(law @ in_state[states] / (law @ self.state_duration[states])))
            for law, states in zip(self.class_laws, self.classes, strict=True)
        )

    @property
    def deviation(self) -> float:
        """The standard deviation per square root of time of what is earned; see `sojourn.exact.deviation`.

        After a long time T a run has earned about gain T, give or take 1.96 deviation sqrt(T) in 95 % of the runs. Rewards and
        durations vary by their laws; without laws they count as constants, and `constant` says which.

        Somebody earns 4 or nothing every hour, each half of the time:

        >>> import sojourn as sj
        >>> coin = sj.models.from_transitions([(0, 0, 0, 0.5, 4.0, 1.0), (0, 0, 0, 0.5, 0.0, 1.0)])
        >>> worth = sj.evaluate(coin, [0])
        >>> worth.gain, worth.deviation
        (2.0, 2.0)
        """
        self._check_one_class()
        return self.class_deviations[0]

    @property
    def flowing_deviation(self) -> float:
        """The deviation if rewards come evenly while each sojourn lasts, as `earning` in a model of rates does.

        A machine earns 5 an hour while it is up, for 10 hours on average, and nothing while it is down, for 1:

        >>> import sojourn as sj
        >>> machine = sj.models.from_rates([("up", 0, "down", 0.1), ("down", 0, "up", 1.0)], earning={("up", 0): 5.0})
        >>> worth = sj.evaluate(machine, [0, 0])
        >>> round(worth.flowing_deviation**2, 6)  # 5^2 2 (.1) 1 / 1.1^3
        3.756574
        >>> round(worth.deviation**2, 1)  # if a sojourn paid 50, however long it is
        189.7
        """
        self._check_one_class()
        return self._deviations(flowing=True)[0]

    def _check_one_class(self) -> None:
        if len(self.classes) > 1:
            raise ValueError(
                f"the policy has {len(self.classes)} recurrent classes, and a deviation for each; use class_deviations"
            )

    @functools.cached_property
    def sensitivity(self) -> Sensitivity:
        """By how much the gain changes if a reward, a duration or a probability of the model does."""
        return sensitivity(self)

    @functools.cached_property
    def advantages(self) -> Floats:
        """What each pair of the model earns in the long run beyond the policy's own action, if it is taken once.

        For the best policy no number is above 0.

        >>> import sojourn as sj
        >>> sj.evaluate(sj.problems.long_shot(), [0]).advantages  # 5 in a time of 1, or 12 in one of 4
        array([ 0., -8.])
        """
        return 0.0 - losses(self.model, self.gain, self.bias)

    def table(self) -> Any:
        """Return what is known about the policy as a data frame of Polars; `Solution.table` says what is in it."""
        return users_constructor("sojourn.exact.policy_table:table_of")(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the policy, and return the figure of matplotlib: a map if states are pairs of numbers, else bars.

        A third part of the states makes several maps; with `ax`, axes of your own, the first of them is drawn there.
        """
        return _drawing("plot")(self, ax)

    def _repr_html_(self) -> str:
        return str(_drawing("value_html")(self))

    @property
    def constant(self) -> str:
        """Which of "rewards and durations" have no laws in the model, so that their deviation counts as 0; "" if none."""
        return without_laws(self.model)

    def earned(self, time: float, level: float = 0.95) -> tuple[float, float]:
        """Return between which numbers the reward over a long time will be, with this probability.

        >>> import sojourn as sj
        >>> coin = sj.models.from_transitions([(0, 0, 0, 0.5, 4.0, 1.0), (0, 0, 0, 0.5, 0.0, 1.0)])
        >>> [round(end) for end in sj.evaluate(coin, [0]).earned(10_000)]
        [19608, 20392]
        """
        reach = _reach(level) * self.deviation * math.sqrt(positive("time", time))
        return self.gain * time - reach, self.gain * time + reach

    def time_to_tell(self, other: PolicyValue, level: float = 0.95, power: float = 0.8) -> float:
        """Return how long both policies must run until their gains can be told apart; infinite if these are equal.

        Each runs by itself for this time. With the probability `power`, the interval for the difference of what they earn,
        at this level, then does not contain 0.

        >>> import sojourn as sj
        >>> safe = sj.models.from_transitions([(0, 0, 0, 1.0, 1.8, 1.0)])
        >>> coin = sj.models.from_transitions([(0, 0, 0, 0.5, 4.0, 1.0), (0, 0, 0, 0.5, 0.0, 1.0)])
        >>> round(sj.evaluate(coin, [0]).time_to_tell(sj.evaluate(safe, [0])))  # (1.96 + .84)^2 4 / .2^2
        785
        """
        apart = self.gain - other.gain
        reach = _reach(level) + float(ndtri(proper_fraction("power", power)))
        if apart == 0.0:
            return math.inf
        return reach**2 * (self.deviation**2 + other.deviation**2) / apart**2


@overload
def evaluate(model: SMDP, policy: PolicyLike) -> PolicyValue: ...
@overload
def evaluate(
    model: SMDP,
    policy: PolicyLike,
    *,
    discount: float | None = None,
    paid: Paid = "start",
    until: Hashable | Iterable[Hashable] | None = None,
    steps: int | None = None,
) -> TotalValue: ...
@told
def evaluate(
    model: SMDP,
    policy: PolicyLike,
    *,
    discount: float | None = None,
    paid: Paid = "start",
    until: Hashable | Iterable[Hashable] | None = None,
    steps: int | None = None,
) -> PolicyValue | TotalValue:
    """Return the exact gain of a policy, its bias, its stationary law and the rates of all amounts.

    A policy is an action for each state, or probabilities [state, action], or a dictionary of names, {state: action},
    which may leave out states that have only one action.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> worth = evaluate(model, [0, 0])
    >>> worth.gain, worth.stationary, worth.mean_duration
    (1.0, array([0.5, 0.5]), 2.0)
    >>> worth.mean_cycle  # once round takes 1 + 3
    array([4., 4.])
    >>> from sojourn.models.problems import long_return
    >>> evaluate(long_return(), {"choice": "A", "return": "A"}).gain
    10.0

    With `discount`, `until` or `steps` it is what the policy is worth in total, as in `sojourn.solve`:

    >>> evaluate(model, [0, 0], until=1), evaluate(model, [0, 0], steps=5)
    (TotalValue(values=[4.0, 0.0]), TotalValue(values=[12.0, 8.0]))
    """
    check_model(model)
    total = asked(model, discount, paid, until, steps)
    if total is not None:
        return evaluate_total(model, policy, total)
    chain = chain_of(model, policy)
    (gains, bias, classes), laws = _valued(chain)
    shares = pair_shares(model, policy)
    amounts = {"reward": chain.reward, "duration": chain.duration} | {
        name: state_means(model, policy, each) for name, each in model.amounts.items()
    }
    return PolicyValue(
        model, gains, bias, tuple(classes), tuple(laws), chain.duration, chain.reward, amounts, shares
    )


def _drawing(name: str) -> Callable[..., Any]:
    """Return a function of the room that draws, which is above this one, so it is not imported before it is asked for."""
    return users_constructor(f"sojourn.answers.notebook:{name}")


def _reach(level: float) -> float:
    return float(ndtri(0.5 + proper_fraction("level", level) / 2.0))


def _valued(chain: Chain) -> tuple[Valued, list[Floats]]:
    """Return the gains, the bias and the classes of a chain, and the stationary law of each class."""
    factored = by_factors(chain)
    if factored is not None:
        return factored
    found = valued(chain, sure=True)
    return found, [stationary(chain.matrix[states][:, states]) for states in found.classes]


def by_factors(chain: Chain) -> tuple[Valued, list[Floats]] | None:
    """Do the same for a large chain of one class by factors; None for others, or if these would not fit or not do."""
    if len(chain.reward) > LARGEST:
        classes = classes_of(chain)
        if len(classes) == 1 and estimate(chain.matrix).entries <= MOST_ENTRIES:
            with np.errstate(all="ignore"), contextlib.suppress(NotSolvedError):
                return _factored(chain, classes[0])
    return None


@one_thread()
def _factored(chain: Chain, states: Ints) -> tuple[Valued, list[Floats]]:
    """Do the same for a large chain of one class by one factorisation, and refuse what rounding may have spoiled."""
    factors = Factored(chain, states)
    gain, bias = factors.valued()
    law = factors.law[states] / factors.law[states].sum()
    for _ in range(_CORRECTIONS):
        more, moved = factors.corrected(chain.reward - gain * chain.duration + chain.matrix @ bias - bias)
        gain, bias = gain + more, bias + moved
        size = float(law @ (np.abs(chain.reward) + abs(gain) * chain.duration)[states])
        terms = np.abs(chain.reward) + abs(gain) * chain.duration
        small = (np.abs(moved) <= _CLOSE * (np.abs(bias) + terms.mean())).all()
        if small and abs(more) * float(law @ chain.duration[states]) <= _CLOSE * size:
            inside = chain.matrix[states][:, states]
            if (law >= 0.0).all() and np.abs(law @ inside - law).sum() <= _CLOSE:
                bias -= bias[states[0]]
                return Valued(np.full(len(bias), gain), bias, [states]), [law]
    raise NotSolvedError("rounding has spoiled the answer")


class PolicyGains:
    """The gains of policies that start in state 0; only the states that a policy reaches from there count.

    The gain is NaN if a policy takes an action that a state does not have, or never lets time pass.

    >>> import sojourn as sj
    >>> gains = PolicyGains(sj.problems.long_shot())  # one state: the short action earns 5, the long one 3
    >>> gains([0]), gains([1]), gains([2])
    (5.0, 3.0, nan)
    """

    def __init__(self, model: SMDP) -> None:
        self._model = model
        self._pairs: list[list[int]] = model.pair_table().tolist()
        ends = model.row_offsets.tolist()
        successors = model.successor.tolist()
        self._next = [successors[ends[pair] : ends[pair + 1]] for pair in range(model.num_pairs)]
        self._known: dict[tuple[tuple[int, int], ...], float] = {}

    def __call__(self, policy: Sequence[int]) -> float:
        """Return the gain of a policy, an action for each state."""
        taken = self._reached(policy)
        if taken is None:
            return math.nan
        key = tuple(sorted(taken.items()))
        if key not in self._known:
            self._known[key] = self._computed(np.array(policy), np.array([state for state, _ in key]))
        return self._known[key]

    def _reached(self, policy: Sequence[int]) -> dict[int, int] | None:
        """Return the action of each state that is reached from state 0; None if a state does not have the action."""
        taken: dict[int, int] = {}
        waiting = [0]
        while waiting:
            state = waiting.pop()
            if state not in taken:
                taken[state] = action = int(policy[state])
                pair = self._pairs[state][action] if 0 <= action < self._model.num_actions else -1
                if pair < 0:
                    return None
                waiting += self._next[pair]
        return taken

    def _computed(self, policy: Ints, reached: Ints) -> float:
        elsewhere = np.setdiff1d(np.arange(self._model.num_states), reached)
        policy = policy.astype(np.int64)
        policy[elsewhere] = self._model.action[self._model.pair_offsets[elsewhere]]  # any action will do
        chain = chain_of_pairs(self._model, pairs_of(self._model, policy))
        part = Chain(chain.matrix[reached][:, reached], chain.reward[reached], chain.duration[reached])
        try:
            return float(valued(part)[0][0])
        except (ValueError, ArithmeticError):
            return math.nan
