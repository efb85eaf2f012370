"""Make the rows of the tables from what came of a task."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sojourn.exact.solve import solve
from sojourn.rules.arrays import Ints
from sojourn.rules.options import Choice, Options, fitted
from sojourn.runs import results
from sojourn.runs.batch import flattened
from sojourn.runs.build import build_world
from sojourn.runs.named import world_kind
from sojourn.runs.spec import as_word, canonical_text, cell_ids
from sojourn.runs.stack import Batch
from sojourn.runs.tasks import Task, Worlds
from sojourn.worlds.protocol import gain


def tabulate(task: Task, batch: Batch, seconds: float) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return a task's rows of the results and of the curves."""
    texts, columns = _described(task.agents.kind, task.agents.combinations)
    ids: list[str] = []
    for options in task.worlds.options:
        ids += cell_ids(canonical_text(task.worlds.kind, options), texts, task.length)
    cells = _at(ids, np.repeat(np.arange(len(ids)), len(task.seeds)), pl.String())
    seeds = np.tile(task.seeds, len(ids))
    first = np.zeros(task.num_runs, dtype=np.int64)
    specification = {
        "cell": cells,
        "world": _at([task.worlds.kind], first, pl.String()),
        "agent": _at([task.agents.label], first, pl.String()),
        **_option_columns(task, columns),
        "steps": pl.Series(np.full(task.num_runs, task.length.steps)),
        "episodes": pl.Series(np.full(task.num_runs, task.length.episodes)),
        "seed": pl.Series(seeds),
    }
    gains = np.repeat([_gain(task.worlds, options) for options in task.worlds.options], task.runs_a_world)
    rows = results.results_frame(specification, batch, gains, seconds, policies=task.recording.policies)
    if not task.recording.num_points:
        return rows, None
    points = task.recording.points(task.length)
    if task.recording.mean:
        each = pl.Series(ids, dtype=pl.String)
        return rows, results.mean_curves_frame(each, points, batch.curves, batch.spreads)
    return rows, results.curves_frame(cells, seeds, points, batch.curves)


def _gain(worlds: Worlds, options: Options) -> float:
    """Return the exact gain of a world, or NaN where there is none."""
    if world_kind(worlds.kind).model is None:
        known = gain(build_world(worlds.kind, options))
        return np.nan if known is None else known
    return _solved(worlds.kind, json.dumps(options, sort_keys=True), worlds.data)


@functools.lru_cache(maxsize=256)
def _solved(kind: str, options: str, _data: tuple[tuple[str, str], ...]) -> float:
    model = world_kind(kind).model
    if model is None:
        raise ValueError(f"there is no model behind the world {kind!r}")
    of_model = {name: choice for name, choice in json.loads(options).items() if name != "actions"}
    return float(solve(model(**fitted(model, of_model))).gains[0])  # worlds begin in state 0


@functools.lru_cache(maxsize=16)
def _described(kind: str, combinations: str) -> tuple[list[bytes], dict[str, list[Choice | None]]]:
    """Return the text of each combination, and a column for each option."""
    options: list[Options] = json.loads(combinations)
    flat = [flattened(choice) for choice in options]
    names = dict.fromkeys(name for choice in flat for name in choice)
    return [canonical_text(kind, choice) for choice in options], {
        name: [choice.get(name) for choice in flat] for name in names
    }


def _option_columns(task: Task, of_agents: Mapping[str, list[Choice | None]]) -> dict[str, pl.Series]:
    """Return a column for each option of the sweep, null where this task has none."""
    worlds = [flattened(options) for options in task.worlds.options]
    world = np.repeat(np.arange(len(worlds)), task.runs_a_world)
    agent = np.tile(np.repeat(np.arange(task.agents.number), len(task.seeds)), len(worlds))
    columns = {}
    for name, is_text in task.columns.items():
        kind = pl.String() if is_text else pl.Float64()
        if name in of_agents:
            columns[name] = _at(of_agents[name], agent, kind)
        else:
            columns[name] = _at([options.get(name) for options in worlds], world, kind)
    return columns


def _at(entries: Sequence[Choice | None], index: Ints, kind: pl.DataType) -> pl.Series:
    """Return a column with the entries at these places."""
    words = [as_word(entry) if isinstance(entry, bool) else entry for entry in entries]
    return pl.Series(words, dtype=kind).gather(index)
