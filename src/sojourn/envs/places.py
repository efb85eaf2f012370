"""Remembers where an environment stands, so that a saved learner can go on from there.

Sojourn's own environments can say where they stand, and can be put back there. Any other environment
is replayed: its random generator is set to what it was before the last reset, then it is reset, and the
actions since then are taken again. That is exact for every environment whose `reset` starts from scratch
and which draws from Gymnasium's own generator. If the episode is longer than MOST_ACTIONS, it is not
replayed; a new one begins.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from sojourn.envs.protocol import Element, Environment, Info, opener
from sojourn.envs.worlds import WorldEnv, WorldPlace
from sojourn.models.smdp import SMDP

MOST_ACTIONS = 1_000_000
_PASSIVE = (OrderEnforcing, PassiveEnvChecker, TimeLimit)

Shown: TypeAlias = tuple[Element, Info]  # what a reset shows
Generator: TypeAlias = WorldPlace | Mapping[str, Any]  # of a world, or the state of one of NumPy's


# The numbers of actions, or the coordinates of points one after the other.
Recorded: TypeAlias = (
    np.ndarray[tuple[int], np.dtype[np.int64]] | np.ndarray[tuple[int], np.dtype[np.float64]]
)


class Standing(TypedDict):
    """Where a world stands, and the steps that its time limits have counted."""

    kind: Literal["world"]
    place: WorldPlace
    elapsed: list[int]


class Replay(TypedDict):
    """The generator before the last reset (None if that was the first), and the actions since."""

    kind: Literal["replay"]
    generator: Generator | None
    actions: Recorded


Place: TypeAlias = Standing | Replay


class Trace:
    """An environment, and how it got to where it is."""

    def __init__(self, env: Environment, seed: int) -> None:
        self.env, self.seed = env, seed
        self._reset = opener(env)
        self._world = _direct_world(env)
        self._generator: Generator | None = (
            None  # before the last reset; None for the first, which has the seed
        )
        self._is_readable = True  # whether the generator could be read
        self._is_numbered = not isinstance(env.action_space, spaces.Box)
        self._actions: array[Any] = array("q" if self._is_numbered else "d")
        self._begun = False

    def reset(self) -> Shown:
        """Begin an episode; the first one uses the seed."""
        if self._begun and self._world is None:
            self._generator = _generator(self.env)
            self._is_readable = self._generator is not None
        del self._actions[:]  # in place, because a recorder goes on with the same list
        result = self._reset() if self._begun else self._reset(seed=self.seed)
        self._begun = True
        return result

    @property
    def recorder(self) -> Callable[[Any], None] | None:
        """The function to call with each of the next few thousand actions; None if they are not recorded."""
        if self._world is not None or len(self._actions) > MOST_ACTIONS:
            return None
        return self._actions.append if self._is_numbered else self._append_point

    def _append_point(self, action: NDArray[np.floating[Any]]) -> None:
        self._actions.extend(action.ravel().tolist())

    def place(self) -> Place | None:
        """Return where the environment stands, as data, or None if that is not known."""
        if not self._begun or len(self._actions) > MOST_ACTIONS:
            return None
        if self._world is not None:
            elapsed = [limit._elapsed_steps for limit in _limits(self.env)]  # noqa: SLF001 - it has no public name
            return {"kind": "world", "place": self._world.place(), "elapsed": elapsed}
        if not self._is_readable:
            return None
        actions: Recorded = (
            np.array(self._actions, dtype=np.int64)
            if self._is_numbered
            else np.array(self._actions, dtype=np.float64)
        )
        return {"kind": "replay", "generator": self._generator, "actions": actions}

    def go_to(self, place: Place | None) -> Shown | None:
        """Bring the environment to a place; return its observation and info, or None if that is impossible."""
        if place is None:
            return None
        try:
            return self._replay(place) if self._world is None else self._go_directly(self._world, place)
        except Exception:  # noqa: BLE001 - other people's environments may raise anything; a new episode begins then
            self._begun = False
            return None

    def _replay(self, place: Place) -> Shown | None:
        if place["kind"] != "replay":
            return None
        shown = self.env.reset(seed=self.seed)
        self._begun = True
        if place["generator"] is not None:
            if not _set_generator(self.env, place["generator"]):
                return None
            shown = self.reset()
        record = self._actions.append if self._is_numbered else self._append_point
        for action in self._as_taken(place["actions"]):
            observation, _, terminated, truncated, info = self.env.step(action)
            record(action)
            if terminated or truncated:
                return None
            shown = observation, info
        return shown

    def _as_taken(self, numbers: Recorded) -> list[Any]:
        """Return actions as the environment takes them."""
        space = self.env.action_space
        if not isinstance(space, spaces.Box):
            return list(numbers.tolist())
        return list(numbers.reshape(-1, *space.shape).astype(space.dtype))

    def _go_directly(self, world: WorldEnv, place: Place) -> Shown | None:
        limits = _limits(self.env)
        if place["kind"] != "world" or len(place["elapsed"]) != len(limits):
            return None
        self.env.reset(seed=self.seed)  # for the wrappers, which refuse to step before a reset
        state = world.go_to(place["place"])
        if state is None:
            return None
        self._begun = True
        for limit, elapsed in zip(limits, place["elapsed"], strict=True):
            limit._elapsed_steps = int(elapsed)  # noqa: SLF001
        return state, {}


def exact_model(env: Environment) -> SMDP | None:
    """Return the `model` of an environment, or None if it has none or a wrapper may change what happens.

    >>> import sojourn as sj
    >>> from sojourn.envs.problems import ProblemEnv
    >>> exact_model(ProblemEnv(sj.problems.long_return(), compiled=False))
    SMDP(2 states, 4 pairs, 4 rows)
    """
    while isinstance(env, OrderEnforcing | PassiveEnvChecker):
        env = env.env
    model = None if isinstance(env, gymnasium.Wrapper) else getattr(env, "model", None)
    return model if isinstance(model, SMDP) else None


def _direct_world(env: Environment) -> WorldEnv | None:
    """Return the world's environment, if it is one and nothing around it has a state, except time limits."""
    while isinstance(env, _PASSIVE):
        env = env.env
    return env if isinstance(env, WorldEnv) else None


def _limits(env: Environment) -> list[Any]:
    """Return the time limits around an environment; of type Any, since Gymnasium declares their counts as None."""
    found = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TimeLimit):
            found.append(env)
        env = env.env
    return found


def _generator(env: Environment) -> Generator | None:
    """Return what decides the next episode, or None if it cannot be read."""
    inner = env.unwrapped
    if isinstance(inner, WorldEnv):
        return inner.place()
    try:
        return inner.np_random.bit_generator.state
    except AttributeError:
        return None


def _set_generator(env: Environment, generator: Any) -> bool:
    """Put back what decides the next episode; return False if it belongs to another world."""
    inner = env.unwrapped
    if isinstance(inner, WorldEnv):
        return inner.go_to(generator) is not None
    inner.np_random.bit_generator.state = generator
    return True
