"""Read sweeps from TOML.

    name = "first-look"
    seeds = 5                                   # 0 to 4, or a list
    steps = 1000                                # or a list of lengths
    time = 500.0                                # or a list: a run ends then, or after `steps` steps if that is earlier
    episodes = 4
    record = 0                                  # points of each run's curve
    spacing = "log"                             # of the points, or "even"
    curves = "each"                             # a curve for each run, or "mean": over the seeds of a cell
    policies = true                             # whether results hold the final policies

    [[world]]
    kind = "two-state"
    log_scale = { logspace = [1e-5, 1e-1, 30] }

    [[agent]]
    kind = "harmonic-r"
    step_size = { logspace = [1e-4, 1e-1, 20] }
    rate_step_size = [0.01, 0.1]
    exploration = { start = 0.2, factor = 0.999, floor = 0.01 }

An option is a number or a word; a list, a `logspace` or a `linspace` (first, last, count)
makes it an axis of the grid of its own world or agent. A *cell* is one world with one agent
and all options fixed; a *run* is a cell with a seed. Worlds that have a length of their own,
such as a market, are run to their end if `steps` is not given.

    [[world]]
    kind = "market"
    data = "btcusd.parquet"                     # or "synthetic"
    segment = [0, 1, 2]
    duration = ["random", "scaled"]

A run of 100 steps is the beginning of the run of 1,000 with the same seed, so
`steps = [100, 1000]` shows how policies change. The named problems and models in
files are worlds too, and their results include the exact gain:

    [[world]]
    kind = "admission-control"
    capacity = [5, 20]
    actions = ["given", "reversed"]             # how they are numbered

    [[world]]
    kind = "model"
    data = "my-queue.toml"

Your own code can be named everywhere, as `package.module:name`; modules in the current folder are found. The option
`rate` names an estimator, yours or one of ours; it may have options of its own, some of which may be axes:

    [[world]]
    kind = "mine:Queue"                         # a world, or a function that returns a model
    [[agent]]
    kind = "mine:rvi"
    [[agent]]
    kind = "smart"
    label = "SMART, forgetting"
    rate = { kind = "mine:TimeForgetting", step_size = [0.01, 0.1] }

The id of a cell is a hash of everything that determines its numbers, including the version
of the rules: the same id means the same numbers, on any machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.data.files import load_toml
from sojourn.data.numbers import listed, nearest, shown, whole
from sojourn.rules.door import told
from sojourn.runs.grids import Entry, expand
from sojourn.runs.lengths import MOST_POINTS, MOST_SEEDS
from sojourn.runs.named import plain_kind
from sojourn.runs.spec import Sweep, placed

_OWN = ("spacing", "curves", "policies", "time")
_TOP = ("name", "seeds", "steps", "episodes", "record", *_OWN, "world", "agent")


@told
def load_sweep(path: str | Path) -> Sweep:
    r"""Return the sweep in a TOML file.

    >>> import tempfile
    >>> text = 'seeds = 3\nsteps = 10\n[[world]]\nkind = "two-state"\nlog_scale = 0.01\n[[agent]]\nkind = "smart"\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "small.toml").write_text(text)
    ...     load_sweep(Path(folder, "small.toml")).num_steps
    30
    """
    return parse_sweep(load_toml(Path(path)))


@told
def parse_sweep(data: Mapping[str, Any]) -> Sweep:
    """Return the sweep that TOML, or a dictionary like it, describes.

    >>> sweep = parse_sweep({
    ...     "seeds": 5, "steps": 1000,
    ...     "world": [{"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}}],
    ...     "agent": [{"kind": "smart"}, {"kind": "harmonic-r", "rate_step_size": [0.01, 0.1]}],
    ... })
    >>> sweep.num_cells, sweep.num_runs
    (9, 45)
    """
    for key in data:
        if key not in _TOP:
            raise ValueError(f"unknown key {shown(key)}{nearest(key, _TOP)}")
    for key in ("seeds", "world", "agent"):
        if key not in data:
            raise ValueError(f"the key {key!r} is missing")
    return Sweep(
        worlds=_entries("world", data["world"]),
        agents=_entries("agent", data["agent"]),
        seeds=_seeds(data["seeds"]),
        steps=_lengths(data["steps"]) if "steps" in data else None,
        episodes=whole("episodes", data.get("episodes", 1)),
        record=whole("record", data.get("record", 0), least=0, most=MOST_POINTS),
        name=str(data.get("name", "sweep")),
        **{key: data[key] for key in _OWN if key in data},
    )


def _seeds(given: int | list[int]) -> list[int]:
    """Return the seeds, given as a list or as their number, counted from 0."""
    if isinstance(given, list):
        return [whole("seeds", seed, least=0) for seed in given]
    return list(range(whole("seeds", given, most=MOST_SEEDS)))


def _lengths(given: int | list[int]) -> int | list[int]:
    return [whole("steps", length) for length in given] if isinstance(given, list) else whole("steps", given)


def _entries(name: str, tables: Any) -> list[Entry]:
    """Return the worlds or the agents of a sweep."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise TypeError(f"{name} must be a list of tables: write [[{name}]]")
    entries = []
    for index, table in enumerate(tables):
        if "kind" not in table:
            raise ValueError(f"{name} {index + 1} lacks the key 'kind'")
        for key in ("kind", "label"):
            if not isinstance(table.get(key, ""), str) or len(table.get(key, "")) > 200:
                raise TypeError(f"{name} {index + 1} has the {key} {shown(table[key])}; it must be a word")
        kind = plain_kind(table["kind"])
        options = {}
        for key, given in table.items():
            if key not in ("kind", "label"):
                with placed(f"{name} {index + 1} ({listed([kind])}), option {listed([key])}"):
                    options[key] = expand(given)
        entries.append(Entry(kind, options, table.get("label", "")))
    return entries
