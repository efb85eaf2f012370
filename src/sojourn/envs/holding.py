"""Choosing an action and how long to hold it: an environment in which the agent also decides when to decide again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike

from sojourn.data.numbers import shown, whole, within
from sojourn.deploy.interface import checked_mask
from sojourn.envs.epochs import MOST_STEPS, Epochs, Outcome, as_flag
from sojourn.envs.protocol import Environment
from sojourn.envs.reader import DurationSource, MaskSource
from sojourn.envs.worlds import AllowedActions, Masks
from sojourn.rules.door import told


class Holding(Epochs, RecordConstructorArgs):
    """An environment in which an action is chosen together with the number of steps for which it is held.

    ## Description
    `lengths` lists numbers of steps. `price` is paid for every decision, so that deciding often has to be worth it.
    `until` is a function of the observation: as soon as it says true, the agent decides again. With `math.inf` among the
    lengths, an action can be held until then.

    ## Observation space
    That of the environment.

    ## Action space
    If actions are `Discrete`, so are pairs of an action and a length: number a k + i is action a with length i of k, and
    `meaning` says which one a number stands for. If they are a `Box`, there is one more coordinate, from -1 to 1, which is
    cut into equal parts, one for each length. Where the environment does not allow an action, it cannot be chosen, and
    an action is held no longer than it is allowed.

    ## Rewards
    The sum of the rewards of the steps inside, minus the price.

    ## Durations
    `info["duration"]` is the sum of the durations of the steps inside. A step takes what its info says in "duration" or, in
    an environment that never says, 1. `duration` and `action_mask` say where these are, as in `sojourn.Learner`.
    `info["clock"]` is the sum since the reset, and `info["steps"]` the number of steps inside.

    ## Episode end
    That of the environment, which also ends a decision.

    >>> import sojourn as sj
    >>> inside = sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=1e-3), compiled=False)
    >>> env = Holding(inside, lengths=[1, 4], price=0.5)
    >>> env.action_space, env.meaning(3)
    (Discrete(4), (1, 4))
    >>> env.reset(seed=0)
    (0, {'clock': 0.0})
    >>> env.step(2)  # B for one step, which earns 10 in a time of 11
    (1, 9.5, False, False, {'duration': 11.0, 'clock': 11.0, 'steps': 1})
    """

    @told
    def __init__(
        self,
        env: Environment,
        lengths: Sequence[float],
        *,
        price: float = 0.0,
        until: Callable[[Any], bool] | None = None,
        duration: DurationSource | None = None,
        action_mask: MaskSource | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, lengths=lengths, price=price, until=until, duration=duration, action_mask=action_mask
        )
        super().__init__(env, duration, action_mask, price)
        self.lengths = [_length(each, until is not None) for each in lengths]
        if not self.lengths:
            raise ValueError("there are no lengths; give at least one number of steps")
        if len(set(self.lengths)) < len(self.lengths):
            raise ValueError(f"lengths is {shown(list(lengths))}; each number of steps must be there once")
        self._until = until
        space, count = env.action_space, len(self.lengths)
        if isinstance(space, Discrete):
            self._first, self._num_inside = int(space.start), int(space.n)
            self.action_space = AllowedActions(self._num_inside * count)
        elif isinstance(space, Box) and space.dtype.kind == "f":
            self._first = self._num_inside = 0
            low, high = (np.append(side.ravel(), end) for side, end in ((space.low, -1.0), (space.high, 1.0)))
            self.action_space = Box(low.astype(space.dtype), high.astype(space.dtype), dtype=space.dtype.type)
        else:
            raise TypeError(
                f"the action space is {shown(space)}; Holding takes Discrete actions, or a Box of floats"
            )

    def meaning(self, action: Any) -> tuple[Any, float]:
        """Return the action of the environment and the number of steps that an action stands for."""
        count, space = len(self.lengths), self.env.action_space
        if self._num_inside:
            number = within("action", action, self._num_inside * count)
            return self._first + number // count, self.lengths[number % count]
        point = np.asarray(action, dtype=space.dtype)
        if point.shape != self.action_space.shape or not np.isfinite(point).all():
            raise ValueError(
                f"the action {shown(action)} is not in the action space, {shown(self.action_space)}"
            )
        place = int((float(point[-1]) + 1.0) / 2.0 * count)
        return point[:-1].reshape(space.shape or ()), self.lengths[min(max(place, 0), count - 1)]

    def step(self, action: Any) -> Outcome:
        """Hold an action."""
        self._must_have_begun()
        held, most = self.meaning(action)
        if self._allowed is not None and not self._allowed[int(action)]:
            return self._stayed(int(action))

        def ends(observation: Any) -> bool:
            if self._mask is not None and self._num_inside and not np.asarray(self._mask)[held - self._first]:
                return True
            return self._until is not None and as_flag("until", self._until(observation))

        return self._followed(lambda _seen, _mask: held, ends, most)

    def _allowed_at(self, observation: Any, mask: ArrayLike | None) -> Masks | None:
        """Return which pairs can be chosen: those of actions that are allowed."""
        if mask is None or not self._num_inside:
            return None
        allowed = checked_mask(mask, self._num_inside, "the mask of the environment inside")
        return np.repeat(allowed, len(self.lengths)).astype(np.int8)


def _length(given: float, may_wait: bool) -> float:
    """Return a number of steps, or infinity if there is a condition to wait for."""
    if isinstance(given, float) and math.isinf(given) and given > 0.0:
        if not may_wait:
            raise ValueError(
                "one of the lengths is infinite; say until when an action is held, with until=..."
            )
        return math.inf
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return whole("each of the lengths", given, most=MOST_STEPS)
