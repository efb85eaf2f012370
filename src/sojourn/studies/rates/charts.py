"""The charts of estimators on a log: their rates over time, and their scores."""

from __future__ import annotations

from sojourn.report.charts import Axis, Lines, Series, Whisker, Whiskers
from sojourn.report.looks import estimator_looks, plain
from sojourn.studies.rates.record import Rated


def rates(found: Rated) -> Lines:
    """Return the estimates of the best of each kind over time."""
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
    """Return by how much the score of each candidate is above that of the best."""
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
