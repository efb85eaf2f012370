"""Reads a vector of environments: which steps are only resets, how long steps took, and the info of one environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from sojourn.data.numbers import shown, unmasked
from sojourn.envs.durations import DurationSource, duration_reader, reward_of
from sojourn.envs.protocol import Environment, Info
from sojourn.rules.arrays import Flags, Floats

_ALL = np.ones(1, dtype=np.bool_)


def is_vector(env: Any) -> bool:
    """Whether this is a vector of environments."""
    return hasattr(env, "num_envs") and hasattr(env, "single_observation_space")


def single_of(env: Any) -> Environment:
    """Return one environment like those of a vector; an environment that is not a vector is returned unchanged."""
    if not is_vector(env):
        single: Environment = env
        return single
    inner = getattr(env.unwrapped, "envs", None)
    if inner:
        first: Environment = inner[0]
        return first
    if env.spec is None:
        raise ValueError(
            "the vector does not say how to make one of its environments; pass one: evaluate(..., env=...)"
        )
    return gymnasium.make(env.spec.id, **{**env.spec.kwargs, **_for_single(env.spec.kwargs)})


def _for_single(options: dict[str, Any]) -> dict[str, Any]:
    return {name: None for name in options if name.startswith("vector")}


class VectorClock:
    """Reads how long the steps of a vector took, whichever way it resets.

    `resets` marks the places whose next step is only a reset: such a step is not the agent's, and takes no time.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], source: DurationSource = "duration") -> None:
        self.mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.places, self.source = int(env.num_envs), source
        self.resets: Flags = np.zeros(self.places, dtype=np.bool_)
        self._read = duration_reader(source)

    def durations(self, infos: Info, told: NDArray[np.generic], ended: Flags) -> Floats:
        """Return how long each step took."""
        ends_here = (
            self.mode is AutoresetMode.SAME_STEP and ended.any()
        )  # infos then belong to the next episode
        found = infos.get(self.source) if isinstance(self.source, str) and not ends_here else None
        if found is not None and np.shape(found) != (self.places,):
            raise ValueError(
                f'info["{self.source}"] is {shown(found)}; a vector of {self.places} environments must give an array of '
                f"{self.places} durations"
            )
        unmasked(f'info["{self.source}"]', found)
        if isinstance(found, np.ndarray) and found.dtype == np.float64:
            lowest, longest = found.min(), found.max()
            if lowest >= 0.0 and longest < np.inf and infos.get(f"_{self.source}", _ALL).all():
                # What the info of a reset says is of a step before it; and the vector may write into its own array.
                return np.where(self.resets, 0.0, found)
        durations: Floats = np.zeros(self.places)
        for place in np.flatnonzero(~self.resets).tolist():
            within = infos["final_info"] if ends_here and ended[place] else infos
            durations[place] = self._read(None, told[place], info_of(within, place))
        return durations

    def go_on(self, ended: Flags) -> None:
        """Note which episodes ended in a step."""
        if self.mode is AutoresetMode.NEXT_STEP:
            self.resets = ended & ~self.resets


def rewards_of(rewards: Any, places: int) -> Floats:
    """Return the rewards of a vector's steps as floats, or say what is wrong with them.

    >>> rewards_of([1, 2], 3)
    Traceback (most recent call last):
    ValueError: the rewards have the shape (2,); there must be one for each of 3 environments
    """
    unmasked("the rewards", rewards)
    try:
        earned: Floats = np.asarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the rewards are {shown(rewards)}; they must be numbers") from None
    if earned.shape != (places,):
        raise ValueError(
            f"the rewards have the shape {earned.shape}; there must be one for each of {places} environments"
        )
    if not np.isfinite(earned).all():
        reward_of(earned[~np.isfinite(earned)][0])
    return earned


def info_of(infos: Info, place: int) -> Info:
    """Return what the info of a vector says about one of its environments.

    >>> infos = {"duration": np.array([1.0, 2.0]), "_duration": np.array([True, False])}
    >>> info_of(infos, 0), info_of(infos, 1)
    ({'duration': np.float64(1.0)}, {})
    """
    if not isinstance(infos, dict):
        raise ValueError(f"info is {shown(infos)}; it must be a dictionary")  # noqa: TRY004 - what an environment said
    return dict(_entries(infos, place))


def _entries(infos: Info, place: int) -> Iterator[tuple[str, Any]]:
    for key, entry in infos.items():
        there = infos.get(f"_{key}")
        if key.startswith("_") or (there is not None and not there[place]):
            continue
        if isinstance(entry, dict):
            yield key, info_of(entry, place)
        elif hasattr(entry, "__getitem__") and len(entry) > place:
            yield key, entry[place]
