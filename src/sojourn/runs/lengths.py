"""How long a run is, and at which steps its curve is recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from sojourn.data.numbers import unmasked, whole
from sojourn.rules.door import told

MOST_SEEDS = 1_000_000

Points: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

NEVER = int(np.iinfo(np.int64).max)
MOST_SEEDS = 1_000_000  # of one agent or of a sweep
MOST_POINTS = 10_000_000  # of a curve


class Length(NamedTuple):
    """How long a run is: some episodes of `steps` steps each, or until the clock reaches `time`, if that is earlier.

    >>> Length(steps=1000, episodes=4).total
    4000
    """

    steps: int
    episodes: int = 1
    time: float = math.inf

    @property
    def total(self) -> int:
        """The steps of all episodes together."""
        return self.steps * self.episodes


@told
def log_spaced(total: int, count: int) -> Points:
    """Return at most `count` different step counts from 1 to `total`, evenly spaced in the logarithm.

    >>> log_spaced(1000, 4)
    array([   1,   10,  100, 1000])
    """
    total, count = whole("total", total, most=NEVER), whole("count", count, least=0, most=MOST_POINTS)
    return np.unique(np.rint(np.geomspace(1, total, count)).astype(np.int64))


def evenly_spaced(total: int, count: int) -> Points:
    """Return at most `count` different step counts up to `total`, evenly spaced.

    >>> evenly_spaced(1000, 4)
    array([ 250,  500,  750, 1000])
    """
    total, count = whole("total", total, most=NEVER), whole("count", count, least=0, most=MOST_POINTS)
    count = min(count, total)
    return np.arange(1, count + 1, dtype=np.int64) * total // max(count, 1)


def record_points(record: int | Sequence[int] | Points, total: int) -> Points:
    """Return the step counts that `record` asks for in a run of `total` steps."""
    points = np.asarray(unmasked("record", record))
    if isinstance(record, int) or points.ndim == 0:
        return log_spaced(total, points.item())
    if points.ndim != 1 or points.dtype.kind not in "iu":
        raise TypeError("record must be a whole number or a flat sequence of step counts")
    if points.size and not (points[0] >= 1 and points[-1] <= total and (np.diff(points) > 0).all()):
        raise ValueError(
            f"the step counts in record must ascend, from at least 1 to at most the {total} steps of the run"
        )
    return points.astype(np.int64)
