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
    PowerMean                            C+ (E[w |x|^p; r > 0] / E[w; r > 0])^(1/p) - the same for r < 0, with x = r/tau, w the
                                         weight, and C the shares of the signs, of steps or (weight "duration") of time
    Fixed                                its constant, by default 0

The cumulative ones converge. The others, with a constant step size, keep fluctuating about a value that tends to this
limit as the step size goes to 0; `step_sizes` has that value for some of them.

For either sign of a reward or duration x, they follow from means of powers of x above zero, and the same below: E[1; x > 0],
E[x; x > 0] and E[1/x; x > 0] for all but power means. A power of -1 or below has an infinite mean if the density of a law does not
vanish fast enough at zero. For -1 this is so for the exponential law, for the gamma and Weibull laws with a shape of at most 1, and for
every uniform or normal law that covers zero; the harmonic mean of such rewards is 0. A normal law whose mean is more than nine
standard deviations away from zero is taken never to reach it.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from sojourn.exact.policies import PolicyValue
from sojourn.models import laws
from sojourn.models.smdp import SMDP
from sojourn.rates.protocol import Side, Steps
from sojourn.rules.arrays import Flags, Floats, Ints

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_REACH = 12.0  # standard deviations: the normal law has a probability of 1e-33 beyond them
_NEVER = 9.0  # and of 1e-19 beyond these, which no run will see
_ROOT = math.sqrt(2.0 * math.pi)


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
    chosen = laws.FlatLaws(reward.kind[taken], reward.parameters[taken])
    mixed = functools.partial(_mixed, weight, chosen, lasting)
    mean_duration = laws.means(lasting)
    above, below = parts(chosen)
    return Steps(
        reward=float(weight @ laws.means(chosen)),
        duration=float(weight @ mean_duration),
        positive=_side(weight, above, mean_duration),
        negative=_side(weight, below, mean_duration),
        mean_rate=_mean_rate(mixed(1.0, -1.0)),
        moments=mixed,
    )


def size_of(steps: Steps) -> float:
    """Return what is earned and lost per unit time, E|r| / E[tau]."""
    return (steps.positive.reward - steps.negative.reward) / steps.duration


def _side(weight: Floats, part: Floats, lasting: Floats) -> Side:
    # Within one place, reward and duration are independent; they depend on each other only across places.
    share, reward, inverse = part.T
    return Side(
        share=float(weight @ share),
        reward=float(weight @ reward),
        duration=float(weight @ (share * lasting)),
        duration_per_reward=float(weight @ (inverse * lasting)),
    )


def _mixed(
    weight: Floats, reward: laws.FlatLaws, duration: laws.FlatLaws, a: float, b: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return E[|r|^a tau^b; r > 0], the same times log(|r| / tau), and both for r < 0."""
    long, long_log = powers(duration, b)[0].T
    found = []
    for size, size_log in (side.T for side in powers(reward, a)):
        with np.errstate(
            invalid="ignore"
        ):  # an infinite mean counts only where there are rewards of that sign
            means = np.column_stack([size * long, size_log * long - size * long_log])
        mean, logs = weight @ np.where(size[:, None] > 0.0, means, 0.0)
        found.append((float(mean), float(logs)))
    return found[0], found[1]


def _mean_rate(moments: tuple[tuple[float, float], tuple[float, float]]) -> float:
    """Return E[r/tau]; infinite if it does not exist."""
    (gained, _), (lost, _) = moments
    return gained if math.isinf(gained) else gained - lost


# --- Powers of a law above and below zero -------------------------------------------------


class Part(NamedTuple):
    """The part of a law on one side of zero: P(X > 0), E[X; X > 0] and E[1/X; X > 0], or the same below."""

    share: float
    mean: float
    inverse: float


def part_above(law: laws.Law) -> Part:
    """Return the part of a law above zero.

    >>> part_above(laws.TwoPoint(low=-1.0, high=4.0, probability=0.5))
    Part(share=0.5, mean=2.0, inverse=0.125)
    """
    return Part(*parts(laws.flat([law]))[0][0].tolist())


def part_below(law: laws.Law) -> Part:
    """Return the part of a law below zero; its mean and inverse are negative.

    >>> part_below(laws.TwoPoint(low=-1.0, high=4.0, probability=0.5))
    Part(share=0.5, mean=-0.5, inverse=-0.5)
    """
    return Part(*parts(laws.flat([law]))[1][0].tolist())


def parts(given: laws.FlatLaws) -> tuple[Floats, Floats]:
    """Return [law, 3] above zero and [law, 3] below it: the part of every law."""
    above, below = zip(*(powers(given, power) for power in (0.0, 1.0, -1.0)), strict=True)
    signs = np.array([1.0, -1.0, -1.0])
    return np.stack(above, axis=2)[:, 0], np.stack(below, axis=2)[:, 0] * signs


def powers(given: laws.FlatLaws, power: float) -> tuple[Floats, Floats]:
    """Return [law, 2] above zero and [law, 2] below it: E[|X|^power] and E[|X|^power log|X|] on that side.

    >>> above, below = powers(laws.flat([laws.TwoPoint(low=-1.0, high=4.0, probability=0.5), laws.Gamma(3.0, 2.0)]), -1.0)
    >>> above[:, 0].tolist(), below[:, 0].tolist()  # E[1/X]
    ([0.125, 0.25], [0.5, 0.0])
    """
    kind, (a, b, c) = given.kind, given.parameters.T
    found = np.zeros((2, len(kind), 2))
    with np.errstate(over="ignore", divide="ignore"):
        fixed = (kind == laws.CONSTANT) | ((kind == laws.UNIFORM) & (a == b))
        second = np.where(kind == laws.TWO_POINT, c, 0.0)
        for value, chance in ((a, np.where(kind == laws.TWO_POINT, 1.0 - c, 1.0 * fixed)), (b, second)):
            at = np.flatnonzero((value != 0.0) & (chance > 0.0))
            size = np.abs(value[at])
            _add(found, at, value[at] < 0.0, chance[at] * size**power, np.log(size))
        for one, shape, scale in (
            (laws.EXPONENTIAL, np.ones_like(a), a),
            (laws.GAMMA, a, b),
            (laws.WEIBULL, a, b),
            (laws.LOGNORMAL, b, a),
        ):
            at = np.flatnonzero(kind == one)
            if at.size:
                size, logs = _scaled(one, shape[at], power)
                width = np.abs(scale[at])
                _add(found, at, scale[at] < 0.0, width**power * size, np.log(width) + logs)
    for place in np.flatnonzero((kind == laws.UNIFORM) & ~fixed):
        low, high = min(a[place], b[place]), max(a[place], b[place])
        for side, begin, end in ((0, low, high), (1, -high, -low)):
            if end > 0.0:
                found[side, place] = _evenly(max(begin, 0.0), end, power) / (high - low)
    normal = np.flatnonzero(kind == laws.FLOORED)
    if normal.size:
        different, which = np.unique(given.parameters[normal], axis=0, return_inverse=True)
        each = [(_floored(x, y, z, power), _floored_below(x, y, z, power)) for x, y, z in different.tolist()]
        found[:, normal] = np.swapaxes(np.array(each)[which.ravel()], 0, 1)
    return found[0], found[1]


def _add(found: Floats, at: Ints, is_below: Flags, mean: Floats, logs: Floats) -> None:
    """Add E[|X|^power], and it times the mean logarithm that goes with it, to the side of zero where the laws are."""
    np.add.at(found, (is_below.astype(np.int64), at), np.column_stack([mean, mean * logs]))


def _scaled(kind: int, shape: Floats, power: float) -> tuple[Floats, Floats]:
    """Return E[X^power], for the scale 1, and E[X^power log X] over it; infinite if they are."""
    if kind == laws.LOGNORMAL:
        return np.exp((power * shape) ** 2 / 2.0), power * shape**2
    if kind == laws.WEIBULL:
        inner, one = (
            1.0 + power / shape,
            np.where(power > -shape, special.gamma(np.maximum(1.0 + power / shape, 1e-300)), np.inf),
        )
        return one, np.where(inner > 0.0, special.digamma(np.maximum(inner, 1e-300)) / shape, -1.0)
    inner = shape + power
    one = np.where(inner > 0.0, special.poch(shape, np.maximum(power, -shape)), np.inf)
    return one, np.where(inner > 0.0, special.digamma(np.maximum(inner, 1e-300)), -1.0)


def _evenly(begin: float, end: float, power: float) -> Floats:
    """Return the integrals of x^power and x^power log x from begin, at least 0, to end."""
    top = power + 1.0
    if begin == 0.0:
        whole = (
            np.array([1.0, math.log(end) - 1.0 / top]) * end**top / top
            if top > 0.0
            else [math.inf, -math.inf]
        )
        return np.asarray(whole)
    # With x = begin e^t these are integrals of e^(top t) and t e^(top t).
    far = math.log1p((end - begin) / begin)
    y = top * far
    if abs(y) < 0.5:
        one, two = (sum(y**k / (math.factorial(k) * (k + n)) for k in range(18)) * far**n for n in (1, 2))
    else:
        one = math.expm1(y) / top
        two = (far * math.exp(y) - one) / top
    return np.asarray(np.array([one, math.log(begin) * one + two]) * begin**top)


def _floored(location: float, scale: float, floor: float, power: float) -> Floats:
    """Return E[X^power; X > 0] and E[X^power log X; X > 0] of a normal law that is raised to a floor."""
    begin = max(floor, 0.0)
    found = _normal(location, scale, begin, math.inf, power)
    return found + _at_floor(location, scale, floor, power) if floor > 0.0 else found


def _floored_below(location: float, scale: float, floor: float, power: float) -> Floats:
    if floor >= 0.0:
        return np.zeros(2)
    return _normal(-location, scale, 0.0, -floor, power) + _at_floor(location, scale, floor, power)


def _at_floor(location: float, scale: float, floor: float, power: float) -> Floats:
    """Return the part of the probability below the floor, which is at the floor."""
    mean = _normal_tail((location - floor) / scale) * abs(floor) ** power
    return np.array([mean, mean * math.log(abs(floor))])


def _normal(location: float, scale: float, begin: float, end: float, power: float) -> Floats:
    """Return the integrals of x^power and x^power log x times the normal density, between two numbers of at least 0."""
    found = _by_quadrature(location, scale, begin, end, power)
    low, high = (begin - location) / scale, (end - location) / scale
    if power in (0.0, 1.0):  # known in closed form
        share = _normal_tail(low) - (_normal_tail(high) if math.isfinite(end) else 0.0)
        density = _normal_density(low) - (_normal_density(high) if math.isfinite(end) else 0.0)
        found[0] = share if power == 0.0 else location * share + scale * density
    return found


def _by_quadrature(location: float, scale: float, begin: float, end: float, power: float) -> Floats:
    rest = np.zeros(2)
    if begin == 0.0 and power <= -1.0:
        if abs(location) < _NEVER * scale:
            return np.array([math.inf, -math.inf])
        if location < 0.0:
            return rest
        begin = location / 10.0
    elif begin == 0.0 and location <= _REACH * scale:  # near 0 the density is a constant
        begin = 1e-13 * scale
        rest = np.asarray(_evenly(0.0, begin, power) * _normal_density(location / scale) / scale)
    low, high = max((begin - location) / scale, -_REACH), min((end - location) / scale, _REACH)
    if low >= high:
        return rest
    if location > _REACH * scale:
        z = low + (high - low) * (_NODES + 1.0) / 2.0
        x = location + scale * z
        weight = _WEIGHTS * np.exp(-z * z / 2.0) * x**power * (high - low) / 2.0 / _ROOT
        return np.array([weight.sum(), weight @ np.log(x)])
    # With x = e^u this is the integral of x^(power + 1) times the density over u, which is smooth however small x is. One piece
    # for each power of e keeps the nodes close together even if the floor is tiny.
    first, last = math.log(begin), math.log(location + scale * high)
    ends = np.linspace(first, last, 1 + math.ceil(last - first))
    width = (last - first) / (len(ends) - 1)
    u = ends[:-1, None] + width * (_NODES + 1.0) / 2.0
    x = np.exp(u)
    weight = np.exp(-(((x - location) / scale) ** 2) / 2.0) / scale * x ** (power + 1.0) * width / 2.0 / _ROOT
    return np.asarray(rest + np.array([(weight @ _WEIGHTS).sum(), ((weight * u) @ _WEIGHTS).sum()]))


def _normal_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2.0)) / 2.0


def _normal_density(z: float) -> float:
    return math.exp(-z * z / 2.0) / _ROOT
