"""Tiles: values for states that are vectors, which cannot be listed.

A *tiling* cuts the box in which states lie into tiles, `tiles` along each side. There are several tilings, each
shifted against the others by part of a tile. A state lies in one tile of each tiling, and its value is the sum of the
weights of these tiles:

    Q(s, a) = sum of w[i, a] over the tiles i in which s lies

To move Q(s, a), each of these weights is moved by the same amount; the values of nearby states move with it, as far as
they share tiles. (Albus 1975; Sutton and Barto, Reinforcement Learning, 2018, section 9.5.4, which also has the shifts.)

If a state has more than two entries, the tilings of all entries together are coarse, with two tiles along each side,
and each entry has finer tilings of its own; values are then mostly sums of the values of single entries.

`DenseTiles` have a weight for every tile. If there are too many tiles for that, `HashedTiles` have a table of a given
size, in which a hash gives each tile its place; tiles that share a place share their weight.

The bounds give the box. Where they are infinite, the box is the mean of what has been seen, plus and minus three
standard deviations; it is set again after 1, 2, 4, 8, ... steps, so less and less often. States outside the box count
as lying on its edge.

After the entries that are seen, a state may have a 1 or 0 for each action; actions with a 0 are not available.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.agents.values.boxes import Box, noted
from sojourn.agents.values.protocol import (
    best,
    is_available,
    is_sound,
    is_unmasked,
    move,
    num_missing,
    read,
    sizes,
    write_policy,
)
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.bridge import inlined
from sojourn.rules.compile import no_rule, rule
from sojourn.rules.random import word_at
from sojourn.rules.replace import replaced
from sojourn.rules.values import Value
from sojourn.rules.vectors import State, is_written, write_state

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

    >>> from sojourn.agents.values.tiling import tiled
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

    >>> from sojourn.agents.values.tiling import tiled
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


@read.register(DenseTiles)
@read.register(HashedTiles)
def read_tiles(values: Tiles, state: State, action: int) -> float:
    """The sum of the weights."""
    return _total(values, _found(values, state), action)


@best.register(DenseTiles)
@best.register(HashedTiles)
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


@is_available.register(DenseTiles)
@is_available.register(HashedTiles)
def is_available_in_tiles(values: Tiles, state: State, action: int) -> bool:
    """Whether the state's mask allows the action, if it has a mask."""
    return is_unmasked(values.cut.shifts.shape[0], state, action)


@move.register(DenseTiles)
@move.register(HashedTiles)
def move_tiles(values: T, state: State, action: int, amount: float) -> T:
    """Move every weight by its share, in place."""
    weights, active = values.weights, values.active
    row = _found(values, state)
    each = amount / active.shape[1]
    for k in range(active.shape[1]):
        weights[np.uint64(active[row, k]), action] += each
    return replaced(values, box=noted(values.box, state, values.points))


@sizes.register(DenseTiles)
@sizes.register(HashedTiles)
def sizes_of_tiles(values: Tiles) -> tuple[int, int]:
    """The numbers of entries that are seen and of actions."""
    return values.cut.shifts.shape[0], values.weights.shape[1]


@num_missing.register(DenseTiles)
@num_missing.register(HashedTiles)
def none_missing(values: Tiles) -> int:
    """Always 0, as the states themselves say which actions they have."""
    return 0


@is_sound.register(DenseTiles)
@is_sound.register(HashedTiles)
def are_tiles_sound(values: Tiles, missing: int) -> bool:
    """Whether all weights are finite."""
    weights = values.weights
    sound = True
    for i in range(weights.shape[0]):
        for action in range(weights.shape[1]):
            sound = sound and abs(weights[i, action]) < np.inf
    return sound


@write_policy.register(DenseTiles)
@write_policy.register(HashedTiles)
def no_policy(values: Tiles, actions: Ints) -> None:
    """Write nothing, as there is no list of states."""
