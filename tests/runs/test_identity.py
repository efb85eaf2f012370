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

# Those of version 4 of the rules, in which TimeSmoothed is right at once: a new version changes every id. Apart from a
# new version, a change here makes everybody's results those of other cells.
IDS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (TWO_STATE, {"kind": "smart"}, ["dc0e37c7e94318b8"]),
    (TWO_STATE, {"kind": "relaxed-smart"}, ["c2c05a1e87cd64da"]),
    (TWO_STATE, {"kind": "harmonic-r"}, ["9eeab050a89c7160"]),
    (TWO_STATE, {"kind": "weighted-harmonic-r"}, ["a7013401a88d4dc8"]),
    (TWO_STATE, {"kind": "r-learning"}, ["4512dabf09a20c93"]),
    (TWO_STATE, {"kind": "fixed-rate"}, ["4c6bced0aff34291"]),
    (TWO_STATE, {"kind": "smdp-q-learning"}, ["70b9c5316126b9b0"]),
    (TWO_STATE, {"kind": "differential-q"}, ["2e43b5d86f8f1d86"]),
    (TWO_STATE, {"kind": "random-agent"}, ["ed40a710c2f6412c"]),
    (TWO_STATE, {"kind": "relaxed-smart", "variant": "gosavi"}, ["683b6b7b66eb7676"]),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "step_size": 1, "rate_step_size": [0.01, 0.1], "exploration": DECAY, "greedy": "draw"},
        ["23bb483fd4ec6826", "4e232ae7dec8a222"],
    ),
    (
        TWO_STATE,
        {"kind": "harmonic-r", "exploration": {"start": 1, "factor": 0.5}},
        ["3a55281b3b3ae6e0"],
    ),
    (
        {"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}, "slope": 1},
        {"kind": "smart"},
        ["4b706b5571d157f8", "2ec97e2b816b31ab", "165db2aa325d0c83"],
    ),
    (
        MARKET,
        {"kind": "smart"},
        ["e4edf63420ae32a6", "24600f4461fc664c", "646a32a356a95275", "80c5f2bb922c2797"],
    ),
    (
        ADMISSION,
        {"kind": "smart"},
        ["94ea8ee7eeb511d1", "50a2c813fd99220b", "cdb82f1b510ad225", "5fe8de7e1b99a7fb"],
    ),
    ({"kind": "river-swim", "num_states": 4}, {"kind": "smart"}, ["f7bc2e2fc028f1ad"]),
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
    assert cells(sweep) == ["513800109bf9bad5"]


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
