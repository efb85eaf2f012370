"""What a solver returns, and what it is worth: bounds on the optimal gain that hold for any bias.

For any numbers h, one for each state, let

    ratio(s, a) = (r(s, a) + sum P(s' | s, a) h(s') - h(s)) / d(s, a)
    L(h) = min over s of max over a of ratio(s, a)        U(h) = max over s and a of ratio(s, a)

**Theorem.** From every state, no policy has a gain above U(h), and the policy that takes in
each state an action of the largest ratio has a gain of at least L(h). So the optimal gain of
every state is between L(h) and U(h).

Proof: r(s, a) <= U d(s, a) + h(s) - sum P h for every pair. Sum this along a path of n steps and
take the mean: the h telescope, and

    E[sum of rewards] <= U E[sum of durations] + max h - min h.

Divide by E[sum of durations], which grows at least like n min d; the last part vanishes. For
the policy of the largest ratios, r >= L d + h - P h, and the same sum gives the lower bound. (For
d = 1 these are Odoni's bounds, Operations Research 17, 1969; `ratio` is what one step of
value iteration adds in Schweitzer's transformed model.)

The bounds need no assumption on the chains. Where they meet, the optimal gain does not depend
on the state, and it is known; so a solver that closes them proves its own answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from sojourn.exact.sweeps import Crew, improve_block
from sojourn.models.smdp import SMDP
from sojourn.models.structure import findings, one_gain, several_classes
from sojourn.rules.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Solution:
    """An optimal policy, and how far it is known to be one.

    `gains` is the optimal gain from each state, `policy` an action for each state, `bias` a
    solution h of the optimality equation h = max_a (r - gain d + P h) up to `residual`, which is 0
    in one state of each class. The optimal gain of every state is at least `lower` and at
    most `upper`. The solution of a model that was estimated, such as that of a log, is an estimate: nothing is
    proven, and `lower` and `upper` are infinite.

    >>> import sojourn as sj
    >>> found = sj.solve(sj.problems.long_return())  # 30 in a time of 2 + 1, or 770 in one of 100 + 1
    >>> found.gain, found.policy, found.upper - found.lower < 1e-9
    (10.0, array([0, 0]), True)
    """

    model: SMDP = field(repr=False)
    gains: Floats = field(repr=False)
    bias: Floats = field(repr=False)
    policy: Ints = field(repr=False)
    lower: float
    upper: float
    residual: float
    iterations: int
    solver: str
    seconds: float

    def __post_init__(self) -> None:
        if self.is_estimate:
            object.__setattr__(self, "lower", -np.inf)
            object.__setattr__(self, "upper", np.inf)

    def __repr__(self) -> str:
        shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
        if self.model.counts is None:
            return f"Solution({shown})"
        return (
            f"Solution(an estimate without proven bounds, from {self.model.counts.sum():,} observations: "
            f"gains={self.gains.tolist()}, policy={self.policy.tolist()}, solver={self.solver!r})"
        )

    @property
    def is_estimate(self) -> bool:
        """Whether the model was estimated, so that nothing is proven."""
        return self.model.counts is not None

    @property
    def gain(self) -> float:
        """The optimal gain, where it is one number."""
        return one_gain(self.gains)

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences on what is unusual about the model: absorbing states, states that are left for good."""
        return findings(self.model)


def bounds(model: SMDP, bias: Floats) -> tuple[float, float]:
    """Return the lower and upper bound on the optimal gain that any bias gives.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]])
    >>> bounds(model, np.array([0.0, 0.0])), bounds(model, np.array([2.0, 0.0]))
    ((0.0, 4.0), (2.0, 2.0))
    """
    bias = np.ascontiguousarray(bias, dtype=np.float64)
    if bias.shape != (model.num_states,):
        raise ValueError(
            f"bias has the shape {bias.shape}; it must have one number for each of {model.num_states} states"
        )
    ratio, surplus, pairs = (
        np.empty(model.num_states),
        np.empty(model.num_states),
        model.pair_offsets[:-1].copy(),
    )
    with Crew(model) as crew:
        crew.sweep(improve_block, bias, 0.0, 0.0, True, pairs, ratio, surplus)
    return float(ratio.min()), float(ratio.max())


def residual(model: SMDP, gains: Floats, bias: Floats) -> float:
    """Return the largest error of h = max_a (r - gain d + P h) over all states.

    Only actions count that keep the gain: those that lead to a smaller one on average are no choice.
    """
    starts = model.row_offsets[:-1]
    ahead = np.add.reduceat(model.probability * bias[model.successor], starts)
    kept = np.add.reduceat(model.probability * gains[model.successor], starts)
    state = model.state_of_pair()
    surplus = model.reward - gains[state] * model.duration + ahead - bias[state]
    surplus[kept < gains[state] - 1e-9 * np.maximum(1.0, np.abs(gains[state]))] = -np.inf
    return float(np.abs(np.maximum.reduceat(surplus, model.pair_offsets[:-1])).max())


class NotSolvedError(ValueError):
    """Raised when a solver does not find the optimal gain within its limits.

    >>> import sojourn as sj
    >>> try:
    ...     sj.value_iteration(sj.problems.gosavi(), max_sweeps=1)
    ... except sj.NotSolvedError as error:
    ...     print(str(error).split(";")[1].strip())
    allow more with max_sweeps, or use policy_iteration
    """


def not_solved(model: SMDP, sweeps: int, lower: float, upper: float, tolerance: float) -> NotSolvedError:
    """Return the error that says why the bounds did not meet."""
    parts = model.structure.parts
    if len(parts) > 1:
        return NotSolvedError(several_classes(model, parts))
    return NotSolvedError(
        f"after {sweeps} sweeps the optimal gain is known to be between {lower:.9g} and {upper:.9g}, "
        f"which is not within {tolerance:g}; allow more with max_sweeps, or use policy_iteration"
    )
