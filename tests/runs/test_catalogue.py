"""Worlds by name: ours, and those that users add."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

import sojourn as sj
from sojourn.agents.catalogue import AGENTS, NamedAgent, add_agent
from sojourn.models.problems import PROBLEMS
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.catalogue import world_kind, world_names
from sojourn.worlds.catalogue import WORLDS, NamedWorld, add_world


class Lamp(NamedTuple):
    """A lamp that is on or off; to switch takes a while."""

    patience: float
    watts: int = 60
    lit: bool = True

    @property
    def num_states(self) -> int:
        return 2

    @property
    def num_actions(self) -> int:
        return 2


@sj.start.register
def start_lamp(world: Lamp, rng: sj.random.Stream) -> tuple[Lamp, int]:
    return world, 0


@sj.step.register
def step_lamp(world: Lamp, state: int, action: int, rng: sj.random.Stream) -> tuple[Lamp, int, float, float]:
    duration = world.patience if action == state else 2.0 * world.patience
    return world, action, float(world.watts * action), duration


@pytest.fixture
def lamp() -> Iterator[NamedWorld]:
    entry = NamedWorld("lamp", Lamp, "on or off", not_options=("lit",), example={"patience": 1.0})
    add_world(entry)
    yield entry
    del WORLDS["lamp"]


def test_a_world_of_a_user_is_swept_by_name(lamp: NamedWorld, tmp_path: Path) -> None:
    """One catalogue entry makes it available to sweeps, with its constructor's parameters as options."""
    data = {
        "seeds": 2, "steps": 50,
        "world": [{"kind": "lamp", "patience": [1, 2.5], "watts": 40}], "agent": [{"kind": "smart"}],
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        sj.run_sweep(sj.runs.parse_sweep(data), tmp_path, pool, jobs=1)
    table = sj.load_results(tmp_path)
    for row in table.iter_rows(named=True):
        run = sj.run(Lamp(row["patience"], watts=40), sj.smart(2, 2), 50, seed=row["seed"])
        assert (row["reward"], row["duration"], row["watts"]) == (run.reward, run.duration, 40.0)
    assert table["gain"].null_count() == 4
    with pytest.raises(ValueError, match="unknown option 'lit'; there are patience, watts"):
        build_world("lamp", {"lit": True})
    with pytest.raises(ValueError, match=r"unknown world 'lmap'; did you mean 'lamp'\?"):
        build_world("lmap", {})


def test_a_problem_of_a_user_is_a_world_too() -> None:
    """A problem added to PROBLEMS can be swept, with its actions in both orders."""
    PROBLEMS["my-shot"] = lambda price=1.0: sj.problems.long_shot(short_rewards=(price, 9.0))
    try:
        options = {"kind": "my-shot", "price": 2, "actions": ["given", "reversed"]}
        sweep = sj.runs.parse_sweep(
            {"seeds": 1, "steps": 10, "world": [options], "agent": [{"kind": "smart"}]}
        )
        assert sweep.num_cells == 2
        assert world_kind("my_shot").model is PROBLEMS["my-shot"]
    finally:
        del PROBLEMS["my-shot"]
    assert "my_shot" not in world_names()


def test_names_are_given_once(lamp: NamedWorld) -> None:
    """A name that is already in use, or contains a hyphen, is refused."""
    with pytest.raises(ValueError, match="there is a world 'lamp' already"):
        add_world(lamp)
    with pytest.raises(ValueError, match="there is a world 'gosavi' already"):
        add_world(lamp._replace(name="gosavi"))
    with pytest.raises(ValueError, match="has a hyphen"):
        add_world(lamp._replace(name="my-lamp"))


def check_kinds(wanted: list[str]) -> None:
    for name in wanted:
        sj.check_world(build_world(name, world_kind(name).example))


def test_kinds_of_worlds_keep_the_rules(lamp: NamedWorld) -> None:
    """Every listed world has a one-line description; three of them pass the checker here, and all of them in the long tests."""
    assert all(world_kind(name).about and "\n" not in world_kind(name).about for name in world_names())
    check_kinds([name for name in world_names() if name != "model"][:3])


@pytest.mark.evidence
def test_every_kind_of_world_keeps_the_rules(lamp: NamedWorld) -> None:
    """Every listed world passes the checker, but for a model, which needs a file."""
    check_kinds([name for name in world_names() if name != "model"])


def test_a_broken_entry_affects_no_other() -> None:
    """An entry that cannot be imported is an error only for whoever asks for it."""
    add_agent(NamedAgent("broken", "Broken", "no.such_module:broken", None))
    add_world(NamedWorld("faulty", "no.such_module:Faulty", "a world that is not there"))
    try:
        assert build_agent("smart", {}, 2, 2).values.q.shape == (2, 2)  # type: ignore[attr-defined]
        assert build_world("two_state", {"log_scale": 0.1}).num_states == 2
        for build in (lambda: build_agent("broken", {}, 2, 2), lambda: build_world("faulty", {})):
            with pytest.raises(
                ValueError, match=r"'no.such_module:.*' cannot be found: No module named 'no'"
            ):
                build()
    finally:
        del AGENTS["broken"], WORLDS["faulty"]
