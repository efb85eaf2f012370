"""The long-run means of estimators at the step sizes that they have, not only in the limit of small ones.

An estimate with a constant step size beta keeps fluctuating, and its mean is in general not the limit for small step sizes:
it forgets more in long steps than in short ones, and the state ties the duration of a step to what came before. Let pi(s) be
the share of steps from s, and pi(s) m(s) the mean estimate before such a step. One more step gives an equation for each
state s', in which E[x; s'] is the mean of x with everything but steps to s' counted as 0:

    TimeSmoothed    pi m (s') = sum over s of pi m (s) E[g^tau; s'] + pi(s) E[(1 - g^tau) r/tau; s'],     g = 1 - beta
    Incremental     pi m (s') = sum over s of pi m (s) E[1 - beta tau; s'] + pi(s) beta E[r; s']

The mean is the sum of all pi m (s), without any approximation. If steps are independent of each other, it is E[(1 - g^tau)
r/tau] / E[1 - g^tau] and the gain. The variance of `Incremental` is finite if the matrix of E[(1 - beta tau)^2; s'] has a
spectral radius below 1; if steps are independent, this means beta E[tau^2] < 2 E[tau].

`Exponential` is a ratio of two moving means, whose mean is known to first order only. With delta = r - gain tau, it is

    gain - beta / (2 - beta) C / E[tau]^2 + O(beta^2)

where C is the sum over all k of (1 - beta)^|k| times the covariance of delta in one step and tau in the k-th step after it,
or before it for k < 0. If steps are independent, C is the covariance of delta and tau in one step.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy import sparse, special

from sojourn.exact.policies import PolicyValue
from sojourn.models import laws
from sojourn.models.chain import SingularError, solved
from sojourn.models.smdp import SMDP
from sojourn.rates.contrast import TimeSmoothed
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Exponential, Incremental
from sojourn.rules.arrays import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_REACH = 12  # standard deviations: the normal law has a probability of 1e-33 beyond them


class LongRun:
    """The steps of a policy with one recurrent class, all of which take time, and the means of estimators on them."""

    def __init__(self, model: SMDP, worth: PolicyValue) -> None:
        """Take the rows of the model that the policy goes through again and again."""
        state = model.state_of_pair()
        pair = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
        reward, duration, by_rows = model.flat_laws()
        chance = worth.pair_shares[pair] * model.probability
        rows = np.flatnonzero(chance * worth.stationary[state[pair]])
        place = rows if by_rows else pair[rows]
        states, self._start = np.unique(state[pair[rows]], return_inverse=True)
        self._end = np.searchsorted(states, model.successor[rows])
        self._size, self._chance = len(states), chance[rows]
        self._weight = self._chance * worth.stationary[states][self._start]
        self._reward = laws.means(laws.FlatLaws(reward.kind[place], reward.parameters[place]))
        self._laws = laws.FlatLaws(duration.kind[place], duration.parameters[place])
        self._duration = laws.means(self._laws)
        self._gain = float((self._weight @ self._reward) / (self._weight @ self._duration))

    def mean(self, estimator: Rate) -> tuple[float | None, str | None]:
        """Return the mean estimate on the rewards of these steps, and how it is known; None and None if it is not."""
        try:
            match estimator:
                case TimeSmoothed(step_size=beta):
                    lost, per_time = _transforms(self._laws, -math.log1p(-beta))
                    return self._mean(lost, self._reward * per_time - self._gain * lost), "exact"
                case Incremental(step_size=beta):
                    if not self._has_variance(beta):
                        return None, "no finite variance"
                    surplus = beta * (self._reward - self._gain * self._duration)
                    return self._mean(beta * self._duration, surplus), "exact"
                case Exponential(step_size=beta):
                    return self._first_order(beta), "first order"
        except SingularError:  # the step size is next to nothing
            pass
        return None, None

    @cached_property
    def _squares(self) -> Floats:
        return laws.variances(self._laws) + self._duration**2

    def _system(self, lost: Floats) -> sparse.csc_array:
        """Return 1 - M, where M [state, next state] keeps all but a share `lost` in each step."""
        where, shape = (self._start, self._end), (self._size, self._size)
        return sparse.csc_array(
            sparse.eye_array(self._size) - sparse.coo_array((self._chance * (1.0 - lost), where), shape=shape)
        )

    def _from(self, amount: Floats) -> Floats:
        """Return the mean of an amount in a step from each state."""
        return np.asarray(np.bincount(self._start, self._chance * amount, self._size), dtype=np.float64)

    def _into(self, amount: Floats) -> Floats:
        """Return the mean of an amount over all steps, for each state with only the steps to it counted."""
        return np.asarray(np.bincount(self._end, self._weight * amount, self._size), dtype=np.float64)

    def _mean(self, lost: Floats, surplus: Floats) -> float:
        # What is solved for is the difference from the gain: it stays precise however small the step size is.
        return self._gain + float(solved(self._system(lost).T.tocsc(), self._into(surplus)).sum())

    def _has_variance(self, beta: float) -> bool:
        """Return whether the matrix M of E[(1 - beta tau)^2; s'] has a spectral radius below 1."""
        lost = 2.0 * beta * self._duration - beta * beta * self._squares
        rows = self._from(
            lost
        )  # 1 minus the sums of the rows, between the least and largest of which the radius lies
        if rows.min() > 0.0 or rows.max() <= 0.0:
            return bool(rows.min() > 0.0)
        try:
            # With a radius below 1, the solution of u = 1 + M u is 1 + M 1 + M^2 1 + ... With u > 0, the radius is below
            # 1: the eigenvector y >= 0 with y M = radius y has (1 - radius) y u = y (u - M u) = y 1 > 0.
            return bool((solved(self._system(lost), np.ones(self._size)) > 0.0).all())
        except SingularError:
            return False

    def _first_order(self, beta: float) -> float:
        length = float(self._weight @ self._duration)
        surplus, longer = self._reward - self._gain * self._duration, self._duration - length
        system = self._system(np.full_like(longer, beta))
        covariance = float(self._weight @ (self._reward * self._duration - self._gain * self._squares))
        for one, other in ((surplus, longer), (longer, surplus)):
            covariance += (1.0 - beta) * float(self._into(one) @ solved(system, self._from(other)))
        return self._gain - beta / (2.0 - beta) * covariance / length**2


# --- Means of functions of a duration -----------------------------------------------------


def _transforms(given: laws.FlatLaws, speed: float) -> tuple[Floats, Floats]:
    """Return E[1 - e^(-speed tau)] and E[(1 - e^(-speed tau)) / tau] of each law, computed once for equal laws."""
    keys = np.column_stack([given.kind, given.parameters])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    found = np.empty((len(first), 2))
    for row, at in enumerate(first):
        x, weight = _points(given.law(int(at)), speed)
        lost = -np.expm1(-speed * x)
        found[row] = weight @ lost, weight @ (lost / x)
    return found[place.ravel(), 0], found[place.ravel(), 1]


def _points(law: laws.Law, speed: float) -> tuple[Floats, Floats]:
    """Return points and weights for means of smooth functions that vary over lengths of 1 / speed.

    The points are quantiles of the law, those of a normal number z at the nodes of Gauss and Legendre, piece by piece.
    """
    match law:
        case laws.Constant(value):
            return np.array([value]), np.ones(1)
        case laws.TwoPoint(low, high, probability):
            return np.array([low, high]), np.array([1.0 - probability, probability])
        case laws.FlooredNormal(location, scale, floor):
            at = min(max((floor - location) / scale, -_REACH), _REACH)
            z, weight = _pieces(at, speed * scale)
            weight *= special.ndtr(-at) / weight.sum()
            return np.append(location + scale * z, floor), np.append(weight, special.ndtr(at))
    z, weight = _pieces(-_REACH, 0.0)
    match law:
        case laws.Exponential(mean):
            x = -mean * special.log_ndtr(-z)
        case laws.Gamma(shape, scale):
            up, down = (
                special.gammainccinv(shape, special.ndtr(-z)),
                special.gammaincinv(shape, special.ndtr(z)),
            )
            x = scale * np.where(z > 0.0, up, down)
        case laws.Weibull(shape, scale):
            x = scale * (-special.log_ndtr(-z)) ** (1.0 / shape)
        case laws.Lognormal(median, sigma):
            x = median * np.exp(sigma * z)
        case laws.Uniform(low, high):
            x = low + (high - low) * special.ndtr(z)
    return np.maximum(x, np.finfo(float).tiny), weight / weight.sum()


def _pieces(begin: float, bends: float) -> tuple[Floats, Floats]:
    """Return nodes from `begin` to the end of the normal law, with its density; more if a function bends often."""
    pieces = 2 * _REACH * min(1 + int(bends / 30.0), 100)
    ends = np.linspace(begin, _REACH, 1 + pieces)
    z = (ends[:-1, None] + np.diff(ends)[:, None] * (_NODES + 1.0) / 2.0).ravel()
    return z, np.tile(_WEIGHTS, pieces) * np.exp(-z * z / 2.0)
