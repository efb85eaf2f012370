"""The law of a step in the long run under a fixed policy, from which the limits of estimators follow.

In the long run a policy visits its pairs of state and action with fixed shares, so that reward r and
duration tau of a step have a joint law, whatever the steps before. Every estimator has a rule, `limit`, that makes
its long-run value of this law. With E[x; A] for the mean of x on A and 0
elsewhere, and P+ and P- for the shares of steps with r > 0 and r < 0:

    Cumulative, SmoothedCumulative       E[r] / E[tau], the gain
    Exponential, TimeSmoothed            the same, for small step sizes
    Incremental                          the same, for small step sizes; R-Learning's evidence, r + max Q(s')
                                         - max Q(s), has the same mean, since the values telescope
    Harmonic, CumulativeHarmonic         P+^2 / E[tau/r; r > 0] + P-^2 / E[tau/r; r < 0]
    WeightedHarmonic                     P+ E[r; r > 0] / E[tau; r > 0] + P- E[r; r < 0] / E[tau; r < 0]
    Fixed                                its constant, 0 unless told otherwise

The cumulative ones converge; the others, with a constant step size, go on to fluctuate about a
value that tends to this limit with the step size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sojourn.exact.audit.signs import parts
from sojourn.exact.policies import PolicyValue
from sojourn.models import laws
from sojourn.models.smdp import SMDP
from sojourn.rates.steps import Side, Steps
from sojourn.rules.arrays import Floats


def steps_of(model: SMDP, policy: ArrayLike, worth: PolicyValue) -> Steps:
    """Return the law of a step in the long run, as far as the limits depend on it.

    >>> from sojourn.models.problems import long_shot
    >>> from sojourn.exact.policies import evaluate
    >>> model = long_shot()
    >>> steps = steps_of(model, [0], evaluate(model, [0]))
    >>> from sojourn.rates.harmonic import Harmonic
    >>> from sojourn.rates.protocol import limit
    >>> steps.gain, round(limit(Harmonic(step_size=0.01), steps), 9)
    (5.0, 1.8)
    """
    return steps_of_shares(model, _pair_shares(model, policy, worth))


def steps_of_shares(model: SMDP, weight: Floats) -> Steps:
    """Return the law of a step where each pair has this share of the steps."""
    reward, duration, by_rows = model.flat_laws()
    if by_rows:
        counts = np.diff(model.row_offsets)
        weight = np.repeat(weight, counts) * model.probability
    taken = np.flatnonzero(weight)
    weight = weight[taken]
    lasting = laws.FlatLaws(duration.kind[taken], duration.parameters[taken])
    if laws.can_be_zero(lasting).any():
        at = int(taken[np.argmax(laws.can_be_zero(lasting))])
        pair = int(np.searchsorted(model.row_offsets, at, side="right")) - 1 if by_rows else at
        raise ValueError(
            f"{model.place(pair)} may take no time, and what an estimator makes of such steps in the long run is not known; "
            "audit a model whose decisions all take time"
        )
    mean_duration = laws.means(lasting)
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


def _pair_shares(model: SMDP, policy: ArrayLike, worth: PolicyValue) -> Floats:
    """Return the share of steps that each pair has in the long run."""
    state, given = model.state_of_pair(), np.asarray(policy)
    taken = (given[state] == model.action) if given.ndim == 1 else given[state, model.action]
    return np.asarray(worth.stationary[state] * taken)
