"""Make runs that differ only in the agent and the seed in one compiled call.

A run of the paper's simulation takes a tenth of a millisecond, less than the Python around it would. So the
agents of many runs are stacked, and one kernel takes one after the other.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.agents.protocol import A, Agent
from sojourn.agents.values.protocol import num_missing, write_policy
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.compile import kernel
from sojourn.rules.stacks import put, take
from sojourn.rules.streams import streams
from sojourn.rules.vectors import State, number_of
from sojourn.runs.halt import Halt
from sojourn.runs.lengths import NEVER, Length, Points
from sojourn.runs.loop import (
    PARTS,
    Course,
    Record,
    Run,
    Signals,
    Streams,
    Walk,
    explain,
    go_on,
    has_diverged,
    ready,
    without_missing,
)
from sojourn.runs.totals import Totals, no_totals
from sojourn.worlds.checks import Fault, first_state
from sojourn.worlds.protocol import World, extent, observed
from sojourn.worlds.truth import Truth, knows_truth, truth_of, truths

_truth_of, _value = truth_of.bare, value.bare

# The columns of tables that are figures of a run, in their order.
FIGURES = tuple(name for name in Run._fields if name in {"rate", *Totals._fields, "diverged"})

TRUTHS = ("dynamic_regret", "tracking_error")  # two more, in worlds that know their gain at every time

Column: TypeAlias = npt.NDArray[Any]  # of a table: numbers, words or anything else


class Kept(NamedTuple):
    """What is kept of runs beside their totals.

    Each `group` of consecutive runs shares a curve: their mean, with their standard deviation.
    """

    points: Points
    group: int = 1
    policies: bool = True


class Batch(NamedTuple):
    """The results of a batch: in every part, one row for each run."""

    totals: Totals  # a stack of them
    rates: Floats
    diverged: Flags
    states: Ints  # where each run stood in the end
    policies: Ints
    curves: Floats  # [run, part of the curve, point]
    spreads: Floats  # if curves are means, their deviations
    errors: Column  # the sentence of a run that broke the rules, else ""
    dynamic_regrets: Floats  # NaN where the gain at a time is not known
    tracking_errors: Floats

    def figures(self) -> dict[str, Column]:
        """Return the column of each figure; in a world that knows its gain at every time there are two more."""
        columns = {"rate": self.rates, **self.totals._asdict(), "diverged": self.diverged}
        found = {name: columns[name] for name in FIGURES}
        if np.isfinite(self.dynamic_regrets).any():
            found |= dict(zip(TRUTHS, (self.dynamic_regrets, self.tracking_errors), strict=True))
        return found


def joined(batches: list[Batch]) -> Batch:
    """Return the rows of several batches as one."""
    totals = Totals._make(map(np.concatenate, zip(*(batch.totals for batch in batches), strict=True)))
    _, *others = zip(*batches, strict=True)
    return Batch(totals, *map(np.concatenate, others))


def run_batch(
    world: World, agents: A, seeds: list[int], length: Length, kept: Kept, halt: Halt | None = None
) -> Batch:
    """Run each agent of a stack with the seed at the same place; a run that fails does not stop the others.

    The arrays of the stack are used up.
    """
    count, halt = len(seeds), halt or Halt()
    first = take(agents, 0)
    world, _ = ready(world, first)
    agents = without_missing(world, agents)
    different, place = np.unique(np.array(seeds), return_inverse=True)
    rngs = np.array([streams(seed, 2) for seed in different.tolist()])[place]
    listed = extent(world)[0] if observed(world) is None else 0
    rows = _Rows(
        totals=no_totals(count),
        rates=np.zeros(count),
        diverged=np.zeros(count, dtype=np.bool_),
        states=np.zeros(count, dtype=np.int64),
        policies=np.zeros((count, listed if kept.policies else 0), dtype=np.int64),
        faults=np.zeros((count, 6)),
        truths=truths(count),
    )
    means, spreads = np.zeros((2, count // kept.group, len(PARTS), len(kept.points)))
    curves = _Curves(np.append(kept.points, NEVER), kept.group, means, spreads)
    course = Course(length.total, length.steps, *extent(world), float(length.time))
    _walk_batch(Begun(world, first_state(world)), agents, rngs, course, curves, rows, halt.flag)
    if halt.is_set:
        raise CancelledError("the batch was halted")
    errors = np.full(count, "", dtype=object)
    for row in np.flatnonzero(rows.faults[:, 0]).tolist():
        errors[row] = explain(world, first, take(rows.totals, row).steps, Fault(*rows.faults[row, 1:]))
    if kept.group > 1:
        np.sqrt(spreads / (kept.group - 1), out=spreads)
    else:
        spreads[:] = np.nan  # one run has no deviation
    known = [take(rows.truths, row) for row in range(count)] if knows_truth(world) else []
    regrets = np.array([truth.dynamic_regret for truth in known]) if known else np.full(count, np.nan)
    tracking = np.array([truth.tracking_error for truth in known]) if known else np.full(count, np.nan)
    return Batch(
        rows.totals,
        rows.rates,
        rows.diverged,
        rows.states,
        rows.policies,
        means,
        spreads,
        errors,
        regrets,
        tracking,
    )


class _Rows(NamedTuple):
    """What is written of each run."""

    totals: Totals  # a stack of them
    rates: Floats
    diverged: Flags
    states: Ints
    policies: Ints
    faults: Floats
    truths: Truth  # a stack of them


class _Curves(NamedTuple):
    """What is written of each group of runs: mean and deviation of their curves, [group, part, point]."""

    points: Points
    group: int
    means: Floats
    spreads: Floats


class Begun(NamedTuple):
    """A world, and a state of the kind that it has."""

    world: World
    state: State


@kernel
def _walk_batch(
    begun: Begun,
    agents: Agent,
    rngs: npt.NDArray[Any],
    course: Course,
    curves: _Curves,
    rows: _Rows,
    halt: Flags,
) -> None:
    """Take one run after the other."""
    record = Record(curves.points, np.empty(curves.means.shape[1:]))
    group = curves.group
    for i in range(len(rows.rates)):
        start = Walk(begun.world, take(agents, i), begun.state, take(rows.totals, i))
        missing = num_missing(start.agent.values)
        record.curve[:] = np.nan
        rngs_of_run = Streams(rngs[i, 0], rngs[i, 1])
        walk = go_on(start, course, record, Signals(rows.faults[i], halt), rngs_of_run)
        _fold(record.curve, curves.means[i // group], curves.spreads[i // group], i % group + 1)
        put(rows.totals, i, walk.totals)
        put(rows.truths, i, _truth_of(walk.world))
        rows.rates[i] = _value(walk.agent.rate)
        rows.states[i] = number_of(walk.state)
        rows.diverged[i] = has_diverged(walk.agent, missing)
        write_policy(walk.agent.values, rows.policies[i])


@compiled_apart
def _fold(curve: Floats, mean: Floats, spread: Floats, count: int) -> None:
    """Add the curve of the n-th run, n = `count`, to the mean and to the sum of squared deviations."""
    for part in range(curve.shape[0]):
        for point in range(curve.shape[1]):
            off = curve[part, point] - mean[part, point]
            mean[part, point] += off / count
            spread[part, point] += off * (curve[part, point] - mean[part, point])
