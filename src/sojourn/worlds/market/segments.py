"""Instruments by name: the bars in a file, or the synthetic ones, cut into segments.

A market in a sweep is described by words and numbers alone. One of them is `data`: the path of
a file, or "synthetic". The data is identified by its content, not by its path.
"""

from __future__ import annotations

import functools
from pathlib import Path

from sojourn.data.numbers import listed, shown, whole
from sojourn.worlds.market.bars import Bars, digest, read_bars
from sojourn.worlds.market.synthetic import synthetic_bars
from sojourn.worlds.market.world import Market, MarketWorld

SYNTHETIC = "synthetic"


def instrument(data: str, fill: int = 0, repair: bool = False) -> Bars:
    """Return the bars in a file, or the synthetic ones; a file is read again only if it has changed."""
    if data == SYNTHETIC:
        return _synthetic()
    return _file(data, _state_of(data), fill, repair)


def identity(data: str) -> str:
    """Return what identifies the data: its content, not its path."""
    return data if data == SYNTHETIC else f"sha256:{_digest(data, _state_of(data))}"


def market_segment(  # the options of a market in a sweep: those of `Market`, and those that choose its bars
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
    """Return the time and the size of a file, which change when the file does."""
    try:
        status = Path(path).stat()
    except OSError as error:
        raise ValueError(f"{listed([path])} cannot be read: {error.strerror}") from None
    except ValueError:  # a name with a null in it
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
