"""Many runs at once: a batch of agents and seeds on all cores, as one table.

grid(constructor, **options)              agents for all combinations of options
run_many(world, agents, seeds, steps)     all of them, with every seed
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sojourn.agents.protocol import Agent
from sojourn.data.numbers import shown, whole
from sojourn.rules.arrays import Ints
from sojourn.rules.door import is_sentence, told, warn
from sojourn.rules.lane_count import LANES
from sojourn.rules.values import classes, is_value, layout, stacked
from sojourn.runs.abreast import LANES_PAY
from sojourn.runs.columns import flattened
from sojourn.runs.halt import Halt
from sojourn.runs.kept import Kept
from sojourn.runs.lengths import MOST_SEEDS, Length, Points, record_points
from sojourn.runs.loop import Curve, ready_for
from sojourn.runs.stack import Batch, Column, joined, run_batch
from sojourn.worlds.checks import ready_world
from sojourn.worlds.protocol import World

_BATCH_STEPS, _BATCH_RUNS = 5_000_000, 2048  # a fraction of a second, a few megabytes


class Grid(NamedTuple):
    """Agents that differ in some options: one for each combination.

    >>> from sojourn.agents.constructors import smart
    >>> pair = grid(smart, num_states=2, num_actions=2, step_size=[0.01, 0.1])
    >>> pair.options, pair.agents[1].step_size.size
    ([{'step_size': 0.01}, {'step_size': 0.1}], 0.1)
    """

    agents: list[Any]  # of the type that the constructor makes
    options: list[dict[str, Any]]


@told
def grid(constructor: Callable[..., Agent], **options: Any) -> Grid:
    """Return an agent for every combination of the options that are given as sequences.

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
    """A batch of runs as a table: one row for each run, by agent and then by seed.

    `runs["rate"]` is a column; `polars.DataFrame(runs.columns)` or the same of pandas is
    the whole table. `policy` has a row of greedy actions for each run. If a curve was
    asked for, each part of `curve` has a row for each run, except `step`.

    >>> import sojourn as sj
    >>> runs = run_many(sj.TwoState(log_scale=1e-3), sj.smart(2, 2), seeds=3, steps=100)
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
    prepared = [ready_for(world, row.agent) for row in rows]
    halt = Halt()

    def runs_of(some: _Some) -> Batch:
        return run_batch(world, stacked(some.agents), some.seeds, length, Kept(points), halt, some.planned)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            batch = joined(list(pool.map(runs_of, _batches(world, prepared, seeds, length.total, jobs))))
        except BaseException:
            halt.now()
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


class _Some(NamedTuple):
    """Runs of agents alike; `planned` counts all steps of this type, in this call and in earlier ones."""

    agents: list[Agent]
    seeds: list[int]
    planned: int


def _batches(world: World, agents: list[Agent], seeds: list[int], total: int, jobs: int) -> Iterator[_Some]:
    """Cut all pairs of agent and seed into batches: agents alike in each, and enough for all jobs.

    Runs side by side need machine code of their own. It is compiled as soon as it would have saved its cost on the
    steps taken so far, whether those came in one large call or in many small ones.
    """
    for _, group in itertools.groupby(agents, key=layout):
        pairs = list(itertools.product(group, seeds))
        kind = (*classes(world), *classes(pairs[0][0]))
        _steps_taken[kind] += len(pairs) * total
        planned = _steps_taken[kind]
        most = max(1, min(_BATCH_RUNS, _BATCH_STEPS // total, len(agents) * len(seeds) // (8 * jobs)))
        if planned >= LANES_PAY:  # runs side by side need enough of each seed, and are soon done
            most = max(most, min(_BATCH_RUNS, LANES * len(seeds), -(-len(pairs) // jobs)))
        for begin in range(0, len(pairs), most):
            batch_agents, batch_seeds = zip(*pairs[begin : begin + most], strict=True)
            yield _Some(list(batch_agents), list(batch_seeds), planned)


# --- The table ----------------------------------------------------------------------


class _Row(NamedTuple):
    label: str
    options: dict[str, Any]
    agent: Agent


def _labelled(agents: Agents) -> Iterator[_Row]:
    """Yield every agent in whatever `run_many` was given, with its name and its options."""
    named: Mapping[str, Agent | Grid]
    if isinstance(agents, Mapping):
        named = agents
    else:
        several: Any = [agents] if is_value(agents) else agents  # an agent is a sequence itself
        if not isinstance(several, Sequence):
            raise TypeError(
                "agents must be an agent, a sequence of agents, a grid, or a mapping of names to these"
            )
        named = {str(index): agent for index, agent in enumerate(several)}
    for name, entry in named.items():
        if isinstance(entry, Grid):
            for options, agent in zip(entry.options, entry.agents, strict=True):
                yield _Row(str(name), options, agent)
        else:
            yield _Row(str(name), {}, entry)


def _columns(rows: list[_Row], seeds: list[int]) -> dict[str, Column]:
    """Return the columns that say what was run; an option that an agent does not have is NaN or None."""
    flat = [flattened(row.options) for row in rows]
    columns = {"agent": np.repeat([row.label for row in rows], len(seeds))}
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
