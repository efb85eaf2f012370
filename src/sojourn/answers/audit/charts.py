"""The charts of an audit: F and the gain of the greedy policy over the rate, with the limit of each estimator."""

from __future__ import annotations

from pathlib import Path

from sojourn.answers.audit.record import Audited, Kept
from sojourn.report.charts import Axis, Lines, Series, Sheet, Span, Vertical
from sojourn.report.looks import GREEN, GREY, SKY, Look, estimator_looks

_RATE = Axis("rate (reward per unit time)", short="rate")


def value(found: Audited) -> Lines:
    """Return F over the rate, the optimal gain, and the limit of each estimator."""
    frontier = found.frontier
    curve = Series("F(rate)", Look(GREY, marker=None), frontier.rate, frontier.value)
    best = Series(
        f"optimal gain {found.best_gain:.4g}", Look(GREEN, marker=3), [found.best_gain], [0.0], kind="points"
    )
    return Lines(
        f"Value of the best policy at each rate: {found.name}",
        _RATE,
        Axis("F(rate), reward per step"),
        [curve, best],
        _limits(found),
        [_span(found)],
        note="F is the largest possible mean of reward minus rate times duration in a step; it is 0 at the best gain. "
        "Vertical lines are the estimators' limits.",
    )


def gain(found: Audited) -> Lines:
    """Return what the greedy policy for each rate earns."""
    frontier = found.frontier
    curve = Series(
        "gain of the greedy policy", Look(GREY, marker=None), frontier.rate, frontier.gain, kind="steps"
    )
    return Lines(
        f"What the greedy policy earns at each rate: {found.name}",
        _RATE,
        Axis("gain"),
        [curve],
        _limits(found),
        [_span(found)],
        note="Where the line is at its top, a wrong rate does no harm.",
    )


def kept(found: Audited) -> Lines:
    """Return the policies that learners keep: the gain of each, over the rate that is learned under it."""
    frontier = found.frontier
    ends = frontier.rate[0], frontier.rate[-1]
    series = [
        Series(
            "gain of the greedy policy", Look(GREY, marker=None), frontier.rate, frontier.gain, kind="steps"
        ),
        Series("the rate is the gain", Look(GREEN, marker=None), ends, ends, weight="thin"),
    ]
    looks = estimator_looks([limit.estimator for limit in found.estimators])
    for names, policies in _alike(found).items():
        rates, gains = ([one.rate for one in policies], [one.gain for one in policies])
        series.append(Series(", ".join(names), looks[names[0]], rates, gains, kind="points"))
    return Lines(
        f"Policies that a learner keeps, exploration {found.exploration:g}: {found.name}",
        _RATE,
        Axis("gain"),
        series,
        note="A point is a policy that a learner keeps once it follows it, shown at the rate that it then learns. A point "
        "below the optimal gain is a trap. A learner whose estimator has no point keeps changing its policy.",
    )


def sheet(found: Audited) -> Sheet:
    """Return the figure of an audit."""
    return Sheet(
        [[on_paper(found), _shortened(kept(found))]],
        (10.5, 4.4),
        titles=[[paper_title(found), f"policies kept with exploration {found.exploration:g}"]],
    )


def on_paper(found: Audited) -> Lines:
    """Return the chart of F for print, with the numbers in its legend, since a printed chart cannot be pointed at."""
    return value(found)._replace(
        verticals=[line._replace(name=f"{_short(line.name)}: {line.x:.4g}") for line in _limits(found)]
    )


def paper_title(found: Audited) -> str:
    """Return the title of the printed chart of F; a file is shown by its name, without folder and ending."""
    return f"{Path(found.name).stem}: where the estimators end"


def _alike(found: Audited) -> dict[tuple[str, ...], tuple[Kept, ...]]:
    """Group the estimators that keep the same policies at the same rates; leave out those that keep none."""
    names: dict[tuple[tuple[float, float], ...], list[str]] = {}
    policies: dict[tuple[tuple[float, float], ...], tuple[Kept, ...]] = {}
    for each in found.self_confirming:
        key = tuple((float(f"{one.rate:.9g}") + 0.0, float(f"{one.gain:.9g}") + 0.0) for one in each.policies)
        if key:
            names.setdefault(key, []).append(each.estimator)
            policies[key] = each.policies
    return {tuple(names[key]): policies[key] for key in names}


def _limits(found: Audited) -> list[Vertical]:
    """Return a line for each different limit, with the names of all estimators that have it."""
    looks = estimator_looks([limit.estimator for limit in found.estimators])
    return [
        Vertical(", ".join(limit.estimator for limit in group), looks[group[0].estimator], group[0].rate)
        for group in found.groups()
        if group[0].rate is not None
    ]


def _shortened(chart: Lines) -> Lines:
    return chart._replace(series=[line._replace(name=_short(line.name)) for line in chart.series])


def _short(names: str) -> str:
    first, *others = names.split(", ")
    return f"{first} and {len(others)} more" if len(others) > 1 else names


def _span(found: Audited) -> Span:
    return Span("an optimal policy is greedy", SKY, found.low, found.high)
