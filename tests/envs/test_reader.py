from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sojourn.deploy.interface import checked_mask
from sojourn.envs.reader import duration_reader, mask_key, mask_reader


@pytest.mark.parametrize(
    ("duration", "info", "expected"),
    [
        ("duration", {"duration": 2.5}, 2.5),
        ("tau", {"tau": 3}, 3.0),
        ("d_ts", {"d_ts": np.float32(0.5)}, 0.5),
        ("duration", {"duration": np.array(4.0)}, 4.0),
        ("duration", {"duration": Fraction(1, 4)}, 0.25),
        ("smdp.duration", {"smdp": {"duration": 7}}, 7.0),
        ("a.b.c", {"a": {"b": {"c": 1.5}}}, 1.5),
        (lambda obs, action, info: obs + action + info["x"], {"x": 0.5}, 3.5),
        (60, {}, 60.0),
        (np.float64(0.1), {"duration": 9.0}, 0.1),
        ("duration", {"duration": 0}, 0.0),
        ("duration", {"duration": -0.0}, 0.0),
        ("smdp.duration", {"smdp": {"duration": 0.0}}, 0.0),
    ],
)
def test_durations_are_read(duration: Any, info: dict[str, Any], expected: float) -> None:
    """A key, a path, a function or a number: the duration comes back as a float, and zero as 0.0."""
    read = duration_reader(duration)(1, 2, info)
    assert type(read) is float
    assert str(read) == str(expected)


@pytest.mark.parametrize(
    ("duration", "info", "sentence"),
    [
        (
            "duration",
            {"tau": 1.0, "clock": 2.0},
            'info["duration"] is missing, and info has only "tau", "clock"; set duration (on the command line, '
            "--duration) to the key of info that has it, to a number if every step takes equally long, or in Python to a function",
        ),
        (
            "smdp.duration",
            {},
            'info["smdp.duration"] is missing, and info is empty; set duration (on the command line, '
            "--duration) to the key of info that has it, to a number if every step takes equally long, or in Python to a function",
        ),
        (
            "smdp.duration",
            {"smdp": 3},
            'info["smdp.duration"] is missing, and info has only "smdp"; set duration (on the command line, '
            "--duration) to the key of info that has it, to a number if every step takes equally long, or in Python to a function",
        ),
        ("duration", None, "info is None, so it has no duration; it must be a dictionary"),
        ("duration", {"duration": None}, 'info["duration"] is None; a duration must be a number'),
        ("duration", {"duration": "1.0"}, "info[\"duration\"] is '1.0'; a duration must be a number"),
        ("duration", {"duration": True}, 'info["duration"] is True; a duration must be a number'),
        ("duration", {"duration": [1.0]}, 'info["duration"] is [1.0]; a duration must be a number'),
        (
            "duration",
            {"duration": np.array([1.0])},
            'info["duration"] is array([1.]); a duration must be a number',
        ),
        (
            "duration",
            {"duration": float("nan")},
            'info["duration"] is nan; a duration must be finite and not negative',
        ),
        (
            "duration",
            {"duration": float("inf")},
            'info["duration"] is inf; a duration must be finite and not negative',
        ),
        (
            "tau",
            {"tau": np.float32(-1.0)},
            'info["tau"] is -1.0; a duration must be finite and not negative',
        ),
        (
            "smdp.duration",
            {"smdp": {"duration": -2}},
            'info["smdp.duration"] is -2; a duration must be finite and not negative',
        ),
    ],
)
def test_a_bad_duration_is_never_silently_one(duration: str, info: Any, sentence: str) -> None:
    """What is missing or makes no sense is an error that names the key and the value."""
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole sentence is compared
        duration_reader(duration)(None, None, info)
    assert str(error.value) == sentence


def test_a_huge_whole_number_is_infinite() -> None:
    """A duration that no float can hold is refused in words."""
    with pytest.raises(ValueError, match="a duration must be finite"):
        duration_reader("duration")(None, None, {"duration": 10**400})


def test_a_function_is_named_when_its_duration_is_bad() -> None:
    """The error says which function it was."""

    def hours(obs: Any, action: Any, info: Any) -> float:
        return float("nan")

    with pytest.raises(ValueError, match="the duration from hours is nan; a duration must be finite"):
        duration_reader(hours)(None, None, {})


@pytest.mark.parametrize("duration", ["", ".x", "x.", "a..b", 0, -1.0, float("nan"), True, None])
def test_nonsense_is_no_place_for_a_duration(duration: Any) -> None:
    """Empty keys, durations of 0 for all steps and the like are refused before the first step."""
    with pytest.raises((TypeError, ValueError), match="duration is"):
        duration_reader(duration)


def test_the_mask_is_beside_the_duration() -> None:
    """By default the mask is the neighbour of the duration; it may be elsewhere, or not there."""
    info = {"action_mask": "outer", "smdp": {"action_mask": "inner", "duration": 1}, "legal": "other"}
    assert mask_reader(mask_key(None, "tau"))(info) == "outer"
    assert mask_reader(mask_key(None, 60.0))(info) == "outer"
    assert mask_reader(mask_key(None, "smdp.duration"))(info) == "inner"
    assert mask_reader(mask_key("legal", "smdp.duration"))(info) == "other"
    assert mask_reader("a.b")({}) is mask_reader("a.b")({"a": 3}) is mask_reader("a")({}) is None
    with pytest.raises(ValueError, match=r"action_mask is 'a\.'; it must be a key of info"):
        mask_key("a.", "duration")


@pytest.mark.parametrize("kind", [list, np.array, tuple, lambda m: np.array(m, dtype=np.int8)])
def test_masks_are_zeros_and_ones(kind: Any) -> None:
    """A list or an array of any kind of zeros and ones becomes an array of bools."""
    assert checked_mask(kind([0, 1, 1]), 3).tolist() == [False, True, True]
    assert checked_mask(kind([True, False]), 2).tolist() == [True, False]


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ([1, 1], "a 0 or 1 for each of the 3 actions; if the mask is elsewhere"),
        ([[1, 1, 0]], "a 0 or 1 for each of the 3 actions; if the mask is elsewhere"),
        ("110", "a 0 or 1 for each of the 3 actions; if the mask is elsewhere"),
        ([1, [2], 3], "a 0 or 1 for each of the 3 actions; if the mask is elsewhere"),
        ([0, 2, 1], "its entries must be 0 or 1"),
        ([0.0, float("nan"), 1.0], "its entries must be 0 or 1"),
        ([0, 0, 0], "allows no action"),
    ],
)
def test_bad_masks_get_one_sentence(mask: Any, sentence: str) -> None:
    """A mask of another length, with other entries, or of nothing but zeros is refused."""
    with pytest.raises(ValueError, match=sentence):
        checked_mask(mask, 3)
