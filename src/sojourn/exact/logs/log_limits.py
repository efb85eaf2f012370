"""Policies that very probably keep limits on a log's amounts, such as at most 0.05 repairs a day.

A limit "at most b of c per d" is kept by policies whose gain of b d - c is not below 0. Candidates are found by policy iteration on
rewards plus prices times what is left, b d - c. The prices are multiples of what a unit of it costs between two policies: the one that
earns most, and the one that leaves most. Of the candidates, those remain whose lower limit of b d - c, as for the gain of a policy that was chosen on the
same rows, is at least 0. If what was done keeps the limits according to the log's model, one of them must very probably be better,
as without limits; else it is the one with the highest lower limit of its gain.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sojourn.exact.constraints import Constraint
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.logs.fit import Fit, LogRows, worth
from sojourn.exact.logs.improve import Choice, candidates, chosen, most_promised, promised
from sojourn.rules.arrays import Floats

_FEW = 2  # limits of which all combinations of prices are tried
PRICED = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)  # times what a unit costs


def within(
    own: tuple[LogRows | None, Fit],
    room: Sequence[tuple[LogRows | None, Fit]],
    limits: Sequence[Constraint],
    level: float,
) -> Choice | None:
    """Return the policy to follow within limits, or None if what was done should be kept.

    `own` are the rows and the fit of the log, and `room` those of the log with b d - c in place of the reward, for each limit.
    """
    rows, fit = own
    base = worth(fit, fit.behaviour)
    free = candidates(fit, base)
    most = max(free, key=lambda share: worth(fit, share).gain)
    prices = [_price(fit, one, most) for _, one in room]
    found = {share.tobytes(): share for share in free}
    together = itertools.product(PRICED, repeat=len(room))
    for times in together if len(room) <= _FEW else ((one,) * len(room) for one in PRICED):
        parts = (
            share * price * one.reward for share, price, (_, one) in zip(times, prices, room, strict=True)
        )
        for candidate in candidates(fit._replace(reward=fit.reward + sum(parts)), base):
            found[candidate.tobytes()] = candidate
    kept = [one for one in found.values() if all(_keeps(each, one, level) for each in room)]
    if all(worth(one, one.behaviour).gain >= 0.0 for _, one in room):
        return chosen(rows, fit, level, kept)
    if not kept:
        said = " and ".join(map(str, limits))
        raise NotSolvedError(
            f"no policy of the log keeps {said} with a probability of {100.0 * level:g} %, and what was done does not either; "
            "allow more, or take a lower level"
        )
    return most_promised(rows, fit, level, kept)


def _price(fit: Fit, room: Fit, most: Floats) -> float:
    """Return what a unit of room costs between the policy that earns most and the one that leaves most."""
    left = max(candidates(room, worth(room, room.behaviour)), key=lambda share: worth(room, share).gain)
    more = worth(room, left).gain - worth(room, most).gain
    return max(worth(fit, most).gain - worth(fit, left).gain, 0.0) / more if more > 0.0 else 0.0


def _keeps(room: tuple[LogRows | None, Fit], share: Floats, level: float) -> bool:
    rows, fit = room
    found = worth(fit, share)
    return found.gain >= 0.0 and promised(rows, fit, found, level) >= 0.0
