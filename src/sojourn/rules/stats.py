"""Statistics over runs and problems: interquartile means, performance profiles, differences, and their intervals.

Scores are figures of runs, one for each seed: a list, or a mapping with a list for each problem. All intervals are
bootstrapped, *stratified* over problems: each sample redraws every problem's runs with replacement. The samples are
the same each time. The definitions are those of R. Agarwal, M. Schwarzer, P. S. Castro, A. Courville and M. G.
Bellemare, "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, and of their library
rliable.

    iqm(scores)                                  the mean of the middle half of all scores
    bootstrap(scores, statistic)                 a statistic of all scores, with its interval
    profile(scores, thresholds)                  the share of scores above each threshold, with intervals
    difference(one, other, statistic)            a statistic of the differences run by run, with its interval
    scores(table, column)                        the scores of each agent, from a table of results

>>> iqm([0.0, 1.0, 2.0, 9.0])
1.5
>>> bootstrap({"easy": [1.0, 1.0, 1.0], "hard": [0.0, 0.0, 0.0]})  # runs without variation have a degenerate interval
Interval(value=0.5, low=0.5, high=0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl

from sojourn.data.numbers import nearest, proper_fraction, shown, unmasked, whole
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

__all__ = ["Interval", "Profile", "bootstrap", "difference", "iqm", "profile", "scores"]

Scores: TypeAlias = Mapping[str, Sequence[float] | Floats] | Sequence[float] | Floats
Statistic: TypeAlias = Callable[[Floats], float]


class Interval(NamedTuple):
    """A statistic of the scores, and the interval around it.

    >>> Interval(0.5, 0.4, 0.6).low
    0.4
    """

    value: float
    low: float
    high: float


class Profile(NamedTuple):
    """The share of scores above each threshold, with the interval of each.

    >>> profile([0.0, 1.0], [0.5]).share
    array([0.5])
    """

    thresholds: Floats
    share: Floats
    low: Floats
    high: Floats


@told
def iqm(scores: Scores) -> float:
    """Return the interquartile mean: the mean of the middle half of the scores.

    A quarter is rounded down to whole scores. It is less noisy than the median, and robust to outliers.

    >>> iqm([1.0, 2.0, 3.0, 4.0, 100.0])  # without 1 and 100
    3.0
    """
    ordered = np.sort(np.concatenate(_strata(scores)))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


@told
def bootstrap(
    scores: Scores, statistic: Statistic = iqm, *, level: float = 0.95, samples: int = 2000, seed: int = 0
) -> Interval:
    """Return a statistic of all scores and its percentile interval, bootstrapped within each problem.

    `statistic` takes an array of all scores and returns a number: `iqm`, `np.mean`, `np.median` or your own.

    >>> found = bootstrap([0.0, 1.0] * 50, np.mean)
    >>> found.value, round(found.low, 1), round(found.high, 1)
    (0.5, 0.4, 0.6)
    """
    strata = _strata(scores)
    drawn = np.array([statistic(sample) for sample in _samples(strata, samples, seed)])
    low, high = np.quantile(drawn, _tails(level))
    return Interval(float(statistic(np.concatenate(strata))), float(low), float(high))


@told
def profile(
    scores: Scores,
    thresholds: Sequence[float] | Floats,
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> Profile:
    """Return the performance profile: the share of scores above each threshold, with pointwise intervals.

    >>> found = profile({"easy": [0.9, 1.0], "hard": [0.0, 0.2]}, [0.0, 0.5, 1.0])
    >>> found.share
    array([0.75, 0.5 , 0.  ])
    >>> found.low[1], found.high[1]  # every easy run is above 0.5, and no hard one
    (np.float64(0.5), np.float64(0.5))
    """
    strata, at = _strata(scores), np.asarray(unmasked("thresholds", thresholds), dtype=np.float64)
    if at.ndim != 1 or not at.size or not np.isfinite(at).all():
        raise ValueError(f"thresholds is {shown(thresholds)}; it must be a list of finite numbers")

    def above(sample: Floats) -> Floats:
        return 1.0 - np.searchsorted(np.sort(sample), at, side="right") / len(sample)

    drawn = np.array([above(sample) for sample in _samples(strata, samples, seed)])
    low, high = np.quantile(drawn, _tails(level), axis=0)
    return Profile(at, above(np.concatenate(strata)), low, high)


@told
def difference(
    one: Scores,
    other: Scores,
    statistic: Statistic = np.mean,
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return a statistic of `one` minus `other`, run by run, with its interval.

    Runs are paired by position, so those at the same position must have the same seed; `scores` returns them in
    that order. If much depends on the seed, this is far more precise than comparing two intervals.

    >>> difference([1.0, 5.0, 9.0], [0.0, 4.0, 8.0])  # always 1 more, whatever the seed
    Interval(value=1.0, low=1.0, high=1.0)
    """
    ours, theirs = _named(one), _named(other)
    if ours.keys() != theirs.keys() or any(len(ours[name]) != len(theirs[name]) for name in ours):
        raise ValueError(
            "one and other do not pair: they need the same problems, and equally many runs of each"
        )
    pairs = {name: ours[name] - theirs[name] for name in ours}
    return bootstrap(pairs, statistic, level=level, samples=samples, seed=seed)


@told
def scores(table: pl.DataFrame, column: str) -> dict[str, dict[str, Floats]]:
    """Return a column of a table of results by agent and world, each in the order of the seeds.

    Runs without a number, because they failed or diverged, are an error: first decide what they count as with
    `fill_null`, or leave them out with `filter`. A duplicate seed is an error, too: first choose one cell for
    each agent and world.

    >>> table = pl.DataFrame({"agent": ["a", "a"], "world": ["w", "w"], "seed": [1, 0], "earned": [2.0, 3.0]})
    >>> scores(table, "earned")
    {'a': {'w': array([3., 2.])}}
    """
    for name in ("agent", "world", "seed", column):
        if name not in table.columns:
            raise ValueError(f"the table has no column {shown(name)}{nearest(name, table.columns)}")
    if missing := table[column].null_count():
        raise ValueError(
            f"{column} has no number in {missing} of {len(table)} rows; fill them with what they count for, or leave them out"
        )
    found: dict[str, dict[str, Floats]] = {}
    for (agent, world), rows in table.group_by("agent", "world", maintain_order=True):
        if rows["seed"].n_unique() < len(rows):
            raise ValueError(
                f"{agent} in {world} has a seed twice: the table has several cells of it; choose one of them first"
            )
        found.setdefault(str(agent), {})[str(world)] = rows.sort("seed")[column].to_numpy().astype(np.float64)
    return found


def _named(given: Scores) -> dict[str, Floats]:
    """Return the scores of each problem; a plain list counts as one problem."""
    strata = given if isinstance(given, Mapping) else {"": given}
    unmasked("scores", strata)
    named = {name: np.asarray(column, dtype=np.float64) for name, column in strata.items()}
    if not named:
        raise ValueError("there are no scores; give at least one")
    for name, column in named.items():
        if column.ndim != 1 or not column.size or np.isnan(column).any():
            what = f"the scores of {name}" if name else "scores"
            hint = ", or a dictionary with such a list for each problem" if not name else ""
            raise ValueError(
                f"{what} is {shown(given if not name else column)}; it must be a list of numbers{hint}"
            )
    return named


def _strata(given: Scores) -> list[Floats]:
    return list(_named(given).values())


def _samples(strata: list[Floats], count: int, seed: int) -> Iterator[Floats]:
    """Yield samples of all scores, each drawn with replacement within every problem."""
    rng = np.random.default_rng(whole("seed", seed, least=0))
    for _ in range(whole("samples", count)):
        yield np.concatenate([column[_places(rng, len(column))] for column in strata])


def _places(rng: np.random.Generator, size: int) -> Ints:
    return rng.integers(0, size, size)


def _tails(level: float) -> list[float]:
    tail = (1.0 - proper_fraction("level", level)) / 2.0
    return [tail, 1.0 - tail]
