"""Many runs at once: a batch in one compiled call, and `run_many`, which runs batches on all cores and returns one table.

grid(constructor, **options)              agents for all combinations of options
run_many(world, agents, seeds, steps)     all of them, with every seed

A run of the paper's simulation takes a tenth of a millisecond, less than the overhead of calling it from Python. So
the agents of many runs are stacked, and one kernel makes the runs one after the other.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from sojourn.agents.protocol import A, Agent
from sojourn.agents.values.protocol import num_missing, write_policy
from sojourn.data.names import users_constructor
from sojourn.data.numbers import shown, whole
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import is_plain
from sojourn.rules.door import is_sentence, told, warn
from sojourn.rules.kernel import kernel
from sojourn.rules.random import streams
from sojourn.rules.values import LANES, classes, is_value, layout, put, stacked, take, with_arrays
from sojourn.rules.vectors import number_of
from sojourn.runs.loop import PARTS, Curve, Run, Walk, explain, go_on, ready, ready_for, without_missing
from sojourn.runs.progress import StopFlag
from sojourn.runs.recording import (
    MOST_SEEDS,
    NEVER,
    Course,
    Curves,
    Length,
    Points,
    Recording,
    RunRows,
    Totals,
    fold,
    has_diverged,
    no_totals,
    record_points,
)
from sojourn.worlds.protocol import Fault, World, extent, first_state, observed, ready_world
from sojourn.worlds.truth import knows_truth, truth_of, truths

_truth_of, _value = truth_of.bare, value.bare

_BATCH_STEPS, _BATCH_RUNS = 5_000_000, 2048  # limits of a batch: a fraction of a second, a few megabytes
LANES_PAY = 100_000_000  # steps after which lanes have saved what they cost to compile

T = TypeVar("T")
Column: TypeAlias = npt.NDArray[Any]  # of a table: numbers, strings or other objects

# The columns of tables that are figures of a run, in their order.
FIGURES = tuple(name for name in Run._fields if name in {"rate", *Totals._fields, "diverged"})
TRUTHS = ("dynamic_regret", "tracking_error")  # two more, in worlds that know their gain at every time

# Names of columns that no option may take.
_TAKEN = {
    *FIGURES,
    *TRUTHS,
    *("cell", "world", "agent", "steps", "episodes", "seed", "step", "clock", "gain", "regret", "rate_gap"),
    *("policy_gain", "earned", "state", "time", "policy", "error", "seconds"),
}
# The first field of a schedule; `kind` names an estimator.
_FIRSTS = {"start", "first", "kind"}


def flattened(options: Mapping[str, T]) -> dict[str, T | float]:
    """Return options as columns of a table.

    A schedule becomes a column for each of its numbers, the first of them under the option's own name; an option
    with the name of a figure gets a prefix. Frequency-adjusted step sizes leave the option's own column empty.

    >>> from sojourn.agents.exploration import Decay
    >>> flattened({"rate": 0.5, "exploration": Decay(0.2, 0.99)})
    {'option_rate': 0.5, 'exploration': 0.2, 'exploration_factor': 0.99, 'exploration_floor': 0.0}
    """
    flat: dict[str, T | float] = {}
    for name, choice in options.items():
        column = f"option_{name}" if name in _TAKEN else name
        parts = choice._asdict() if is_value(choice) else choice
        if isinstance(parts, Mapping) and not (_FIRSTS | {"frequency_adjusted"}).isdisjoint(parts):
            flat |= {column if part in _FIRSTS else f"{column}_{part}": parts[part] for part in parts}
        else:
            flat[column] = choice
    return flat


# --- A batch: runs in one compiled call ---------------------------------------------


class Batch(NamedTuple):
    """The results of a batch: in every field, one row for each run."""

    totals: Totals  # a stack
    rates: Floats
    diverged: Flags
    states: Ints  # the last state of each run
    policies: Ints
    curves: Floats  # [run, part of the curve, point]
    spreads: Floats  # standard deviations, if curves are means
    errors: Column  # which rule a run broke, else ""
    dynamic_regrets: Floats  # NaN unless the world knows its gain at every time
    tracking_errors: Floats

    def figures(self) -> dict[str, Column]:
        """Return the column of each figure; a world that knows its gain at every time adds two."""
        columns = {"rate": self.rates, **self.totals._asdict(), "diverged": self.diverged}
        found = {name: columns[name] for name in FIGURES}
        if np.isfinite(self.dynamic_regrets).any():
            found |= dict(zip(TRUTHS, (self.dynamic_regrets, self.tracking_errors), strict=True))
        return found


def joined(batches: list[Batch]) -> Batch:
    """Concatenate several batches."""
    totals = Totals._make(map(np.concatenate, zip(*(batch.totals for batch in batches), strict=True)))
    _, *others = zip(*batches, strict=True)
    return Batch(totals, *map(np.concatenate, others))


def reordered(batch: Batch, order: Ints) -> Batch:
    """Return a batch with its cells reordered; a cell has one row, or one for each seed."""

    def moved(part: Column) -> Column:
        return part[np.arange(len(part)).reshape(len(order), -1)[order].ravel()]

    return with_arrays(batch, moved)


def run_batch(
    world: World,
    agents: A,
    seeds: list[int],
    length: Length,
    recording: Recording,
    stop: StopFlag | None = None,
    planned: int = 0,
) -> Batch:
    """Run each agent of a stack with the seed at the same index; a run that fails does not stop the others.

    The stack's arrays are overwritten. `planned` is the number of steps that all runs of this kind will take, in
    this batch and others: if it is large, runs are taken in lanes where possible.
    """
    count, stop = len(seeds), stop or StopFlag()
    first = take(agents, 0)
    world, _ = ready(world, first)
    agents = without_missing(world, agents)
    different, place = np.unique(np.array(seeds), return_inverse=True)
    rngs = np.array([streams(seed, 2) for seed in different.tolist()])[place]
    listed = extent(world)[0] if observed(world) is None else 0
    rows, curves = no_rows(count, listed if recording.policies else 0), no_curves(count, recording)
    course = Course(length.total, length.steps, *extent(world), float(length.time))
    left: Iterable[Ints] = [rows.which]
    if planned >= LANES_PAY and not is_plain("lanes"):
        from sojourn.runs.lanes import lane_group, run_in_lanes

        group = lane_group(world, agents, rngs, course)
        left = run_in_lanes(group, place, curves, rows, stop.flag) if group else left
    begin = Walk(world, agents, first_state(world), rows.totals)
    for which in left:
        _walk_batch(begin, rngs, course, curves, rows._replace(which=which), stop.flag)
    if stop.is_set:
        raise CancelledError("the batch was stopped")
    errors = np.full(count, "", dtype=object)
    for row in np.flatnonzero(rows.faults[:, 0]).tolist():
        errors[row] = explain(world, first, take(rows.totals, row).steps, Fault(*rows.faults[row, 1:]))
    if recording.group > 1:
        np.sqrt(curves.spreads / (recording.group - 1), out=curves.spreads)
    else:
        curves.spreads[:] = np.nan  # a single run has no deviation
    regrets, tracking = np.full((2, count), np.nan)
    for row in range(count if knows_truth(world) else 0):
        truth = take(rows.truths, row)
        regrets[row], tracking[row] = truth.dynamic_regret, truth.tracking_error
    runs = (rows.totals, rows.rates, rows.diverged, rows.states, rows.policies)
    return Batch(*runs, curves.means, curves.spreads, errors, regrets, tracking)


def no_rows(count: int, num_states: int) -> RunRows:
    """Allocate rows for `count` runs, with space for policies of `num_states` states."""
    return RunRows(
        which=np.arange(count),
        totals=no_totals(count),
        rates=np.zeros(count),
        diverged=np.zeros(count, dtype=np.bool_),
        states=np.zeros(count, dtype=np.int64),
        policies=np.zeros((count, num_states), dtype=np.int64),
        faults=np.zeros((count, 6)),
        truths=truths(count),
    )


def no_curves(count: int, recording: Recording) -> Curves:
    """Allocate curves for `count` runs."""
    points, group, _ = recording
    means, spreads = np.zeros((2, count // group, len(PARTS), len(points)))
    return Curves(np.append(points, NEVER), group, means, spreads)


@kernel
def _walk_batch(
    begin: Walk, rngs: npt.NDArray[Any], course: Course, curves: Curves, rows: RunRows, stop: Flags
) -> None:
    """Make one run after the other; `begin` has a stack of agents and a stack of totals."""
    curve = np.empty(curves.means.shape[1:])
    for i in rows.which:
        first = Walk(begin.world, take(begin.agent, i), begin.state, take(begin.totals, i))
        missing = num_missing(first.agent.values)
        curve[:] = np.nan
        walk = go_on(first, course, curves.points, curve, rows.faults[i], stop, rngs[i])
        fold(curves, i, curve)
        put(rows.totals, i, walk.totals)
        put(rows.truths, i, _truth_of(walk.world))
        rows.rates[i] = _value(walk.agent.rate)
        rows.states[i] = number_of(walk.state)
        rows.diverged[i] = has_diverged(walk.agent, missing)
        write_policy(walk.agent.values, rows.policies[i])


# --- Many agents with many seeds ----------------------------------------------------


class Grid(NamedTuple):
    """Agents for all combinations of some options.

    >>> from sojourn.agents.constructors import smart
    >>> pair = grid(smart, num_states=2, num_actions=2, step_size=[0.01, 0.1])
    >>> pair.options, pair.agents[1].step_size.size
    ([{'step_size': 0.01}, {'step_size': 0.1}], 0.1)
    """

    agents: list[Any]  # of the type that the constructor returns
    options: list[dict[str, Any]]


@told
def grid(constructor: Callable[..., Agent], **options: Any) -> Grid:
    """Return an agent for every combination of the options given as sequences.

    >>> from sojourn.agents.constructors import harmonic_r
    >>> two_by_three = grid(
    ...     harmonic_r, num_states=2, num_actions=2, step_size=[0.01, 0.1], rate_step_size=[0.01, 0.03, 0.1]
    ... )
    >>> len(two_by_three.agents), two_by_three.options[1]
    (6, {'step_size': 0.01, 'rate_step_size': 0.03})
    """
    axes = {
        name: list(choices)
        for name, choices in options.items()
        if isinstance(choices, list | tuple | np.ndarray) and not is_value(choices)
    }
    for name, choices in axes.items():
        if not choices:
            raise ValueError(f"{name} is an empty sequence; a grid needs at least one choice")
    constant = {name: choice for name, choice in options.items() if name not in axes}
    combinations = [dict(zip(axes, choice, strict=True)) for choice in itertools.product(*axes.values())]
    try:
        return Grid([constructor(**constant, **choice) for choice in combinations], combinations)
    except TypeError as error:
        if is_sentence(error) or not callable(constructor):
            raise
        raise TypeError(f"{shown(constructor)} does not take these options: {error}") from error


Agents: TypeAlias = Agent | Sequence[Agent] | Grid | Mapping[str, Agent | Grid]


@dataclass(frozen=True)
class Runs:
    """A batch of runs as a table: one row for each run, ordered by agent and then by seed.

    `runs["rate"]` is a column; `polars.DataFrame(runs.columns)`, or pandas' `DataFrame`, is the whole table.
    `policy` has a row of greedy actions for each run. If a curve was asked for, each part of `curve` has a row
    for each run, except `step`.

    >>> import sojourn as sj
    >>> runs = run_many(sj.worlds.TwoState(log_scale=1e-3), sj.smart(2, 2), seeds=3, steps=100)
    >>> len(runs), runs["steps"].tolist(), runs.policy.shape
    (3, [100, 100, 100], (3, 2))
    """

    columns: dict[str, Column]
    policy: Ints
    curve: Curve

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.policy)

    def _repr_html_(self) -> str:
        return str(users_constructor("sojourn.answers.notebook:runs_html")(self))


@told
def run_many(
    world: World,
    agents: Agents,
    seeds: int | Iterable[int],
    steps: int,
    episodes: int = 1,
    *,
    jobs: int | None = None,
    record: int | Points = 0,
) -> Runs:
    """Run every agent with every seed, on `jobs` threads (one for each core by default).

    `agents` is an agent, a sequence of agents, a `grid`, or a mapping from names to agents
    and grids. `seeds` is a number of seeds, 0 to n - 1, or the seeds themselves. The table
    does not depend on the number of jobs.

    >>> from sojourn.agents.constructors import harmonic_r, smart
    >>> from sojourn.worlds.two_state import TwoState
    >>> agents = {"smart": smart(2, 2), "harmonic": harmonic_r(2, 2)}
    >>> runs = run_many(TwoState(log_scale=1e-3), agents, seeds=3, steps=1000, episodes=4)
    >>> runs["seed"].tolist(), runs["steps"].tolist()
    ([0, 1, 2, 0, 1, 2], [4000, 4000, 4000, 4000, 4000, 4000])
    """
    length = Length(whole("steps", steps), whole("episodes", episodes))
    rows = list(_labelled(agents))
    if not rows:
        raise ValueError("agents is empty; run_many needs at least one")
    if not isinstance(seeds, Iterable):
        seeds = range(whole("seeds", seeds, most=MOST_SEEDS))
    seeds = [whole("seeds", seed, least=0) for seed in itertools.islice(seeds, MOST_SEEDS + 1)]
    if not 0 < len(seeds) <= MOST_SEEDS:
        wrong = "has too many" if seeds else "is empty"
        raise ValueError(f"seeds {wrong}; run_many needs at least one and at most {MOST_SEEDS:,}")
    jobs = whole("jobs", jobs) if jobs is not None else os.cpu_count() or 1
    points = record_points(record, length.total)
    columns = _columns(rows, seeds)
    world = ready_world(world)
    prepared = [ready_for(world, agent) for _, _, agent in rows]
    recording, stop = Recording(points), StopFlag()

    def runs_of(some: tuple[list[Agent], list[int], int]) -> Batch:
        some_agents, some_seeds, planned = some
        return run_batch(world, stacked(some_agents), some_seeds, length, recording, stop, planned)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            batch = joined(list(pool.map(runs_of, _batches(world, prepared, seeds, length.total, jobs))))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    failed = np.flatnonzero(batch.errors != "")
    if failed.size:
        raise ValueError(batch.errors[failed[0]])
    diverged = batch.diverged.sum()
    if diverged:
        warn(f"{diverged} of {len(batch.errors)} runs diverged; see the column 'diverged'")
    return Runs(columns | batch.figures(), batch.policies, Curve(points, *batch.curves.transpose(1, 0, 2)))


_steps_taken: Counter[tuple[type, ...]] = Counter()  # by the classes of the world and the agent


def _batches(
    world: World, agents: list[Agent], seeds: list[int], total: int, jobs: int
) -> Iterator[tuple[list[Agent], list[int], int]]:
    """Cut all pairs of agent and seed into batches: one layout of agents in each, and enough batches for all jobs.

    With each batch comes the number of steps planned for its types, in this call and in earlier ones. Lanes need
    machine code of their own. It is compiled as soon as it would have paid for itself on the steps taken so far,
    whether in one large call or in many small ones.
    """
    for _, group in itertools.groupby(agents, key=layout):
        pairs = list(itertools.product(group, seeds))
        kind = (*classes(world), *classes(pairs[0][0]))
        _steps_taken[kind] += len(pairs) * total
        planned = _steps_taken[kind]
        most = max(1, min(_BATCH_RUNS, _BATCH_STEPS // total, len(agents) * len(seeds) // (8 * jobs)))
        if planned >= LANES_PAY:  # lanes need enough runs of each seed, and are quick
            most = max(most, min(_BATCH_RUNS, LANES * len(seeds), -(-len(pairs) // jobs)))
        for begin in range(0, len(pairs), most):
            batch_agents, batch_seeds = zip(*pairs[begin : begin + most], strict=True)
            yield list(batch_agents), list(batch_seeds), planned


# --- The table ----------------------------------------------------------------------


def _labelled(agents: Agents) -> Iterator[tuple[str, dict[str, Any], Agent]]:
    """Yield every agent that `run_many` was given, in any form, with its name and its options."""
    named: Mapping[str, Agent | Grid]
    if isinstance(agents, Mapping):
        named = agents
    else:
        several: Any = [agents] if is_value(agents) else agents  # an agent is itself a sequence
        if not isinstance(several, Sequence):
            raise TypeError(
                "agents must be an agent, a sequence of agents, a grid, or a mapping of names to these"
            )
        named = {str(index): agent for index, agent in enumerate(several)}
    for name, entry in named.items():
        if isinstance(entry, Grid):
            for options, agent in zip(entry.options, entry.agents, strict=True):
                yield str(name), options, agent
        else:
            yield str(name), {}, entry


def _columns(rows: list[tuple[str, dict[str, Any], Agent]], seeds: list[int]) -> dict[str, Column]:
    """Return the columns that identify the runs; an option that an agent lacks is NaN or None."""
    flat = [flattened(options) for _, options, _ in rows]
    columns = {"agent": np.repeat([label for label, _, _ in rows], len(seeds))}
    for name in dict.fromkeys(name for options in flat for name in options):
        entries = [options.get(name) for options in flat]
        if all(entry is None or isinstance(entry, int | float | np.number) for entry in entries):
            column = np.array([np.nan if entry is None else entry for entry in entries])
        else:
            column = np.empty(len(entries), dtype=object)
            column[:] = entries
        columns[name] = np.repeat(column, len(seeds))
    columns["seed"] = np.tile(np.array(seeds), len(rows))
    return columns
