from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.data.files import Json, JsonObject, load_json, write_json
from sojourn.data.hints import as_json, plain, read_record


@dataclass(frozen=True)
class Inner:
    numbers: tuple[float, ...]
    word: str | None = None


@dataclass(frozen=True)
class Outer:
    count: int
    share: float | None
    right: bool
    parts: tuple[Inner, ...]
    sizes: dict[str, float]
    options: JsonObject


finite = st.floats(allow_nan=False, allow_infinity=False)
inners = st.builds(Inner, st.lists(finite).map(tuple), st.none() | st.text())
outers = st.builds(
    Outer,
    st.integers(),
    st.none() | finite,
    st.booleans(),
    st.lists(inners, max_size=3).map(tuple),
    st.dictionaries(st.text(), finite, max_size=3),
    st.dictionaries(st.text(), st.none() | st.integers() | st.lists(st.text()), max_size=3),
)
WHOLE = Outer(3, 0.5, True, (Inner((1.0, 2.5), "here"),), {"step_size": 0.1}, {"capacity": 5})


@given(outers)
def test_records_survive_a_round_trip(record: Outer) -> None:
    """Records survive a round trip through JSON, whatever they hold."""
    assert read_record(Outer, json.loads(json.dumps(as_json(record), allow_nan=False))) == record


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"count": 1.5}, "count is 1.5; it must be a whole number"),
        ({"count": True}, "count is True; it must be a whole number"),
        ({"share": "half"}, "share is 'half'; it must be a number"),
        ({"share": True}, "share is True; it must be a number"),
        ({"right": 1}, "right is 1; it must be true or false"),
        ({"parts": {}}, "parts is {}; it must be a list"),
        ({"parts": [3]}, r"parts\[0\] is 3; it must be a table"),
        ({"parts": [{}]}, r"parts\[0\] lacks the key 'numbers'"),
        ({"parts": [{"numbers": [1, None]}]}, r"parts\[0\].numbers\[1\] is None; it must be a number"),
        ({"sizes": {"step_size": "0.1"}}, "sizes.step_size is '0.1'; it must be a number"),
        ({"options": []}, r"options is \[\]; it must be a table"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(change: dict[str, Any], words: str) -> None:
    """An entry of the wrong type, or a missing one, is named in one sentence; nothing is coerced."""
    with pytest.raises(ValueError, match=words):
        read_record(Outer, {**as_json(WHOLE), **change})


def test_unknown_keys_are_ignored_and_defaults_apply() -> None:
    """Files of later versions may have more entries, those of earlier versions fewer."""
    given: Json = {"numbers": [1], "colour": "red"}
    assert read_record(Inner, given) == Inner((1.0,))


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    """JSON has no infinity, so files contain null instead, and a strict reader can read them."""
    write_json(tmp_path / "a.json", as_json(Inner((math.inf, math.nan, 1.0))))
    assert json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail) == {
        "numbers": [None, None, 1.0],
        "word": None,
    }
    (tmp_path / "a.json").write_text("[1]")
    with pytest.raises(ValueError, match="it does not hold an object"):
        load_json(tmp_path / "a.json")


def test_what_json_cannot_express_is_refused() -> None:
    """A record that JSON cannot express raises an error when it is written."""
    with pytest.raises(TypeError, match="cannot be written as JSON"):
        plain({"sizes": {1, 2}})
