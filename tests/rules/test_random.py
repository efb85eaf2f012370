from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import sojourn as sj
from sojourn.rules import random
from sojourn.rules.kernel import kernel


@kernel
def _fill(kind: int, rng: Any, out: Any) -> None:
    for i in range(len(out)):
        if kind == 0:
            out[i] = random.uniform(rng)
        elif kind == 1:
            out[i] = random.normal(rng)
        elif kind == 2:
            out[i] = random.exponential(rng)
        elif kind == 3:
            out[i] = random.integer(rng, 7)
        else:
            out[i] = random.unit(random.word_at(kind, i))


def sample(kind: int, n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    out = np.empty(n)
    _fill(kind, sj.stream(seed), out)
    return out


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 4711])
def test_interpreted_equals_compiled(kind: int) -> None:
    """Every law draws the same numbers in Python and compiled, bit for bit."""
    slow = np.empty(2000)
    _fill.python(kind, sj.stream(3), slow)
    assert (slow == sample(kind, 2000, seed=3)).all()


@pytest.mark.parametrize(
    ("kind", "law"), [(0, stats.uniform), (1, stats.norm), (2, stats.expon), (4711, stats.uniform)]
)
def test_laws(kind: int, law: Any) -> None:
    """A million draws follow their law (Kolmogorov-Smirnov at 1 in 10,000)."""
    assert stats.kstest(sample(kind, 1_000_000), law.cdf).pvalue > 1e-4


def test_integers_are_equally_likely() -> None:
    """0 to 6 are equally frequent (chi-squared at 1 in 10,000)."""
    counts = np.bincount(sample(3, 700_000).astype(int), minlength=7)
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > 1e-4


def test_normal_quantile_against_scipy() -> None:
    """The quantile agrees with SciPy's to 1e-15, into both tails."""
    p = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 5001), 10.0 ** -np.arange(1, 300, 7.0)])
    ours = np.array([random.normal_quantile(float(x)) for x in p])
    assert np.allclose(ours, special.ndtri(p), rtol=2e-15, atol=2e-16)


def test_unit_stays_inside_the_open_interval() -> None:
    """The smallest and the largest word give numbers strictly between 0 and 1."""
    assert 0.0 < random.unit(np.uint64(0)) < 1e-15
    assert 1.0 - 1e-15 < random.unit(np.uint64(2**64 - 1)) < 1.0
    assert math.isfinite(random.normal_quantile(random.unit(np.uint64(0))))


def test_streams_of_a_seed_are_independent_of_their_number() -> None:
    """Asking for more streams does not change the first ones."""
    two, three = random.streams(9, 2), random.streams(9, 3)
    assert (two[1] == three[1]).all()
    assert (two[0] != two[1]).any()


def test_a_wrong_stream_is_refused() -> None:
    """NumPy's generators and all-zero states are refused as streams, and the error says how to make one."""
    agent = sj.smart(1, 2)
    for rng in (np.random.default_rng(0), np.zeros(4, dtype=np.uint64), 0):
        with pytest.raises(TypeError, match=r"make one with sojourn.stream\(seed\)"):
            sj.agents.act(agent, 0, rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed is -1"):
        sj.stream(-1)
