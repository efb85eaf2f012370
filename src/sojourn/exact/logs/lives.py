"""Read a table of lives: how long each unit lived or was watched, and whether it failed, was replaced, or was lost from sight.

A life is cut at the given ages. At each of them one may go on or replace the unit. Going on from an age leads to the next one, or
the unit fails and a new one begins. A unit that was watched for a part of this only is censored there (`censoring`), so the
probability of reaching an age is that of Kaplan and Meier.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sojourn.data.numbers import at_least_zero, finite, shown, whole
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.log_reader import LogReader, Source, columns_of, taken
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.door import told

GO_ON, REPLACE = "go on", "replace"
_FEW = 20  # different ages of replacement that are all kept


@told
def read_lives(  # one argument for each column and each cost
    source: Source,
    *,
    life: str = "life",
    failed: str = "failed",
    replaced: str | None = None,
    failure_cost: float,
    planned_cost: float,
    failure_time: float = 0.0,
    planned_time: float = 0.0,
    earning: float = 0.0,
    ages: int | Sequence[float] = 20,
    per: str = "unit time",
) -> Log:
    """Return the log in a table of lives, one unit a row, with the action "replace" at each of some ages.

    `life` is how long a unit lived or was watched, `failed` is true where it then failed, and `replaced` where it was replaced
    before it failed; other units are censored: their end was not seen. A failure costs `failure_cost` and takes
    `failure_time`, a planned replacement costs `planned_cost` and takes `planned_time`; a new unit follows both. A unit earns
    `earning` per unit of time while it lives. `ages` are the ages at which it may be replaced, or their number: quantiles of the
    ages at which units failed, and the ages at which they were replaced, if these are at most 20, else the highest. Replacing
    between two ages counts as if it had been done at the later one.

    `when` finds the best age and a limit for what it earns, `evaluate` any policy by age.

    >>> lives = {"life": [10, 20, 25, 30], "failed": [True, True, False, True]}
    >>> log = read_lives(lives, failure_cost=5, planned_cost=1, ages=[15])
    >>> log.states, log.actions
    ((0.0, 15.0), ('go on', 'replace'))
    >>> log.evaluate({15.0: "replace"}).gain  # 3/4 live for 15, the other fourth for 10: (1 * 3/4 + 5 * 1/4) / (10 + 45) * 4
    -0.14545...
    """
    columns = columns_of(source)
    reader = LogReader(
        {name: taken(columns, column, name) for name, column in (("life", life), ("failed", failed))}
    )
    lasting = reader.number("life")
    reader.refuse(lasting <= 0.0, "a life that is not above 0")
    ended = reader.flags("failed")
    given_up = np.zeros(reader.size, dtype=bool)
    if replaced is not None:
        reader.columns["replaced"] = taken(columns, replaced, "replaced")
        given_up = reader.flags("replaced")
        reader.refuse(ended & given_up, "both failed and been replaced")
    usable = reader.usable
    if not usable.any():
        raise reader.nothing_left()
    lasting, ended, given_up = lasting[usable], ended[usable], given_up[usable]
    if not ended.any():
        raise ValueError(f"none of {len(lasting):,} units failed, so the table does not say when units fail")
    at = _ages(ages, lasting, ended, given_up)
    costs = [
        finite(name, cost) for name, cost in (("failure_cost", failure_cost), ("planned_cost", planned_cost))
    ]
    times = [
        at_least_zero(name, time)
        for name, time in (("failure_time", failure_time), ("planned_time", planned_time))
    ]
    rows = _rows(at, lasting, ended, given_up)
    lasts, rate = rows["duration"].to_numpy(), finite("earning", earning)
    # After the last age, a unit fails sooner or later, also if that was not seen.
    fails = rows["fails"].to_numpy() | ((rows["state"] == at[-1]) & (rows["action"] == GO_ON)).to_numpy()
    log = LogReader({
        "state": rows["state"], "action": rows["action"], "next_state": rows["next_state"], "trajectory": rows["unit"],
        "reward": pl.Series(rate * lasts - costs[0] * fails), "duration": pl.Series(lasts + times[0] * fails),
    })  # fmt: skip
    log.per, log.faults, log.unfinished = per, reader.faults, rows["censored"].to_numpy()
    log.watched = lasts
    log.start = np.where(rows["state"].to_numpy() == at[-1], -costs[0], 0.0)
    found = log.log()
    found.censored = int(np.count_nonzero(~ended & ~given_up))
    if found.censored:
        found.findings = (
            f"{found.censored:,} of {len(lasting):,} units were lost from sight while they lived",
            *found.findings,
        )
    return found.with_action(
        REPLACE, reward=-costs[1], duration=times[1], next={0.0: 1.0}, where=found.states[1:]
    )


def _ages(given: int | Sequence[float], lasting: Floats, failed: Flags, replaced: Flags) -> Floats:
    """Return the ages at which a unit may be replaced, after 0."""
    if isinstance(given, int) or np.ndim(given) == 0:
        count = whole("ages", given)  # type: ignore[arg-type] # it says so if it is not
        found = np.unique(np.quantile(lasting[failed], np.arange(count) / count, method="higher"))
        known = np.unique(lasting[replaced])
        found = np.union1d(found, known if len(known) <= _FEW else known[-1:])
    else:
        found = np.unique([finite("an age", age) for age in given])
    if not (found > 0.0).all() or not found.size:
        raise ValueError(f"ages are {shown(given)}; give ages above 0, or how many")
    reached = found[(found < lasting.max()) | (found == lasting[replaced].max(initial=0.0))]
    if not reached.size:
        raise ValueError(f"no unit lived longer than the first of the ages, {found[0]:g}")
    return np.append(0.0, reached)


def _rows(ages: Floats, lasting: Floats, failed: Flags, replaced: Flags) -> pl.DataFrame:
    """Return a row for each age that a life reached, and one for its replacement."""
    last = np.searchsorted(ages, lasting, side="left") - 1  # the last age that it went on from
    count = last + 1
    unit = np.repeat(np.arange(len(lasting)), count)
    place = np.arange(len(unit)) - np.repeat(np.cumsum(count) - count, count)
    is_last = place == last[unit]
    upper = np.append(ages[1:], np.inf)
    reaches = lasting[unit] == upper[place]  # it lived just as long as the next age
    fails = is_last & failed[unit]
    lost = is_last & ~fails & ~reaches
    after = np.where(fails | ~(upper[place] < np.inf), 0.0, np.append(ages[1:], 0.0)[place])
    ends = np.flatnonzero(replaced)
    acted = np.minimum(np.searchsorted(ages, lasting[ends], side="left"), len(ages) - 1)
    going = pl.DataFrame({
        "unit": unit, "place": place, "state": ages[place], "duration": np.minimum(lasting[unit], upper[place]) - ages[place],
        "next_state": after, "fails": fails, "censored": lost, "action": np.full(len(unit), GO_ON),
    })  # fmt: skip
    taken_out = pl.DataFrame({
        "unit": ends, "place": last[ends] + 1, "state": ages[acted], "duration": np.zeros(len(ends)),
        "next_state": np.zeros(len(ends)), "fails": np.zeros(len(ends), dtype=bool),
        "censored": np.zeros(len(ends), dtype=bool), "action": np.full(len(ends), REPLACE),
    })  # fmt: skip
    return pl.concat([going, taken_out]).sort("unit", "place")
