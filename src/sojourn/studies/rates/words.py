"""Which estimators fit a log, in words for a terminal."""

from __future__ import annotations

from sojourn.report.words import counted
from sojourn.studies.rates.record import Rated, Scored

ASSUMED = (
    "This assumes that a row's mean reward is the rate times its mean duration, whatever came before: there is one "
    "state, or the states hardly differ."
)


def lines(found: Rated) -> list[str]:
    """Return what was earned, the candidates with their scores, and the best step sizes."""
    return [
        f"{found.name}: {counted(found.rows, 'row')}, {found.rate:.6g} per unit time over a time of {found.duration:.6g}",
        *(f"left out: {sentence}" for sentence in found.refused),
        "",
        *table_lines(found),
        "",
        f"{verdict(found)}.",
        *now(found),
        *step_sizes(found),
        ASSUMED,
    ]


def table_lines(found: Rated) -> list[str]:
    """Return a row for each candidate, the best first."""
    heads = ("estimator", "score", "above the best", f"{100.0 * found.level:g} % interval")
    rows = [(one.label, _shown(one.score), _shown(one.difference), _interval(one)) for one in found.by_score]
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    return [
        (
            row[0].ljust(widths[0])
            + "".join(f"  {w.rjust(n)}" for w, n in zip(row[1:], widths[1:], strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]


def verdict(found: Rated) -> str:
    """Return which candidate is best, and which ones the log cannot tell apart from it."""
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
    """Return a sentence about the best step size of each kind; it says so if no smaller or no larger one was tried."""
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


def _shown(number: float | None) -> str:
    return "not finite" if number is None else f"{number:.6g}"


def _interval(one: Scored) -> str:
    return f"{one.low:.4g} to {one.high:.4g}" if one.difference else ""
