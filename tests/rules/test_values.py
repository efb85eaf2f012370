from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.rules.values import canonical, copied, same, stacked, validated


class Inner(NamedTuple):
    x: float
    n: int


class Outer(NamedTuple):
    inner: Inner
    table: Any
    flag: bool


def test_canonical_fields() -> None:
    """At every depth, numbers become Python numbers of the declared type, and arrays contiguous."""
    value = Outer(Inner(1, np.int32(2)), np.arange(6.0).reshape(2, 3).T, np.True_)  # type: ignore[arg-type]
    result = canonical(value)
    assert [type(field) for field in result.inner] == [float, int]
    assert result.flag is True
    assert result.table.flags.c_contiguous
    assert (result.table == value.table).all()


@pytest.mark.parametrize("bad", ["text", None, [1, 2], {"a": 1}, np.array(["x"]), 1j])
def test_fields_that_a_value_cannot_hold_are_refused(bad: Any) -> None:
    """Text, lists, dictionaries and the like are refused with the field's name."""
    with pytest.raises(TypeError, match=r"Outer.table is .*; a value holds only numbers"):
        canonical(Outer(Inner(1.0, 2), bad, True))


def test_copies_share_no_arrays() -> None:
    """A copy can be written into."""
    value = Outer(Inner(1.0, 2), np.zeros(2), True)
    copy = copied(value)
    copy.table[0] = 1.0
    assert value.table[0] == 0.0


def test_same_is_bit_for_bit() -> None:
    """NaN equals NaN, 0.0 does not equal -0.0, and 1 does not equal 1.0."""
    assert same(Inner(float("nan"), 1), Inner(float("nan"), 1))
    assert not same(Inner(0.0, 1), Inner(-0.0, 1))
    assert not same(Inner(1.0, 1), Inner(1, 1))
    assert not same(np.zeros(2), np.zeros(3))


def test_validated_runs_all_checks() -> None:
    """A value that got past its constructor is checked again, at every depth."""
    bad = sj.harmonic_r(1, 1)._replace(rate=sj.Harmonic(0.1)._replace(step_size=5.0))
    with pytest.raises(ValueError, match=r"Harmonic\.step_size is 5\.0"):
        validated(bad)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (Inner(0.0, 2**63), "Inner.n is too large; a whole number must be less than 2^63"),
        (Inner(10**400, 1), "Inner.x is too large for a float"),
        (
            Outer(Inner(0.0, 1), np.zeros(1, np.longdouble), True),
            "a value holds only numbers, numeric arrays",
        ),
    ],
)
def test_what_the_compiler_cannot_hold_is_refused_with_a_sentence(value: Any, sentence: str) -> None:
    """Numbers beyond 64 bits, and arrays of them, are refused before compilation."""
    with pytest.raises((TypeError, ValueError), match=sentence.replace("^", r"\^")):
        canonical(value)


def test_foreign_byte_order_becomes_the_machines_own() -> None:
    """Arrays of foreign byte order are converted to native order."""
    table = canonical(Outer(Inner(0.0, 1), np.array([1.5, -2.0], dtype=">f8"), True)).table
    assert table.dtype.isnative
    assert table.tolist() == [1.5, -2.0]


class OtherInner(NamedTuple):
    x: float
    n: int


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Inner(1.0, 2), "Outer is stacked with Inner"),
        (Outer(OtherInner(1.0, 2), np.zeros(2), True), "Outer.inner is Inner in one and OtherInner in another"),  # type: ignore[arg-type]
        (Outer(Inner(1, 2), np.zeros(2), True), "Inner.x is float64 in one and int64 in another"),
        (Outer(Inner(1.0, 2), np.zeros(2), 1), "Outer.flag is bool in one and int64 in another"),  # type: ignore[arg-type]
        (Outer(Inner(1.0, 2), np.zeros(3), True), r"Outer.table is float64 of shape \(2,\) in one and float64 of shape \(3,\)"),
        (Outer(Inner(1.0, 2), np.zeros(2, dtype=int), True), r"Outer.table is float64 .* and int64 of shape \(2,\)"),
        (Outer(Inner(1.0, 2), 0.0, True), r"Outer.table is float64 of shape \(2,\) in one and float64 in another"),
    ],
)  # fmt: skip
def test_values_of_different_layouts_are_not_stacked(other: Any, message: str) -> None:
    """Values in a stack differ only in numbers; otherwise one sentence names the first field that differs."""
    first = Outer(Inner(1.0, 2), np.zeros(2), True)
    for values in ([first, other], [first, first, other]):
        with pytest.raises(ValueError, match=message + ".*may differ only in numbers") as caught:
            stacked(values)
        assert "\n" not in str(caught.value)
    assert len(stacked([first, first]).table) == 2


@pytest.mark.parametrize("bad", ["text", None, ("a", "b")])
def test_only_numbers_are_stacked(bad: Any) -> None:
    """Strings and the like are refused with the field's name, even if they are all equal."""
    with pytest.raises(TypeError, match=r"Outer.table is .*; a stack holds only numbers"):
        stacked([Outer(Inner(1.0, 2), bad, True)] * 2)
