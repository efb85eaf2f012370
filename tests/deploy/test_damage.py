"""Damaged files of policies, monitors and meters are refused in a sentence, or what they hold can be used."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from counting import Counted
from sojourn.deploy import Monitor, NetworkPolicy, TilePolicy, load_policy
from sojourn.deploy.interface import packed
from sojourn.deploy.networks import Network
from sojourn.deploy.tables import LabelPolicy, RandomisedPolicy, TablePolicy
from sojourn.deploy.tabulation import Tabulation
from sojourn.deploy.tiled import TileSet

NEW: list[Any] = [
    None,
    -1,
    0,
    2.5,
    1e308,
    math.inf,
    math.nan,
    10**30,
    True,
    "x",
    "",
    [],
    {},
    [1],
    [[1.0]],
    {"a": 1},
]
ARRAYS = [np.zeros(3), np.full((2, 2), 1e300), np.array([-1]), np.zeros(0)]


def files() -> dict[str, Any]:
    """The contents of a file of each kind."""
    box: Any = {"kind": "numbers", "shape": [1]}
    two: Any = {"kind": "numbered", "count": 2, "first": 0}
    ends = packed(np.array([-1.0])), packed(np.array([1.0]))
    point: Any = {"kind": "points", "low": ends[0], "high": ends[1], "shape": [1], "dtype": "float32"}
    weights, sides = np.array([1.0, 0.0, 0.0, 1.0]), (np.zeros(1), np.ones(1))
    bounds = np.array([-1.0]), np.array([1.0]), np.array([1.0])
    cut = [
        np.array([1.0]),
        np.array([0]),
        np.array([[0.5]]),
        np.array([[1]]),
        np.array([0.0]),
        np.array([1.0]),
    ]
    states: Any = {"kind": "discrete", "count": 2, "start": 0}
    solved = {
        "states": ["a", "b"],
        "actions": ["x", "y"],
        "taken": [[0, 1], [1]],
        "chances": [[0.5, 0.5], [1.0]],
    }
    monitor, meter = Monitor(0.0, 1.0, batch=1.0), sj.RateMeter(sj.rates.AdaptiveRatio())
    for step in range(100):
        monitor.update(step % 2, 1.0)
        meter.update(step % 2, 1.0)
    made: dict[str, Any] = {
        "values": NetworkPolicy(Network("values", [1, 2], weights, *sides), box, two),
        "points": NetworkPolicy(Network("squashed", [1, 2], weights, *sides, *bounds), box, point),
        "tiles": TilePolicy([TileSet(1.0, False, np.eye(2), *cut)], box, two),
        "table": TablePolicy(Tabulation(states), 0, [0, 1], np.eye(2), np.ones((2, 2))),
        "solved": RandomisedPolicy({"format": "sojourn solved policy", "version": 1, **solved}),  # type: ignore[typeddict-item]
        "labels": LabelPolicy({"a": "x", ("b", 2): "y"}),
    }
    found = {name: policy.contents() for name, policy in made.items()}
    return {**found, "monitor": monitor.state(), "meter": meter.state()}


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a file."""
    inside = data.items() if isinstance(data, dict) else enumerate(data[:6]) if isinstance(data, list) else ()
    for key, part in inside:
        yield (*path, key)
        yield from places(part, (*path, key))


def damaged(data: Any, rng: random.Random) -> Any:
    """The content with one part left out or replaced."""
    data = copy.deepcopy(data)
    *path, last = rng.choice(list(places(data)))
    within = data
    for key in path:
        within = within[key]
    if rng.random() < 0.15 and isinstance(within, dict):
        del within[last]
    elif isinstance(within[last], dict) and "base64" in within[last]:
        within[last] = packed(rng.choice(ARRAYS))
    else:
        within[last] = rng.choice(NEW)
    return data


def try_damage(count: int, seed: int, folder: Path) -> int:
    """Damage files `count` times, and return how many were refused; anything but a sentence fails."""
    rng, kinds = random.Random(seed), files()
    refused: list[str] = []
    for _ in range(count):
        kind = rng.choice(list(kinds))
        data = damaged(kinds[kind], rng)
        try:
            if kind == "monitor":
                monitor = Monitor.restored(data)
                for step in range(3):
                    monitor.update(step, 1.0)
            elif kind == "meter":
                meter = sj.RateMeter.restored(data)
                meter.update(1.0, 1.0)
            else:
                (folder / "policy.json").write_text(json.dumps(data))
                policy = load_policy(folder / "policy.json")
                with np.errstate(all="ignore"):
                    for obs in ([0.5], 0, "a", ("b", 2)):
                        with contextlib.suppress(ValueError):  # it is of another kind
                            policy.act(obs, sample=True)
        except ValueError as error:
            refused.append(str(error))
    assert not any("\n" in said for said in refused)
    return len(refused)


def test_damaged_files(tmp_path: Path) -> None:
    """Of 300 damaged files, most are refused in a sentence, and nothing else goes wrong."""
    assert 150 < try_damage(300, 1, tmp_path) < 300


@pytest.mark.evidence
def test_many_damaged_files(tmp_path: Path, counted: Counted) -> None:
    """The same for 5,000 files."""
    try_damage(5_000, 2, tmp_path)
    counted("damaged files of policies, monitors and meters", tried=5_000, failed=0)
