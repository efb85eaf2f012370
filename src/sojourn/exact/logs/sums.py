"""Read a log of which an engine, such as a database, has made sums."""

from __future__ import annotations

import numpy as np

from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.log_reader import LogReader, Source, columns_of, taken
from sojourn.rules.arrays import Floats, Ints

_LABELS = ("state", "action", "next_state")
_PRODUCTS = ("reward_reward", "duration_duration", "reward_duration")


def read_sums(source: Source) -> tuple[Log, Floats, Ints]:
    """Return sums as the rows of a log, with their sums of products and their counts; see `Log.from_sums`."""
    found = columns_of(source)
    names = (*_LABELS, "reward", "duration", "count", *_PRODUCTS)
    reader = LogReader({name: taken(found, name, name) for name in names})
    count = reader.number("count")
    reader.refuse((count < 1.0) | (count != np.floor(count)), "a count that is not a whole number from 1")
    squares = np.array([reader.number(name) for name in _PRODUCTS])
    log, usable = reader.log(), reader.usable
    return log, squares[:, usable], count[usable].astype(np.int64)
