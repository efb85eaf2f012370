from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from sojourn.rules import elementary
from sojourn.rules.kernel import kernel

FUNCTIONS = ("exp", "exp10", "expm1", "log", "log1p", "sin", "cos")


@kernel
def _apply(kind: int, x: Any, out: Any) -> None:
    for i in range(len(x)):
        if kind == 0:
            out[i] = elementary.exp(x[i])
        elif kind == 1:
            out[i] = elementary.exp10(x[i])
        elif kind == 2:
            out[i] = elementary.expm1(x[i])
        elif kind == 3:
            out[i] = elementary.log(x[i])
        elif kind == 4:
            out[i] = elementary.log1p(x[i])
        elif kind == 5:
            out[i] = elementary.sin(x[i])
        else:
            out[i] = elementary.cos(x[i])


def arguments(name: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    tiny = 10.0 ** rng.uniform(-300, 0, 300)
    wide = {
        "exp": rng.uniform(-700, 700, 1000),
        "exp10": rng.uniform(-300, 300, 1000),
        "expm1": np.concatenate([rng.uniform(-5, 5, 1000), tiny, -tiny]),
        "log": np.concatenate([10.0 ** rng.uniform(-300, 300, 1000), 1 + 10.0 ** rng.uniform(-15, -1, 300)]),
        "log1p": np.concatenate([rng.uniform(-0.99, 5, 1000), tiny, -0.9 * tiny]),
    }
    turns = np.concatenate(
        [np.arange(1000.0), rng.integers(0, 2**31, 500), rng.uniform(-(2**31), 2**31, 500)]
    )
    return wide.get(name, turns)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_close_to_the_true_value(name: str) -> None:
    """Each function is within its error bound, in units in the last place, of the true value to 120 bits."""
    x = arguments(name)
    ours = np.empty(len(x))
    _apply(FUNCTIONS.index(name), x, ours)
    with mp.workprec(120):
        true = [
            mp.mpf(10) ** mp.mpf(v) if name == "exp10" else getattr(mp, name)(mp.mpf(v)) for v in x.tolist()
        ]
        units = [abs(mp.mpf(y) - t) / math.ulp(float(t)) for y, t in zip(ours.tolist(), true, strict=True)]
    assert max(units) < (4.0 if name in ("expm1", "log1p") else 2.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpreted_equals_compiled(name: str) -> None:
    """Each function gives the same bits in Python and compiled."""
    x = arguments(name)
    fast, slow = np.empty(len(x)), np.empty(len(x))
    _apply(FUNCTIONS.index(name), x, fast)
    _apply.python(FUNCTIONS.index(name), x, slow)
    assert fast.tobytes() == slow.tobytes()


def test_ends_of_the_range() -> None:
    """Overflow gives infinity, underflow gives 0, and neither raises an error."""
    assert elementary.exp(710.0) == elementary.exp10(309.0) == math.inf
    assert elementary.exp(-800.0) == elementary.exp10(-400.0) == 0.0
    assert elementary.exp10(308.0) == pytest.approx(1e308)
    assert elementary.sin(2.0**40) == math.sin(2.0**40)
    assert elementary.log(5e-324) == pytest.approx(math.log(5e-324))
