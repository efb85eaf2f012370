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

# Computed before options had types. A change here makes everybody's results those of other cells.
IDS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (TWO_STATE, {"kind": "smart"}, ["ef3b2e7f87c90013"]),
    (TWO_STATE, {"kind": "relaxed-smart"}, ["f5481a13fb6b705c"]),
    (TWO_STATE, {"kind": "harmonic-r"}, ["74205c7e191db5fb"]),
    (TWO_STATE, {"kind": "weighted-harmonic-r"}, ["1d6abe6e179d5f89"]),
    (TWO_STATE, {"kind": "r-learning"}, ["23646c847019ae94"]),
    (TWO_STATE, {"kind": "fixed-rate"}, ["2ea29575df9e4cf3"]),
    (TWO_STATE, {"kind": "smdp-q-learning"}, ["b94f8b9525f6550c"]),
    (TWO_STATE, {"kind": "differential-q"}, ["bb2b2cc18130ced5"]),
    (TWO_STATE, {"kind": "random-agent"}, ["7e99a084892f4ebd"]),
    (TWO_STATE, {"kind": "relaxed-smart", "variant": "gosavi"}, ["7fdc2521f2e10c00"]),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "step_size": 1, "rate_step_size": [0.01, 0.1], "exploration": DECAY, "greedy": "draw"},
        ["959fd172e2e1328a", "3a4af16f6082c5e8"],
    ),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "exploration": {"start": 1, "factor": 0.5}},
        ["c0ffd41810319de1"],
    ),
    (
        {"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}, "slope": 1},
        {"kind": "smart"},
        ["1cadee78054426cf", "270673a8a8fcbd90", "73c73bbb1c6f8432"],
    ),
    (
        MARKET,
        {"kind": "smart"},
        ["afccf4fd5cc405c5", "c9bda9520b73bb4a", "b9fc0fd5809eef84", "b50204298bedf24a"],
    ),
    (
        ADMISSION,
        {"kind": "smart"},
        ["80389aee56448043", "979474535ee302a9", "13a1a7cc95ea42f1", "c84ab32355560c00"],
    ),
    ({"kind": "river-swim", "num_states": 4}, {"kind": "smart"}, ["809c2333e8f964d9"]),
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
    assert cells(sweep) == ["dfd60f0f540ea6fe"]


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
