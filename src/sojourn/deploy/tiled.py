"""Policies with tiles: the value of an action is a sum of weights, those of the tiles in which the observation lies.

`sojourn.agents.values.tiles` says how tilings cut the box of observations. An agent may need several sets of tiles, such as
one for rewards and one for durations; each has a factor, and the value is the sum of what they say, times their factors.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.files import JsonObject
from sojourn.data.hints import check_kind
from sojourn.deploy.interface import (
    VERSION,
    About,
    PackedArray,
    Policy,
    WithAbout,
    check_format,
    checked_mask,
    packed,
    unpacked,
)
from sojourn.deploy.spaces import Flattener, Form, NumberedActions
from sojourn.rules.arrays import Floats, Ints, infinite, outside

FORMAT = "sojourn tile policy"
_MOST_TILES = 1 << 53  # in all tilings together, so that their numbers are exact
_STRIDE, _MIX_1, _MIX_2 = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_U1, _U27, _U30, _U31 = (np.uint64(n) for n in (1, 27, 30, 31))


class TileSet(NamedTuple):
    """Weights of tiles by actions, how the tilings cut the box, and the factor of what they say."""

    factor: float
    is_hashed: bool
    weights: Floats
    tiles: Floats
    first: Ints
    shifts: Floats
    strides: Ints
    low: Floats
    per_unit: Floats


class TileData(TypedDict):
    """A set of tiles as JSON."""

    factor: float
    is_hashed: bool
    weights: PackedArray
    tiles: PackedArray
    first: PackedArray
    shifts: PackedArray
    strides: PackedArray
    low: PackedArray
    per_unit: PackedArray


class TileFile(WithAbout):
    """The content of the file of a policy with tiles."""

    format: str
    version: int
    observations: Form
    actions: NumberedActions
    sets: list[TileData]


class TilePolicy(Policy):
    """A policy with tiles.

    One tiling with two tiles, the second of which prefers the second action:

    >>> cut = [np.array([1.0]), np.array([0]), np.array([[0.5]]), np.array([[1]]), np.array([0.0]), np.array([1.0])]
    >>> sets = [TileSet(1.0, False, np.array([[1.0, 0.0], [0.0, 1.0]]), *cut)]
    >>> policy = TilePolicy(
    ...     sets, {"kind": "numbers", "shape": [1]}, {"kind": "numbered", "count": 2, "first": 0})
    >>> policy.act([0.2]), policy.act([0.8]), policy.act([0.8], action_mask=[1, 0])
    (0, 1, 0)
    """

    def __init__(
        self,
        sets: list[TileSet],
        observations: Form,
        actions: NumberedActions,
        about: About | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(about, seed)
        self.sets, self.actions, self._flat = sets, actions, Flattener(observations)
        wrong = "" if sets else "it has no tiles"
        for each in sets:
            wrong = wrong or _wrong(each, self._flat.size, actions["count"])
        if wrong:
            raise ValueError(wrong)

    @property
    def size(self) -> str:
        """How many weights there are."""
        return f"tiles with {sum(each.weights.size for each in self.sets):,} weights"

    def values(self, obs: Any) -> Floats:
        """Return the value of each action for an observation."""
        seen = self._flat(obs)
        first, *others = self.sets
        found = _values(first, seen)
        for each in others:
            found = found + _values(each, seen)
        return found

    def act(self, obs: Any, action_mask: ArrayLike | None = None, *, sample: bool | None = None) -> int:
        """Return the best action for an observation, of those that a mask allows; there is nothing to draw."""
        values = self.values(obs)
        if action_mask is not None:
            values = np.where(checked_mask(action_mask, len(values), "the action mask"), values, -np.inf)
        return int(values.argmax()) + self.actions["first"]

    @classmethod
    def from_contents(cls, data: Any, seed: int = 0) -> Self:
        """Return the policy that a file holds, or say what is wrong with it."""
        check_kind(TileFile, data, "the policy")
        check_format(data, FORMAT)
        kinds = {"weights": ("<f8", 2), "tiles": ("<f8", 1), "first": ("<i8", 1), "shifts": ("<f8", 2)}
        kinds |= {"strides": ("<i8", 2), "low": ("<f8", 1), "per_unit": ("<f8", 1)}
        sets = [
            TileSet(
                factor=float(each["factor"]),
                is_hashed=each["is_hashed"],
                **{name: unpacked(name, each[name], *kind) for name, kind in kinds.items()},
            )
            for each in data["sets"]
        ]
        return cls(sets, data["observations"], data["actions"], data.get("about"), seed)

    def contents(self) -> JsonObject:
        """Return everything that the policy's file holds."""
        sets: Any = [
            {
                name: packed(part) if isinstance(part, np.ndarray) else part
                for name, part in each._asdict().items()
            }
            for each in self.sets
        ]
        content: Any = TileFile(
            format=FORMAT,
            version=VERSION,
            observations=self._flat.form,
            actions=self.actions,
            sets=sets,
            about=self.about,
        )
        return content  # type: ignore[no-any-return]


def _values(tiles: TileSet, seen: Floats) -> Floats:
    """Return what one set of tiles says about each action, with the bits of the agent's own rules."""
    share = np.minimum(np.maximum((seen - tiles.low) * tiles.per_unit, 0.0), 1.0)[:, np.newaxis]
    steps = (share * tiles.tiles + tiles.shifts).astype(np.int64)
    places = tiles.first + (steps * tiles.strides).sum(axis=0)
    if tiles.is_hashed:
        places = _hashed(places, len(tiles.weights))
    values: Floats = tiles.weights[places].sum(axis=0)  # by rows, one after the other
    return values if tiles.factor == 1.0 else tiles.factor * values


def _hashed(tiles: Ints, length: int) -> Ints:
    """Return the places of tiles in a table whose length is a power of two: SplitMix64 of their numbers."""
    z = tiles.astype(np.uint64) + _STRIDE
    z = (z ^ (z >> _U30)) * _MIX_1
    z = (z ^ (z >> _U27)) * _MIX_2
    z ^= z >> _U31
    return (z >> _U1).astype(np.int64) & (length - 1)


def _wrong(tiles: TileSet, inputs: int, num_actions: int) -> str:
    """Return what does not fit together in a set of tiles, or an empty text; a file may hold anything."""
    count, length = len(tiles.tiles), len(tiles.weights)
    shapes = (
        tiles.weights.shape[1],
        tiles.shifts.shape,
        tiles.strides.shape,
        tiles.low.shape,
        tiles.per_unit.shape,
    )
    fits = shapes == (num_actions, (inputs, count), (inputs, count), (inputs,), (inputs,))
    if not fits or len(tiles.first) != count or not count or not length:
        return f"its tiles do not fit {inputs} inputs and {num_actions} actions"
    wrong = (
        infinite("weights", tiles.weights)
        or outside("shifts", tiles.shifts, 0.0, np.nextafter(1.0, 0.0))
        or outside("tiles", tiles.tiles, 1.0, 1e6)
        or outside("first", tiles.first, 0, _MOST_TILES)
        or outside("strides", tiles.strides, 0, _MOST_TILES)
        or infinite("low", tiles.low)
        or outside("per_unit", tiles.per_unit, 0.0, np.finfo(np.float64).max)
    )
    if wrong:
        return wrong
    last = tiles.first + (tiles.strides * np.floor(tiles.tiles + tiles.shifts)).sum(axis=0)
    if tiles.is_hashed and length & (length - 1):
        return f"there are {length} weights, not a power of two"
    return (
        "" if last.max() < (_MOST_TILES if tiles.is_hashed else length) else "tiles lie outside the weights"
    )
