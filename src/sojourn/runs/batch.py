"""Many runs at once: a batch of agents and seeds on all cores, as one table.

grid(constructor, **options)              agents for all combinations of options
run_many(world, agents, seeds, steps)     all of them, with every seed
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sojourn.agents.learn import Decay
from sojourn.agents.values.protocol import best, num_missing
from sojourn.rates.protocol import value
from sojourn.rules.compile import compiled_apart, kernel, take
from sojourn.rules.numbers import whole
from sojourn.rules.random import streams
from sojourn.rules.values import classes, is_value, stacked
from sojourn.runs.loop import (
    NEVER,
    Curve,
    Points,
    Walk,
    explain,
    go_on,
    has_diverged,
    ready,
    record_points,
    without_missing,
)

_value = value.bare


FIGURES = {
    "rate": float,
    "reward": float,
    "duration": float,
    "greedy_reward": float,
    "greedy_duration": float,
    "greedy_steps": int,
    "steps": int,
    "diverged": bool,
}
_BATCH_STEPS, _BATCH_RUNS = 5_000_000, 2048  # a fraction of a second, a few megabytes
_HALT = np.zeros(1, dtype=np.bool_)  # looked at by running batches every few million steps


class Grid(NamedTuple):
    """Agents that differ in some options: one for each combination.

    >>> from sojourn.agents.named import smart
    >>> pair = grid(smart, num_states=2, num_actions=2, step_size=[0.01, 0.1])
    >>> pair.options, pair.agents[1].params.step_size
    ([{'step_size': 0.01}, {'step_size': 0.1}], 0.1)
    """

    agents: list[Any]
    options: list[dict[str, Any]]


def grid(constructor: Callable[..., Any], **options: Any) -> Grid:
    """Return an agent for every combination of the options that are given as sequences.

    >>> from sojourn.agents.named import harmonic_r
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
    return Grid([constructor(**constant, **choice) for choice in combinations], combinations)


@dataclass(frozen=True)
class Runs:
    """A batch of runs as a table: one row for each run, by agent and then by seed.

    `runs["rate"]` is a column; `polars.DataFrame(runs.columns)` or the same of pandas is
    the whole table. `policy` has a row of greedy actions for each run. If a curve was
    asked for, each part of `curve` has a row for each run, except `step`.

    >>> import sojourn as sj
    >>> runs = run_many(sj.TwoState(log_scale=1e-3), sj.smart(2, 2), seeds=3, steps=100)
    >>> len(runs), runs["steps"].tolist(), runs.policy.shape
    (3, [100, 100, 100], (3, 2))
    """

    columns: dict[str, np.ndarray[Any, Any]]
    policy: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    curve: Curve

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.policy)


def run_many(
    world: Any,
    agents: Any,
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

    >>> from sojourn.agents.named import harmonic_r, smart
    >>> from sojourn.worlds.two_state import TwoState
    >>> agents = {"smart": smart(2, 2), "harmonic": harmonic_r(2, 2)}
    >>> runs = run_many(TwoState(log_scale=1e-3), agents, seeds=3, steps=1000, episodes=4)
    >>> runs["seed"].tolist(), runs["steps"].tolist()
    ([0, 1, 2, 0, 1, 2], [4000, 4000, 4000, 4000, 4000, 4000])
    """
    steps, episodes = whole("steps", steps), whole("episodes", episodes)
    rows = list(_labelled(agents))
    if not rows:
        raise ValueError("agents is empty; run_many needs at least one")
    if not isinstance(seeds, Iterable):
        seeds = range(whole("seeds", seeds))
    seeds = [whole("seeds", seed, least=0) for seed in seeds]
    if not seeds:
        raise ValueError("seeds is empty; run_many needs at least one")
    jobs = whole("jobs", jobs) if jobs is not None else os.cpu_count() or 1
    points = record_points(record, steps * episodes)
    columns = _columns(rows, seeds)
    prepared = [ready(world, agent)[1] for _, _, agent in rows]
    batches = list(_batches(prepared, seeds, steps * episodes, jobs))
    with ThreadPoolExecutor(jobs) as pool:
        try:
            results = list(
                pool.map(lambda pair: run_batch(world, pair[0], pair[1], steps, episodes, points), batches)
            )
        except BaseException:
            halt(pool)
            raise
    whole_batch = Batch(*(np.concatenate(part) for part in zip(*results, strict=True)))
    failed = np.flatnonzero(whole_batch.errors != "")
    if failed.size:
        raise ValueError(whole_batch.errors[failed[0]])
    diverged = whole_batch.figures["diverged"].sum()
    if diverged:
        warnings.warn(
            f"{diverged} of {len(whole_batch.errors)} runs diverged; see the column 'diverged'",
            RuntimeWarning,
            stacklevel=2,
        )
    columns.update({name: whole_batch.figures[name] for name in FIGURES})
    return Runs(columns, whole_batch.policies, Curve(points, *whole_batch.curves.transpose(1, 0, 2)))


# --- Batches: runs that differ only in the agent and the seed, in one compiled call ---


class Batch(NamedTuple):
    """What came of a batch: one row for each run in every part."""

    figures: np.ndarray[Any, Any]  # a field for each of FIGURES
    policies: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    curves: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]  # run, part of the curve, point
    spreads: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]  # if curves are means, their deviations
    errors: np.ndarray[Any, Any]  # the sentence of a run that broke the rules, else ""


def halt(pool: Executor) -> None:
    """End what a pool of threads is doing, wherever it is, and forget what it was to do."""
    _HALT[0] = True
    try:
        pool.shutdown(cancel_futures=True)
    finally:
        _HALT[0] = False


def run_batch(
    world: Any, agents: list[Any], seeds: list[int], steps: int, episodes: int, points: Points
) -> Batch:
    """Run agents of one type, each with the seed beside it. A run that fails stops no other."""
    return run_batch_of(world, stacked(agents), seeds, steps, episodes, points)


def run_batch_of(
    world: Any,
    agents: Any,
    seeds: list[int],
    steps: int,
    episodes: int,
    points: Points,
    group: int = 1,
    keep_policies: bool = True,
) -> Batch:
    """Run a stack of agents, whose arrays are used up.

    Each `group` of consecutive runs shares a curve: their mean, with their standard deviation.
    """
    count, total = len(seeds), steps * episodes
    first = take(agents, 0)
    world, _ = ready(world, first)
    agents = without_missing(world, agents)
    different, place = np.unique(np.array(seeds), return_inverse=True)
    rngs = np.array([streams(seed, 2) for seed in different.tolist()])[place]
    sizes = (world.num_states, world.num_actions)
    figures = np.zeros(count, dtype=list(FIGURES.items()))
    totals, policies = (
        np.zeros((count, len(FIGURES))),
        np.zeros((count, sizes[0] if keep_policies else 0), dtype=np.int64),
    )
    curves, spreads = np.zeros((2, count // group, 4, len(points)))
    ends, faults = np.append(points, NEVER), np.zeros((count, 6))
    _walk_batch(
        world,
        agents,
        rngs,
        steps,
        total,
        sizes,
        ends,
        group,
        curves,
        spreads,
        totals,
        policies,
        faults,
        _HALT,
    )
    if _HALT[0]:
        raise CancelledError("the batch was halted")
    for column, name in enumerate(FIGURES):
        figures[name] = totals[:, column]
    errors = np.full(count, "", dtype=object)
    for row in np.flatnonzero(faults[:, 0]):
        errors[row] = explain(world, first, int(totals[row, 6]), *faults[row, 1:])
    if group > 1:
        np.sqrt(spreads / (group - 1), out=spreads)
    else:
        spreads[:] = np.nan  # one run has no deviation
    return Batch(figures, policies, curves, spreads, errors)


@kernel
def _walk_batch(
    world: Any,
    agents: Any,
    rngs: Any,
    episode: int,
    total: int,
    sizes: tuple[int, int],
    points: Points,
    group: int,
    curves: Any,
    spreads: Any,
    totals: Any,
    policies: Any,
    faults: Any,
    halt: Any,
) -> None:
    curve = np.empty(curves.shape[1:])
    for i in range(len(totals)):
        start = Walk(world, take(agents, i), 0, 0, 0.0, 0.0, 0.0, 0.0, 0)
        curve[:] = np.nan
        missing = num_missing(start.agent.values)
        walk = go_on(start, total, episode, sizes, points, curve, faults[i], halt, rngs[i, 0], rngs[i, 1])
        _fold(curve, curves[i // group], spreads[i // group], i % group + 1)
        agent = walk.agent
        totals[i, 0] = _value(agent.rate)
        totals[i, 1] = walk.reward
        totals[i, 2] = walk.clock
        totals[i, 3] = walk.greedy_reward
        totals[i, 4] = walk.greedy_duration
        totals[i, 5] = walk.greedy_steps
        totals[i, 6] = walk.steps
        totals[i, 7] = has_diverged(agent, missing)
        for state in range(policies.shape[1]):
            policies[i, state] = best(agent.values, state, 0.0)[0]


@compiled_apart
def _fold(curve: Any, mean: Any, spread: Any, count: int) -> None:
    """Add the curve of the run of this number to the mean, and to the sum of squared deviations."""
    for part in range(curve.shape[0]):
        for point in range(curve.shape[1]):
            off = curve[part, point] - mean[part, point]
            mean[part, point] += off / count
            spread[part, point] += off * (curve[part, point] - mean[part, point])


def _batches(
    agents: list[Any], seeds: list[int], total: int, jobs: int
) -> Iterable[tuple[list[Any], list[int]]]:
    """Cut all pairs of agent and seed into batches of agents of one type, enough for all jobs."""
    most = max(1, min(_BATCH_RUNS, _BATCH_STEPS // total, len(agents) * len(seeds) // (8 * jobs)))
    for _, group in itertools.groupby(agents, key=lambda agent: list(classes(agent))):
        pairs = list(itertools.product(group, seeds))
        for begin in range(0, len(pairs), most):
            batch_agents, batch_seeds = zip(*pairs[begin : begin + most], strict=True)
            yield list(batch_agents), list(batch_seeds)


def _labelled(agents: Any) -> Iterable[tuple[str, dict[str, Any], Any]]:
    """Yield (name, options, agent) for every agent in whatever `run_many` was given."""
    if isinstance(agents, Grid):
        agents = {"0": agents}
    elif is_value(agents):
        agents = [agents]
    if not isinstance(agents, Mapping):
        if not isinstance(agents, Sequence):
            raise TypeError(
                "agents must be an agent, a sequence of agents, a grid, or a mapping of names to these"
            )
        agents = {str(index): agent for index, agent in enumerate(agents)}
    for name, entry in agents.items():
        if isinstance(entry, Grid):
            for options, agent in zip(entry.options, entry.agents, strict=True):
                yield str(name), options, agent
        else:
            yield str(name), {}, entry


def _columns(
    rows: list[tuple[str, dict[str, Any], Any]], seeds: list[int]
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns that say what was run; a number that an agent has not is NaN, else None."""
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


def flattened(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as columns: a decaying exploration is three, and none has the name of a figure."""
    flat: dict[str, Any] = {}
    for name, choice in options.items():
        column = f"option_{name}" if name in FIGURES else name
        parts = choice._asdict() if isinstance(choice, Decay) else choice
        if isinstance(parts, dict):
            flat[column] = parts["start"]
            flat |= {f"{column}_{part}": parts[part] for part in ("factor", "floor") if part in parts}
        else:
            flat[column] = choice
    return flat
