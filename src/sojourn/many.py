"""Many runs at once: a batch of agents and seeds on all cores, as one table.

grid(constructor, **options)              agents for all combinations of options
run_many(world, agents, seeds, steps)     all of them, with every seed
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sojourn._values import is_value, whole
from sojourn.random import streams
from sojourn.simulate import Curve, Points, ready, record_points, walk_through

_FIGURES = (
    "rate",
    "reward",
    "duration",
    "greedy_reward",
    "greedy_duration",
    "greedy_steps",
    "steps",
    "diverged",
)


class Grid(NamedTuple):
    """Agents that differ in some options: one for each combination."""

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
    seeds = [whole("seeds", seed, least=0) for seed in (range(seeds) if isinstance(seeds, int) else seeds)]
    if not seeds:
        raise ValueError("seeds is empty; run_many needs at least one")
    jobs = whole("jobs", jobs) if jobs is not None else os.cpu_count() or 1
    points = record_points(record, steps * episodes)
    prepared = [ready(world, agent) for _, _, agent in rows]
    streams_of = {seed: streams(seed, 2) for seed in seeds}

    def one(task: tuple[tuple[Any, Any], int]) -> tuple[list[Any], Points, list[Any]]:
        (ready_world, agent), seed = task
        rngs = [rng.copy() for rng in streams_of[seed]]
        result = walk_through(ready_world, agent, steps, episodes, seed, rngs, points)
        return [getattr(result, name) for name in _FIGURES], result.policy, list(result.curve[1:])

    tasks = list(itertools.product(prepared, seeds))
    with ThreadPoolExecutor(jobs) as pool:
        try:
            results = list(pool.map(one, tasks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise

    columns = _columns(rows, seeds)
    for index, name in enumerate(_FIGURES):
        columns[name] = np.array([figures[index] for figures, _, _ in results])
    if columns["diverged"].any():
        warnings.warn(
            f"{columns['diverged'].sum()} of {len(results)} runs diverged; see the column 'diverged'",
            RuntimeWarning,
            stacklevel=2,
        )
    return Runs(
        columns=columns,
        policy=np.stack([policy for _, policy, _ in results]),
        curve=Curve(
            points, *(np.stack(part) for part in zip(*(curve for _, _, curve in results), strict=True))
        ),
    )


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
    """Return the columns that say what was run; an option that an agent has not is NaN."""
    names = list(dict.fromkeys(name for _, options, _ in rows for name in options))
    columns = {"agent": np.repeat([label for label, _, _ in rows], len(seeds))}
    for name in names:
        columns[name] = np.repeat([options.get(name, np.nan) for _, options, _ in rows], len(seeds))
    columns["seed"] = np.tile(np.array(seeds), len(rows))
    return columns
