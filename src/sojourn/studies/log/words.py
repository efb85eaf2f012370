"""What a log says in words, for a terminal."""

from __future__ import annotations

from sojourn.report.words import counted
from sojourn.studies.log.answer import Logged

_STATES_SHOWN = 60
_WIDEST = 30


def lines(found: Logged) -> list[str]:
    """Return what was earned, what would be better, and the policy with the counts it rests on."""
    told = [
        f"{found.name}: {counted(found.rows, 'row')}, {counted(len(found.advice), 'state')}, {counted(found.actions, 'action')}",
        *(f"left out: {sentence}" for sentence in found.refused),
        *(f"note: {sentence}" for sentence in found.findings),
        *found.sentences,
    ]
    if found.weighted is not None:
        told.append(
            f"without a model, from the probabilities of the actions taken: {found.weighted.rate:.6g}, "
            f"{100.0 * found.level:g} % interval {found.weighted.low:.6g} to {found.weighted.high:.6g}"
        )
    return [*told, "", *table_lines(found), *caution(found)]


def caution(found: Logged) -> list[str]:
    """Return a warning if solving the log's model as if it were exact would claim more."""
    if found.plain_gain is None or found.kept or not found.plain_gain > found.gain:
        return []
    return [
        "",
        f"Solving the model of the log as if it were exact would claim {found.plain_gain:.6g}; "
        "part of that is luck in states and actions that were rarely seen.",
    ]


def table_lines(found: Logged) -> list[str]:
    """Return a row for each state; new advice has a star."""
    heads = ("state", "usual action", "advice", "seen")
    rows = [
        (
            one.state[:_WIDEST],
            f"{one.commonest[:_WIDEST]} ({100.0 * one.commonest_count / one.rows:.0f} %)",
            "as before" if found.kept else one.action[:_WIDEST] + (" *" if one.is_new else ""),
            f"{one.count:,} of {one.rows:,}",
        )
        for one in found.advice[:_STATES_SHOWN]
    ]
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    told = [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in (heads, *rows)
    ]
    left = len(found.advice) - len(rows)
    return [*told, *([f"and {counted(left, 'further state')}"] if left else [])]
