"""Score estimators of the rate on a log, and keep the results as a record in `rates.json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sojourn import __version__
from sojourn.exact.logs.earnings import Earnings, read_earnings
from sojourn.rates.named import ESTIMATORS
from sojourn.rates.protocol import Rate
from sojourn.rates.score import LEAST, RateScore, choose_rate, rates_over
from sojourn.report import figures
from sojourn.report.charts import Sheet
from sojourn.report.words import counted
from sojourn.rules.numbers import nearest
from sojourn.rules.records import as_json, write_json
from sojourn.studies.rates import charts
from sojourn.studies.rates.record import Course, Rated, Scored

FILE = "rates.json"
KINDS = ("Exponential", "Cumulative", "AdaptiveRatio")  # unless others are asked for
STEP_SIZES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)

_POINTS = 400  # of a line
_LINES = 5


def rated_file(  # the columns are options each
    file: Path,
    *,
    reward: str = "reward",
    duration: str = "duration",
    kinds: Sequence[str] = KINDS,
    step_sizes: Sequence[float] = STEP_SIZES,
    level: float = 0.95,
) -> Rated:
    """Return which estimator fits the rewards and durations in a file."""
    return rated(file.name, read_earnings(file, reward=reward, duration=duration), kinds, step_sizes, level)


def rated(
    name: str,
    log: Earnings,
    kinds: Sequence[str] = KINDS,
    step_sizes: Sequence[float] = STEP_SIZES,
    level: float = 0.95,
) -> Rated:
    """Return which estimator, with which step size, predicts a log best.

    >>> log = Earnings(np.repeat([1.0, 9.0, 3.0], 200), np.ones(600), ())
    >>> found = rated("shop", log, kinds=["Exponential"], step_sizes=[0.001, 0.3])
    >>> found.best, found.candidates[0].difference > 0.0
    ('Exponential(0.3)', True)
    """
    estimators = candidates(kinds, step_sizes)
    if len(log.rewards) < LEAST:
        raise _too_few(name, log)
    chosen = choose_rate(log.rewards, log.durations, list(estimators.values()), level=level)
    scored = [_scored(kind, one) for (kind, _), one in zip(estimators, chosen.scores, strict=True)]
    drawn = _drawn(sorted(scored, key=lambda one: one.total))
    rates = {one.label: one.rate for one in chosen.scores}
    time = float(log.durations.sum())
    return Rated(
        name=name,
        rows=len(log.rewards),
        duration=time,
        rate=float(log.rewards.sum()) / time,
        level=level,
        candidates=tuple(scored),
        best=chosen.winner.label,
        courses=tuple(_course(label, rates[label], log) for label in drawn),
        refused=log.refused,
        version=__version__,
        now=_now(chosen.winner.rate, log),
    )


def candidates(kinds: Sequence[str], step_sizes: Sequence[float]) -> dict[tuple[str, float | None], Rate]:
    """Return an estimator of each kind, with each step size if it has one."""
    made: dict[tuple[str, float | None], Rate] = {}
    for kind in kinds:
        if kind not in ESTIMATORS:
            raise ValueError(f"there is no estimator {kind!r}{nearest(kind, ESTIMATORS)}")
        entry = ESTIMATORS[kind]
        sizes: Sequence[float | None] = step_sizes if entry.has_step_size else [None]
        made |= {(kind, size): entry.make() if size is None else entry.make(size) for size in sizes}
    if not made:
        raise ValueError(
            "there is nothing to compare; name at least one estimator, and a step size if it has one"
        )
    return made


def _too_few(name: str, log: Earnings) -> ValueError:
    """Return the error for a log with too few usable rows, which says how many were left out and why."""
    if not log.left_out:
        return ValueError(
            f"{name} has {counted(len(log.rewards), 'row')}; at least {LEAST} are needed to choose an estimator"
        )
    *first, last = log.refused
    return ValueError(
        f"{name} has {counted(len(log.rewards), 'usable row')}, and at least {LEAST} are needed to choose an estimator; "
        f"{counted(log.left_out, 'row')} {'was' if log.left_out == 1 else 'were'} left out: "
        f"{', '.join(first)}{' and ' if first else ''}{last}"
    )


def write(found: Rated, folder: Path, formats: Sequence[str] = figures.FORMATS) -> None:
    """Write the record, and the figure of the rates over time, into a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, as_json(found))
    figures.write(Sheet([[charts.rates(found)]], (7.0, 4.0)), folder / "figures" / "rates", formats)


def _now(rate: Rate, log: Earnings) -> float | None:
    """Return an estimate after the whole log has been seen, or None if it is not finite."""
    more = [np.append(column, 1.0) for column in (log.rewards, log.durations)]
    last = float(rates_over(rate, *more)[-1])
    return last if math.isfinite(last) else None


def _scored(kind: str, one: RateScore) -> Scored:
    step_size = getattr(one.rate, "step_size", None)
    numbers = (number if math.isfinite(number) else None for number in one[2:])
    return Scored(kind, one.label, step_size, *numbers)


def _drawn(by_score: Sequence[Scored]) -> list[str]:
    """Return the candidates whose rates are drawn: the best of each kind, five at most."""
    best: dict[str, str] = {}
    for one in by_score:
        if one.score is not None:
            best.setdefault(one.estimator, one.label)
    return list(best.values())[:_LINES]


def _course(label: str, rate: Rate, log: Earnings) -> Course:
    """Return an estimate over time, at up to 400 points evenly spaced over the rows."""
    before = rates_over(rate, log.rewards, log.durations)
    clock = np.cumsum(log.durations) - log.durations
    at = np.unique(np.linspace(min(1, len(before) - 1), len(before) - 1, _POINTS).round().astype(np.int64))
    return Course(label, tuple(clock[at].tolist()), tuple(before[at].tolist()))
