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

# For version 6 of the rules; a new version changes every id. Otherwise a change here would orphan all existing results.
IDS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (TWO_STATE, {"kind": "smart"}, ["e9ce062c0ebf8bd1"]),
    (TWO_STATE, {"kind": "relaxed-smart"}, ["33b1d244cad05247"]),
    (TWO_STATE, {"kind": "harmonic-r"}, ["99119cf64092f673"]),
    (TWO_STATE, {"kind": "weighted-harmonic-r"}, ["510be6a7ea46c77e"]),
    (TWO_STATE, {"kind": "r-learning"}, ["c3f6fb3c85065a6e"]),
    (TWO_STATE, {"kind": "fixed-rate"}, ["c0898fad7b556fb4"]),
    (TWO_STATE, {"kind": "smdp-q-learning"}, ["97830be75e786470"]),
    (TWO_STATE, {"kind": "differential-q"}, ["b177ca46176d9c83"]),
    (TWO_STATE, {"kind": "random-agent"}, ["e3be2f485596158a"]),
    (TWO_STATE, {"kind": "relaxed-smart", "variant": "gosavi"}, ["125c7319fa692368"]),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "step_size": 1, "rate_step_size": [0.01, 0.1], "exploration": DECAY, "greedy": "draw"},
        ["bb0e3b7a10971269", "561ec3ea4425afd6"],
    ),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "exploration": {"start": 1, "factor": 0.5}},
        ["9222e0e0b8c9d718"],
    ),
    (
        {"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}, "slope": 1},
        {"kind": "smart"},
        ["3c9dead02308b415", "e10d01a94a190188", "1f15f8d3bd08de03"],
    ),
    (
        MARKET,
        {"kind": "smart"},
        ["b9a4e4ae97689bdc", "24f9cb645664d555", "6c951735be0e14d4", "bb28b39269edf50e"],
    ),
    (
        ADMISSION,
        {"kind": "smart"},
        ["d3654fbeada9036f", "1daa49409802766b", "d609d30b9f253b44", "b53b8a8a2dcc978c"],
    ),
    ({"kind": "river-swim", "num_states": 4}, {"kind": "smart"}, ["ec0833418854675b"]),
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
    assert cells(sweep) == ["3f25842aa140b789"]


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
