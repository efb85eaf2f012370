"""Further amounts of a log's rows, such as energy or failures, and the log seen as one of them per another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sojourn.data.numbers import finite, nearest, shown
from sojourn.exact.constraints import Constraint
from sojourn.exact.logs.censoring import Unfinished
from sojourn.exact.logs.fit import Fit, LogRows, with_known
from sojourn.models.validation import OWN_AMOUNTS, by_name
from sojourn.rules.arrays import Floats, Ints

ROOM = " room"  # no amount of a user has this name


class AmountRate(NamedTuple):
    """How much of an amount of a log there is per unit of time: about `rate`, between `low` and `high`.

    >>> import sojourn as sj
    >>> rows = {"state": [0, 0, 0], "action": [0, 0, 0], "reward": [6, 0, 6], "duration": [1, 2, 1], "kwh": [5, 7, 0]}
    >>> sj.read_log(rows, amounts={"energy": "kwh"}).behaviour.amounts["energy"].rate  # 12 in a time of 3
    4.0
    """

    rate: float
    low: float
    high: float


class RowAmount(NamedTuple):
    """An amount of each row, and the part of it that is there from the beginning, if that is known."""

    values: Floats
    start: Floats | None = None

    def at(self, rows: Ints) -> RowAmount:
        """Return the same for some rows only."""
        return RowAmount(self.values[rows], None if self.start is None else self.start[rows])


class KnownEffect(NamedTuple):
    """An action whose effect is known: its means by amount, where it leads, and in which states it can be taken."""

    action: int
    means: Mapping[str, float]
    successors: Floats
    states: Ints

    def with_room(self, limit: Constraint) -> KnownEffect:
        """Return the same with the amount "room"."""
        counted, unit = (self.means.get(name, 0.0) for name in (limit.amount, limit.per))
        return self._replace(means={**self.means, ROOM: limit.sign * (limit.bound * unit - counted)})

    def added(self, fit: Fit, maximise: str, per: str) -> Fit:
        """Return the fit with this action."""
        mean, length = (self.means.get(name, 0.0) for name in (maximise, per))
        return with_known(fit, self.action, mean, length, self.successors, self.states)


class RowColumns(NamedTuple):
    """What a log's rows show, as it was read: rewards, durations and further amounts, and which rows ended."""

    rows: LogRows
    unfinished: Unfinished | None  # None if all rows ended
    amounts: Mapping[str, RowAmount]

    def named(self, name: Any) -> RowAmount:
        """Return an amount: "reward", "duration", "steps", or one that the log has."""
        ends, ones = self.unfinished, np.ones(len(self.rows.state))
        own = {
            "reward": RowAmount(self.rows.reward, ends and ends.start),
            "duration": RowAmount(self.rows.duration, 0.0 * ones),
            "steps": RowAmount(ones, ones),
        }
        found = own | dict(self.amounts)
        if name not in found:
            raise ValueError(f"the log has no amount {shown(name)}{nearest(str(name), list(found))}")
        return found[name]

    def with_room(self, limit: Constraint) -> RowColumns:
        """Return the columns with the amount "room", which is what a limit leaves; a policy keeps it if its gain is not below 0."""
        counted, unit = self.named(limit.amount), self.named(limit.per)
        values = limit.sign * (limit.bound * unit.values - counted.values)
        start = None
        if counted.start is not None and unit.start is not None:
            start = limit.sign * (limit.bound * unit.start - counted.start)
        return self._replace(amounts={**self.amounts, ROOM: RowAmount(values, start)})

    def seen_as(self, maximise: Any, per: Any) -> RowColumns:
        """Return the columns with one amount in place of the reward, and another one in place of the duration."""
        reward, duration = self.named(maximise), self.named(per)
        below = int(np.count_nonzero(duration.values < 0.0))
        if below or not duration.values.any():
            fault = f"is negative in {below:,} rows" if below else "is 0 in all rows"
            raise ValueError(
                f"the amount {shown(per)} {fault}; count per an amount that is never negative and not always 0"
            )
        ends = self.unfinished
        if ends is not None and (maximise, per) != ("reward", "duration"):
            watched = self.rows.duration if ends.watched is None and per != "duration" else ends.watched
            ends = ends._replace(start=reward.start, watched=watched)
        return self._replace(
            rows=self.rows._replace(reward=reward.values, duration=duration.values), unfinished=ends
        )


def checked_names(what: str, given: Any) -> dict[str, Any]:
    """Return amounts by name; names must be texts, and none of those that every log has."""
    for name in (named := by_name(what, given)):
        if not isinstance(name, str) or not name or name in OWN_AMOUNTS:
            own = f"{', '.join(OWN_AMOUNTS[:-1])} and {OWN_AMOUNTS[-1]} are amounts of every log"
            raise ValueError(f"{what} has the name {shown(name)}; it must be a text, and {own}")
    return dict(named)


def checked_means(given: Any, amounts: Mapping[str, Any]) -> dict[str, float]:
    """Return the means of a known effect by amount."""
    found = {}
    for name, mean in checked_names("amounts", given).items():
        if name not in amounts:
            near = nearest(name, list(amounts)) if amounts else ""
            raise ValueError(f"amounts has {shown(name)}, which the log does not have{near}")
        found[name] = finite(f"the amount {shown(name)}", mean)
    return found
