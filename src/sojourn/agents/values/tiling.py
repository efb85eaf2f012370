"""Makes tiles, and checks them and the states that they are asked about; all of this is done in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.agents.values.boxes import box_of, wrong_box
from sojourn.agents.values.none import checked_vector
from sojourn.agents.values.protocol import (
    checked_state,
    entries,
    reads_vectors,
    ready_values,
    restricted,
    sizes,
)
from sojourn.agents.values.tiles import DenseTiles, HashedTiles, Tilings
from sojourn.data.numbers import finite, shown, whole
from sojourn.rules.arrays import Flags, Floats, misread, outside
from sojourn.rules.vectors import Bounds, State, Vector

_MOST_TILINGS, _MOST_TILES, _MOST_MEMORY, _MOST_TILES_IN_ALL = 1024, 10_000, 1 << 26, 1 << 52
_MOST_TOGETHER = 2  # entries that are cut finely together, as tiles grow exponentially with their number
_COARSE = 2


def tiled(
    bounds: Bounds, num_actions: int, *, tilings: int, tiles: int, memory: int, initial: float = 0.0
) -> DenseTiles | HashedTiles:
    """Return tiles over a box, with all values `initial`; they are dense if there are at most `memory` of them.

    >>> values = tiled(Bounds((0.0, 0.0), (1.0, 1.0)), 3, tilings=8, tiles=8, memory=65_536)
    >>> values.weights.shape  # nine along each side, since tilings are shifted
    (648, 3)
    """
    whole("num_actions", num_actions)
    tilings = whole("tilings", tilings, most=_MOST_TILINGS)
    tiles = whole("tiles", tiles, most=_MOST_TILES)
    memory = whole("memory", memory, least=tilings, most=_MOST_MEMORY)
    num_inputs = len(bounds.low)
    cut = tilings_of(num_inputs, tilings, tiles)
    cells = int(cut.first[-1]) + int((cut.tiles[-1] + 1) ** num_inputs)
    is_dense = cells <= memory
    length = cells if is_dense else 1 << (memory.bit_length() - 1)
    weights = np.full((length, num_actions), finite("initial", initial) / len(cut.tiles))
    kind = DenseTiles if is_dense else HashedTiles
    return kind(
        weights,
        cut,
        box_of(bounds),
        np.full(2 * (num_inputs + num_actions), np.inf),
        np.zeros((2, len(cut.tiles)), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def tilings_of(num_inputs: int, tilings: int, tiles: int) -> Tilings:
    """Return tilings of all entries together; with more than two entries, these are coarse and follow those of each alone.

    >>> tilings_of(2, tilings=2, tiles=8).strides  # nine tiles along each side, since tilings are shifted
    array([[1, 1],
           [9, 9]])
    >>> tilings_of(3, tilings=1, tiles=8).strides
    array([[1, 0, 0, 1],
           [0, 1, 0, 3],
           [0, 0, 1, 9]])
    """
    everything = list(range(num_inputs))
    groups = [(everything, tiles)]
    if num_inputs > _MOST_TOGETHER:
        groups = [*(([i], tiles) for i in everything), (everything, min(tiles, _COARSE))]
    shifts, strides = np.zeros((2, num_inputs, tilings * len(groups)))
    first, sides = [0], []
    for column in range(tilings * len(groups)):
        (entries, along), k = groups[column // tilings], column % tilings
        for place, i in enumerate(entries):
            shifts[i, column] = k * (2 * place + 1) % tilings / tilings
            strides[i, column] = float((along + 1) ** place)
        sides.append(float(along))
        first.append(first[-1] + (along + 1) ** len(entries))
    if first[-1] > _MOST_TILES_IN_ALL:
        raise ValueError(f"a state has {num_inputs} entries, too many for tiles; use sojourn.deep_q")
    return Tilings(np.array(sides), np.array(first[:-1], dtype=np.int64), shifts, strides.astype(np.int64))


def bounds_of(num_inputs: int, given: Bounds | tuple[Sequence[float], Sequence[float]] | None) -> Bounds:
    """Return the bounds that a user gave for this many entries, or infinite bounds if there are none.

    >>> bounds_of(1, ([0], [2.5]))
    Bounds(low=(0.0,), high=(2.5,))
    """
    count = whole("num_inputs", num_inputs, most=_MOST_TILES)
    if given is None:
        return Bounds((-np.inf,) * count, (np.inf,) * count)
    if not (
        isinstance(given, tuple) and len(given) == 2 and all(np.shape(side) == (count,) for side in given)
    ):
        raise ValueError(
            f"bounds is {shown(given)}; it must be two lists of {count} numbers, the low and the high ones"
        )
    low, high = (tuple(map(float, side)) for side in given)
    for i, (least, most) in enumerate(zip(low, high, strict=True)):
        if not least < most:
            raise ValueError(
                f"the bounds of entry {i} are {least} and {most}; the first must be below the second"
            )
    return Bounds(low, high)


@reads_vectors.register(DenseTiles)
@reads_vectors.register(HashedTiles)
def tiles_read_vectors(values: DenseTiles | HashedTiles) -> bool:
    """Their states are vectors."""
    return True


@checked_state.register(DenseTiles)
@checked_state.register(HashedTiles)
def checked_vector_of_tiles(values: DenseTiles | HashedTiles, name: str, state: State) -> Vector:
    """Return the entries as floats."""
    return checked_vector(name, state, *sizes(values))


@ready_values.register(DenseTiles)
@ready_values.register(HashedTiles)
def ready_tiles(values: DenseTiles | HashedTiles) -> DenseTiles | HashedTiles:
    """Check types and bounds here, as compiled code checks neither."""
    cut = values.cut
    seen, count = np.shape(cut.shifts) if np.ndim(cut.shifts) == 2 else (0, 0)
    num_actions = np.shape(values.weights)[1] if np.ndim(values.weights) == 2 else 0
    wrong = (
        misread("weights", values.weights, np.float64, (None, None))
        or misread("shifts", cut.shifts, np.float64, (None, None))
        or outside("shifts", cut.shifts, 0, np.nextafter(1.0, 0.0))
        or misread("tiles", cut.tiles, np.float64, (count,))
        or misread("first", cut.first, np.int64, (count,))
        or misread("strides", cut.strides, np.int64, (seen, count))
        or misread("points", values.points, np.float64, (2 * (seen + num_actions),))
        or misread("active", values.active, np.int64, (2, count))
        or misread("latest", values.latest, np.int64, (1,))
        or outside("latest", values.latest, 0, 1)
        or _misplaced(values)
    )
    for name, field in values.box._asdict().items():
        if isinstance(field, np.ndarray):
            wrong = wrong or misread(name, field, np.float64, (seen,))
    wrong = wrong or wrong_box(values.box)
    if wrong:
        raise ValueError(f"the agent's tiles cannot be used: {wrong}")
    values.points.fill(np.inf)  # the known places may be those of another box
    return values


def _misplaced(values: DenseTiles | HashedTiles) -> str:
    """Return why a tile could have its place outside the weights, or an empty text."""
    cut, length = values.cut, len(values.weights)
    is_hashed = isinstance(values, HashedTiles)
    if is_hashed and length & (length - 1):
        return f"there are {length} weights, not a power of two"
    last = cut.first + (cut.strides * np.floor(cut.tiles + cut.shifts)).sum(axis=0)
    least = min(cut.first.min(), cut.strides.min(), cut.tiles.min())
    fits = least >= 0 and last.max() < (_MOST_TILES_IN_ALL if is_hashed else length)
    return "" if fits else "tiles lie outside the weights"


@entries.register(DenseTiles)
@entries.register(HashedTiles)
def no_entries(values: DenseTiles | HashedTiles) -> Floats:
    """Refuse: there is no list of states."""
    raise TypeError(
        "tiles have no array of states by actions, as their states are vectors; look at agent.values"
    )


@restricted.register(DenseTiles)
@restricted.register(HashedTiles)
def restricted_tiles(values: DenseTiles | HashedTiles, available: Flags) -> DenseTiles | HashedTiles:
    """Nothing changes, as the states themselves say which actions they have."""
    return values


def emptied(values: DenseTiles | HashedTiles) -> DenseTiles | HashedTiles:
    """Return tiles of the same kind with weights of 0."""
    empty: Floats = np.zeros_like(values.weights)
    return values._replace(weights=empty)
