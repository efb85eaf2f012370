"""Where the rows of a log lead: which can be used, and what is said of those that cannot, or not wholly."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sojourn.data.numbers import shown
from sojourn.exact.logs.censoring import LAWS
from sojourn.exact.logs.fit import Fit, LogRows
from sojourn.rules.arrays import Flags, Ints

Labels: TypeAlias = tuple[tuple[Hashable, ...], tuple[Hashable, ...]]  # of states and actions
_SLIGHT = 1e-3  # a share of rows that outlast all others which is not worth a word


def closed(
    rows: LogRows, trajectory: Ints, labels: Labels, ended: Flags, weight: Ints | None = None
) -> tuple[LogRows, Ints, Ints, tuple[str, ...]]:
    """Return the rows that lead to states which are left again, their places, those states, and what was changed.

    A trajectory that ends in a state that is never left goes on at the beginning of the next trajectory, like a task that
    starts again. Other rows that lead to such a state are left out, since the log does not say what follows; so are censored
    rows of a state and an action that was never seen to end. `weight` is how many rows each stands for, if they are sums.
    """
    after, findings = rows.next_state.copy(), []
    left = np.zeros(len(labels[0]), dtype=bool)
    left[rows.state[ended]] = True
    ends = np.flatnonzero(np.diff(trajectory) != 0)
    ends = ends[ended[ends]]
    stops = ends[~left[after[ends]]]
    if stops.size:
        after[stops] = rows.state[stops + 1]
        findings.append(stopped(stops.size, labels[0][rows.next_state[stops[0]]]))
    kept = np.ones(len(after), dtype=bool)
    while True:
        left = np.zeros(len(labels[0]), dtype=bool)
        left[rows.state[kept & ended]] = True
        lost = kept & ended & ~left[after]
        if not lost.any():
            break
        kept &= ~lost
    missing = np.flatnonzero(~kept)
    if missing.size:
        many = missing.size if weight is None else int(weight[missing].sum())
        findings.append(
            f"{counted(many, 'row leads', 'rows lead')} to a state that the log never leaves, "
            f"such as {shown(labels[0][after[missing[0]]])}, and {'is' if many == 1 else 'are'} left out"
        )
    if not (kept & ended).any():
        raise ValueError(
            "every row of the log leads sooner or later to a state that is never left; next states must be among the states, and a column "
            "of measurements must be cut into bins (sj.bins)"
        )
    unseen = np.zeros(0, dtype=np.int64)
    if not ended.all():
        unseen = np.flatnonzero(kept & ~ended & ~_with_an_end(rows, kept & ended))
    if unseen.size:
        kept[unseen] = False
        pair = labels[1][rows.action[unseen[0]]], labels[0][rows.state[unseen[0]]]
        findings.append(
            f"{counted(unseen.size, 'row is', 'rows are')} of a state and an action that was never seen to end, such as "
            f"{shown(pair[0])} in {shown(pair[1])}, and {'is' if unseen.size == 1 else 'are'} left out"
        )
    at = np.flatnonzero(kept)
    if len(at) == len(kept):
        return rows._replace(next_state=after), at, np.flatnonzero(left), tuple(findings)
    taken = LogRows(rows.state[at], rows.action[at], rows.reward[at], rows.duration[at], after[at])
    return taken, at, np.flatnonzero(left), tuple(findings)


def stopped(count: int, state: Hashable) -> str:
    """Say that so many trajectories end in a state that is never left."""
    return (
        f"{counted(count, 'trajectory ends', 'trajectories end')} in a state that is never left, such as {shown(state)}; "
        "the beginning of the next trajectory is taken to follow"
    )


def _with_an_end(rows: LogRows, ended: Flags) -> Flags:
    """Return which rows have a state and an action that was seen to end."""
    pair = rows.state * (int(rows.action.max()) + 1) + rows.action
    return np.isin(pair, pair[ended])


def outlasting(fit: Fit, labels: Labels, law: str) -> tuple[str, ...]:
    """Say where rows outlast all that were seen to end, so that the log does not show how long they last."""
    assert fit.ends is not None
    curve = fit.ends.curve
    tails = np.flatnonzero(curve.tail > _SLIGHT)
    if not tails.size:
        return ()
    worst = int(tails[np.argmax(curve.tail[tails])])
    pair = fit.row_pair[curve.rows[curve.first[worst]]]
    where = f"{shown(labels[1][fit.action[pair]])} in {shown(labels[0][fit.state[pair]])}"
    lasting = (
        "are taken to last as the law says"
        if law != LAWS[0]
        else "are taken to end at the longest time watched"
    )
    more = "" if law != LAWS[0] else '; durations="weibull" would fit a law'
    return (
        f"some rows outlast all that were seen to end ({counted(tails.size, 'pair', 'pairs')} of a state and an action; most in "
        f"{where}, {100.0 * curve.tail[worst]:.2g} %); they {lasting} and to lead where the others lead, and intervals allow for "
        f"more{more}",
    )


def trapping(fit: Fit, states: Sequence[Hashable]) -> tuple[str, ...]:
    """Say where the log's model ends up in a few states that it does not leave, although the log was mostly elsewhere."""
    here, after = fit.state[fit.cell_pair], fit.cell_next
    size = fit.num_states
    moves = sparse.coo_array((np.ones(len(here)), (here, after)), shape=(size, size))
    classes, of = connected_components(moves, connection="strong")
    if classes == 1:
        return ()
    closed_classes = np.ones(classes, dtype=bool)
    closed_classes[of[here[of[here] != of[after]]]] = False
    ends = np.flatnonzero(closed_classes[of])
    rows = int(fit.visits[ends].sum())
    if 2 * rows >= int(fit.visits.sum()):
        return ()
    others = f" and {counted(len(ends) - 1, 'other state', 'other states')}" if len(ends) > 1 else ""
    return (
        f"the log shows no way out of {shown(states[ends[0]])}{others} ({counted(rows, 'row', 'rows')}), so that its model ends up there "
        "for ever, and what the behaviour earns in the long run rests on these rows; make states coarser there (sj.bins), or say what "
        "follows (ends, with_action)",
    )


def counted(count: int, one: str, several: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {one if count == 1 else several}"
