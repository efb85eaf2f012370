"""One environment as arrays of a single place, the form in which an agent of observations sees it.

`vector_lanes` does the same for several environments at once.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sojourn.agents.networks.protocol import Actions, Masks, Memory, Transitions
from sojourn.envs.masks import must_be_taken
from sojourn.envs.observing import Reader
from sojourn.envs.places import Trace
from sojourn.envs.protocol import Environment, parts_of
from sojourn.rules.arrays import Flags, Floats

_HERE = np.zeros(1, dtype=np.int64)
_NOT_CUT, _CUT = np.zeros(1, dtype=np.bool_), np.ones(1, dtype=np.bool_)


class Lanes(Protocol):
    """One environment or several, and where they stand."""

    reader: Reader
    places: int
    observations: Floats
    allowed: Masks
    has_begun: bool

    @property
    def env(self) -> Any:
        """The environment, or the vector of them."""

    @property
    def seed(self) -> int:
        """The seed of the first episodes."""

    def begin(self) -> None:
        """Begin episodes, unless they are under way."""

    def step(self, actions: Actions, explored: Flags) -> Transitions:
        """Take these actions; return the steps that are complete."""

    def state(self) -> Memory:
        """Return where the environments stand, as data."""

    def restored(self, state: Memory) -> None:
        """Bring the environments back to where they stood; if that is impossible, new episodes begin."""


class SingleLane:
    """One environment: a single place."""

    places = 1

    def __init__(self, env: Environment, reader: Reader, seed: int) -> None:
        self.reader, self.trace = reader, Trace(env, seed)
        self.observations: Floats = np.zeros((1, reader.observing.num_inputs))
        self.allowed: Masks = np.zeros((1, reader.observing.num_actions), dtype=np.int8)
        self.has_begun = False
        self._clock = reader.clock()

    @property
    def env(self) -> Environment:
        """The environment."""
        return self.trace.env

    @property
    def seed(self) -> int:
        """The seed of the first episode."""
        return self.trace.seed

    def begin(self) -> None:
        """Begin an episode, unless one is under way."""
        if not self.has_begun:
            self.observations, self.allowed = self._reset()
            self.has_begun = True

    def _reset(self) -> tuple[Floats, Masks]:
        observation, info = self.trace.reset()
        if self._clock is not None:
            self._clock.begin(info)
        return self.reader.observing.flat(observation)[np.newaxis], self.reader.allowed(observation, info)[
            np.newaxis
        ]

    def step(self, actions: Actions, explored: Flags) -> Transitions:
        """Take an action."""
        reader, record = self.reader, self.trace.recorder
        self.has_begun = False  # until this step is over: if it fails, a new episode begins
        action = reader.observing.told(actions, 0)
        observation, reward, terminated, truncated, info = parts_of(self.env.step(action))
        if record is not None:
            record(action)
        duration, earned = reader.duration(observation, action, info), reader.reward(reward)
        must_be_taken(info)
        if self._clock is not None:
            self._clock.advance(info, duration)
        following = reader.observing.flat(observation)[np.newaxis]
        # Where an episode is terminated nothing is done any more, so its mask may be anything.
        allowed = self.allowed if terminated else reader.allowed(observation, info)[np.newaxis]
        go_on = self._reset() if terminated or truncated else (following, allowed)
        if terminated:  # the last action led to where the next episode begins
            following, allowed = go_on
        seen = Transitions(
            places=_HERE,
            observations=self.observations,
            allowed=self.allowed,
            actions=actions,
            rewards=np.array([earned]),
            durations=np.array([duration]),
            next_observations=following,
            next_allowed=allowed,
            cut=_CUT if truncated and not terminated else _NOT_CUT,
            explored=explored,
        )
        self.observations, self.allowed = go_on
        self.has_begun = True
        return seen

    def state(self) -> Memory:
        """Return where the environment stands."""
        return {
            "place": self.trace.place() if self.has_begun else None,
            "observations": self.observations,
            "allowed": self.allowed,
            "clock": self.reader.clock_key,
        }

    def restored(self, state: Memory) -> None:
        """Bring the environment back, if it then shows the same observation as before."""
        shown_there = self.trace.go_to(state["place"])
        if shown_there is None:
            return
        if self._clock is not None:
            self._clock.begin(shown_there[1])
        there, allowed = self.reader.observing.flat(shown_there[0])[np.newaxis], np.array(state["allowed"])
        if np.array_equal(there, state["observations"]) and allowed.shape == self.allowed.shape:
            self.observations, self.has_begun = there, True
            self.allowed = self.reader.checked(allowed[0])[np.newaxis]
