"""Instruments by name, the bars in a file or synthetic ones, and the market on a segment of them.

A market in a sweep is described by words and numbers alone. One of them is `data`: the path of
a file, or "synthetic". The data is identified by its content, not by its path.

The synthetic market has minutes that resemble Bitcoin's and is generated from a seed alone. It replaces recorded
prices where there are none, and is always labelled synthetic. Every random number below is drawn independently in
every minute t; Z is a standard normal number.

The regime k is quiet, usual or stormy. It is left with probability 1 / stay_k for one of the
other two, with equal chances, so the share of time spent in regime k is proportional to stay_k:

    regime   stay_k   sigma_k   lambda_k
    quiet    60,000   0.0003        0.8
    usual    60,000   0.0006        6
    stormy   30,000   0.0012       30

The log-volatility h is the sum of two AR(1) processes with stationary deviation 0.45, one
with a memory of 12 minutes and one with a memory of 1,500:

    a' = (1 - 1/m) a + 0.45 sqrt(1 - (1 - 1/m)^2) Z,    m = 12 and 1,500,    h = a_12 + a_1500

The logarithm x of the value, relative to its start, moves with heavy tails: J is 6 with probability
0.002, a jump, and otherwise 1. A weak pull, over half a million minutes, brings it back:

    x' = (1 - 1/500,000) x + sigma_k e^h J Z,    held within -log 100 <= x <= log 100

Trades come at a rate that rises with the volatility. A minute has at least one trade with probability
1 - exp(-lambda_k e^h), and then closes at the value 10,000 e^x, rounded to the tick of 0.01. A minute
without a trade closes as it opened; the next trade makes up for what it missed. A minute opens
at the close before it, the first at 10,000.

So every price lies between 100 and 1,000,000, whatever the seed.
"""

from __future__ import annotations

import functools
import hashlib
import math
from pathlib import Path

import numpy as np

from sojourn.data.numbers import listed, shown, whole
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told
from sojourn.rules.elementary import exp
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, normal, stream, uniform
from sojourn.worlds.market.bars import Bars, digest, read_bars
from sojourn.worlds.market.world import Market, MarketWorld

SYNTHETIC = "synthetic"


def instrument(data: str, fill: int = 0, repair: bool = False) -> Bars:
    """Return the bars in a file, or the synthetic ones; files are cached until they change."""
    if data == SYNTHETIC:
        return _synthetic()
    return _file(data, _state_of(data), fill, repair)


def identity(data: str) -> str:
    """Return what identifies the data: its content, not its path."""
    return data if data == SYNTHETIC else f"sha256:{_digest(data, _state_of(data))}"


def market_segment(  # the options of a market in a sweep: those of `Market`, and those that select its bars
    data: str = SYNTHETIC,
    *,
    segment: int = 0,
    segment_length: int = 350_000,
    fill: int = 0,
    repair: bool = False,
    state_size: int = 3,
    duration: str = "random",
    interval: float = 60.0,
    shortest: float = 5.0,
    longest: float = 45.0,
    lowest: float | None = None,
    highest: float | None = None,
) -> MarketWorld:
    """Return the market on one of the consecutive segments of an instrument's bars."""
    bars = instrument(data, fill, repair)
    count = -(-len(bars) // whole("segment_length", segment_length))  # no list: it may be long
    if whole("segment", segment, least=0) >= count:
        raise ValueError(f"segment is {shown(segment)}; {bars.name} has the segments 0 to {count - 1}")
    begin = segment * segment_length
    end = min(begin + segment_length, len(bars))
    return Market(
        bars.open[begin:end],
        bars.close[begin:end],
        state_size=state_size,
        duration=duration,
        interval=interval,
        shortest=shortest,
        longest=longest,
        lowest=lowest,
        highest=highest,
    )


def _state_of(path: str) -> tuple[int, int]:
    """Return a file's modification time and size, which change when the file does."""
    try:
        status = Path(path).stat()
    except OSError as error:
        raise ValueError(f"{listed([path])} cannot be read: {error.strerror}") from None
    except ValueError:  # a name that contains a null byte
        raise ValueError(f"{listed([path])} cannot be the name of a file") from None
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=1)
def _synthetic() -> Bars:
    return synthetic_bars()


@functools.lru_cache(maxsize=2)  # a large file's bars are a hundred megabytes
def _file(path: str, state: tuple[int, int], fill: int, repair: bool) -> Bars:
    return read_bars(Path(path), fill, repair, lambda _: _digest(path, state))


@functools.lru_cache(maxsize=16)
def _digest(path: str, _state: tuple[int, int]) -> str:
    return digest(path)


# --- The synthetic market ------------------------------------------------------------------

_START = 10_000.0
_TICKS = 100.0  # in a unit of money
_BOUND = 4.605170185988092  # log 100
_PULL = 1.0 / 500_000.0
_JUMP, _JUMP_CHANCE = 6.0, 0.002
_DEVIATION = 0.45
_KEEP = (1.0 - 1.0 / 12.0, 1.0 - 1.0 / 1500.0)
_FRESH = tuple(_DEVIATION * math.sqrt(1.0 - keep * keep) for keep in _KEEP)

# By regime: quiet, usual, stormy.
_LEAVE = np.array([1.0 / 60_000.0, 1.0 / 60_000.0, 1.0 / 30_000.0])
_SIGMA = np.array([0.0003, 0.0006, 0.0012])
_LAMBDA = np.array([0.8, 6.0, 30.0])

_FIRST_MINUTE = 946_684_800  # 2000-01-01, before Bitcoin existed, so nobody takes it for a record


@told
def synthetic_bars(num_bars: int = 1_050_000, seed: int = 0) -> Bars:
    """Return the first `num_bars` minutes of the synthetic market of `seed`.

    >>> bars = synthetic_bars(1000, seed=7)
    >>> len(bars), bars.synthetic, float(bars.open[0])
    (1000, True, 10000.0)
    >>> bool((bars.open[1:] == bars.close[:-1]).all())
    True
    """
    num_bars = whole("num_bars", num_bars)
    close = np.empty(num_bars)
    fill(close, stream(seed))
    opening = np.concatenate(([_START], close[:-1]))
    return Bars(
        name="synthetic",
        sha256=hashlib.sha256(opening.tobytes() + close.tobytes()).hexdigest(),
        timestamp=_FIRST_MINUTE + 60 * np.arange(num_bars, dtype=np.int64),
        open=opening,
        close=close,
        synthetic=True,
    )


@kernel
def fill(close: Floats, rng: Stream) -> None:
    """Write the closing price of every minute into `close`."""
    regime, fast, slow, x, price = 0, 0.0, 0.0, 0.0, _START
    for t in range(len(close)):
        # Every minute takes six numbers from the stream, whatever happens in it.
        u = uniform(rng) / _LEAVE[regime]
        if u < 1.0:
            regime = (regime + (1 if u < 0.5 else 2)) % 3
        fast = _KEEP[0] * fast + _FRESH[0] * normal(rng)
        slow = _KEEP[1] * slow + _FRESH[1] * normal(rng)
        volatility = exp(fast + slow)
        jump = _JUMP if uniform(rng) < _JUMP_CHANCE else 1.0
        x += _SIGMA[regime] * volatility * jump * normal(rng) - _PULL * x
        x = min(max(x, -_BOUND), _BOUND)
        if uniform(rng) >= exp(-_LAMBDA[regime] * volatility):
            price = math.floor(_START * exp(x) * _TICKS + 0.5) / _TICKS
        close[t] = price
