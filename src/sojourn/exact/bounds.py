"""The solution that a solver returns, and bounds on the optimal gain that hold for any bias.

For any numbers h, one for each state, let

    ratio(s, a) = (r(s, a) + sum P(s' | s, a) h(s') - h(s)) / d(s, a)
    L(h) = min over s of max over a of ratio(s, a)        U(h) = max over s and a of ratio(s, a)

**Theorem.** From every state, no policy has a gain above U(h), and the policy that takes an action of the largest ratio
in each state has a gain of at least L(h). So the optimal gain of every state is between L(h) and U(h).

Proof: r(s, a) <= U d(s, a) + h(s) - sum P h for every pair. Sum this along a path of n steps and
take the mean: the h telescope, and

    E[sum of rewards] <= U E[sum of durations] + max h - min h.

Divide by E[sum of durations], which grows in proportion to n; the last part vanishes. For
the policy of the largest ratios, r >= L d + h - P h, and the same sum gives the lower bound. (For
d = 1 these are Odoni's bounds, Operations Research 17, 1969; `ratio` is what one step of
value iteration adds in Schweitzer's transformed model.)

If d = 0, the ratio is infinite with the sign of its numerator, and 0 / 0 is chosen so that it does no harm: -infinity in U,
infinity in L. `longest_timeless` helps to find a bias for which no such ratio spoils the bounds.

The bounds assume nothing about the chains. If they meet, the optimal gain does not depend on the state, and it is known;
so they are the certificate of any solver that closes them.

The theorem is about real numbers, and the bounds hold for real numbers: L is rounded down and U up, by more than all rounding
on the way can have added. The model is taken exactly as its floats say, with each pair's probabilities divided by their sum.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sojourn.data.names import users_constructor
from sojourn.deploy.interface import About, version
from sojourn.exact.chains import LARGEST, carried
from sojourn.exact.constraints import Constraint
from sojourn.exact.errors import NotSolvedError, check_one_class
from sojourn.exact.operators import Workers, improve_block, prove_block
from sojourn.exact.policy_files import SolvedPolicy
from sojourn.exact.sensitivity import Alternatives, alternatives
from sojourn.models.chain import chain_of_pairs, expected
from sojourn.models.labels import labelled
from sojourn.models.smdp import SMDP
from sojourn.models.structure import findings, one_gain
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

if TYPE_CHECKING:
    from sojourn.exact.policies import PolicyValue

_SHOWN = 10  # states in a solution's repr
_LATER = 10  # steps after which rare and passing rewards count as often as they are met
_CLOSER = 1e-3  # from one stage of a goal to the next
_POLICIES = 100  # tried at most in the search for the longest run of decisions without time
_AT_ONE_INSTANT = 300  # decisions without time in a row that are followed one by one in larger models
_ROUNDING = 1e-14  # relative to the gain: no bounds in floats come much closer

_timeless: weakref.WeakKeyDictionary[SMDP, Floats | None] = (
    weakref.WeakKeyDictionary()
)  # computed once for each model


@told
@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """An optimal policy, its gain, and proven bounds on the optimal gain.

    `gains` is the optimal gain from each state and `policy` an action for each state, which can also be asked for by the
    state's own name or label. `bias` solves the optimality
    equation h = max_a (r - gain d + P h) with an error of at most `residual`; it is 0 in one state of each class. The
    optimal gain of every state is at least `lower` and at most `upper`. If the model was estimated, for example from a
    log, so is the solution: nothing is proven, and `lower` and `upper` are infinite. `is_coarse` says that the bounds are
    further apart than the tolerance asks because floats can do no better; `findings` then says how far.

    With `limits`, `policy` has the probability of each action, [state, action], and no policy within the limits has a gain
    above `upper`. The policy has a gain of at least `lower`, and keeps the limits up to rounding. `prices` has a number for
    each limit, never below 0: what one unit more of the limited amount would be worth, in units of the reward, if "at
    most" allowed it, or one unit less if "at least" did. A limit that does not bind has the price 0. If the bound of a
    limit moves by a little, the gain moves by the price times what the policy has of `per` in the unit that the gain is
    counted per; for a limit per unit time, by the price itself. The bias is that of the rewards less what the limits cost
    at these prices.

    With `discount`, `until` or `steps`, `values` has the largest mean total from each state, which is at least `lower` and at
    most `upper` there; these are then arrays too. `criterion` says in words what is counted. For a number of steps,
    `policy` is [step, state], with the first step first. A total has no gain, so `gains` is NaN.

    >>> import sojourn as sj
    >>> found = sj.solve(sj.problems.long_return())  # 30 in a time of 2 + 1, or 770 in one of 100 + 1
    >>> found.gain, found.policy, found.upper - found.lower < 1e-9
    (10.0, array([0, 0]), True)
    >>> found.policy["choice"]
    'A'
    >>> found
    Solution(gain=10.0, policy={'choice': 'A', 'return': 'A'}, solver='policy iteration')
    """

    model: SMDP
    gains: Floats
    bias: Floats
    policy: npt.NDArray[Any]  # actions, or probabilities [state, action]
    lower: Any  # a float, or for a total an array of them
    upper: Any
    residual: float
    iterations: int
    solver: str
    seconds: float
    is_coarse: bool = False
    limits: tuple[Constraint, ...] = ()
    prices: tuple[float, ...] = ()
    values: Any = None  # an array for a total
    criterion: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "policy", labelled(self.model, self.policy))
        if self.is_estimate:
            far = np.inf if self.values is None else np.full(len(self.values), np.inf)
            object.__setattr__(self, "lower", -far)
            object.__setattr__(self, "upper", far)

    def __repr__(self) -> str:
        numbers = self.gains if self.values is None else self.values
        name = "gain" if self.values is None else "value"
        gain = f"{name}s=[{_short(list(map(repr, numbers.tolist())))}]"
        if self.values is None and numbers.max() == numbers.min():
            gain = f"gain={float(numbers[0])}"
        actions, states = self.model.action_labels, self.model.labels
        first: list[Any] = self.first_policy[: _SHOWN + 1].tolist()
        policy = [_named_action(actions, each) for each in first]
        shown = f"[{_short(list(map(repr, policy)))}]"
        if not isinstance(states, range):
            shown = "{" + _short([f"{s!r}: {a!r}" for s, a in zip(states, policy, strict=False)]) + "}"
        worth = ""
        if self.model.counts is not None:
            observed = self.model.counts.sum()
            worth = f"an estimate without proven bounds, from {observed:,} observations: "
        return f"Solution({worth}{gain}, policy={shown}, solver={self.solver!r})"

    @property
    def is_estimate(self) -> bool:
        """Whether the model was estimated, so that nothing is proven."""
        return self.model.counts is not None

    @property
    def gain(self) -> float:
        """The optimal gain, if it is the same from every state; otherwise an error is raised."""
        if self.values is not None:
            raise ValueError(
                f"this is the solution for a {self.criterion}, which has no gain; use values, or evaluate(model, policy).gain"
            )
        return one_gain(self.gains)

    def write_policy(self, path: str | Path) -> None:
        """Write the policy to a .csv file, as a table, or to a .json file, which `sojourn.load_policy` reads."""
        criterion = self.criterion or "reward per unit of time"
        about: About = {"agent": "solve", "options": {"criterion": criterion}, "sojourn": version()}
        SolvedPolicy(self.model, self.policy, about=about).write(path)

    @cached_property
    def worth(self) -> PolicyValue:
        """What `sojourn.evaluate` finds about the policy, computed when it is first asked for."""
        if not np.isfinite(self.gains).all():
            raise ValueError(
                f"this is the solution for a {self.criterion}, which says nothing of the long run; use values and table(), or "
                "evaluate(model, policy)"
            )
        found: PolicyValue = users_constructor("sojourn.exact.policies:evaluate")(
            self.model, np.asarray(self.policy)
        )
        return found

    @property
    def deviation(self) -> float:
        """The standard deviation per square root of time of what the policy earns; see `PolicyValue.deviation`."""
        return self.worth.deviation

    def alternatives(self) -> Alternatives:
        """Return how close other actions come, and how far each reward may move before the policy changes."""
        return alternatives(self.worth)

    def table(self) -> Any:
        """Return what is known about the policy as a data frame of Polars, with a row for each state.

        The columns are the state, or each of its parts if states are tuples; its action; its share of the time; its bias; the
        action that comes second, what is lost each time that it is taken, and what the gain loses if it always is; and how
        far the reward of the own action may fall or rise before another action is as good in some state. The last three are for models
        of up to 1,000 states. What is not known is left out. For a total they are the state, its action (for a number of
        steps, that of the first), the value, and its bounds.

        >>> import sojourn as sj
        >>> sj.solve(sj.problems.long_shot()).table().row(0, named=True)  # 5 in a time of 1, or 12 in one of 4
        {'state': 0, 'action': 'A', 'share_of_time': 1.0, 'bias': 0.0, 'second_best': 'B', 'loss': 8.0, 'cost': 2.0, 'reward_may_fall': 2.0, 'reward_may_rise': inf}
        """
        if self.values is None:
            return self.worth.table()
        table = users_constructor("sojourn.exact.policy_table:table_of_total")
        return table(self.model, self.first_policy, self.values, self.lower, self.upper)

    def plot(self, ax: Any = None) -> Any:
        """Draw the policy as `PolicyValue.plot` does, and return the figure of matplotlib.

        A total has a map only, since shares of time do not matter; for a number of steps it is that of the first.
        """
        if self.values is None:
            return self.worth.plot(ax)
        return users_constructor("sojourn.answers.notebook:plot_total")(self, ax)

    @property
    def first_policy(self) -> npt.NDArray[Any]:
        """The policy; for a total of a number of steps, that of the first step."""
        policy = np.asarray(self.policy)
        return policy[0] if self.criterion and policy.ndim == 2 else policy

    def _repr_html_(self) -> str:
        return str(users_constructor("sojourn.answers.notebook:solution_html")(self))

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences on anything unusual: absorbing states, states that are left for good, bounds that are far apart."""
        if self.values is not None:
            return self.notes  # what the model is like in the long run does not matter
        if not self.is_coarse or self.is_estimate:
            return (*self.notes, *findings(self.model))
        return (
            *self.notes,
            f"the gain is known to within {self.upper - self.lower:.1g}; the states differ so much in worth that floats can do "
            "no better",
            *findings(self.model),
        )


def _named_action(actions: Sequence[Any], chosen: Any) -> Any:
    """Return the label of an action, or for probabilities the label of the only one, or those that are above 0."""
    if not isinstance(chosen, list):
        return actions[chosen]
    drawn = {actions[a]: chance for a, chance in enumerate(chosen) if chance > 0.0}
    return drawn if len(drawn) > 1 else next(iter(drawn))


def _short(texts: Sequence[str]) -> str:
    """Return the first items of a list."""
    return ", ".join(texts[:_SHOWN]) + (", ..." if len(texts) > _SHOWN else "")


def bounds(model: SMDP, bias: Floats, pairs: Ints | None = None) -> tuple[float, float]:
    """Return the lower and upper bound on the optimal gain that a bias gives, rounded outwards; any bias will do.

    With `pairs`, the lower bound is a bound on the gain of the policy that takes them.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]])
    >>> lower, upper = bounds(model, np.array([2.0, 0.0]))
    >>> lower < 2.0 < upper, upper - lower < 1e-13
    (True, True)
    """
    bias = np.ascontiguousarray(bias, dtype=np.float64)
    if bias.shape != (model.num_states,):
        raise ValueError(
            f"bias has the shape {bias.shape}; it must have one number for each of {model.num_states} states"
        )
    lower, upper, _ = proven(model, bias, pairs)
    return lower, upper


def proven(model: SMDP, bias: Floats, pairs: Ints | None = None) -> tuple[float, float, Ints]:
    """Return the bounds that a bias gives, and the pairs of a policy whose gain is at least the lower bound."""
    steps = longest_timeless(model)
    low, high, nothing = np.empty((3, model.num_states))
    with Workers(model) as workers:
        if steps is None:
            if pairs is None:
                pairs = model.pair_offsets[:-1].copy()
                workers.sweep(improve_block, bias, 0.0, 0.0, True, pairs, low, high)
            workers.sweep(prove_block, bias, pairs, low, high)
            return float(low.min()), float(high.max()), pairs
        zero = np.flatnonzero(model.duration == 0.0)
        most = _shifted(model, bias, steps, zero, 1.0)
        workers.sweep(prove_block, most, model.pair_offsets[:-1], nothing, high)
        if pairs is None:
            pairs = model.pair_offsets[:-1].copy()
            workers.sweep(improve_block, bias, float(high.max()), 0.0, False, pairs, low, nothing)
        least = _shifted(model, bias, steps, pairs[model.duration[pairs] == 0.0], -1.0)
        workers.sweep(prove_block, least, pairs, low, nothing)
    return float(low.min()), float(high.max()), pairs


def _shifted(model: SMDP, bias: Floats, steps: Floats, timeless: Ints, sign: float) -> Floats:
    """Return a bias with which these pairs gain nothing (sign 1) or lose nothing (sign -1); see `longest_timeless`."""
    if not timeless.size:
        return bias
    offsets, rows = model.rows_of(timeless)
    here = bias[model.state_of_pair()[timeless]]
    gap = bias[model.successor[rows]] - np.repeat(here, np.diff(offsets))
    gained = model.reward[timeless] + np.add.reduceat(model.probability[rows] * gap, offsets[:-1])
    rounding = 1e-14 * (np.abs(bias).max() + np.abs(model.reward[timeless]).max())
    return bias + sign * 2.0 * max(float((sign * gained).max() + rounding), 0.0) * steps


def longest_timeless(model: SMDP) -> Floats | None:
    """Return the largest mean number of timeless decisions in a row from each state, or None if all take time.

    It is finite, since no model can go on for ever without time passing. Bounds on the gain need it: r + P h - h <= U d must
    hold for every pair, so where d = 0 the left side must not be above 0, and rounding alone could push it there. Let k be
    the numbers returned here. For every pair that takes no time, k(s) - P k is at least 1/2, so adding 2 e k to h lowers its
    left side by at least e.

    >>> from sojourn.models import from_transitions
    >>> retry = from_transitions([(0, 0, 0, 0.75, 1.0, 0.0), (0, 0, 1, 0.25, 1.0, 0.0), (1, 0, 0, 1.0, 0.0, 2.0)])
    >>> longest_timeless(retry)
    array([4., 0.])
    """
    if model not in _timeless:
        _timeless[model] = _longest_timeless(model)
    return _timeless[model]


def repriced(model: SMDP, reward: Floats) -> SMDP:
    """Return the model with other rewards; what depends on its transitions and durations alone is not computed again."""
    priced = model.with_means(reward, model.duration)
    if model.duration.min() == 0.0:
        _timeless[priced] = longest_timeless(model)
    return priced


def _longest_timeless(model: SMDP) -> Floats | None:
    zero = np.flatnonzero(model.duration == 0.0)
    if not zero.size:
        return None
    state, counts = model.state_of_pair(), np.diff(model.row_offsets)
    inner, first = np.unique(state[zero], return_index=True)
    pairs, steps = model.pair_offsets[:-1].copy(), np.zeros(model.num_states)
    if model.num_states > LARGEST:
        offsets, rows = model.rows_of(zero)
        for _ in range(_AT_ONE_INSTANT):
            ahead = np.add.reduceat(model.probability[rows] * steps[model.successor[rows]], offsets[:-1])
            before, steps[inner] = steps[inner], 1.0 + np.maximum.reduceat(ahead, first)
            if (steps[inner] - before).max() <= 0.25:
                return steps
        steps[:] = 0.0
    pairs[inner] = zero[first]
    for _ in range(_POLICIES):
        rows = chain_of_pairs(model, pairs).matrix[inner]
        ones = np.ones((len(inner), 1))
        steps[inner] = carried(rows, inner, np.zeros((model.num_states, 1)), ones)[:, 0]
        gap = steps[model.successor] - np.repeat(steps[state], counts)
        more = 1.0 + np.add.reduceat(model.probability * gap, model.row_offsets[:-1])[zero]
        better = np.flatnonzero(more > 0.25)
        if not better.size:
            return steps
        better = better[np.lexsort((-more[better], state[zero[better]]))]
        states, first = np.unique(state[zero[better]], return_index=True)
        pairs[states] = zero[better[first]]
    raise NotSolvedError(
        f"decisions that take no time follow each other up to {steps.max():.3g} times in a row, "
        "too often for proven bounds; raise the probability that time passes"
    )


class Goal:
    """The gap between the bounds that a tolerance allows: about `tolerance` times E|r - g d| / E d.

    This has the units of a gain, and the means are those of the policy that was found. A reward in proportion to time,
    which any policy would get, does not change it, nor does a huge cost that the policy avoids. The means are taken over
    the states where the policy is some steps after a start in any state, so a huge reward that is met rarely or only once
    counts little. A policy may earn the same at every step, perhaps nothing; so a thousandth of how far the rewards of all
    pairs usually are from the usual rate is added.

    Since the policy is not known in advance, the gap is closed in stages; `near` is the gap of the next stage.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> round(Goal(model, tolerance=0.01).allowed(np.array([0, 1]), gain=1.0), 9)  # (3 + 3) / (1 + 3), and a thousandth more
    0.01502
    """

    def __init__(self, model: SMDP, tolerance: float) -> None:
        self._model, self._tolerance = model, tolerance
        self.near = self._enough = np.nan
        self._pairs: Ints | None = None

    def begin(self, apart: float, gain: float) -> None:
        """Set the first stage, given the gap between the first bounds."""
        self.near = max(self._tolerance * min(apart, 1e300), _ROUNDING * abs(gain))

    def reached(self, apart: float, pairs: Ints, gain: float) -> bool:
        """Return whether this gap between the bounds is small enough for a policy; if not, set the next stage."""
        if self._pairs is None or (pairs != self._pairs).any():
            self._pairs, self._enough = pairs.copy(), self.allowed(pairs, gain)
        if apart > self._enough:
            # If this stage was no further than what is allowed, rounding took up the rest.
            ahead = max(_CLOSER * min(apart, self.near), self._enough)
            self.near = ahead if self.near > self._enough else self.near / 2.0
            if not self.near > self._enough / 8.0:
                self.near = -1.0  # out of reach
        return apart <= self._enough

    def allowed(self, pairs: Ints, gain: float) -> float:
        """Return the gap between the bounds that is allowed for the policy that takes these pairs."""
        offsets, rows = self._model.rows_of(pairs)
        probability, successor = self._model.probability[rows], self._model.successor[rows]
        chain = sparse.csr_array((probability, successor, offsets), shape=(len(pairs), len(pairs)))
        duration = self._model.duration[pairs]
        amounts = np.column_stack([np.abs(self._model.reward[pairs] - gain * duration), duration])
        for _ in range(_LATER):
            amounts += 0.9 * (chain @ amounts - amounts)
        around, taken = amounts.mean(axis=0).tolist()
        return float(self._tolerance * (around / taken + self._least) + _ROUNDING * abs(gain))

    @cached_property
    def _least(self) -> float:
        reward, duration = self._model.reward, self._model.duration
        usual = np.median(reward[duration > 0.0] / duration[duration > 0.0])
        off = np.abs(reward - usual * duration)
        return 1e-3 * float(np.median(off[off > 0.0]) / duration.mean()) if off.any() else 0.0


def middle(lower: float, upper: float) -> float:
    """Return a number between two bounds, halfway if floats allow it.

    >>> middle(1.0, 2.0), middle(5e-324, 5e-324), middle(1.7e308, 1.7e308)
    (1.5, 5e-324, 1.7e+308)
    """
    return min(max(lower / 2.0 + upper / 2.0, lower), upper)


def residual(model: SMDP, gains: Floats, bias: Floats) -> float:
    """Return the largest error of h = max_a (r - gain d + P h) over all states.

    Only actions that keep the gain count, not those that lead to a smaller gain on average.
    """
    state = model.state_of_pair()
    surplus = model.reward - gains[state] * model.duration + expected(model, bias) - bias[state]
    surplus[expected(model, gains) < gains[state] - 1e-9 * (gains.max() - gains.min())] = -np.inf
    return float(np.abs(np.maximum.reduceat(surplus, model.pair_offsets[:-1])).max())


def not_solved(model: SMDP, sweeps: int, bias: Floats, tolerance: float) -> NotSolvedError:
    """Return the error that says why the bounds have not met the tolerance."""
    check_one_class(model)
    lower, upper = bounds(model, bias)
    return NotSolvedError(
        f"after {sweeps} sweep{'' if sweeps == 1 else 's'} the optimal gain is known to be between {lower:.9g} and {upper:.9g}, "
        f"which is not within the tolerance of {tolerance:g}; allow more with max_sweeps, or use policy_iteration"
    )
