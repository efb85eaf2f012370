"""Confidence intervals and tests for shares, means and medians over seeds."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from sojourn.data.numbers import proper_fraction, unmasked, whole


def share_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a probability, given the number of successes.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927): the
    probabilities that a normal test at this level would not reject. It stays within [0, 1], and works even for
    few trials.

    >>> low, high = share_interval(15, 20)
    >>> round(low, 3), round(high, 3)
    (0.531, 0.888)
    """
    trials = whole("trials", trials)
    if not 0 <= successes <= trials:
        raise ValueError(f"successes is {successes}; it must be one of 0 to {trials}")
    z = NormalDist().inv_cdf(0.5 + proper_fraction("level", level) / 2.0)
    share, weight = successes / trials, z * z / trials
    centre = (share + weight / 2.0) / (1.0 + weight)
    half = z / (1.0 + weight) * math.sqrt(share * (1.0 - share) / trials + weight / (4.0 * trials))
    # At the ends the interval would touch its bound, apart from rounding.
    return (0.0 if successes == 0 else centre - half), (1.0 if successes == trials else centre + half)


def mean_interval(numbers: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the bootstrap interval of a mean: quantiles of the means of 4,000 samples with replacement.

    B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979). It makes no
    assumption about the distribution, which matters where runs end either well or badly. The samples are the same
    each time.

    >>> low, high = mean_interval([0.0, 1.0] * 50)
    >>> round(low, 1), round(high, 1)
    (0.4, 0.6)
    """
    given = np.asarray(unmasked("numbers", numbers), dtype=np.float64)
    if not given.size:
        raise ValueError("there are no numbers; an interval needs at least one")
    tail = (1.0 - proper_fraction("level", level)) / 2.0
    places = np.random.default_rng(0).integers(0, len(given), (4000, len(given)))
    low, high = np.quantile(given[places].mean(axis=1), [tail, 1.0 - tail])
    return float(low), float(high)


def mean_reach(count: int, level: float = 0.95) -> float:
    """Return the half-width of Student's interval for a mean, in sample standard deviations; NaN for a single number.

    >>> round(mean_reach(4), 4)  # 3.1824 / 2
    1.5912
    """
    if count < 2:
        return math.nan
    return float(stdtrit(count - 1, 0.5 + proper_fraction("level", level) / 2.0)) / math.sqrt(count)


def median_interval(numbers: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of a median: two order statistics, chosen by the binomial law.

    The order statistics X(k) and X(n + 1 - k) hold the median between them with probability
    1 - 2 P(Binomial(n, 1/2) < k), whatever the law; k is the largest for which this is at least
    `level`, or 1. Numbers may be infinite.

    >>> median_interval(range(1, 11))
    (2.0, 9.0)
    """
    ordered = np.sort(np.asarray(unmasked("numbers", numbers), dtype=np.float64))
    count = len(ordered)
    if not count:
        raise ValueError("there are no numbers; an interval needs at least one")
    tail, k, below = (1.0 - proper_fraction("level", level)) / 2.0, 0, 0.0
    while k < count // 2 and below + math.comb(count, k) / 2**count <= tail:
        below += math.comb(count, k) / 2**count
        k += 1
    at = max(k, 1) - 1
    return float(ordered[at]), float(ordered[count - 1 - at])


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p-value of this split if wins and losses are equally likely.

    >>> sign_test(9, 1)
    0.021484375
    """
    trials = whole("wins", wins, least=0) + whole("losses", losses, least=0)
    tail = sum(math.comb(trials, count) for count in range(min(wins, losses) + 1))
    return float(min(1.0, tail / 2 ** (trials - 1))) if trials else 1.0


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for multiple testing by Holm's method (Scand. J. Stat. 6, 1979).

    Those below 0.05 then hold jointly: the chance that any of them is false is at most 5 %, whatever the
    dependence between the tests.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected, so_far = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = so_far
    return corrected
