"""Options are converted by the annotations of a constructor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

import sojourn as sj
from sojourn.data.hints import fitted, option_kinds, wants_list

if TYPE_CHECKING:
    from decimal import Decimal


class Decline(NamedTuple):
    start: float
    days: int = 3


def made(
    size: int = 1,
    share: float = 0.5,
    open_: bool = False,
    word: str = "a",
    side: Literal["left", "right"] = "left",
    maybe: float | None = None,
    decline: float | Decline = 0.1,
    place: str | tuple[int, int] = "x",
    parts: Sequence[float] = (1.0,),
    whatever: Any = None,
    plain: Any = 7,
) -> None: ...


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("size", 3, 3),
        ("size", 3.0, 3),
        ("share", 3, 3.0),
        ("share", float("inf"), float("inf")),
        ("open_", True, True),
        ("open_", "yes", True),
        ("open_", "no", False),
        ("word", "yes", "yes"),
        ("side", "right", "right"),
        ("maybe", 2, 2.0),
        ("maybe", None, None),
        ("decline", 1, 1.0),
        ("decline", {"start": 1, "days": 2.0}, Decline(1.0, 2)),
        ("place", "y", "y"),
        ("place", [1, 2], (1, 2)),
        ("parts", [1.0, 2.0], [1.0, 2.0]),
        ("whatever", {"a": 1.0}, {"a": 1.0}),
        ("plain", 3.0, 3),
    ],
)
def test_options_are_converted(name: str, given: Any, wanted: Any) -> None:
    """The value is converted to the type of the annotation."""
    (found,) = fitted(made, {name: given}).values()
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("name", "given", "error", "words"),
    [
        ("size", 3.5, TypeError, "size is 3.5; it must be a whole number"),
        ("size", True, TypeError, "size is True; it must be a whole number"),
        ("size", float("nan"), TypeError, "size is nan; it must be a whole number"),
        ("share", "0.5", TypeError, "share is '0.5'; it must be a number"),
        ("share", 10**400, ValueError, "share is too large for a float"),
        ("open_", "maybe", TypeError, "open_ is 'maybe'; it must be yes or no"),
        ("open_", 1, TypeError, "open_ is 1; it must be yes or no"),
        ("word", 3.0, TypeError, "word is 3.0; it must be a word"),
        ("side", "up", ValueError, "side is 'up'; it must be 'left' or 'right'"),
        ("maybe", "x", TypeError, "maybe is 'x'; it must be a number"),
        ("decline", "x", TypeError, "decline is 'x'; it must be a number or a table of start and days"),
        ("decline", {"begin": 1}, ValueError, "decline has the unknown key 'begin'; there are start, days"),
        ("decline", {"days": 1}, ValueError, "decline lacks the key 'start'"),
        ("decline", {"start": "x"}, TypeError, "decline.start is 'x'; it must be a number"),
        ("parts", 1.0, TypeError, "parts is 1.0; it must be a list"),
        ("sise", 1, ValueError, "unknown option 'sise'; did you mean 'size'?"),
    ],
)
def test_unsuitable_options_get_one_sentence(name: str, given: Any, error: Any, words: str) -> None:
    """The error says what was given and what is expected."""
    with pytest.raises(error) as caught:
        fitted(made, {name: given})
    assert str(caught.value) == words


def test_the_callers_parameters_are_not_options() -> None:
    """Parameters named in `besides` are refused as options, and not suggested either."""
    with pytest.raises(ValueError, match=r"unknown option 'num_states'"):
        fitted(sj.smart, {"num_states": 3}, besides=("num_states", "num_actions"))
    with pytest.raises(ValueError, match="unknown option 'a'; it has none"):
        fitted(lambda: None, {"a": 1})


def test_an_unreadable_annotation_counts_as_missing() -> None:
    """An annotation imported only for the type checker counts as missing: the default's type applies, if there is one."""

    def built(a: Decimal, b: Decimal | int = 3) -> None: ...

    assert fitted(built, {"a": 2.0, "b": 2.0}) == {"a": 2.0, "b": 2}


def test_classes_have_options_too() -> None:
    """The fields of a NamedTuple are options of it."""
    assert option_kinds(sj.worlds.TwoState)["log_scale"] is float
    assert fitted(sj.worlds.TwoState, {"log_scale": 1}) == {"log_scale": 1.0}
    assert wants_list(option_kinds(sj.problems.long_shot)["short_rewards"])
    assert wants_list(option_kinds(sj.problems.gosavi)["transitions"])
