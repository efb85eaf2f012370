"""Streams of random numbers: how they are seeded and checked. `random` draws from them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sojourn.data.numbers import whole
from sojourn.rules.values import Field

Stream: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]


def stream(seed: int) -> Stream:
    """Return a new stream for `seed`.

    >>> bool((stream(7) == stream(7)).all()), bool((stream(7) == stream(8)).all())
    (True, False)
    """
    return streams(seed, 1)[0]


def streams(seed: int, count: int) -> list[Stream]:
    """Return `count` independent streams that belong to one seed.

    The first ones do not depend on how many are asked for.

    >>> bool((streams(7, 3)[0] == stream(7)).all())
    True
    """
    count = whole("count", count, least=0, most=1_000_000)
    children = np.random.SeedSequence(whole("seed", seed, least=0)).spawn(count)
    return [child.generate_state(4, np.uint64).astype(np.uint64) for child in children]


def check_stream(rng: Field) -> Stream:
    """Return `rng` if it is a stream, or say what it should be."""
    if not (isinstance(rng, np.ndarray) and rng.dtype == np.uint64 and rng.shape == (4,) and rng.any()):
        raise TypeError("rng is not a stream: make one with sojourn.stream(seed)")
    return rng
