"""The least deviation for every gain: policies of which no other one earns more and strays less.

The deviation of a policy is not a sum over its steps, so no linear program finds these policies. With few policies, all of them
are evaluated. With many, the largest gain - price sigma^2 is sought for prices at which two policies found so far are worth
the same, by changing the action of one state as long as this improves it. What it finds is a local optimum: no change in one
state improves it, but one in several states may. (For the variance of a step in place of sigma^2: Filar, Kallenberg and Lee,
Mathematics of Operations Research 14, 1989.)
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sojourn.data.numbers import Number, at_least_zero, whole
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.models.smdp import SMDP, check_model
from sojourn.rules.arrays import Ints
from sojourn.rules.door import told

if TYPE_CHECKING:
    import polars as pl

_MOST_DEPTH, _ROUNDING = 6, 1e-12


class _Point(NamedTuple):
    policy: Ints
    gain: float
    deviation: float

    def worth(self, price: float) -> float:
        """Return the gain less the price of the variance; at an infinite price only the variance counts."""
        return -self.deviation if math.isinf(price) else self.gain - price * self.deviation**2


@told
@dataclass(frozen=True, eq=False)
class RiskFrontier:
    """Policies from the largest gain to the least deviation; `is_exact` says whether all policies were evaluated.

    >>> import sojourn as sj
    >>> risk_frontier(sj.problems.three_rides()).is_exact
    True
    """

    policies: tuple[Ints, ...]
    gains: tuple[float, ...]
    deviations: tuple[float, ...]
    is_exact: bool

    def calmest(self, share: Number) -> Ints:
        """Return the policy of least deviation among those that lose at most this share of the largest gain.

        >>> import sojourn as sj
        >>> rides = risk_frontier(sj.problems.three_rides())
        >>> rides.calmest(0.01).tolist(), rides.calmest(0.05).tolist()  # mixed, calm
        ([1, 0], [2, 0])
        """
        least = self.gains[0] - at_least_zero("share", share) * abs(self.gains[0])
        kept = [policy for policy, gain in zip(self.policies, self.gains, strict=True) if gain >= least]
        return kept[-1]

    def table(self) -> pl.DataFrame:
        """Return the gains, the deviations and the policies as a data frame of Polars; a policy is a text of actions' numbers."""
        import polars as pl  # noqa: PLC0415 - takes long to import

        policies = [" ".join(map(str, policy.tolist())) for policy in self.policies]
        return pl.DataFrame({"gain": self.gains, "deviation": self.deviations, "policy": policies})


@told
def risk_frontier(model: SMDP, most: int = 2000) -> RiskFrontier:
    """Return the policies of which no other one earns more and strays less, from the largest gain on.

    If there are at most `most` policies, all are tried and the answer is exact. Otherwise it is found step by step, and may miss
    better ones (`is_exact` is then false); each step evaluates one policy for every pair of the model. Policies are those without
    chance that have one recurrent class, and so one gain and one deviation.

    >>> import sojourn as sj
    >>> found = risk_frontier(sj.problems.three_rides())  # the wild ride earns as much as the calm one, and strays more
    >>> [round(gain, 3) for gain in found.gains], [round(deviation, 3) for deviation in found.deviations]
    ([8.333, 8.0], [2.887, 0.0])
    """
    check_model(model)
    most = whole("most", most, least=0)
    counts = np.diff(model.pair_offsets).tolist()
    exact = sum(map(math.log, counts)) <= math.log(most + 0.5)
    points = _all_points(model, counts) if exact else _points_along(model)
    front = _best(points)
    if not front:
        raise ValueError(
            "every policy has several recurrent classes; a frontier needs policies with one, and so with one deviation"
        )
    policies, gains, deviations = zip(*front, strict=True)
    return RiskFrontier(policies, gains, deviations, exact)


def _all_points(model: SMDP, counts: list[int]) -> list[_Point]:
    first = model.pair_offsets[:-1]
    found = (_point(model, model.action[first + places]) for places in itertools.product(*map(range, counts)))
    return [point for point in found if point is not None]


def _point(model: SMDP, policy: Ints) -> _Point | None:
    worth = evaluate(model, policy)
    if len(worth.classes) > 1:
        return None
    return _Point(np.asarray(policy, dtype=np.int64), worth.gain, worth.deviation)


def _best(points: list[_Point]) -> list[_Point]:
    """Return the points that no other point is above and left of, from the largest gain on."""
    front: list[_Point] = []
    rough = _ROUNDING * max((abs(point.gain) + point.deviation for point in points), default=0.0)
    for point in sorted(points, key=lambda each: (-each.gain, each.deviation)):
        if front and point.deviation >= front[-1].deviation - rough:
            continue
        if front and point.gain >= front[-1].gain - rough:
            front.pop()
        front.append(point)
    return front


def _points_along(model: SMDP) -> list[_Point]:
    best = _point(model, np.asarray(solve(model).policy))
    if best is None:
        raise ValueError(
            "the best policy has several recurrent classes; a frontier needs policies with one, and so with one deviation"
        )
    calm = _climbed(model, best, math.inf)
    return [best, *_between(model, best, calm, _MOST_DEPTH), calm]


def _between(model: SMDP, bold: _Point, calm: _Point, depth: int) -> list[_Point]:
    """Return policies that are worth more than these two at the price at which both are worth the same."""
    fall, calmer = bold.gain - calm.gain, bold.deviation**2 - calm.deviation**2
    rough = _ROUNDING * (abs(bold.gain) + bold.deviation)
    if depth == 0 or not (fall > rough and calmer > 0.0 and math.isfinite(calmer)):
        return []
    price = fall / calmer
    found = max((_climbed(model, start, price) for start in (bold, calm)), key=lambda each: each.worth(price))
    if found.worth(price) <= max(bold.worth(price), calm.worth(price)) + rough:
        return []
    return [*_between(model, bold, found, depth - 1), found, *_between(model, found, calm, depth - 1)]


def _climbed(model: SMDP, point: _Point, price: float) -> _Point:
    """Return the policy at which no change of the action in one state is worth more at this price."""
    unchanged, state = 0, 0
    while unchanged < model.num_states:
        actions = model.action[model.pair_offsets[state] : model.pair_offsets[state + 1]]
        old = point
        for action in actions[actions != old.policy[state]]:
            policy = old.policy.copy()
            policy[state] = action
            other = _point(model, policy)
            size = _ROUNDING * (abs(point.worth(price)) + abs(point.gain) * (not math.isinf(price)))
            if other is not None and other.worth(price) > point.worth(price) + size:
                point = other
        unchanged, state = (unchanged + 1 if point is old else 0), (state + 1) % model.num_states
    return point
