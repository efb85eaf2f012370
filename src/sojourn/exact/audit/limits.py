"""The long-run limit of every estimator of the rate, under a fixed policy.

In the long run a policy visits its pairs with fixed shares, so that reward r and duration tau
of a step have a joint law, whatever the steps before. With E[x; A] for the mean of x on A and 0
elsewhere, and P+ and P- for the shares of steps with r > 0 and r < 0:

    Cumulative, SmoothedCumulative       E[r] / E[tau], the gain
    Exponential, TimeSmoothed            the same, for small step sizes
    Incremental                          the same, for small step sizes; R-Learning's evidence, r + max Q(s')
                                         - max Q(s), has the same mean, since the values telescope
    Harmonic, CumulativeHarmonic         P+^2 / E[tau/r; r > 0] + P-^2 / E[tau/r; r < 0]
    WeightedHarmonic                     P+ E[r; r > 0] / E[tau; r > 0] + P- E[r; r < 0] / E[tau; r < 0]
    Fixed                                its constant, here 0

The cumulative ones converge; the others, with a constant step size, go on to fluctuate about a
value that tends to this limit with the step size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sojourn.exact.audit.signs import parts
from sojourn.exact.policies import PolicyValue
from sojourn.models import laws
from sojourn.models.smdp import SMDP, Floats

# Each estimator, and the agents that have it as their own.
ESTIMATORS = {
    "Cumulative": ("smart",),
    "SmoothedCumulative": ("relaxed_smart(variant='gosavi')",),
    "Exponential": ("relaxed_smart",),
    "Harmonic": ("harmonic_r",),
    "CumulativeHarmonic": (),
    "WeightedHarmonic": ("weighted_harmonic_r",),
    "TimeSmoothed": (),
    "Incremental": ("r_learning", "differential_q"),
    "Fixed": ("fixed_rate",),
}
_HARMONIC, _WEIGHTED = ("Harmonic", "CumulativeHarmonic"), ("WeightedHarmonic",)


class Side(NamedTuple):
    """The steps of one sign of the reward: their share, and means over all steps that are 0 on the others."""

    share: float
    reward: float
    duration: float
    duration_per_reward: float

    @property
    def harmonic(self) -> float:
        """What the sign adds to the modified harmonic mean."""
        return self.share**2 / self.duration_per_reward if self.share else 0.0

    @property
    def weighted(self) -> float:
        """What it adds where each rate has the weight of its reward."""
        return self.share * self.reward / self.duration if self.share else 0.0


class Steps(NamedTuple):
    """Reward and duration of a step in the long run."""

    reward: float
    duration: float
    positive: Side
    negative: Side

    def limit(self, estimator: str) -> float:
        """Return what an estimator comes to."""
        if estimator in _HARMONIC:
            return self.positive.harmonic + self.negative.harmonic
        if estimator in _WEIGHTED:
            return self.positive.weighted + self.negative.weighted
        return 0.0 if estimator == "Fixed" else self.reward / self.duration


def steps_of(model: SMDP, policy: Any, worth: PolicyValue) -> Steps:
    """Return the law of a step in the long run, as far as the limits depend on it.

    >>> from sojourn.models.problems import long_shot
    >>> from sojourn.exact.policies import evaluate
    >>> model = long_shot()
    >>> steps = steps_of(model, [0], evaluate(model, [0]))
    >>> steps.limit("Cumulative"), round(steps.limit("Harmonic"), 9)
    (5.0, 1.8)
    """
    reward, duration, by_rows = model.flat_laws()
    weight = _pair_shares(model, policy, worth)
    if by_rows:
        counts = np.diff(model.row_offsets)
        weight = np.repeat(weight, counts) * model.probability
    taken = np.flatnonzero(weight)
    weight = weight[taken]
    mean_duration = laws.means(laws.FlatLaws(duration.kind[taken], duration.parameters[taken]))
    chosen = laws.FlatLaws(reward.kind[taken], reward.parameters[taken])
    above, below = parts(chosen)
    return Steps(
        reward=float(weight @ laws.means(chosen)),
        duration=float(weight @ mean_duration),
        positive=_side(weight, above, mean_duration),
        negative=_side(weight, below, mean_duration),
    )


def _side(weight: Floats, part: Floats, duration: Floats) -> Side:
    # Reward and duration are independent once the place is known; their dependence is between places.
    share, reward, inverse = part.T
    return Side(
        share=float(weight @ share),
        reward=float(weight @ reward),
        duration=float(weight @ (share * duration)),
        duration_per_reward=float(weight @ (inverse * duration)),
    )


def _pair_shares(model: SMDP, policy: Any, worth: PolicyValue) -> Floats:
    """Return the share of steps that each pair has in the long run."""
    state, given = model.state_of_pair(), np.asarray(policy)
    taken = (given[state] == model.action) if given.ndim == 1 else given[state, model.action]
    return np.asarray(worth.stationary[state] * taken)
