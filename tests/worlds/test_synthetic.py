"""The synthetic market: its model, and the stylised facts it should show."""

import functools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naive
import sojourn as sj
from sojourn.worlds.market.bars import Bars
from sojourn.worlds.market.instruments import fill, synthetic_bars

SEEDS = range(5)
SEGMENT = 50_000

Column = np.ndarray[Any, np.dtype[np.float64]]


@functools.cache
def market(seed: int) -> Bars:
    return synthetic_bars(seed=seed)


def returns(bars: Bars) -> Column:
    ratio: Column = np.log(bars.close / bars.open)
    return ratio


def aggregated(x: Column, count: int) -> Column:
    total: Column = x[: len(x) // count * count].reshape(-1, count).sum(axis=1)
    return total


def excess_kurtosis(x: Column) -> float:
    centred = x - x.mean()
    return float(np.mean(centred**4) / np.mean(centred**2) ** 2 - 3)


def autocorrelation(x: Column, lag: int) -> float:
    centred = x - x.mean()
    return float(np.mean(centred[:-lag] * centred[lag:]) / np.mean(centred**2))


def by_segment(x: Column) -> Column:
    return x[: len(x) // SEGMENT * SEGMENT].reshape(-1, SEGMENT)


# --- What it is. ---


@pytest.mark.parametrize("seed", range(10))
def test_prices(seed: int) -> None:
    """Prices are positive whole ticks, stay near the start, and open where they closed."""
    bars = market(seed)
    assert len(bars) == len(bars.open) == len(bars.timestamp) == 1_050_000
    assert (bars.open[1:] == bars.close[:-1]).all()
    assert bars.open[0] == 10_000.0
    # n / 100 is the float nearest to n cents, so that equality is exact
    assert (np.rint(bars.close * 100) / 100 == bars.close).all()
    # The pull keeps log-prices within a deviation of about 0.0011 sqrt(500,000 / 2) = 0.55, and
    # log 30 is six of them.
    assert bars.close.min() > 10_000 / 30
    assert bars.close.max() < 10_000 * 30


def test_label() -> None:
    """The bars are labelled synthetic, one minute apart, and have a digest of their prices."""
    bars = synthetic_bars(100, seed=1)
    assert bars.name == "synthetic"
    assert bars.synthetic
    assert (np.diff(bars.timestamp) == 60).all()
    assert bars.timestamp.dtype == np.int64
    assert bars.timestamp[0] % 60 == 0
    assert bars.findings == []


def test_same_on_every_machine() -> None:
    """Golden prices: if they change, results computed with them no longer hold."""
    assert (
        synthetic_bars(10_000, seed=0).sha256
        == "f6be5b26600334b1a49c3aa8881f15dfe42196a8117c5f1d6467f0e44bbfdfc1"
    )


def test_seeds() -> None:
    """The same seed gives the same market, another seed a different one."""
    assert synthetic_bars(5000, seed=3).sha256 == synthetic_bars(5000, seed=3).sha256
    assert len({synthetic_bars(5000, seed=seed).sha256 for seed in range(20)}) == 20


@pytest.mark.parametrize("count", [1, 2, 999, 60_000])
def test_fewer_bars_are_the_beginning_of_more(count: int) -> None:
    """A shorter market is a prefix of a longer one with the same seed."""
    short, long = synthetic_bars(count, seed=2), market(2)
    assert len(short) == count
    for field in ("timestamp", "open", "close"):
        assert (getattr(short, field) == getattr(long, field)[:count]).all()


def test_interpreted_equals_compiled() -> None:
    """The interpreted kernel writes the same bits and leaves the stream in the same place."""
    fast, slow = np.empty(20_000), np.empty(20_000)
    fast_rng, slow_rng = sj.stream(6), sj.stream(6)
    fill(fast, fast_rng)
    fill.python(slow, slow_rng)
    assert fast.tobytes() == slow.tobytes()
    assert (fast_rng == slow_rng).all()


@pytest.mark.parametrize("bad", [0, -1])
def test_no_bars(bad: int) -> None:
    """A market without bars is refused."""
    with pytest.raises(ValueError, match=f"num_bars is {bad}; it must be at least 1"):
        synthetic_bars(bad)


def test_model_as_it_is_written() -> None:
    """An independent plain-Python implementation of the module's formulas gives the same prices."""
    stream, _ = naive.streams(3)  # a seed that soon sees all regimes
    regime, a, b, x, price = "quiet", 0.0, 0.0, 0.0, 10_000.0
    stay = {"quiet": 60_000, "usual": 60_000, "stormy": 30_000}
    sigma = {"quiet": 0.0003, "usual": 0.0006, "stormy": 0.0012}
    rate = {"quiet": 0.8, "usual": 6, "stormy": 30}
    following = {"quiet": ("usual", "stormy"), "usual": ("stormy", "quiet"), "stormy": ("quiet", "usual")}
    closes, seen = [], set()

    def z() -> float:
        return NormalDist().inv_cdf(stream.uniform())

    for _ in range(30_000):
        u = stream.uniform()
        if u * stay[regime] < 1:
            regime = following[regime][0 if u * stay[regime] < 0.5 else 1]
        seen.add(regime)
        a = (1 - 1 / 12) * a + 0.45 * math.sqrt(1 - (1 - 1 / 12) ** 2) * z()
        b = (1 - 1 / 1500) * b + 0.45 * math.sqrt(1 - (1 - 1 / 1500) ** 2) * z()
        jump = 6 if stream.uniform() < 0.002 else 1
        x = (1 - 1 / 500_000) * x + sigma[regime] * math.exp(a + b) * jump * z()
        x = min(max(x, -math.log(100)), math.log(100))
        if stream.uniform() >= math.exp(-rate[regime] * math.exp(a + b)):
            price = round(10_000 * math.exp(x), 2)
        closes.append(price)
    assert seen == {"quiet", "usual", "stormy"}
    # the last bits of exp may round a price to a neighbouring tick
    assert_allclose(synthetic_bars(30_000, seed=3).close, closes, atol=0.0101, rtol=0)


# --- Stylised facts. The bounds leave room for chance: they hold for the first 60 seeds. ---


@pytest.mark.parametrize("seed", SEEDS)
def test_heavy_tails(seed: int) -> None:
    """Returns have heavy tails in a minute, lighter but still heavy ones in an hour.

    Of a million normal numbers the excess kurtosis would be 0 with a standard error of 0.005,
    and of 17,500 hours 0.04. Volatility alone, log-normal with a deviation of 0.64 and regimes
    between, makes more than 3 e^(4 0.64^2) - 3 = 12 of it.
    """
    minute, hour = (excess_kurtosis(aggregated(returns(market(seed)), count)) for count in (1, 60))
    assert minute > 20
    assert 1 < hour < minute


@pytest.mark.parametrize("seed", SEEDS)
def test_returns_are_not_correlated(seed: int) -> None:
    """One return tells nothing about the sign of another.

    The standard error is 0.001 for independent returns. For clustered ones its square grows by the
    mean product of neighbouring squares over their squared mean, here about 10: 0.02 is six of them.
    """
    for lag in (1, 10, 100):
        assert abs(autocorrelation(returns(market(seed)), lag)) < 0.02


@pytest.mark.parametrize("seed", SEEDS)
def test_volatility_clusters(seed: int) -> None:
    """The sizes of returns are correlated, and slowly less so over hours.

    The standard errors are below 0.01; Bitcoin's own minutes have about 0.4, 0.25 and 0.17.
    """
    size = np.abs(returns(market(seed)))
    one, ten, hundred = (autocorrelation(size, lag) for lag in (1, 10, 100))
    assert one > 0.3
    assert 0.95 * one > ten > 0.2
    assert 0.95 * ten > hundred > 0.15


@pytest.mark.parametrize("seed", SEEDS)
def test_minutes_without_movement(seed: int) -> None:
    """Many minutes do not move: nearly half of those in quiet times, hardly any in stormy ones.

    By the model 0.44 of the minutes have no trade in the quiet regime, 0.02 in the usual one, so
    that over all the share depends on how long the regimes happened to last.
    """
    still = market(seed).close == market(seed).open
    assert 0.05 < still.mean() < 0.4
    shares = by_segment(still).mean(axis=1)
    assert shares.max() > 0.3
    assert shares.min() < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_regimes(seed: int) -> None:
    """Volatility differs between segments by more than a factor of two, and stillness goes with calm.

    The regimes are a factor of two and of four apart, and last about as long as a segment.
    """
    volatility = by_segment(returns(market(seed))).std(axis=1)
    assert volatility.max() > 2 * volatility.min()
    still = by_segment(market(seed).close == market(seed).open).mean(axis=1)
    assert np.corrcoef(np.log(volatility), still)[0, 1] < -0.25
