"""Observations as flat arrays of numbers, and actions as agents of observations choose them.

Observations that are not yet arrays of numbers, such as a Dict or a Tuple, are flattened by Gymnasium's own functions.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import utils
from numpy.typing import ArrayLike, NDArray

from sojourn.agents.networks.protocol import Actions, Masks, Spaces
from sojourn.data.numbers import shown, unmasked
from sojourn.envs.durations import Clock, DurationSource, duration_reader, reward_of
from sojourn.envs.masks import MaskSource, checked_mask, mask_key, mask_source
from sojourn.envs.protocol import Element, Info, Space, element_reader
from sojourn.rules.arrays import Floats
from sojourn.rules.vectors import Bounds

_UNBOUNDED = 1e30  # spaces in single precision say "no bound" with its largest number


class Observing:
    """Turns the observations of one environment into arrays, and arrays into its actions.

    >>> read = Observing(spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(0, 9, (2,))), spaces.Discrete(3))
    >>> read.flat({"a": 1, "b": np.array([5.0, 7.0])})
    array([0., 1., 5., 7.])
    """

    def __init__(self, observation_space: Space, action_space: Space) -> None:
        self.space, self.action_space = observation_space, action_space
        self.num_inputs = _size(observation_space)
        self._shape = observation_space.shape if isinstance(observation_space, spaces.Box) else None
        self._read = element_reader(_without_bounds(observation_space))
        self.num_actions, self.first_action = 0, 0
        self.low = self.high = np.zeros(0)
        self._action_shape = action_space.shape or ()
        if isinstance(action_space, spaces.Discrete):
            self.num_actions, self.first_action = int(action_space.n), int(action_space.start)
        elif (
            isinstance(action_space, spaces.Box)
            and action_space.dtype.kind == "f"
            and action_space.shape != (0,)
        ):
            self.low = action_space.low.ravel().astype(np.float64)
            self.high = action_space.high.ravel().astype(np.float64)
        else:
            raise TypeError(
                f"the action space is {shown(action_space)}; an agent of observations needs Discrete actions, or a Box of floats, "
                "so map it to one in a gymnasium.ActionWrapper"
            )

    @property
    def bounds(self) -> Bounds:
        """The bounds of observations; equal bounds are set 1 apart, and a bound beyond 1e30 counts as none."""
        flat: Any = utils.flatten_space(self.space)
        low, high = (np.ravel(side).astype(np.float64) for side in (flat.low, flat.high))
        high = np.where(high > low, high, low + 1.0)
        low, high = np.where(low < -_UNBOUNDED, -np.inf, low), np.where(high > _UNBOUNDED, np.inf, high)
        return Bounds(tuple(low.tolist()), tuple(high.tolist()))

    def spaces(self, places: int, seed: int) -> Spaces:
        """Return what an agent is told about the environment."""
        return Spaces(self.num_inputs, self.num_actions, self.low, self.high, places, seed)

    def flat(self, observation: Element) -> Floats:
        """Return an observation as a flat array of its own, or say what is wrong with it.

        An array may go beyond the bounds of its Box, as in many environments, if it did not begin there.
        """
        if type(observation) is not np.ndarray:  # nearly always it is
            unmasked("an observation", observation)
        if self._shape is None:
            if self._read(observation) is None:
                raise ValueError(_not_of(observation, self.space))
            try:
                numbers: Floats = np.asarray(utils.flatten(self.space, observation), dtype=np.float64).ravel()
            except (TypeError, ValueError, KeyError, IndexError, AttributeError, AssertionError) as error:
                raise ValueError(f"{_not_of(observation, self.space)} ({shown(error)})") from None
        else:
            try:
                numbers = np.array(observation, dtype=np.float64)  # the environment may write into its own
            except (TypeError, ValueError):
                raise ValueError(_not_of(observation, self.space)) from None
            if numbers.shape != self._shape:
                raise ValueError(_not_of(observation, self.space))
            numbers = numbers.ravel()
        # The sum of squares is finite if all entries are, unless it overflows.
        if len(numbers) != self.num_inputs or not (
            math.isfinite(numbers.dot(numbers)) or np.isfinite(numbers).all()
        ):
            wrong = numbers[~np.isfinite(numbers)]
            if len(wrong):
                raise ValueError(
                    f"an observation has the entry {wrong[0]}; its entries must be finite numbers"
                )
            raise ValueError(_not_of(observation, self.space))
        return numbers

    def told(self, actions: Actions, row: int) -> Any:
        """Return one action as the environment takes it; a point is clipped to the bounds."""
        if self.num_actions:
            return int(actions[row]) + self.first_action
        point = np.clip(actions[row], self.low, self.high)
        return point.astype(self.action_space.dtype).reshape(self._action_shape)

    def told_all(self, actions: Actions) -> NDArray[np.generic]:
        """Return actions as a vector of environments takes them."""
        if self.num_actions:
            return actions + self.first_action
        points = np.clip(actions, self.low, self.high)
        return points.astype(self.action_space.dtype).reshape(-1, *self._action_shape)


class Reader:
    """Reads one environment: observations and actions as arrays, durations, masks, and a clock if one is named."""

    def __init__(
        self,
        observing: Observing,
        source: DurationSource = "duration",
        action_mask: MaskSource | None = None,
        clock: str | None = None,
    ) -> None:
        self.observing, self.source, self.clock_key = observing, source, clock
        self.duration = duration_reader(source)
        self.mask_name, self._mask = mask_source(action_mask, source)
        self.mask_key = (
            None if callable(action_mask) else mask_key(action_mask, source)
        )  # None for a function
        self._all: Masks = np.ones(observing.num_actions, dtype=np.int8)

    def allowed(self, observation: Element, info: Info) -> Masks:
        """Return which actions are allowed, as a row."""
        return self.checked(self._mask(observation, info))

    def checked(self, mask: ArrayLike | None) -> Masks:
        """Return a mask as a row; without one, all actions are allowed."""
        if mask is None or not len(self._all):
            return self._all
        return checked_mask(mask, len(self._all), self.mask_name).astype(np.int8)

    def clock(self) -> Clock | None:
        """Return a checker for the clock of one environment, or None if no clock is named."""
        return None if self.clock_key is None else Clock(self.clock_key)

    def reward(self, reward: Any) -> float:
        """Return a reward as a number, or refuse it."""
        return reward_of(reward)


def is_listed(space: Space) -> bool:
    """Whether the elements of a space can be listed, however many they are.

    >>> is_listed(spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(3)])), is_listed(spaces.Box(0, 1))
    (True, False)
    """
    if isinstance(space, spaces.Tuple):
        return all(map(is_listed, space.spaces))
    if isinstance(space, spaces.Dict):
        return all(map(is_listed, space.spaces.values()))
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)


def _without_bounds(space: Space) -> Space:
    """Return a space with Boxes of any numbers in place of its Boxes."""
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([_without_bounds(part) for part in space.spaces])
    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: _without_bounds(part) for key, part in space.spaces.items()})
    return spaces.Box(-np.inf, np.inf, space.shape, np.float64) if isinstance(space, spaces.Box) else space


def _size(space: Space) -> int:
    """Return the number of inputs that an observation of a space has."""
    flat: Space = space
    with contextlib.suppress(NotImplementedError):
        flat = utils.flatten_space(space)
    if not isinstance(flat, spaces.Box) or not math.prod(flat.shape):
        raise TypeError(
            f"the observation space is {shown(space)}, which is not an array of a fixed size; map it to a Box in a "
            "gymnasium.ObservationWrapper"
        )
    return math.prod(flat.shape)


def _not_of(observation: Element, space: Space) -> str:
    shape = getattr(observation, "shape", None)
    what = (
        f"has the shape {shape}" if shape is not None and shape != space.shape else f"is {shown(observation)}"
    )
    return f"an observation {what}; the observation space is {shown(space)}"
