"""Values of tiles: for states that are vectors, which cannot be listed.

A *tiling* cuts the box in which states lie into tiles, `tiles` along each side. There are several tilings, each
shifted against the others by a part of a tile. A state lies in one tile of each, and its value is the sum of their
weights:

    Q(s, a) = sum of w[i, a] over the tiles i in which s lies

To move Q(s, a) is to move each of these weights by the same amount; states nearby move along, as far as they share
tiles. (Albus 1975; Sutton and Barto, Reinforcement Learning, 2018, section 9.5.4, where also the shifts are from.)

Where a state has more than two entries, tilings of all of them together are coarse, with two tiles along each side,
and each entry has finer tilings of its own: values are then mostly sums of what single entries are worth.

`DenseTiles` have a weight for every tile. Where these are too many, `HashedTiles` have a table of given size, in
which a hash gives each tile its place; tiles that share a place share their weight.

The box is that of the bounds. Where these are not finite, it is the mean of what has been seen, plus and minus three
standard deviations; it is set anew after 1, 2, 4, 8, ... steps, and so ever more rarely. What lies outside counts as
on its edge.

States may go on, behind the entries that are seen, with a 1 or 0 for each action: those with a 0 are not available.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

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
from sojourn.rules.values import Value
from sojourn.rules.vectors import State, is_written, write_state

_U1 = np.uint64(1)


class Tilings(NamedTuple):
    """How each tiling cuts the box, and how its tiles are counted.

    An entry that is x of the way through the box lies in the tile `int(tiles x + shift)` along it. Tiles are counted
    from `first` of their tiling on, those along an entry `strides` apart; an entry that a tiling does not look at has
    strides of 0.
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
        """The two states that were looked at last, one after the other."""

    @property
    def active(self) -> Ints:
        """The places of their weights: a row for each of the two."""

    @property
    def latest(self) -> Ints:
        """Which of the two is the last one."""


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
    """Weights in a table whose length is a power of two, in which a hash places all tiles.

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
    """Every tile has its own."""
    return tile


@place_of.register
def hashed_place(values: HashedTiles, tile: int) -> int:
    """That of its hash."""
    return np.int64(word_at(tile, 0) >> _U1) & (len(values.weights) - 1)  # type: ignore[return-value]


@inlined
def _found(values: Tiles, state: State) -> int:
    """Return the row in which the places of a state's weights stand.

    A step looks at two states, at each of them several times: their places are worked out once.
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
    """Write down where the weights are of the tiles in which a state lies."""
    points, active, cut, box = values.points, values.active, values.cut, values.box
    first = row * (len(points) // 2)
    for k in range(active.shape[1]):
        active[row, k] = cut.first[k]
    for i in range(len(box.low)):
        x = min(max((points[first + i] - box.low[i]) * box.per_unit[i], 0.0), 1.0)
        for k in range(active.shape[1]):
            active[row, k] += int(x * cut.tiles[k] + cut.shifts[i, k]) * cut.strides[i, k]
    for k in range(active.shape[1]):
        active[row, k] = place_of(values, active[row, k])


# Places are never negative. Told so by an unsigned number, compiled code need not look whether to count from the end.


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
    """The first of the largest, or with a share above 0 the one at this share among the largest."""
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
    """By the mask of the state, if it has one."""
    return is_unmasked(values.cut.shifts.shape[0], state, action)


@inlined
def _moved(values: Tiles, state: State, action: int, amount: float) -> None:
    weights, active = values.weights, values.active
    row = _found(values, state)
    each = amount / active.shape[1]
    for k in range(active.shape[1]):
        weights[np.uint64(active[row, k]), action] += each


@move.register
def move_dense(values: DenseTiles, state: State, action: int, amount: float) -> DenseTiles:
    """Every weight by its share, in place."""
    _moved(values, state, action, amount)
    return DenseTiles(
        weights=values.weights,
        cut=values.cut,
        box=noted(values.box, state, values.points),
        points=values.points,
        active=values.active,
        latest=values.latest,
    )


@move.register
def move_hashed(values: HashedTiles, state: State, action: int, amount: float) -> HashedTiles:
    """Every weight by its share, in place."""
    _moved(values, state, action, amount)
    return HashedTiles(
        weights=values.weights,
        cut=values.cut,
        box=noted(values.box, state, values.points),
        points=values.points,
        active=values.active,
        latest=values.latest,
    )


@sizes.register(DenseTiles)
@sizes.register(HashedTiles)
def sizes_of_tiles(values: Tiles) -> tuple[int, int]:
    """The entries that are seen, and the actions."""
    return values.cut.shifts.shape[0], values.weights.shape[1]


@num_missing.register(DenseTiles)
@num_missing.register(HashedTiles)
def none_missing(values: Tiles) -> int:
    """States say themselves which actions they have."""
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
    """There is no list of states."""
