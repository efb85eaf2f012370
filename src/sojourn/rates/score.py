"""A score that ranks estimators by how well they predict, without knowing the true rate.

The score of an estimate rho on a transition (r, tau) that comes after it is

    1/2 tau rho^2 - r rho

Suppose that E[r] = rho* E[tau] for each transition, given all before it, with a rate rho* that may change from one
transition to the next. Then the scores and 1/2 tau ((rho - rho*)^2 - rho*^2) have the same expected total. So the lower the
total, the closer the estimates were to the true rates, whatever the dependence between rewards and durations (the proof is
in the documentation, under Mathematics). The squared error (r - rho tau)^2 has no such property.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import proper_fraction, shown
from sojourn.rates.means import Numbers, first_of, numbers, same_length
from sojourn.rates.protocol import Rate, carry, value
from sojourn.rules.intervals import mean_interval
from sojourn.rules.kernel import kernel
from sojourn.rules.values import Column, canonical, is_value, named_fields, same

_value = value.bare

_PATIENCE = 2_000  # up to this many transitions, Python is done before a compiler would be ready
_BLOCKS = 50  # of consecutive transitions, for the bootstrap
LEAST = 2 * _BLOCKS  # transitions that are needed to choose an estimator


def rate_score(rate: Rate, rewards: ArrayLike, durations: ArrayLike) -> float:
    """Return the total score of an estimator on a stream of transitions; the lower, the better.

    Each transition is scored with the estimate made before it. The reward of a transition that takes no time counts with the
    next one that takes time.

    Here the first estimate is 0, and so is its score. The second is 3, scored on a reward of 4 in a time of 1:

    >>> from sojourn.rates.ratio import Cumulative
    >>> rate_score(Cumulative(), [6.0, 4.0], [2.0, 1.0])  # 9/2 - 12
    -7.5
    """
    r, tau = transitions(rewards, durations)
    return _total(_scores(rate, r, tau))


class RateScore(NamedTuple):
    """The score of one candidate, and its difference from the best score, which is between `low` and `high`.

    >>> from sojourn.rates.contrast import Fixed
    >>> choose_rate([1.0, 3.0] * 100, [1.0] * 200, [Fixed(2.0)]).scores[0]  # 200 times 2 - 4
    RateScore(label='Fixed(2)', rate=Fixed(rate=2.0), score=-400.0, difference=0.0, low=0.0, high=0.0)
    """

    label: str
    rate: Rate
    score: float
    difference: float
    low: float
    high: float


class RateChoice(NamedTuple):
    """The answer of `choose_rate`: the candidates with their scores, in the order in which they were given.

    >>> from sojourn.rates.contrast import Fixed
    >>> found = choose_rate([1.0, 3.0] * 100, [1.0] * 200, [Fixed(0.0), Fixed(2.0)])
    >>> found.best, [one.difference for one in found.scores]  # a rate of 0 scores 0, and 2 scores 2 - 4, 200 times
    (Fixed(rate=2.0), [400.0, 0.0])
    """

    scores: tuple[RateScore, ...]
    level: float

    @property
    def winner(self) -> RateScore:
        """The candidate with the lowest score, or the first of several."""
        return min(self.scores, key=lambda one: one.score)

    @property
    def best(self) -> Rate:
        """The estimator with the lowest score, as it was given."""
        return self.winner.rate


def choose_rate(
    rewards: ArrayLike,
    durations: ArrayLike,
    candidates: Sequence[Rate] | Mapping[str, Rate],
    *,
    level: float = 0.95,
) -> RateChoice:
    """Return which of several estimators, or step sizes, predicted a stream of transitions best.

    The true rate need not be known; see `rate_score`. Each candidate's difference from the best has an interval, from a
    bootstrap of 50 blocks of consecutive transitions. If the interval contains 0, the stream cannot tell the two apart.

    >>> import numpy as np
    >>> from sojourn.rates.ratio import Exponential
    >>> rng = np.random.default_rng(0)
    >>> pay = np.repeat([1.0, 5.0, 2.0, 8.0], 400)  # which changes three times
    >>> found = choose_rate(pay + rng.normal(size=1600), np.ones(1600), [Exponential(b) for b in (0.001, 0.1)])
    >>> found.best.step_size, found.scores[0].low > 0.0
    (0.1, True)
    """
    r, tau = transitions(rewards, durations)
    level = proper_fraction("level", level)
    if len(r) < LEAST:
        raise ValueError(
            f"rewards has {len(r)} number{'' if len(r) == 1 else 's'}; at least {LEAST} are needed to choose an estimator"
        )
    named = _labelled(candidates)
    scores = {label: _scores(rate, r, tau) for label, rate in named.items()}
    totals = {label: _total(each) for label, each in scores.items()}
    best = min(totals, key=lambda label: totals[label])
    if totals[best] == math.inf:
        raise ValueError(
            "no candidate stayed finite on these transitions; give others, or smaller step sizes"
        )
    return RateChoice(
        tuple(
            RateScore(label, rate, totals[label], *_compared(scores[label], scores[best], level))
            for label, rate in named.items()
        ),
        level,
    )


def label_of(rate: Rate) -> str:
    """Return the name of a fresh estimator, with its fields that differ from their defaults.

    >>> from sojourn.rates.ratio import Cumulative, Exponential
    >>> label_of(Exponential(0.01)), label_of(Cumulative())
    ('Exponential(0.01)', 'Cumulative')
    """
    defaults = getattr(type(rate), "_field_defaults", {})
    given = (
        field for name, field in named_fields(rate) if name not in defaults or not same(field, defaults[name])
    )
    told = ", ".join(
        label_of(field) if is_value(field) else f"{field:g}" if isinstance(field, float) else shown(field)
        for field in given
    )
    return type(rate).__name__ + (f"({told})" if told else "")


def rates_over(rate: Rate, rewards: Numbers, durations: Numbers) -> Numbers:
    """Return the estimates that an estimator has before each transition."""
    value(rate)  # raises an error if it is not an estimator
    found = np.empty(len(rewards))
    run = rates_before if len(rewards) > _PATIENCE else rates_before.python
    with np.errstate(over="ignore", invalid="ignore"):  # estimates may diverge
        run(canonical(rate), rewards, durations, found)
    return found


@kernel
def rates_before(rate: Rate, rewards: Column, durations: Column, values: Column) -> None:
    """Write the estimate before each transition into `values`."""
    carried = 0.0
    for k in range(len(rewards)):
        values[k] = _value(rate)
        rate, carried = carry(rate, carried, rewards[k], durations[k])


def transitions(rewards: ArrayLike, durations: ArrayLike) -> tuple[Numbers, Numbers]:
    """Return rewards and durations as arrays, or raise an error; durations may be 0, but not all of them."""
    r, tau = numbers("rewards", rewards), numbers("durations", durations)
    same_length("rewards", r, "durations", tau)
    if (tau < 0.0).any():
        at = first_of(tau < 0.0)
        raise ValueError(f"durations[{at}] is {tau[at]}; a duration must not be negative")
    if not tau.any():
        raise ValueError("all durations are 0; a rate needs at least one transition that takes time")
    return r, tau


def _scores(rate: Rate, rewards: Numbers, durations: Numbers) -> Numbers:
    estimates = rates_over(rate, rewards, durations)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((0.5 * durations * estimates - rewards) * estimates)


def _total(scores: Numbers) -> float:
    return math.fsum(scores) if np.isfinite(scores).all() else math.inf


def _compared(scores: Numbers, best: Numbers, level: float) -> tuple[float, float, float]:
    """Return the total difference from the best, and its interval."""
    if not np.isfinite(scores).all():
        return math.inf, math.inf, math.inf
    off = scores - best
    edges = np.linspace(0, len(off), _BLOCKS + 1).round().astype(np.int64)[:-1]
    low, high = mean_interval(np.add.reduceat(off, edges), level)
    return math.fsum(off), _BLOCKS * low, _BLOCKS * high


def _labelled(candidates: Sequence[Rate] | Mapping[str, Rate]) -> dict[str, Rate]:
    if isinstance(candidates, Mapping):
        named = {str(label): rate for label, rate in candidates.items()}
    elif isinstance(candidates, Sequence) and not hasattr(candidates, "_fields"):
        named = {}
        for rate in candidates:
            value(rate)  # raises an error if it is not an estimator
            if label_of(rate) in named:
                raise ValueError(
                    f"two candidates are called {label_of(rate)}; give a mapping with a name for each"
                )
            named[label_of(rate)] = rate
    else:
        raise TypeError(
            f"candidates is {shown(candidates)}; it must be a list of estimators, or a mapping of names to estimators"
        )
    if not named:
        raise ValueError("candidates is empty; give at least one estimator")
    return named
