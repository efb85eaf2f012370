"""The law of a step in the long run under a fixed policy, from which the limits of estimators follow.

In the long run a policy visits its pairs of state and action with fixed shares, so the reward r and the duration tau of a
step have a fixed joint law. Every estimator has a rule, `limit`, that computes its long-run value from this law. Let E[x; A]
be the mean of x with everything outside A counted as 0, and P+ and P- the shares of steps with r > 0 and r < 0:

    Cumulative, SmoothedCumulative       E[r] / E[tau], the gain
    Exponential, TimeSmoothed            the same, for small step sizes
    Incremental                          the same, for small step sizes; R-Learning's evidence, r + max Q(s')
                                         - max Q(s), has the same mean, since the values telescope
    Harmonic, CumulativeHarmonic         P+^2 / E[tau/r; r > 0] + P-^2 / E[tau/r; r < 0]
    WeightedHarmonic, CumulativeWeightedHarmonic
                                         P+ E[r; r > 0] / E[tau; r > 0] + P- E[r; r < 0] / E[tau; r < 0]
    MeanOfRates                          E[r/tau], infinite if durations come near 0, as exponential ones do
    Fixed                                its constant, by default 0

The cumulative ones converge. The others, with a constant step size, keep fluctuating about a value that tends to this
limit as the step size goes to 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sojourn.exact.audit.signs import parts
from sojourn.exact.policies import PolicyValue
from sojourn.models import laws
from sojourn.models.smdp import SMDP
from sojourn.rates.protocol import Side, Steps
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
    """Return the law of a step if each pair has the given share of the steps."""
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
            f"{model.place(pair)} may take no time, and the long-run limit of an estimator on such steps is not known; "
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
        mean_rate=_mean_rate(weight, above, below, parts(lasting)[0][:, 2]),
    )


def size_of(steps: Steps) -> float:
    """Return what is earned and lost per unit time, E|r| / E[tau]."""
    return (steps.positive.reward - steps.negative.reward) / steps.duration


def _side(weight: Floats, part: Floats, duration: Floats) -> Side:
    # Within one place, reward and duration are independent; they depend on each other only across places.
    share, reward, inverse = part.T
    return Side(
        share=float(weight @ share),
        reward=float(weight @ reward),
        duration=float(weight @ (share * duration)),
        duration_per_reward=float(weight @ (inverse * duration)),
    )


def _mean_rate(weight: Floats, above: Floats, below: Floats, pace: Floats) -> float:
    """Return E[r/tau], where `pace` is E[1/tau] of each place; infinite if it does not exist."""
    with np.errstate(invalid="ignore"):  # 0 times infinity, where a place has no reward of that sign
        gained, lost = (np.where(part[:, 1] != 0.0, part[:, 1] * pace, 0.0) for part in (above, below))
    total = float(weight @ gained), float(weight @ lost)
    return total[0] if math.isinf(total[0]) else sum(total)


def _pair_shares(model: SMDP, policy: ArrayLike, worth: PolicyValue) -> Floats:
    """Return the share of steps that each pair has in the long run."""
    state, given = model.state_of_pair(), np.asarray(policy)
    taken = (given[state] == model.action) if given.ndim == 1 else given[state, model.action]
    return np.asarray(worth.stationary[state] * taken)
