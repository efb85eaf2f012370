"""Make many runs in one compiled call; they differ only in the agent and the seed.

A run of the paper's simulation takes a tenth of a millisecond, less than the Python code around it would take. So
the agents of many runs are stacked, and one kernel makes the runs one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import CancelledError
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.agents.protocol import A, Agent
from sojourn.agents.values.protocol import num_missing, write_policy
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import is_plain
from sojourn.rules.kernel import kernel
from sojourn.rules.stacks import put, take
from sojourn.rules.streams import streams
from sojourn.rules.values import fields_of
from sojourn.rules.vectors import State, number_of
from sojourn.runs.columns import FIGURES, TRUTHS
from sojourn.runs.course import Course, has_diverged
from sojourn.runs.fitting import without_missing
from sojourn.runs.halt import Halt
from sojourn.runs.kept import Curves, Kept, Rows, fold
from sojourn.runs.lengths import NEVER, Length
from sojourn.runs.loop import (
    PARTS,
    Record,
    Signals,
    Streams,
    Walk,
    explain,
    go_on,
    ready,
)
from sojourn.runs.totals import Totals, no_totals
from sojourn.worlds.checks import Fault, first_state
from sojourn.worlds.protocol import World, extent, observed
from sojourn.worlds.truth import knows_truth, truth_of, truths

_truth_of, _value = truth_of.bare, value.bare

LANES_PAY = 100_000_000  # steps: what runs side by side save by then is what compiling them costs

Column: TypeAlias = npt.NDArray[Any]  # of a table: numbers, words or anything else


class Batch(NamedTuple):
    """The results of a batch: in every part, one row for each run."""

    totals: Totals  # a stack of them
    rates: Floats
    diverged: Flags
    states: Ints  # the last state of each run
    policies: Ints
    curves: Floats  # [run, part of the curve, point]
    spreads: Floats  # if curves are means, their deviations
    errors: Column  # what a run did that broke the rules, else ""
    dynamic_regrets: Floats  # NaN in a world that does not know its gain at every time
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


def reordered(batch: Batch, order: Ints) -> Batch:
    """Return a batch with its cells in another order; a cell has one row, or one for each seed."""

    def moved(part: Column) -> Column:
        rows = np.arange(len(part)).reshape(len(order), -1)[order].ravel()
        return part[rows]

    totals, *others = batch
    return Batch(Totals._make(map(moved, fields_of(totals))), *map(moved, others))


def run_batch(
    world: World,
    agents: A,
    seeds: list[int],
    length: Length,
    kept: Kept,
    halt: Halt | None = None,
    planned: int = 0,
) -> Batch:
    """Run each agent of a stack with the seed at the same place; a run that fails does not stop the others.

    The arrays of the stack are overwritten. `planned` is the number of steps that all runs of this kind will take,
    in this batch and others: if it is large, runs are taken side by side where possible.
    """
    count, halt = len(seeds), halt or Halt()
    first = take(agents, 0)
    world, _ = ready(world, first)
    agents = without_missing(world, agents)
    different, place = np.unique(np.array(seeds), return_inverse=True)
    rngs = np.array([streams(seed, 2) for seed in different.tolist()])[place]
    listed = extent(world)[0] if observed(world) is None else 0
    rows, curves = no_rows(count, listed if kept.policies else 0), no_curves(count, kept)
    course = Course(length.total, length.steps, *extent(world), float(length.time))
    left: Iterable[Ints] = [rows.which]
    if planned >= LANES_PAY and not is_plain("lanes"):
        from sojourn.runs.lanes import lane_group, run_in_lanes

        group = lane_group(world, agents, rngs, course)
        left = run_in_lanes(group, place, curves, rows, halt.flag) if group else left
    for which in left:
        some = rows._replace(which=which)
        _walk_batch(Begun(world, first_state(world)), agents, rngs, course, curves, some, halt.flag)
    if halt.is_set:
        raise CancelledError("the batch was halted")
    errors = np.full(count, "", dtype=object)
    for row in np.flatnonzero(rows.faults[:, 0]).tolist():
        errors[row] = explain(world, first, take(rows.totals, row).steps, Fault(*rows.faults[row, 1:]))
    if kept.group > 1:
        np.sqrt(curves.spreads / (kept.group - 1), out=curves.spreads)
    else:
        curves.spreads[:] = np.nan  # one run has no deviation
    known = [take(rows.truths, row) for row in range(count)] if knows_truth(world) else []
    regrets = np.array([truth.dynamic_regret for truth in known]) if known else np.full(count, np.nan)
    tracking = np.array([truth.tracking_error for truth in known]) if known else np.full(count, np.nan)
    return Batch(
        rows.totals,
        rows.rates,
        rows.diverged,
        rows.states,
        rows.policies,
        curves.means,
        curves.spreads,
        errors,
        regrets,
        tracking,
    )


def no_rows(count: int, num_states: int) -> Rows:
    """Return empty rows for `count` runs, with space for policies of `num_states` states."""
    return Rows(
        which=np.arange(count),
        totals=no_totals(count),
        rates=np.zeros(count),
        diverged=np.zeros(count, dtype=np.bool_),
        states=np.zeros(count, dtype=np.int64),
        policies=np.zeros((count, num_states), dtype=np.int64),
        faults=np.zeros((count, 6)),
        truths=truths(count),
    )


def no_curves(count: int, kept: Kept) -> Curves:
    """Return empty curves for `count` runs."""
    means, spreads = np.zeros((2, count // kept.group, len(PARTS), len(kept.points)))
    return Curves(np.append(kept.points, NEVER), kept.group, means, spreads)


class Begun(NamedTuple):
    """A world, and a state of the type that it has."""

    world: World
    state: State


@kernel
def _walk_batch(
    begun: Begun,
    agents: Agent,
    rngs: npt.NDArray[Any],
    course: Course,
    curves: Curves,
    rows: Rows,
    halt: Flags,
) -> None:
    """Make one run after the other."""
    record = Record(curves.points, np.empty(curves.means.shape[1:]))
    for i in rows.which:
        start = Walk(begun.world, take(agents, i), begun.state, take(rows.totals, i))
        missing = num_missing(start.agent.values)
        record.curve[:] = np.nan
        rngs_of_run = Streams(rngs[i, 0], rngs[i, 1])
        walk = go_on(start, course, record, Signals(rows.faults[i], halt), rngs_of_run)
        fold(curves, i, record.curve)
        put(rows.totals, i, walk.totals)
        put(rows.truths, i, _truth_of(walk.world))
        rows.rates[i] = _value(walk.agent.rate)
        rows.states[i] = number_of(walk.state)
        rows.diverged[i] = has_diverged(walk.agent, missing)
        write_policy(walk.agent.values, rows.policies[i])
