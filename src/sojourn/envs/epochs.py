"""Decisions that last for several steps of an environment: what `Options` and `Holding` have in common.

A decision is followed step by step until it ends, or the episode does. Its reward is the sum of the rewards of its steps, and
its duration the sum of their durations: 1 a step, unless the environment says how long its steps take.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import at_least_zero, shown, whole
from sojourn.envs.protocol import FORBIDDEN, Element, Environment, Info, opener, parts_of, warn_of
from sojourn.envs.reader import (
    MOST_AT_ONCE,
    DurationReader,
    DurationSource,
    MaskSource,
    duration_reader,
    mask_source,
    must_be_taken,
    reward_of,
)
from sojourn.envs.worlds import AllowedActions, Masks

MOST_STEPS = 1_000_000  # that a decision may take, as one that never ends would hang

Act: TypeAlias = Callable[[Any, ArrayLike | None], Any]  # the action for an observation and its mask
Ends: TypeAlias = Callable[[Any], bool]  # whether the decision ends on arrival at an observation
Outcome: TypeAlias = tuple[Any, float, bool, bool, Info]


class Frame(NamedTuple):
    """One step inside a decision, and the mask of decisions where it led; None if all are allowed there."""

    observation: Any
    reward: float
    duration: float
    action_mask: Masks | None


class Epochs(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment in which a decision lasts for several steps of the one inside."""

    keeps_frames = False  # whether `info["frames"]` has every step of a decision

    def __init__(
        self,
        env: Environment,
        duration: DurationSource | None,
        action_mask: MaskSource | None,
        price: float,
    ) -> None:
        super().__init__(env)
        self.price = at_least_zero("price", price)
        self._reset = opener(env)
        self._read: DurationReader | None = None if duration is None else duration_reader(duration)
        self._is_told = duration is not None
        self._find_mask = mask_source(action_mask, "duration" if duration is None else duration)[1]
        self._observation: Any = None
        self._mask: ArrayLike | None = None  # of the environment inside
        self._allowed: Masks | None = None  # of decisions
        self._clock = 0.0
        self._has_begun = self._has_warned = False

    # --- What a kind of decisions has to say ---

    def _allowed_at(self, observation: Any, mask: ArrayLike | None) -> Masks | None:
        """Return which decisions can be made; None if all can be, everywhere."""
        raise NotImplementedError

    # --- Gymnasium ---

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Begin an episode."""
        self._has_begun = False
        observation, info = self._reset(seed=seed, options=options)
        self._clock, self._has_begun = 0.0, True
        self._arrive(observation, info)
        return observation, self._shown(info, {"clock": 0.0}, self._allowed_at(observation, self._mask))

    def _arrive(self, observation: Any, info: Info) -> None:
        self._observation, self._mask = observation, self._find_mask(observation, info)

    def _shown(self, info: Info, further: Info, allowed: Masks | None) -> Info:
        """Return the info of a decision; the mask inside is of other actions, so it does not go on."""
        self._allowed = allowed
        if isinstance(self.action_space, AllowedActions):
            self.action_space.allowed = allowed
        info = {key: entry for key, entry in info.items() if key not in ("action_mask", FORBIDDEN)} | further
        return info if allowed is None else info | {"action_mask": allowed.copy()}

    def _must_have_begun(self) -> None:
        if not self._has_begun:
            raise RuntimeError("the environment has not begun an episode; call reset() before step()")

    def _stayed(self, action: int) -> Outcome:
        """Return a step in which nothing happened, because the decision cannot be made here."""
        if not self._has_warned:
            self._has_warned = True
            warn_of(action, self)
        info: Info = {"duration": 0.0, "clock": self._clock, "steps": 0, FORBIDDEN: action}
        if self.keeps_frames:
            info["frames"] = []
        return self._observation, 0.0, False, False, self._shown({}, info, self._allowed)

    def _followed(self, act: Act, ends: Ends, most: float) -> Outcome:
        """Take steps until the decision ends; return them as one."""
        earned, passed = -self.price, 0.0
        count, still = 0, 0
        frames: list[Frame] = []
        self._has_begun = False  # until the decision is over: if it fails, a new episode has to begin
        while True:
            action = act(self._observation, self._mask)
            observation, reward, terminated, truncated, info = parts_of(self.env.step(action))
            must_be_taken(info)
            number, duration = reward_of(reward), self._duration(observation, action, info)
            earned, passed, count = earned + number, passed + duration, count + 1
            still = 0 if duration > 0.0 else still + 1
            self._observation = observation
            self._mask = None if terminated else self._find_mask(observation, info)
            over = terminated or truncated or count >= most or ends(observation)
            if self.keeps_frames:
                allowed = None if terminated else self._allowed_at(observation, self._mask)
                paid = number - self.price if count == 1 else number
                frames.append(Frame(observation, paid, duration, allowed))
            if over:
                break
            if still >= MOST_AT_ONCE or count >= MOST_STEPS:
                why = "took no time" if still >= MOST_AT_ONCE else "did not end it"
                raise ValueError(
                    f"{still or count:,} steps in a row {why}, in one decision; let it end earlier"
                )
        self._clock, self._has_begun = self._clock + passed, True
        further: Info = {"duration": passed, "clock": self._clock, "steps": count}
        if self.keeps_frames:
            further["frames"] = frames
        # Where an episode is terminated nothing is decided any more.
        allowed = self._allowed if terminated else self._allowed_at(observation, self._mask)
        return observation, earned, terminated, truncated, self._shown(info, further, allowed)

    def _duration(self, observation: Element, action: Any, info: Info) -> float:
        """Return how long a step inside took: what info says, or 1 in an environment that never says."""
        if not self._is_told:
            says = isinstance(info, dict) and "duration" in info
            if self._read is None:
                self._read = duration_reader("duration" if says else 1.0)
                self._says = says
            elif says != self._says:
                raise ValueError(
                    'info["duration"] is there after some steps only; say how long the steps inside take, as duration="key", '
                    "duration=1.0 or a function"
                )
        assert self._read is not None
        return self._read(observation, action, info)


def most_steps(name: str, given: int | None) -> float:
    """Return how many steps a decision may take at most; None means any number.

    >>> most_steps("steps", None), most_steps("steps", 3)
    (inf, 3.0)
    """
    return math.inf if given is None else float(whole(name, given, most=MOST_STEPS))


def as_flag(name: str, given: Any) -> bool:
    """Return an answer of a user's function as yes or no, or say what is wrong with it.

    >>> as_flag("the start of option 0", np.bool_(True))
    True
    """
    if isinstance(given, bool | np.bool_) or (np.ndim(given) == 0 and given in (0, 1)):
        return bool(given)
    raise ValueError(f"{name} is {shown(given)}; it must be true or false")
