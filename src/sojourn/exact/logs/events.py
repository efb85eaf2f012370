"""Read a table of events: a unit (a machine, a ticket, a cab), a time stamp, what was seen there, and what was done.

The rows of a unit are put in the order of time. Each lasts until the unit's next row, which has the next state. What follows a
unit's last row is not in the table, so the caller says it. `event_reader` reads a table that is in memory, and `pieces` one that is
too large for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sojourn.data.numbers import shown
from sojourn.exact.logs import pieces
from sojourn.exact.logs.amounts import checked_names
from sojourn.exact.logs.bins import Bins
from sojourn.exact.logs.censoring import LAWS
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.event_reader import Amount, Part, Wanted, as_series
from sojourn.exact.logs.log_reader import Columns, Source, columns_of
from sojourn.rules.door import told

_FEW, _SMALL = 5, 20  # rows of a state; rows of a log that is clearly too small for anything


@told
def read_events(  # one argument for each column, as in `read_log`
    source: Source,
    *,
    unit: str | None = "unit",
    time: str = "time",
    state: Part | Sequence[Part] = "state",
    action: Columns | None = None,
    reward: Amount | None = None,
    earning: Amount | None = None,
    amounts: Mapping[str, Amount] | None = None,
    flows: Mapping[str, Amount] | None = None,
    ends: str = "censored",
    until: Any = None,
    durations: str = LAWS[0],
    per: str | None = None,
    keep_rows: bool | None = None,
) -> Log:
    """Return the log in a table of events: files, frames, or columns by name, as for `read_log`.

    `unit` and `time` name columns; the time is a date, a time stamp, ISO text or a number. Each row lasts until the next row of
    its unit, in the unit `per`: "second", "minute", "hour", "day" (for dates and time stamps if nothing else is said), "week",
    "month" (30.436875 days) or "year". Numbers are taken as they are or, with `per`, as seconds.

    `state` names one or several columns; `sj.bins` cuts a column into bins. `action` names the column of what was done, or
    several; a table without an action has only one. `reward` is paid in each row, `earning` per unit of time while it lasts.
    Either is a column, a number, or a function of the row such as `lambda row: -2.0 * row["miles"]`. It is called once with whole
    columns, or, if it cannot compute with them, once for each row. If neither is given, the column "reward" is used. `amounts` and
    `flows` are further amounts by name, such as {"energy": "kwh"}: `amounts` are there in each row, `flows` come per unit of time.
    Answers have their rates, too, and the log's model counts them.

    `ends` says what follows the last row of a unit: "censored", not seen; "renew", the
    unit ends there at once and the unit that began next follows (after the last one, the first); "continue", the row lasts until the
    next unit begins, as on one clock; or it names a column that is true where a unit has ended ("renew") and false where it was
    lost from sight ("censored").

    Parquet files and lazy frames of more than 10 million rows are read part by part and become sums, so that they need not fit into
    memory. `keep_rows=False` asks for that at any size, and `keep_rows=True` keeps the rows. Gains are the same; intervals and limits
    take no account of skewness, and `findings` says so.

    A censored row is left out and counted, unless `until` says when its unit was last watched: a time, or the column that has it.
    The row then lasts longer than that, which says something of `durations`: they are estimated by "kaplan-meier", which
    assumes no law, or as "weibull" or "exponential" (`sojourn.exact.logs.censoring`). Being lost from sight must have no reasons
    that the states leave out.

    >>> log = read_events({
    ...     "bus": [7, 7, 7, 8, 8], "date": ["2024-01-01", "2024-01-03", "2024-01-04", "2024-01-01", "2024-01-02"],
    ...     "wear": [0, 1, 0, 0, 0], "done": ["run", "mend", "run", "run", "run"], "cost": [2, 5, 2, 1, 2],
    ... }, unit="bus", time="date", state="wear", action="done", reward=lambda row: -row["cost"])
    >>> log, log.censored, log.behaviour.observed  # 2 + 5 + 1 in 2 + 1 + 1 days
    (Log(3 rows, 2 states, 2 actions; 2 censored), 2, -2.0)
    """
    wanted = Wanted(
        unit,
        time,
        (state,) if isinstance(state, str | Bins) else tuple(state),
        action,
        "reward" if reward is None and earning is None else reward,
        earning,
        checked_names("amounts", amounts),
        checked_names("flows", flows),
        ends,
        until,
        durations,
        per,
    )
    large = (
        None if keep_rows else pieces.pieces_of(source, wanted, pieces.MOST_ROWS if keep_rows is None else 0)
    )
    if large is not None:
        log = pieces.summed(large, wanted)
    elif keep_rows is False:
        raise ValueError(
            "keep_rows is False, but this table must keep its rows; only Parquet files and lazy frames become sums, if they have units "
            "that are whole numbers or texts, times that are no texts, and neither until nor ends='continue'"
        )
    else:
        log = wanted.reader(_frame(source)).log()
    log.findings += tuple(_thin(log))
    return log


def _thin(log: Log) -> Iterator[str]:
    """Say where a log has too little for advice."""
    if len(log.actions) == 1:
        yield (
            f"the log has only one action, {shown(log.actions[0])}; it says what that earns, and nothing about others"
        )
    seldom = int(np.count_nonzero(log.fit.visits < _FEW))
    if 2 * seldom > len(log.states) and len(log) > _SMALL:
        yield (
            f"{seldom:,} of {len(log.states):,} states have fewer than {_FEW} rows, too few for advice; cut their columns into "
            "fewer bins (sj.bins)"
        )


# --- Columns ------------------------------------------------------------------------------


def _frame(source: Source) -> pl.DataFrame:
    """Return a source as a frame of polars."""
    columns = [as_series(name, column) for name, column in columns_of(source).items()]
    sizes = {len(column) for column in columns}
    if len(sizes) > 1:
        raise ValueError(
            f"the columns of the log have {', '.join(map(str, sorted(sizes)))} rows; they must all have the same number"
        )
    if sizes <= {0}:
        raise ValueError("the log has no rows; give at least one")
    return pl.DataFrame(columns)
