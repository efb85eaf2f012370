from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.rules.values import canonical, copied, frozen, same, validated


class Inner(NamedTuple):
    x: float
    n: int


class Outer(NamedTuple):
    inner: Inner
    table: Any
    flag: bool


def test_canonical_fields() -> None:
    """Numbers become Python numbers of the declared kind, arrays contiguous, at every depth."""
    value = Outer(Inner(1, np.int32(2)), np.arange(6.0).reshape(2, 3).T, np.True_)  # type: ignore[arg-type]
    result = canonical(value)
    assert [type(field) for field in result.inner] == [float, int]
    assert result.flag is True
    assert result.table.flags.c_contiguous
    assert (result.table == value.table).all()


@pytest.mark.parametrize("bad", ["text", None, [1, 2], {"a": 1}, np.array(["x"]), 1j])
def test_what_a_value_cannot_hold(bad: Any) -> None:
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


def test_frozen_arrays_cannot_be_written() -> None:
    """A frozen value shares its arrays and refuses to change them."""
    value = Outer(Inner(1.0, 2), np.zeros(2), True)
    with pytest.raises(ValueError, match="read-only"):
        frozen(value).table[0] = 1.0
    value.table[0] = 3.0
    assert frozen(value).table[0] == 3.0
