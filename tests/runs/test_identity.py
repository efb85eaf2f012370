"""The ids of cells, written down: results that people have keep the names of their cells."""

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

# Those of version 5 of the rules, in which sweeps stack only agents alike: a new version changes every id. Apart from a
# new version, a change here makes everybody's results those of other cells.
IDS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (TWO_STATE, {"kind": "smart"}, ["69bd408b64c6437d"]),
    (TWO_STATE, {"kind": "relaxed-smart"}, ["3b4e496a8fa4d5f3"]),
    (TWO_STATE, {"kind": "harmonic-r"}, ["3e7cd649bd989849"]),
    (TWO_STATE, {"kind": "weighted-harmonic-r"}, ["ee6b05fd83bfde85"]),
    (TWO_STATE, {"kind": "r-learning"}, ["7703e3bf1cb0a7e5"]),
    (TWO_STATE, {"kind": "fixed-rate"}, ["429ef4fa7d8c1ef3"]),
    (TWO_STATE, {"kind": "smdp-q-learning"}, ["03ec16bb3ab29dc1"]),
    (TWO_STATE, {"kind": "differential-q"}, ["c6dc0d12ec84ec39"]),
    (TWO_STATE, {"kind": "random-agent"}, ["6308cc6d830669d2"]),
    (TWO_STATE, {"kind": "relaxed-smart", "variant": "gosavi"}, ["bb481e334b0b6b2f"]),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "step_size": 1, "rate_step_size": [0.01, 0.1], "exploration": DECAY, "greedy": "draw"},
        ["725ed5593c100549", "b24ea7b558cc5f8e"],
    ),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "exploration": {"start": 1, "factor": 0.5}},
        ["9535e02a287e7d4c"],
    ),
    (
        {"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}, "slope": 1},
        {"kind": "smart"},
        ["de0b7377e52b2469", "450d9c64ca49095a", "f9dd1f0882e171a3"],
    ),
    (
        MARKET,
        {"kind": "smart"},
        ["d1449cb025145ef4", "3aa3ae678e79abde", "bac8989dfc7a824a", "4e9da4e3b37377b1"],
    ),
    (
        ADMISSION,
        {"kind": "smart"},
        ["997196b404264051", "69cc29c73a82df62", "5c56628ad3642d9d", "c8ac390d86f44f2d"],
    ),
    ({"kind": "river-swim", "num_states": 4}, {"kind": "smart"}, ["0b531d1d96aca2a4"]),
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
    """A sweep that is read from TOML has the cells that it always had."""
    assert cells(sj.runs.parse_sweep({"seeds": 1, "steps": 100, "world": [world], "agent": [agent]})) == ids


def test_ids_of_a_sweep_in_python_stay_what_they_are() -> None:
    """What is written in Python is named as it was written: a whole number as a whole number."""
    market = sj.runs.Entry("market", {"data": "synthetic", "segment_length": 1000, "state_size": 3.0})
    sweep = sj.runs.Sweep([market], [sj.runs.Entry("smart", {"step_size": 1})], seeds=[0], steps=100)
    assert cells(sweep) == ["c0c9fdeea5a41227"]


def test_a_bool_is_the_word_for_it() -> None:
    """`true` and "yes" are one choice: one id, and the same world."""
    rooms = [{"kind": "four-rooms", "with_primitives": choice} for choice in (False, "no", True)]
    data = {"seeds": 1, "steps": 100, "agent": [{"kind": "smart"}]}
    false, no, true = (cells(sj.runs.parse_sweep({**data, "world": [room]})) for room in rooms)
    assert false == no != true
    assert build_world("four_rooms", {"with_primitives": "no"}).num_actions == (
        build_world("four_rooms", {"with_primitives": False}).num_actions
    )
    (column,) = option_columns(sj.runs.parse_sweep({**data, "world": [rooms[0]]})).values()
    assert column, "it is a column of text"
