"""Which estimators of the rate fit a log: scores, the record in `rates.json`, terminal output, charts and section."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sojourn import __version__
from sojourn.data.files import Json, write_json
from sojourn.data.hints import as_json, read_record
from sojourn.data.numbers import nearest
from sojourn.exact.logs.log_reader import TimedRewards, read_earnings
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.protocol import Rate
from sojourn.rates.score import LEAST, RateScore, choose_rate, rates_over
from sojourn.report import blocks, figures, terminal
from sojourn.report.charts import Axis, Lines, Series, Sheet, Whisker, Whiskers
from sojourn.report.looks import estimator_looks, plain
from sojourn.report.words import counted, number


@dataclass(frozen=True)
class Scored:
    """One candidate: its score, and the interval, `low` to `high`, of its excess over the best; None means infinite."""

    estimator: str
    label: str
    step_size: float | None
    score: float | None
    difference: float | None
    low: float | None
    high: float | None

    @property
    def total(self) -> float:
        """The score; infinite if the estimates diverged."""
        return math.inf if self.score is None else self.score


@dataclass(frozen=True)
class RateTrace:
    """The trace of an estimate over time."""

    label: str
    clock: tuple[float, ...]
    rate: tuple[float, ...]


@dataclass(frozen=True)
class Rated:
    """Which estimators fit a log."""

    name: str
    rows: int
    duration: float
    rate: float  # total reward over total time
    level: float
    candidates: tuple[Scored, ...]
    best: str
    courses: tuple[RateTrace, ...]  # of the best candidate of each kind, best first
    refused: tuple[str, ...] = ()
    version: str = ""
    now: float | None = None  # the best candidate's estimate at the end of the log

    @property
    def by_score(self) -> list[Scored]:
        """The candidates, best first."""
        return sorted(self.candidates, key=lambda one: one.total)


# --- The answer and its file -------------------------------------------------------------

FILE = "rates.json"
KINDS = ("Exponential", "Cumulative", "AdaptiveRatio")  # by default
STEP_SIZES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)

_POINTS = 400  # points of a line
_LINES = 5


def rated_file(  # each column is an option
    file: Path,
    *,
    reward: str = "reward",
    duration: str = "duration",
    kinds: Sequence[str] = KINDS,
    step_sizes: Sequence[float] = STEP_SIZES,
    level: float = 0.95,
) -> Rated:
    """Return how well estimators fit the rewards and durations in a file."""
    return rated(file.name, read_earnings(file, reward=reward, duration=duration), kinds, step_sizes, level)


def rated(
    name: str,
    log: TimedRewards,
    kinds: Sequence[str] = KINDS,
    step_sizes: Sequence[float] = STEP_SIZES,
    level: float = 0.95,
) -> Rated:
    """Return how well estimators, each with several step sizes, predict a log.

    >>> log = TimedRewards(np.repeat([1.0, 9.0, 3.0], 200), np.ones(600), ())
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


def _too_few(name: str, log: TimedRewards) -> ValueError:
    """Return the error for a log with too few usable rows, which says how many were dropped and why."""
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
    """Write the record and the figure of the rates over time into a folder, created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, as_json(found))
    figures.write(Sheet([[rates(found)]], (7.0, 4.0)), folder / "figures" / "rates", formats)


def _now(rate: Rate, log: TimedRewards) -> float | None:
    """Return the final estimate, or None if it is not finite."""
    more = [np.append(column, 1.0) for column in (log.rewards, log.durations)]
    last = float(rates_over(rate, *more)[-1])
    return last if math.isfinite(last) else None


def _scored(kind: str, one: RateScore) -> Scored:
    step_size = getattr(one.rate, "step_size", None)
    numbers = (number if math.isfinite(number) else None for number in one[2:])
    return Scored(kind, one.label, step_size, *numbers)


def _drawn(by_score: Sequence[Scored]) -> list[str]:
    """Return the candidates to draw: the best of each kind, at most five."""
    best: dict[str, str] = {}
    for one in by_score:
        if one.score is not None:
            best.setdefault(one.estimator, one.label)
    return list(best.values())[:_LINES]


def _course(label: str, rate: Rate, log: TimedRewards) -> RateTrace:
    """Return the trace of an estimate, at up to 400 points evenly spaced over the rows."""
    before = rates_over(rate, log.rewards, log.durations)
    clock = np.cumsum(log.durations) - log.durations
    at = np.unique(np.linspace(min(1, len(before) - 1), len(before) - 1, _POINTS).round().astype(np.int64))
    return RateTrace(label, tuple(clock[at].tolist()), tuple(before[at].tolist()))


# --- In words ----------------------------------------------------------------------------

ASSUMED = (
    "This assumes that a row's mean reward is the rate times its mean duration, whatever came before: there is one "
    "state, or the states hardly differ."
)


def lines(found: Rated) -> list[str]:
    """Return the terminal output: what was earned, the candidates with their scores, and the best step sizes."""
    what = f"{found.name}: {counted(found.rows, 'row')}, {found.rate:.6g} per unit time over a time of {found.duration:.6g}"
    left_out = [f"left out: {sentence}" for sentence in found.refused]
    words = [f"{verdict(found)}.", *now(found), *step_sizes(found), ASSUMED]
    return terminal.lines(
        [blocks.Points([what, *left_out]), _table(found, blocks.Budget()), blocks.Points(words)]
    )


def verdict(found: Rated) -> str:
    """Say which candidate is best, and which ones the log cannot distinguish from it."""
    near = [
        one.label
        for one in found.by_score
        if one.label != found.best and one.low is not None and one.low <= 0.0
    ]
    if not near:
        return f"{found.best} is clearly the best of these"
    return f"{found.best} is best, but this log cannot tell it apart from {', '.join(near)}"


def now(found: Rated) -> list[str]:
    """Return a sentence about the rate at the end of the log."""
    if found.now is None:
        return []
    return [f"At the end of the log, {found.best} estimates {found.now:.6g} per unit time."]


def step_sizes(found: Rated) -> list[str]:
    """Return a sentence about the best step size of each kind, which says if it is the smallest or largest one tried."""
    told = []
    for kind in dict.fromkeys(one.estimator for one in found.candidates):
        tried = {
            one.step_size: one
            for one in found.candidates
            if one.estimator == kind and one.step_size is not None
        }
        if len(tried) < 2:
            continue
        best = min(tried, key=lambda size: tried[size].total)
        sentence = f"best step size of {kind}: {best:g}, a memory of about {1.0 / best:.3g} rows"
        if best in (min(tried), max(tried)):
            sentence += f"; it is the {'smallest' if best == min(tried) else 'largest'} that was tried"
        told.append(f"{sentence}.")
    return told


# --- Charts ------------------------------------------------------------------------------


def rates(found: Rated) -> Lines:
    """Return the chart of the best estimates of each kind over time."""
    kinds = {one.label: one.estimator for one in found.candidates}
    looks = estimator_looks(kinds[course.label] for course in found.courses)
    return Lines(
        f"Estimated rates: {found.name}",
        Axis("time", short="time"),
        Axis("reward per unit time", short="rate"),
        [
            Series(course.label, looks[kinds[course.label]].bare(), course.clock, course.rate)
            for course in found.courses
        ],
        note="Each estimate is the one before the next transition; the best estimator of each kind is drawn.",
    )


def scores(found: Rated) -> Whiskers:
    """Return the chart of each candidate's excess score over the best."""
    return Whiskers(
        f"Score above the best: {found.name}",
        Axis("score above the best"),
        [
            Whisker(one.label, plain(place), one.difference, one.low, one.high)
            for place, one in enumerate(found.by_score)
            if one.difference is not None
        ],
        interval=f"{100.0 * found.level:g} % interval",
        reference=0.0,
        note="Lower is better. If an interval contains 0, the log cannot tell the candidate from the best.",
    )


# --- Section of the page -----------------------------------------------------------------


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the `rates.json` in a folder."""
    found = read_record(Rated, given)
    parts: list[blocks.Block] = [blocks.Note(f"Left out: {sentence}.") for sentence in found.refused]
    parts += [blocks.Prose(sentence[0].upper() + sentence[1:]) for sentence in step_sizes(found)]
    return blocks.Section(
        "estimators on a log",
        f"Which estimator fits {found.name}",
        " ".join((f"{verdict(found)}.", *now(found))),
        rates(found),
        [*parts, scores(found), _table(found, budget), blocks.Note(ASSUMED), _facts(folder, found)],
    )


def _table(found: Rated, budget: blocks.Budget) -> blocks.DataTable:
    rows = [
        (one.label, one.score, one.difference, one.low, one.high) for one in found.by_score[: budget.rows]
    ]
    return blocks.DataTable(
        f"Scores: {found.name}",
        [
            *blocks.texts("estimator"),
            blocks.Column("score", digits=6),
            *blocks.numbers("above the best", "at least", "at most"),
        ],
        rows,
        "The lower the score, the closer the estimates were to the true rate, which need not be known. Estimates that grew "
        f"without bound have no score. At least, at most: the {100.0 * found.level:g} % interval.",
    )


def _facts(folder: Path, found: Rated) -> blocks.Facts:
    return blocks.Facts(
        "The log",
        [
            ("file", found.name),
            ("rows", number(found.rows)),
            ("time", number(found.duration, 6)),
            ("reward per unit time", number(found.rate, 6)),
            ("intervals", f"{100.0 * found.level:g} %, by 50 blocks of consecutive rows"),
            *blocks.made_by(found.version, folder),
        ],
    )
