"""Read a log of which an engine, such as a database, has made sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.data.numbers import shown
from sojourn.exact.logs.amounts import checked_names
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.log_reader import LogReader, Source, columns_of, taken
from sojourn.rules.arrays import Floats, Ints

_LABELS = ("state", "action", "next_state")


def products_of(amounts: Sequence[str]) -> list[tuple[str, str]]:
    """Return which products a log of sums needs."""
    pairs = [("reward", "reward"), ("duration", "duration"), ("reward", "duration")]
    return pairs + [pair for name in amounts for pair in ((name, name), (name, "duration"))]


def read_sums(source: Source, amounts: Sequence[str] = ()) -> tuple[Log, dict[tuple[str, str], Floats], Ints]:
    """Return sums as the rows of a log, with their sums of products and their counts; see `Log.from_sums`."""
    found = columns_of(source)
    if isinstance(amounts, str) or not isinstance(amounts, Sequence):
        raise TypeError(f"amounts is {shown(amounts)}; it must be a list of names")
    wrong = next((name for name in amounts if not isinstance(name, str)), None)
    if wrong is not None:
        raise TypeError(f"amounts has the name {shown(wrong)}; it must be a text")
    further = list(checked_names("amounts", dict.fromkeys(amounts)))
    pairs = products_of(further)
    names = (*_LABELS, "reward", "duration", "count", *map("_".join, pairs))
    reader = LogReader(*({name: taken(found, name, name) for name in some} for some in (names, further)))
    count = reader.number("count")
    reader.refuse((count < 1.0) | (count != np.floor(count)), "a count that is not a whole number from 1")
    products = {pair: reader.number("_".join(pair)) for pair in pairs}
    many = np.where(reader.usable, count, 0.0).astype(np.int64)
    log, usable = reader.log(many), reader.usable
    return log, {pair: sums[usable] for pair, sums in products.items()}, many[usable]
