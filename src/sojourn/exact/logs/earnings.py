"""Read rewards and durations, row by row, from any table that has both."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from sojourn.exact.logs.table import Frame, Reading, columns_of, taken
from sojourn.rules.arrays import Floats


class Earnings(NamedTuple):
    """Rewards and durations in the order of the rows; how many rows were left out, and a sentence for each reason."""

    rewards: Floats
    durations: Floats
    refused: tuple[str, ...]
    left_out: int = 0


def read_earnings(
    source: str | Path | Frame, *, reward: str = "reward", duration: str = "duration"
) -> Earnings:
    """Return the rewards and durations in a CSV or Parquet file, a frame, or columns by name.

    >>> read_earnings({"reward": [1.0, "?", 3.0], "duration": [2.0, 2.0, -1.0]}).refused
    ('1 row has a text where the reward belongs (row 2)', '1 row has a negative duration (row 3)')
    """
    found = columns_of(source)
    given = {"reward": reward, "duration": duration}
    reading = Reading({name: taken(found, column, name) for name, column in given.items()})
    rewards, durations = reading.number("reward"), reading.duration()
    if not reading.usable.any():
        raise reading.nothing_left()
    usable = reading.usable
    left_out = int(np.count_nonzero(~usable))
    return Earnings(rewards[usable], durations[usable], tuple(reading.refused), left_out)
