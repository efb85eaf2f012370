"""Models that take turns at random, joined into one model whose states include the regime and which can be solved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np

from sojourn.data.numbers import positive, several
from sojourn.models import laws
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import from_transitions
from sojourn.rules.door import told


@told
def modulated(regimes: Sequence[SMDP], mean: float) -> SMDP:
    """Return the model whose states are pairs of a regime and a state, for regimes that last exponential times.

    A regime lasts a time with the given mean, and then one of the others follows, all equally likely. A step keeps the law of
    the regime in which it began. State s of regime k has the number k n + s, where n is the number of states of each regime.
    The gain of this model is exactly what a policy that sees the regime can earn, however short regimes are; a policy that
    does not see it cannot earn more. The model has the mean rewards and durations of the world's steps; in the world itself,
    a long step also makes a change more likely.

    Two regimes that pay 6 and 2 in a time of 1, and change too often to be followed, pay 4:

    >>> from sojourn.exact.solve import solve
    >>> rich, poor = (from_transitions([(0, 0, 0, 1.0, pay, 1.0)]) for pay in (6.0, 2.0))
    >>> round(solve(modulated([rich, poor], mean=0.01)).gain, 9)
    4.0
    """
    models = several("regimes", regimes)
    mean, count, size = positive("mean", mean), len(models), models[0].num_states
    for place, model in enumerate(models):
        if model.num_states != size:
            raise ValueError(
                f"regime {place} has {model.num_states} states and regime 0 has {size}; all must have the same number"
            )
        if set(model.amounts) != set(models[0].amounts):
            strange = sorted(set(model.amounts) ^ set(models[0].amounts))[0]
            raise ValueError(
                f"the amount {strange!r} is not in all regimes; give it to every one, with 0 where there is none"
            )
    # With q = 1 / count and s the speed below, the regime is the same after a time t with probability q + (1 - q) e^(-s t).
    speed = count / (count - 1) / mean if count > 1 else 0.0
    rows = []
    for regime, model in enumerate(models):
        rewards, durations, by_rows = model.flat_laws()
        state_of = model.state_of_pair()
        for pair in range(model.num_pairs):
            source = regime * size + int(state_of[pair]), int(model.action[pair])
            for row in range(int(model.row_offsets[pair]), int(model.row_offsets[pair + 1])):
                place, target = row if by_rows else pair, int(model.successor[row])
                reward, duration = rewards.law(place), durations.law(place)
                kept = transform(duration, speed)
                for after in range(count):
                    share = (1.0 - kept) / count + (kept if after == regime else 0.0)
                    if share > 0.0:
                        chance = float(model.probability[row]) * share
                        rows.append((*source, after * size + target, chance, reward, duration))
    amounts = {name: np.concatenate([model.amounts[name] for model in models]) for name in models[0].amounts}
    return from_transitions(rows).with_amounts(amounts)  # the pairs of each regime keep their order


def transform(law: laws.Law, speed: float) -> float:
    """Return E[e^(-s x)] for a random number x with this law, where s is the speed.

    >>> transform(laws.Constant(2.0), 0.5) == math.exp(-1.0), transform(laws.Exponential(3.0), 1.0)
    (True, 0.25)
    """
    match law:
        case laws.Constant(value):
            return math.exp(-speed * value)
        case laws.Exponential(mean):
            return 1.0 / (1.0 + speed * mean)
        case laws.Gamma(shape, scale):
            return math.exp(-shape * math.log1p(speed * scale))
        case laws.Uniform(low, high):
            width = speed * (high - low)
            return math.exp(-speed * low) * (-math.expm1(-width) / width if width else 1.0)
        case laws.TwoPoint(low, high, probability):
            return (1.0 - probability) * math.exp(-speed * low) + probability * math.exp(-speed * high)
        case laws.FlooredNormal(location, scale, floor):
            below = (floor - location) / scale
            above = math.exp(speed * (speed * scale * scale / 2.0 - location))
            normal = NormalDist()
            return math.exp(-speed * floor) * normal.cdf(below) + above * normal.cdf(-below - speed * scale)
        case laws.Weibull(shape, scale):
            return _integral(lambda t: math.exp(-t - speed * scale * t ** (1.0 / shape)), 0.0)
        case laws.Lognormal(median, sigma):
            bell = NormalDist().pdf
            return _integral(lambda z: bell(z) * math.exp(-speed * median * math.exp(sigma * z)), -_FAR)


_FAR = 40.0  # here a normal density and e^-t are practically 0


def _integral(density: Callable[[float], float], low: float) -> float:
    from scipy.integrate import quad  # noqa: PLC0415 - two laws need it

    return float(quad(density, low, _FAR, epsabs=1e-13, epsrel=1e-12, limit=500, points=(0.0, 1.0, 5.0))[0])
