"""Where an environment stands, so that a saved learner can go on from there.

Sojourn's own environments can tell, and can be put there. Any other is brought there again:
its random generator as it was before the last reset, that reset, and the actions since. That
is exact for every environment whose `reset` begins anew and which draws from Gymnasium's own
generator. It is not tried if the episode is longer than MOST_ACTIONS; a new one begins then.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from sojourn.envs.worlds import WorldEnv

MOST_ACTIONS = 1_000_000
_PASSIVE = (OrderEnforcing, PassiveEnvChecker, TimeLimit)


class Trace:
    """An environment, and how it came to where it is."""

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int) -> None:
        self.env, self.seed = env, seed
        self._direct = _is_direct(env)
        self._generator: Any = None  # before the last reset; None for the first, which has the seed
        self._actions: Any = array("q")
        self._begun = False

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, the first with the seed."""
        if self._begun:
            self._generator = None if self._direct else _generator(self.env)
        del self._actions[:]  # in place: whoever records goes on with the same list
        result = self.env.reset() if self._begun else self.env.reset(seed=self.seed)
        self._begun = True
        return result

    @property
    def recorder(self) -> Any:
        """What is to be called with every action of the next few thousand, or None."""
        return None if self._direct or len(self._actions) > MOST_ACTIONS else self._actions.append

    def place(self) -> dict[str, Any] | None:
        """Return where the environment stands, as data, or None if that cannot be said."""
        if not self._begun or len(self._actions) > MOST_ACTIONS:
            return None
        if self._direct:
            world: Any = self.env.unwrapped
            return {"kind": "world", "place": world.place(), "elapsed": [limit._elapsed_steps for limit in _limits(self.env)]}  # fmt: skip # noqa: SLF001
        if self._generator is False:
            return None
        actions = np.array(self._actions, dtype=np.int64)
        return {"kind": "replay", "generator": self._generator, "actions": actions}

    def go_to(self, place: Mapping[str, Any] | None) -> tuple[Any, dict[str, Any]] | None:
        """Bring the environment there; return its observation and info, or None if it cannot be done."""
        if place is None:
            return None
        try:
            return self._go_directly(place) if self._direct else self._replay(place)
        except Exception:  # noqa: BLE001 - another environment may do whatever it likes; it begins anew then
            self._begun = False
            return None

    def _replay(self, place: Mapping[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        shown = self.env.reset(seed=self.seed)
        self._begun = True
        if place["generator"] is not None:
            world: Any = self.env.unwrapped
            if isinstance(world, WorldEnv):
                if world.go_to(place["generator"]) is None:
                    return None
            else:
                world.np_random.bit_generator.state = place["generator"]
            shown = self.reset()
        for action in place["actions"].tolist():
            observation, _, terminated, truncated, info = self.env.step(action)
            self._actions.append(action)
            if terminated or truncated:
                return None
            shown = observation, info
        return shown

    def _go_directly(self, place: Mapping[str, Any]) -> tuple[Any, dict[str, Any]] | None:
        limits = _limits(self.env)
        if len(place["elapsed"]) != len(limits):
            return None
        self.env.reset(seed=self.seed)  # for the wrappers, which would not step before
        world: Any = self.env.unwrapped
        state = world.go_to(place["place"])
        if state is None:
            return None
        self._begun = True
        for limit, elapsed in zip(limits, place["elapsed"], strict=True):
            limit._elapsed_steps = int(elapsed)  # noqa: SLF001
        return state, {}


def _is_direct(env: Any) -> bool:
    """Whether all that changes in an environment is in its world and in its time limits."""
    while isinstance(env, _PASSIVE):
        env = env.env
    return isinstance(env, WorldEnv)


def _limits(env: Any) -> list[Any]:
    found = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TimeLimit):
            found.append(env)
        env = env.env
    return found


def _generator(env: Any) -> Any:
    """Return what decides the next episode, or False if it cannot be read."""
    if isinstance(env.unwrapped, WorldEnv):
        return env.unwrapped.place()
    try:
        return env.unwrapped.np_random.bit_generator.state
    except AttributeError:
        return False
