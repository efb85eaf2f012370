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
limit as the step size goes to 0; `step_sizes` has that value for some of them.

For either sign of a reward or duration x, the limits need three numbers of its law, its *part* above or below zero:

    share     P(x > 0)
    mean      E[x; x > 0], the mean of x over all draws, with those of at most 0 counted as 0
    inverse   E[1/x; x > 0]

and the same below zero. The inverse is infinite if the density of a law does not vanish at zero. This is so for the
exponential law, for the gamma and Weibull laws with a shape of at most 1, and for every uniform or normal law
that covers zero; the harmonic mean of such rewards is 0. A normal law whose mean is more than nine
standard deviations away from zero is taken never to reach it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.exact.policies import PolicyValue
from sojourn.models import laws
from sojourn.models.smdp import SMDP
from sojourn.rates.protocol import Side, Steps
from sojourn.rules.arrays import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_REACH = 12.0  # standard deviations: the normal law has a probability of 1e-33 beyond them
_NEVER = 9.0  # and of 1e-19 beyond these, which no run will see
_ROOT = math.sqrt(2.0 * math.pi)
_MIRRORED = ("value", "mean", "scale", "median", "low", "high")  # negative in a law that is mirrored at zero


# --- The law of a step --------------------------------------------------------------------


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
    state, given = model.state_of_pair(), np.asarray(policy)
    taken = (given[state] == model.action) if given.ndim == 1 else given[state, model.action]
    return steps_of_shares(model, np.asarray(worth.stationary[state] * taken))


def steps_of_shares(model: SMDP, weight: Floats) -> Steps:
    """Return the law of a step if each pair has the given share of the steps."""
    reward, duration, by_rows = model.flat_laws()
    if by_rows:
        counts = np.diff(model.row_offsets)
        weight = np.repeat(weight, counts) * model.probability
    taken = np.flatnonzero(weight)
    weight = weight[taken]
    lasting = laws.FlatLaws(duration.kind[taken], duration.parameters[taken])
    timeless = laws.can_be_zero(lasting)
    if timeless.any():
        at = int(taken[np.argmax(timeless)])
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


# --- The parts of a law above and below zero ----------------------------------------------


class Part(NamedTuple):
    """The part of a law on one side of zero."""

    share: float
    mean: float
    inverse: float


NOTHING = Part(0.0, 0.0, 0.0)


def parts(given: laws.FlatLaws) -> tuple[Floats, Floats]:
    """Return [law, 3] above zero and [law, 3] below it: share, mean and inverse of every law."""
    keys = np.column_stack([given.kind, given.parameters])
    different, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    above, below = np.empty((len(different), 3)), np.empty((len(different), 3))
    for row, at in enumerate(first):
        law = given.law(int(at))
        above[row], below[row] = part_above(law), part_below(law)
    return above[place.ravel()], below[place.ravel()]


def part_above(law: laws.Law) -> Part:
    """Return the part of a law above zero.

    >>> part_above(laws.TwoPoint(low=-1.0, high=4.0, probability=0.5))
    Part(share=0.5, mean=2.0, inverse=0.125)
    >>> part_above(laws.Gamma(shape=3.0, scale=2.0))
    Part(share=1.0, mean=6.0, inverse=0.25)
    """
    match law:
        case laws.Constant(value):
            return Part(1.0, value, 1.0 / value) if value > 0.0 else NOTHING
        case laws.TwoPoint(low, high, probability):
            one, other = part_above(laws.Constant(low)), part_above(laws.Constant(high))
            return Part(*(a + probability * (b - a) for a, b in zip(one, other, strict=True)))
        case laws.Exponential(mean):
            return Part(1.0, mean, math.inf) if mean > 0.0 else NOTHING
        case laws.Gamma(shape, scale):
            inverse = 1.0 / (scale * (shape - 1.0)) if shape > 1.0 else math.inf
            return Part(1.0, shape * scale, inverse) if scale > 0.0 else NOTHING
        case laws.Weibull(shape, scale):
            inverse = math.gamma(1.0 - 1.0 / shape) / scale if shape > 1.0 else math.inf
            return Part(1.0, scale * math.gamma(1.0 + 1.0 / shape), inverse) if scale > 0.0 else NOTHING
        case laws.Lognormal(median, sigma):
            factor = math.exp(sigma * sigma / 2.0)
            return Part(1.0, median * factor, factor / median) if median > 0.0 else NOTHING
        case laws.Uniform(low, high):
            return _uniform(min(low, high), max(low, high))
        case laws.FlooredNormal(location, scale, floor):
            return _floored(location, scale, floor)


def part_below(law: laws.Law) -> Part:
    """Return the part of a law below zero; its mean and inverse are negative.

    >>> part_below(laws.TwoPoint(low=-1.0, high=4.0, probability=0.5))
    Part(share=0.5, mean=-0.5, inverse=-0.5)
    """
    if isinstance(law, laws.FlooredNormal):
        return _floored_below(*law)
    mirrored = law._replace(**{name: -getattr(law, name) for name in law._fields if name in _MIRRORED})
    share, mean, inverse = part_above(mirrored)
    return Part(share, 0.0 - mean, 0.0 - inverse)


def _uniform(low: float, high: float) -> Part:
    if low == high or high <= 0.0:
        return part_above(laws.Constant(low)) if low == high else NOTHING
    begin = max(low, 0.0)
    share = (high - begin) / (high - low)
    inverse = math.log1p((high - low) / low) / (high - low) if low > 0.0 else math.inf
    return Part(share, share * (begin + high) / 2.0, inverse)


def _floored(location: float, scale: float, floor: float) -> Part:
    begin = max(floor, 0.0)
    z = (begin - location) / scale
    tail = _normal_tail(z)
    mean = location * tail + scale * _normal_density(z)
    if floor <= 0.0:
        return Part(tail, mean, _inverse_from_zero(location, scale, math.inf) if tail > 0.0 else 0.0)
    at_floor = _normal_tail(-z)
    inverse = at_floor / floor + _inverse_between(location, scale, floor, math.inf)
    return Part(1.0, mean + floor * at_floor, inverse)


def _floored_below(location: float, scale: float, floor: float) -> Part:
    if floor >= 0.0:
        return NOTHING
    at, zero = (floor - location) / scale, -location / scale
    at_floor, share = _normal_tail(-at), _normal_tail(-zero)
    between = location * (share - at_floor) - scale * (_normal_density(zero) - _normal_density(at))
    inverse = at_floor / floor - _inverse_from_zero(-location, scale, -floor) if share > 0.0 else 0.0
    return Part(share, floor * at_floor + between, inverse)


def _inverse_between(location: float, scale: float, begin: float, end: float) -> float:
    """Return the integral, between two positive numbers, of the normal density at x divided by x."""
    low, high = max((begin - location) / scale, -_REACH), min((end - location) / scale, _REACH)
    if low >= high:
        return 0.0
    if location > _REACH * scale:
        z = low + (high - low) * (_NODES + 1.0) / 2.0
        return float(_WEIGHTS @ (np.exp(-z * z / 2.0) / (location + scale * z))) * (high - low) / 2.0 / _ROOT
    # With x = e^u this is the integral of the density alone over u, which is smooth however small x is. One piece
    # for each power of e keeps the nodes close together even if the floor is tiny.
    first, last = math.log(begin), math.log(location + scale * high)
    ends = np.linspace(first, last, 1 + math.ceil(last - first))
    width = (last - first) / (len(ends) - 1)
    x = np.exp(ends[:-1, None] + width * (_NODES + 1.0) / 2.0)
    density = np.exp(-(((x - location) / scale) ** 2) / 2.0) / scale
    return float((density @ _WEIGHTS).sum()) * width / 2.0 / _ROOT


def _inverse_from_zero(location: float, scale: float, end: float) -> float:
    """Return the same integral from 0 on; it is infinite unless the law stays away from 0."""
    if abs(location) < _NEVER * scale:
        return math.inf
    return _inverse_between(location, scale, location / 10.0, end) if location > 0.0 else 0.0


def _normal_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2.0)) / 2.0


def _normal_density(z: float) -> float:
    return math.exp(-z * z / 2.0) / _ROOT
