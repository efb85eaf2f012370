"""A model owns its arrays: nobody changes it behind its back, and what follows from it is found once."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.exact.audit.audit import audit
from sojourn.models import SMDP, from_arrays, smdp
from sojourn.models.laws import FlatLaws, flat
from sojourn.models.problems import admission_control, long_shot
from sojourn.models.structure import structure_of


def given_parts() -> dict[str, Any]:
    """All that a model can be made of, in arrays of exactly the types that it keeps."""
    return {
        "pair_offsets": np.array([0, 2, 3], dtype=np.int64),
        "row_offsets": np.array([0, 1, 3, 4], dtype=np.int64),
        "successor": np.array([1, 0, 1, 0], dtype=np.int32),
        "probability": np.array([1.0, 0.5, 0.5, 1.0]),
        "reward": np.array([1.0, 2.0, 0.0]),
        "duration": np.array([1.0, 2.5, 1.0]),
        "action": np.array([0, 1, 0], dtype=np.int32),
        "row_reward": np.array([1.0, 1.0, 3.0, 0.0]),
        "row_duration": np.array([1.0, 2.0, 3.0, 1.0]),
        "reward_law": flat([1.0, 1.0, 3.0, 0.0]),
        "duration_law": flat([1.0, 2.0, 3.0, 1.0]),
        "state_names": ["idle", "busy"],
        "action_names": ["wait", "work"],
    }


def arrays(parts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, part in parts.items():
        if isinstance(part, FlatLaws):
            yield f"{name}.kind", part.kind
            yield f"{name}.parameters", part.parameters
        elif isinstance(part, np.ndarray):
            yield name, part


def content(model: SMDP) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays(vars(model))}


def test_changing_what_was_given_does_not_change_the_model() -> None:
    """A model of arrays that already have the right type has copies of them, and names of its own."""
    parts = given_parts()
    model = SMDP(**parts)
    before = content(model)
    assert len(before) == 9 + 4
    for _, array in arrays(parts):
        array[...] = 7
    parts["state_names"][0] = "gone"
    assert content(model) == before
    assert model.state_names == ("idle", "busy")


COPIES: dict[str, Callable[[SMDP], SMDP]] = {
    "made": lambda model: model,
    "pickled": lambda model: pickle.loads(pickle.dumps(model)),
    "pickled long ago": lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
    "copied": copy.copy,
    "deep-copied": copy.deepcopy,
    "with other means": lambda model: model.with_means(model.reward + 1.0, model.duration),
    "reversed": SMDP.with_actions_reversed,
}


@pytest.mark.parametrize("way", COPIES)
def test_no_array_can_be_written_into(way: str) -> None:
    """Neither an array nor a view nor what is below it can be made writable, however the model came about."""
    original = SMDP(**given_parts())
    model = COPIES[way](original)
    structure = model.structure
    before = content(model)
    for name, array in [*arrays(vars(model)), ("label", structure.label), ("kept", structure.kept)]:
        below = array
        while isinstance(below, np.ndarray):
            for attempt in (below, below.view(), below[:], below.reshape(-1), below.T):
                assert not attempt.flags.writeable, name
                with pytest.raises(ValueError, match="read-only"):
                    attempt[...] = 0
                with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                    attempt.flags.writeable = True
            below = below.base
        assert isinstance(below, bytes), name
    assert content(model) == before
    for field in dataclasses.fields(model):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(model, field.name, None)


@pytest.mark.parametrize("way", ["pickled", "pickled long ago", "copied", "deep-copied"])
def test_a_copy_is_the_same_model(way: str) -> None:
    """Pickling and copying change nothing of a model."""
    model = admission_control()
    again = COPIES[way](model)
    assert content(again) == content(model)
    assert (again.state_names, again.action_names) == (model.state_names, model.action_names)
    assert sj.solve(again).gain == sj.solve(model).gain


def test_what_is_not_changed_is_shared() -> None:
    """A model with other means has the same memory for its transitions, since nobody can change it."""
    model = admission_control()
    other = model.with_means(model.reward + 1.0, model.duration)
    assert other.probability is model.probability
    assert other.successor is model.successor


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[SMDP]:
    """The models whose end components have been looked for."""
    seen: list[SMDP] = []

    def counting(model: SMDP) -> Any:
        seen.append(model)
        return structure_of(model)

    monkeypatch.setattr(smdp, "structure_of", counting)
    return seen


def test_end_components_are_found_once(counted: list[SMDP]) -> None:
    """A solve, its findings, a linear program and an audit look for the end components of a model once in all."""
    model = long_shot()
    assert sj.solve(model).findings == ()
    sj.exact.linear_program(model)
    audit(model)
    tied = [
        one for one in counted if one is not model
    ]  # of its optimal actions alone, for each end of the interval
    assert (counted[0], counted.count(model), len(tied)) == (model, 1, 2)


def test_end_components_of_several_classes_are_found_once(counted: list[SMDP]) -> None:
    """Where the gain depends on the start, they are found once for the whole, and once for each part."""
    model = from_arrays([[[1.0, 0.0]], [[0.0, 1.0]]], rewards=[[1.0], [3.0]])
    found = sj.solve(model)
    assert found.gains.tolist() == [1.0, 3.0]
    assert len(found.findings) == 3
    assert (counted.count(model), len(counted)) == (1, 3)
