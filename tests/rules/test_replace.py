"""`replaced` gives a value with some fields replaced, in Python and in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from sojourn.rates.ratio import Exponential
from sojourn.rules.arrays import Floats
from sojourn.rules.kernel import kernel
from sojourn.rules.values import replaced


class Inner(NamedTuple):
    """A value inside another."""

    value: float
    numbers: Floats


class Outer(NamedTuple):
    """A value with another, and a field that never changes."""

    inner: Inner
    size: int
    name: int = 7


@kernel
def _changed(outer: Outer, rounds: int) -> tuple[float, float, int, int]:
    for _ in range(rounds):
        inner = replaced(outer.inner, value=outer.inner.value / 3.0)
        outer = replaced(outer, size=outer.size + 1, inner=inner)
    return outer.inner.value, outer.inner.numbers[0], outer.size, outer.name


def test_compiled_and_interpreted_agree() -> None:
    """Fields of any type are replaced, in any order; the others are kept, arrays included."""
    outer = Outer(Inner(1.0, np.array([5.0])), 0)
    assert _changed(outer, 4) == _changed.python(outer, 4) == (1.0 / 3.0 / 3.0 / 3.0 / 3.0, 5.0, 4, 7)


@kernel
def _wrong(outer: Outer) -> int:
    return replaced(outer, number=3).size


def test_an_unknown_field_is_refused() -> None:
    """A misspelt field is an error, interpreted and compiled."""
    outer = Outer(Inner(1.0, np.zeros(1)), 0)
    with pytest.raises(TypeError, match="Outer has no field number"):
        _wrong.python(outer)
    with pytest.raises(TypeError, match="cannot be compiled"):
        _wrong(outer)


def test_the_class_checks_what_is_replaced() -> None:
    """In Python, a field that the constructor refuses is refused here, too."""
    with pytest.raises(ValueError, match="step_size is 2"):
        replaced(Exponential(0.5), step_size=2.0)
