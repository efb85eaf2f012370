"""Golden ids of cells: existing results keep the ids of their cells."""

from __future__ import annotations

from typing import Any

import pytest

import sojourn as sj
from sojourn.runs.build import build_world
from sojourn.runs.recording import Length
from sojourn.runs.spec import canonical_text, cell_ids
from sojourn.runs.tasks import option_columns

DECAY = {"start": 0.2, "factor": 0.999, "floor": 0.01}
TWO_STATE = {"kind": "two-state", "log_scale": 0.001}
MARKET = {
    "kind": "market", "segment": [0, 1], "segment_length": 1000, "state_size": [3, 6], "duration": "scaled",
    "fill": 0, "repair": "no",
}  # fmt: skip
ADMISSION = {"kind": "admission-control", "capacity": [5, 20], "actions": ["given", "reversed"]}

# For version 7 of the rules; a new version changes every id. Otherwise a change here would orphan all existing results.
IDS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (TWO_STATE, {"kind": "smart"}, ["15f6ea800f88dc56"]),
    (TWO_STATE, {"kind": "relaxed-smart"}, ["b153ce29a8f72cc3"]),
    (TWO_STATE, {"kind": "harmonic-r"}, ["2427e3a7f8e52036"]),
    (TWO_STATE, {"kind": "weighted-harmonic-r"}, ["7ba71950fde4da28"]),
    (TWO_STATE, {"kind": "r-learning"}, ["227330777c3681d4"]),
    (TWO_STATE, {"kind": "fixed-rate"}, ["eb726336de93af8f"]),
    (TWO_STATE, {"kind": "smdp-q-learning"}, ["d4ced3627e464469"]),
    (TWO_STATE, {"kind": "differential-q"}, ["3c62135957f71d24"]),
    (TWO_STATE, {"kind": "random-agent"}, ["2a52009b97339e64"]),
    (TWO_STATE, {"kind": "relaxed-smart", "variant": "gosavi"}, ["59e39be653c7eeb3"]),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "step_size": 1, "rate_step_size": [0.01, 0.1], "exploration": DECAY, "greedy": "draw"},
        ["7668fe64ea768afb", "d0137df9dcea28f5"],
    ),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "exploration": {"start": 1, "factor": 0.5}},
        ["83542b297d0a077f"],
    ),
    (
        {"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}, "slope": 1},
        {"kind": "smart"},
        ["9607a93f1ca6e8d6", "28ef24baeb8c5ca5", "55b8d7557be4980a"],
    ),
    (
        MARKET,
        {"kind": "smart"},
        ["40f0ece679eff7c6", "aaa1e15be07c2c8d", "b3c04652145bbe84", "9d0677e6ff5d62a2"],
    ),
    (
        ADMISSION,
        {"kind": "smart"},
        ["a880f69626dd749e", "4f4005514f11eae2", "9f03aa68f713a200", "46932dbf3a9b002c"],
    ),
    ({"kind": "river-swim", "num_states": 4}, {"kind": "smart"}, ["e2ab6c8dd88c5281"]),
]  # fmt: skip


def cells(sweep: sj.runs.Sweep) -> list[str]:
    (world,), (agent,) = sweep.worlds, sweep.agents
    agents = [canonical_text(agent.kind, options) for options in agent.grid()]
    return [
        cell
        for options in world.grid()
        for cell in cell_ids(canonical_text(world.kind, options), agents, Length(100))
    ]


@pytest.mark.parametrize(("world", "agent", "ids"), IDS)
def test_ids_stay_what_they_are(world: dict[str, Any], agent: dict[str, Any], ids: list[str]) -> None:
    """A sweep read from TOML has the same cell ids as ever."""
    assert cells(sj.runs.parse_sweep({"seeds": 1, "steps": 100, "world": [world], "agent": [agent]})) == ids


def test_ids_of_a_sweep_in_python_stay_what_they_are() -> None:
    """Sweeps written in Python keep ints as ints in their ids."""
    market = sj.runs.Entry("market", {"data": "synthetic", "segment_length": 1000, "state_size": 3.0})
    sweep = sj.runs.Sweep([market], [sj.runs.Entry("smart", {"step_size": 1})], seeds=[0], steps=100)
    assert cells(sweep) == ["4d0edc9b1b2d6826"]


def test_a_bool_is_the_word_for_it() -> None:
    """`true` and "yes" are the same choice: one id, and one world."""
    rooms = [{"kind": "four-rooms", "with_primitives": choice} for choice in (False, "no", True)]
    data = {"seeds": 1, "steps": 100, "agent": [{"kind": "smart"}]}
    false, no, true = (cells(sj.runs.parse_sweep({**data, "world": [room]})) for room in rooms)
    assert false == no != true
    assert build_world("four_rooms", {"with_primitives": "no"}).num_actions == (
        build_world("four_rooms", {"with_primitives": False}).num_actions
    )
    (column,) = option_columns(sj.runs.parse_sweep({**data, "world": [rooms[0]]})).values()
    assert column, "it is a column of text"
