"""What is kept of many runs: a row for each run, and a mean curve for each group of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart
from sojourn.runs.lengths import Points
from sojourn.runs.totals import Totals

if TYPE_CHECKING:
    from sojourn.worlds.truth import Truth


class Kept(NamedTuple):
    """What is kept of runs besides their totals.

    Each `group` of consecutive runs shares a curve: their mean, with their standard deviation.
    """

    points: Points
    group: int = 1
    policies: bool = True


class Rows(NamedTuple):
    """What is kept of each run."""

    which: Ints  # the runs to make
    totals: Totals  # a stack of them
    rates: Floats
    diverged: Flags
    states: Ints
    policies: Ints
    faults: Floats
    truths: Truth  # a stack of them


class Curves(NamedTuple):
    """What is kept of each group of runs: mean and deviation of their curves, [group, part, point]."""

    points: Points
    group: int
    means: Floats
    spreads: Floats


@compiled_apart
def fold(curves: Curves, run: int, curve: Floats) -> None:
    """Add the curve of a run to its group's mean and sum of squared deviations; runs must be added in their order."""
    mean, spread = curves.means[run // curves.group], curves.spreads[run // curves.group]
    count = run % curves.group + 1
    for part in range(curve.shape[0]):
        for point in range(curve.shape[1]):
            off = curve[part, point] - mean[part, point]
            mean[part, point] += off / count
            spread[part, point] += off * (curve[part, point] - mean[part, point])
