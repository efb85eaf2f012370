"""The ids of cells, written down: results that people have keep the names of their cells."""

from __future__ import annotations

from typing import Any

import pytest

import sojourn as sj
from sojourn.runs.build import build_world
from sojourn.runs.lengths import Length
from sojourn.runs.spec import canonical_text, cell_ids
from sojourn.runs.tasks import option_columns

DECAY = {"start": 0.2, "factor": 0.999, "floor": 0.01}
TWO_STATE = {"kind": "two-state", "log_scale": 0.001}
MARKET = {
    "kind": "market", "segment": [0, 1], "segment_length": 1000, "state_size": [3, 6], "duration": "scaled",
    "fill": 0, "repair": "no",
}  # fmt: skip
ADMISSION = {"kind": "admission-control", "capacity": [5, 20], "actions": ["given", "reversed"]}

# Those of version 3 of the rules, which breaks ties at random: it changes the numbers, and so every id. Apart from a
# new version, a change here makes everybody's results those of other cells.
IDS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (TWO_STATE, {"kind": "smart"}, ["44cf027546d6b530"]),
    (TWO_STATE, {"kind": "relaxed-smart"}, ["98a71b0ee1ca7ff1"]),
    (TWO_STATE, {"kind": "harmonic-r"}, ["bff3c364cc43fe4f"]),
    (TWO_STATE, {"kind": "weighted-harmonic-r"}, ["2741c83b03e488fe"]),
    (TWO_STATE, {"kind": "r-learning"}, ["3c75ac3a77345112"]),
    (TWO_STATE, {"kind": "fixed-rate"}, ["efa9a011223f213d"]),
    (TWO_STATE, {"kind": "smdp-q-learning"}, ["5791e691501d5c90"]),
    (TWO_STATE, {"kind": "differential-q"}, ["6bfd781b025efce8"]),
    (TWO_STATE, {"kind": "random-agent"}, ["7a273dc26ffbe8bf"]),
    (TWO_STATE, {"kind": "relaxed-smart", "variant": "gosavi"}, ["a6329d8e0d047982"]),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "step_size": 1, "rate_step_size": [0.01, 0.1], "exploration": DECAY, "greedy": "draw"},
        ["ca1d1a59a6d844a8", "7d9bfe606ebd024f"],
    ),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "exploration": {"start": 1, "factor": 0.5}},
        ["e7dbd27b94e7dadf"],
    ),
    (
        {"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}, "slope": 1},
        {"kind": "smart"},
        ["fe322fd9e06efb64", "d3648edff00f4eba", "b05e0685e7e316cd"],
    ),
    (
        MARKET,
        {"kind": "smart"},
        ["c95c045af425866c", "1094802cdd28ff53", "ee05ae9feddf28c8", "dc5814b186ebeb52"],
    ),
    (
        ADMISSION,
        {"kind": "smart"},
        ["85f7f1d7d8ac7560", "31aa7fdde0d30aa8", "489a7f825a5f2c2b", "3befbb7face1abe2"],
    ),
    ({"kind": "river-swim", "num_states": 4}, {"kind": "smart"}, ["82304923d195dea4"]),
]  # fmt: skip


def cells(sweep: sj.Sweep) -> list[str]:
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
    assert cells(sj.parse_sweep({"seeds": 1, "steps": 100, "world": [world], "agent": [agent]})) == ids


def test_ids_of_a_sweep_in_python_stay_what_they_are() -> None:
    """What is written in Python is named as it was written: a whole number as a whole number."""
    market = sj.Entry("market", {"data": "synthetic", "segment_length": 1000, "state_size": 3.0})
    sweep = sj.Sweep([market], [sj.Entry("smart", {"step_size": 1})], seeds=[0], steps=100)
    assert cells(sweep) == ["033c1c81353ccd33"]


def test_a_bool_is_the_word_for_it() -> None:
    """`true` and "yes" are one choice: one id, and the same world."""
    rooms = [{"kind": "four-rooms", "with_primitives": choice} for choice in (False, "no", True)]
    data = {"seeds": 1, "steps": 100, "agent": [{"kind": "smart"}]}
    false, no, true = (cells(sj.parse_sweep({**data, "world": [room]})) for room in rooms)
    assert false == no != true
    assert build_world("four_rooms", {"with_primitives": "no"}).num_actions == (
        build_world("four_rooms", {"with_primitives": False}).num_actions
    )
    (column,) = option_columns(sj.parse_sweep({**data, "world": [rooms[0]]})).values()
    assert column, "it is a column of text"
