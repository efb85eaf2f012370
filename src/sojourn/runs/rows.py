"""Make the rows of the tables from the results of a task."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sojourn.data.hints import Choice, Options
from sojourn.exact.policy_gains import PolicyGains
from sojourn.exact.solve import solve
from sojourn.rules.arrays import Floats, Ints
from sojourn.runs import results
from sojourn.runs.build import build_world, is_reversed, model_behind
from sojourn.runs.columns import flattened
from sojourn.runs.named import world_kind
from sojourn.runs.spec import as_word, canonical_text, cell_ids
from sojourn.runs.stack import Batch
from sojourn.runs.tasks import Task, Worlds
from sojourn.worlds.protocol import gain
from sojourn.worlds.truth import knows_truth


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
        **_length_columns(task, batch),
        "episodes": pl.Series(np.full(task.num_runs, task.length.episodes)),
        "seed": pl.Series(seeds),
    }
    best = np.repeat([_gain(task.worlds, options) for options in task.worlds.options], task.runs_a_world)
    gains = results.Gains(best, _policy_gains(task, batch))
    rows = results.results_frame(specification, batch, gains, seconds, policies=task.recording.policies)
    if not task.recording.num_points:
        return rows, None
    points = task.recording.points(task.length)
    if task.recording.mean:
        count = len(task.seeds)
        each = {name: column.gather_every(count) for name, column in specification.items() if name != "seed"}
        return rows, results.mean_curves_frame(each, points, batch.curves, batch.spreads, count)
    return rows, results.curves_frame(specification, points, batch.curves)


def _length_columns(task: Task, batch: Batch) -> dict[str, pl.Series]:
    """Return the planned steps of each run; if it ends at a time, that time and the steps it took."""
    if math.isinf(task.length.time):
        return {"steps": pl.Series(np.full(task.num_runs, task.length.steps))}
    time = pl.Series(np.full(task.num_runs, task.length.time))
    return {"time": time, "steps": pl.Series(batch.figures()["steps"])}


def _gain(worlds: Worlds, options: Options) -> float:
    """Return the exact gain of a world, or NaN if it is not known."""
    if world_kind(worlds.kind).model is None:
        world = build_world(worlds.kind, options)
        known = None if knows_truth(world) else gain(world)  # a world that changes has no single gain
        return np.nan if known is None else known
    return _solved(worlds.kind, json.dumps(options, sort_keys=True), worlds.data)


@functools.lru_cache(maxsize=256)
def _solved(kind: str, options: str, _data: tuple[tuple[str, str], ...]) -> float:
    model = model_behind(kind, json.loads(options))
    return np.nan if model is None else float(solve(model).gains[0])  # worlds begin in state 0


def _policy_gains(task: Task, batch: Batch) -> Floats:
    """Return the exact gain of each run's final policy; NaN where there is no model, no policy or no sound run."""
    gains = np.full(task.num_runs, np.nan)
    if not task.recording.policies:
        return gains
    for index, options in enumerate(task.worlds.options):
        known = _judge(task.worlds.kind, json.dumps(options, sort_keys=True), task.worlds.data)
        if known is None:
            continue
        judge, last = known
        for run in range(index * task.runs_a_world, (index + 1) * task.runs_a_world):
            if not batch.diverged[run] and not batch.errors[run]:
                policy = batch.policies[run]
                gains[run] = judge((last - policy if last is not None else policy).tolist())
    return gains


@functools.lru_cache(maxsize=64)
def _judge(
    kind: str, options: str, _data: tuple[tuple[str, str], ...]
) -> tuple[PolicyGains, int | None] | None:
    """Return what computes the gains of a world's policies, and its last action if actions are numbered from the last."""
    chosen = json.loads(options)
    model = model_behind(kind, chosen)
    if model is None:
        return None
    return PolicyGains(model), model.num_actions - 1 if is_reversed(kind, chosen) else None


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
    """Return a column with the entries at these places; numbers in a column of text become words."""
    if kind == pl.String:
        entries = [
            as_word(entry) if isinstance(entry, bool) else None if entry is None else str(entry)
            for entry in entries
        ]
    return pl.Series(entries, dtype=kind).gather(index)
