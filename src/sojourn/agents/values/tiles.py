"""Tiles: values for states that are vectors, which cannot be listed.

A *tiling* cuts the box in which states lie into tiles, `tiles` along each side. There are several tilings, each
shifted against the others by part of a tile. A state lies in one tile of each tiling, and its value is the sum of the
weights of these tiles:

    Q(s, a) = sum of w[i, a] over the tiles i in which s lies

To move Q(s, a), each of these weights is moved by the same amount; the values of nearby states move with it, as far as
they share tiles. (Albus 1975; Sutton and Barto, Reinforcement Learning, 2018, section 9.5.4, which also has the shifts.)

If a state has more than two entries, the tilings of all entries together are coarse, with two tiles along each side, and
each entry and each pair of entries has finer tilings of its own. Without those of pairs, values would mostly be sums of the
values of single entries, which cannot say that a pole leaning to the right is fine while it swings back. The pairs share
half of the tilings that single entries would have without them; where that is less than one for each pair, there are none.

`DenseTiles` have a weight for every tile. If there are too many tiles for that, `HashedTiles` have a table of a given
size, in which a hash gives each tile its place; tiles that share a place share their weight.

The bounds give the box. Where they are infinite, the box is the mean of what has been seen, plus and minus three
standard deviations; it is set again after 1, 2, 4, 8, ... steps, so less and less often. States outside the box count
as lying on its edge.

After the entries that are seen, a state may have a 1 or 0 for each action; actions with a 0 are not available.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.agents.acting import actor
from sojourn.agents.values.protocol import (
    V,
    Values,
    best,
    checked_state,
    emptied,
    entries,
    is_available,
    is_sound,
    is_unmasked,
    move,
    num_missing,
    read,
    reads_vectors,
    ready_values,
    restricted,
    sizes,
    write_policy,
)
from sojourn.data.numbers import finite, shown, unmasked, whole
from sojourn.deploy.tiled import TileSet
from sojourn.rules.arrays import MOST_COUNTED, Flags, Floats, Ints, misread, outside
from sojourn.rules.bridge import inlined
from sojourn.rules.random import word_at
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, replaced
from sojourn.rules.vectors import Bounds, State, Vector, is_written, write_state

# --- The box in which states lie: known, or set by what has been seen -----------------


_SPREAD = 3.0  # standard deviations on each side of the mean


class Box(Value, Protocol):
    """Where states lie; an entry s is (s - low) per_unit of the way through the box."""

    @property
    def low(self) -> Floats:
        """The lower edge of the box."""

    @property
    def per_unit(self) -> Floats:
        """One over the width of the box."""


B = TypeVar("B", bound=Box)


class FixedBox(NamedTuple):
    """A box that is known."""

    low: Floats
    per_unit: Floats


class RunningBox(NamedTuple):
    """A box that is set by what has been seen, within bounds that may be infinite."""

    low: Floats
    per_unit: Floats
    mean: Floats
    squares: Floats  # the sum of squared deviations from the mean
    least: Floats
    most: Floats
    seen: int
    next_change: int


@rule(fallback=True)
def noted(box: B, state: State, known: Floats) -> B:
    """Return the box after one more state was seen; if it changes, known places in it are forgotten.

    `known` has the states whose places are known; it is filled with inf to forget them.
    """
    return box


@noted.register
def noted_running(box: RunningBox, state: State, known: Floats) -> RunningBox:
    """Update mean and deviation (Welford 1962), and set the box again when the number of states has doubled."""
    seen, next_change = box.seen + 1, box.next_change
    _take_in(box, seen, state)
    if seen == next_change:
        next_change = 2 * seen
        _set_edges(box, seen, known)
    return replaced(box, seen=seen, next_change=next_change)


@inlined
def _take_in(box: RunningBox, seen: int, state: State) -> None:
    for i in range(len(box.mean)):
        off = state[i] - box.mean[i]
        box.mean[i] += off / seen
        box.squares[i] += off * (state[i] - box.mean[i])


@inlined
def _set_edges(box: RunningBox, seen: int, known: Floats) -> None:
    for i in range(len(box.mean)):
        low, high = box.least[i], box.most[i]
        if not (abs(low) < np.inf and abs(high) < np.inf):
            spread = _SPREAD * math.sqrt(box.squares[i] / seen)
            low, high = max(low, box.mean[i] - spread), min(high, box.mean[i] + spread)
        box.low[i] = low
        box.per_unit[i] = 1.0 / (high - low) if high > low else 0.0
    for i in range(len(known)):
        known[i] = np.inf


def wrong_box(box: Box) -> str:
    """Return what is wrong with a box that came from elsewhere, or an empty text."""
    if not (box.per_unit >= 0.0).all() or np.isnan(box.low).any():
        return "the box of the states has no edges"
    if isinstance(box, RunningBox):
        fits = 0 <= box.seen < box.next_change <= MOST_COUNTED and (box.squares >= 0.0).all()
        if not fits or np.isnan(box.mean).any() or not (box.least < box.most).all():
            return f"the box has seen {box.seen} states, and their means and squares are not those of so many"
    return ""


def box_of(bounds: Bounds) -> Box:
    """Return the box within bounds.

    >>> box_of(Bounds((0.0,), (2.0,)))
    FixedBox(low=array([0.]), per_unit=array([0.5]))
    >>> box = box_of(Bounds((0.0,), (np.inf,)))
    >>> for wear in (1.0, 3.0):
    ...     box = noted(box, (wear,), np.zeros(2))
    >>> box.low, box.per_unit  # from 0, since 2 - 3 is below it, to 2 + 3
    (array([0.]), array([0.2]))
    """
    low, high = np.array(bounds.low, dtype=np.float64), np.array(bounds.high, dtype=np.float64)
    if np.isfinite(low).all() and np.isfinite(high).all():
        return FixedBox(low, 1.0 / (high - low))
    zeros = np.zeros(len(low))
    return RunningBox(
        low=zeros,
        per_unit=zeros.copy(),
        mean=zeros.copy(),
        squares=zeros.copy(),
        least=low,
        most=high,
        seen=0,
        next_change=1,
    )


# --- Tiles ----------------------------------------------------------------------------


_U1 = np.uint64(1)


class Tilings(NamedTuple):
    """How each tiling cuts the box, and how its tiles are counted.

    An entry that is x of the way through the box lies in the tile `int(tiles x + shift)` along it. The tiles of a
    tiling are counted from `first` on, and tiles next to each other along an entry are `strides` apart; the stride of
    an entry that a tiling ignores is 0.
    """

    tiles: Floats  # of each tiling
    first: Ints
    shifts: Floats  # of each entry and tiling
    strides: Ints


class Tiles(Value, Protocol):
    """Dense or hashed tiles."""

    @property
    def weights(self) -> Floats:
        """The weight of each tile for each action."""

    @property
    def cut(self) -> Tilings:
        """How states are cut into tiles."""

    @property
    def box(self) -> Box:
        """Where states lie."""

    @property
    def points(self) -> Floats:
        """The two states that were looked at last, in one array."""

    @property
    def active(self) -> Ints:
        """The places of their weights: a row for each of the two."""

    @property
    def latest(self) -> Ints:
        """Which of the two was looked at last."""


T = TypeVar("T", bound=Tiles)


class DenseTiles(NamedTuple):
    """A weight for every tile and action.

    >>> from sojourn.agents.values.tiles import tiled
    >>> from sojourn.rules.vectors import Bounds
    >>> values = tiled(Bounds((0.0,), (1.0,)), num_actions=2, tilings=2, tiles=4, memory=1000)
    >>> values = move(values, (0.5,), 0, 8.0)
    >>> float(read(values, (0.5,), 0)), float(read(values, (0.4,), 0)), float(read(values, (0.1,), 0))
    (8.0, 4.0, 0.0)
    """

    weights: Floats
    cut: Tilings
    box: Box
    points: Floats
    active: Ints
    latest: Ints


class HashedTiles(NamedTuple):
    """Weights in a table whose length is a power of two; a hash gives each tile its place.

    >>> from sojourn.agents.values.tiles import tiled
    >>> from sojourn.rules.vectors import Bounds
    >>> values = tiled(Bounds((0.0,) * 9, (1.0,) * 9), num_actions=2, tilings=8, tiles=8, memory=1000)
    >>> type(values).__name__, values.weights.shape
    ('HashedTiles', (512, 2))
    """

    weights: Floats
    cut: Tilings
    box: Box
    points: Floats
    active: Ints
    latest: Ints


@rule()
def place_of(values: Tiles, tile: int) -> int:
    """Return the place of a tile's weights."""
    raise no_rule("place_of", values)


@place_of.register
def own_place(values: DenseTiles, tile: int) -> int:
    """Every tile has its own place."""
    return tile


@place_of.register
def hashed_place(values: HashedTiles, tile: int) -> int:
    """The place that its hash gives."""
    return np.int64(word_at(tile, 0) >> _U1) & (len(values.weights) - 1)  # type: ignore[return-value]


@inlined
def _found(values: Tiles, state: State) -> int:
    """Return the row that has the places of a state's weights.

    A step looks at two states, several times at each, so their places are worked out only once.
    """
    points, latest = values.points, values.latest
    row: int = latest[0]
    width = len(points) // 2
    if not is_written(points, row * width, state):
        row = 1 - row
        latest[0] = row
        if not is_written(points, row * width, state):
            write_state(points, row * width, state)
            _find(values, row)
    return row


@inlined
def _find(values: Tiles, row: int) -> None:
    """Write the places of the weights of the tiles in which a state lies."""
    points, active, cut, box = values.points, values.active, values.cut, values.box
    first = row * (len(points) // 2)
    for k in range(active.shape[1]):
        active[row, k] = cut.first[k]
    for i in range(len(box.low)):
        x = min(max(0.0, (points[first + i] - box.low[i]) * box.per_unit[i]), 1.0)  # NaN becomes 0
        for k in range(active.shape[1]):
            active[row, k] += int(x * cut.tiles[k] + cut.shifts[i, k]) * cut.strides[i, k]
    for k in range(active.shape[1]):
        active[row, k] = place_of(values, active[row, k])


# Places are never negative. With an unsigned index, compiled code need not check whether to count from the end.


@inlined
def _total(values: Tiles, row: int, action: int) -> float:
    weights, active = values.weights, values.active
    total = 0.0
    for k in range(active.shape[1]):
        total += weights[np.uint64(active[row, k]), action]
    return total


@read.register(DenseTiles, HashedTiles)
def read_tiles(values: Tiles, state: State, action: int) -> float:
    """The sum of the weights."""
    return _total(values, _found(values, state), action)


@best.register(DenseTiles, HashedTiles)
def best_of_tiles(values: Tiles, state: State, share: float) -> tuple[int, float]:
    """The first of the largest or, if the share is above 0, the one at this share among the largest."""
    row, num_actions = _found(values, state), values.weights.shape[1]
    chosen, highest, count = 0, -np.inf, 0
    for action in range(num_actions):
        if is_available(values, state, action):
            total = _total(values, row, action)
            if total > highest:
                chosen, highest, count = action, total, 1
            elif total == highest:
                count += 1
    if count > 1 and share > 0.0:
        left = int(share * count)
        for action in range(num_actions):
            if is_available(values, state, action) and _total(values, row, action) == highest:
                if left == 0:
                    chosen = action
                left -= 1
    return chosen, highest


@is_available.register(DenseTiles, HashedTiles)
def is_available_in_tiles(values: Tiles, state: State, action: int) -> bool:
    """Whether the state's mask allows the action, if it has a mask."""
    return is_unmasked(values.cut.shifts.shape[0], state, action)


@move.register(DenseTiles, HashedTiles)
def move_tiles(values: T, state: State, action: int, amount: float) -> T:
    """Move every weight by its share, in place."""
    weights, active = values.weights, values.active
    row = _found(values, state)
    each = amount / active.shape[1]
    for k in range(active.shape[1]):
        weights[np.uint64(active[row, k]), action] += each
    return replaced(values, box=noted(values.box, state, values.points))


@sizes.register(DenseTiles, HashedTiles)
def sizes_of_tiles(values: Tiles) -> tuple[int, int]:
    """The numbers of entries that are seen and of actions."""
    return values.cut.shifts.shape[0], values.weights.shape[1]


@is_sound.register(DenseTiles, HashedTiles)
def are_tiles_sound(values: Tiles, missing: int) -> bool:
    """Whether all weights are finite."""
    weights = values.weights
    sound = True
    for i in range(weights.shape[0]):
        for action in range(weights.shape[1]):
            sound = sound and abs(weights[i, action]) < np.inf
    return sound


# --- Making and checking tiles, in Python ---------------------------------------------


_MOST_TILINGS, _MOST_TILES, _MOST_MEMORY, _MOST_TILES_IN_ALL = 1024, 10_000, 1 << 26, 1 << 52
_MOST_TOGETHER = 2  # entries that are cut finely together, as tiles grow exponentially with their number
_COARSE = 2


def tiled(
    bounds: Bounds,
    num_actions: int,
    *,
    tilings: int,
    tiles: int,
    memory: int,
    initial: float = 0.0,
    pairs: bool = True,
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
    cut = tilings_of(num_inputs, tilings, tiles, pairs)
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


def tilings_of(num_inputs: int, tilings: int, tiles: int, pairs: bool = True) -> Tilings:
    """Return tilings of all entries together; with more than two entries, these are coarse and follow those of each alone.

    Between them are tilings of each pair of entries, as many as leave no more tilings in all than there would be without.

    >>> tilings_of(2, tilings=2, tiles=8).strides  # nine tiles along each side, since tilings are shifted
    array([[1, 1],
           [9, 9]])
    >>> tilings_of(3, tilings=1, tiles=8, pairs=False).strides
    array([[1, 0, 0, 1],
           [0, 1, 0, 3],
           [0, 0, 1, 9]])
    >>> tilings_of(3, tilings=2, tiles=8).strides
    array([[1, 0, 0, 1, 1, 0, 1, 1],
           [0, 1, 0, 9, 0, 1, 3, 3],
           [0, 0, 1, 0, 9, 9, 9, 9]])
    """
    everything = range(num_inputs)
    groups: list[tuple[Sequence[int], int, int]] = [(everything, tiles, tilings)]
    if num_inputs > _MOST_TOGETHER:
        of_pairs = tilings // (num_inputs - 1) if pairs else 0
        groups = [
            *(((i,), tiles, tilings // 2 if of_pairs else tilings) for i in everything),
            *((pair, tiles, of_pairs) for pair in combinations(everything, 2)),
            (everything, min(tiles, _COARSE), tilings),
        ]
    columns = [(group, along, k, count) for group, along, count in groups for k in range(count)]
    shifts, strides = np.zeros((2, num_inputs, len(columns)))
    first, sides = [0], []
    for column, (group, along, k, count) in enumerate(columns):
        for place, i in enumerate(group):
            shifts[i, column] = k * (2 * place + 1) % count / count
            strides[i, column] = float((along + 1) ** place)
        sides.append(float(along))
        first.append(first[-1] + (along + 1) ** len(group))
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


@ready_values.register(DenseTiles, HashedTiles)
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


@entries.register(DenseTiles, HashedTiles)
def no_entries(values: DenseTiles | HashedTiles) -> Floats:
    """Refuse: there is no list of states."""
    raise TypeError(
        "tiles have no array of states by actions, as their states are vectors; look at agent.values"
    )


@actor.register(DenseTiles, HashedTiles)
def actor_of_tiles(values: DenseTiles | HashedTiles) -> list[TileSet]:
    """The weights, and how the box is cut."""
    cut, box, is_hashed = values.cut, values.box, isinstance(values, HashedTiles)
    arrays: Any = (values.weights, cut.tiles, cut.first, cut.shifts, cut.strides, box.low, box.per_unit)
    return [TileSet(1.0, is_hashed, *(array.copy() for array in arrays))]


@emptied.register(DenseTiles, HashedTiles)
def emptied_tiles(values: T) -> T:
    """All weights are 0."""
    return replaced(values, weights=np.zeros_like(values.weights))


# --- No values, for agents that keep none where states are vectors ----------------------


class NoValues(NamedTuple):
    """All actions are worth 0 in all states, vectors of `num_inputs` entries. If `num_actions` is 0, actions are numbers."""

    num_inputs: int
    num_actions: int


@read.register
def read_nothing(values: NoValues, state: State, action: int) -> float:
    """0."""
    return 0.0


@best.register
def best_of_nothing(values: NoValues, state: State, share: float) -> tuple[int, float]:
    """The first available action."""
    action = 0
    while not is_available(values, state, action):
        action += 1
    return action, 0.0


@move.register
def move_nothing(values: NoValues, state: State, action: int, amount: float) -> NoValues:
    """Nothing moves."""
    return values


@is_available.register
def is_available_in_vector(values: NoValues, state: State, action: int) -> bool:
    """Whether the state's mask allows the action, if it has a mask."""
    return is_unmasked(values.num_inputs, state, action)


@sizes.register
def sizes_of_nothing(values: NoValues) -> tuple[int, int]:
    """The sizes that were given."""
    return values.num_inputs, values.num_actions


@is_sound.register
def nothing_is_sound(values: NoValues, missing: int) -> bool:
    """Always, as there are no values that could grow."""
    return True


@ready_values.register
def nothing_is_ready(values: NoValues) -> NoValues:
    """There is nothing to check."""
    return values


# --- What all values for vectors have in common ---------------------------------------


@num_missing.register(DenseTiles, HashedTiles, NoValues)
def none_missing(values: Values) -> int:
    """Always 0, as the states themselves say which actions they have."""
    return 0


@restricted.register(DenseTiles, HashedTiles, NoValues)
def unrestricted(values: V, available: Flags) -> V:
    """Nothing changes, as the states themselves say which actions they have."""
    return values


@write_policy.register(DenseTiles, HashedTiles, NoValues)
def no_policy(values: Values, actions: Ints) -> None:
    """Write nothing, as there is no list of states."""


@reads_vectors.register(DenseTiles, HashedTiles, NoValues)
def always_vectors(values: Values) -> bool:
    """Their states are vectors."""
    return True


@checked_state.register(DenseTiles, HashedTiles, NoValues)
def checked_vector_of(values: Values, name: str, state: State) -> Vector:
    """Return the entries as floats."""
    return checked_vector(name, state, *sizes(values))


def checked_vector(name: str, state: State, num_inputs: int, num_actions: int) -> Vector:
    """Return a state as floats: the entries that are seen and, if it has one, the mask of its actions.

    >>> checked_vector("state", np.array([2, 0, 1]), num_inputs=1, num_actions=2)
    (2.0, 0.0, 1.0)
    """
    numbers = np.asarray(unmasked(name, state))
    if (
        numbers.ndim != 1
        or numbers.dtype.kind not in "biuf"
        or len(numbers) not in (num_inputs, num_inputs + num_actions)
    ):
        mask = f", or those and a 1 or 0 for each of {num_actions} actions" if num_actions else ""
        raise ValueError(f"{name} is {shown(state)}; it must be {num_inputs} numbers{mask}")
    entries: list[float] = numbers.astype(np.float64).tolist()
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} is {shown(state)}; its entries must be finite")
    if len(entries) > num_inputs and not any(entries[num_inputs:]):
        raise ValueError(f"{name} is {shown(state)}; it must have an action, but its mask is all 0")
    return tuple(entries)
