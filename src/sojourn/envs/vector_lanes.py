"""Several environments at once as arrays with a row for each place, the form in which an agent of observations sees them.

Gymnasium resets the environments of a vector in one of three ways, and all three are understood. If an episode was
terminated, its last action led to the first observation of the next episode; if it was truncated, to its own last
observation. If the reset happens in the next step, as in `gymnasium.make_vec`, the step that terminated an episode is
complete only one step later, and that later step is not one of the agent's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from sojourn.agents.networks.protocol import Actions, Masks, Memory, Transitions
from sojourn.data.numbers import shown, unmasked
from sojourn.envs.masks import FORBIDDEN, must_be_taken
from sojourn.envs.observing import Reader
from sojourn.envs.places import MOST_ACTIONS
from sojourn.envs.protocol import Info, element_reader, must_begin
from sojourn.envs.vectors import VectorClock, info_of, rewards_of
from sojourn.rules.arrays import Flags, Floats, Ints


class VectorLanes:
    """A vector of environments."""

    def __init__(self, env: VectorEnv[Any, Any, Any], reader: Reader, seed: int) -> None:
        self.env, self.reader, self.seed = env, reader, seed
        self.places = int(env.num_envs)
        self.observations: Floats = np.zeros((self.places, reader.observing.num_inputs))
        self.allowed: Masks = np.zeros((self.places, reader.observing.num_actions), dtype=np.int8)
        self.has_begun = False
        self._clock = VectorClock(env, reader.source)
        self._waiting: Transitions | None = None  # terminated steps, until the next episode begins
        self._places: Ints = np.arange(self.places)
        self._read = element_reader(env.single_observation_space)
        self._all: Masks = np.ones_like(self.allowed)
        self._taken: list[Any] = []  # all actions so far, for a replay

    def begin(self) -> None:
        """Begin an episode at each place, unless they are under way."""
        if not self.has_begun:
            observations, infos = self.env.reset(seed=self.seed)
            self._must_begin(observations, np.ones(self.places, dtype=np.bool_))
            self._go_on(observations, infos)
            self._clock.resets[:], self._waiting, self._taken, self.has_begun = False, None, [], True

    def _go_on(self, observations: Any, infos: Info) -> None:
        self.observations, self.allowed = self._flat(observations), self._masks(observations, infos)

    def _flat(self, observations: Any) -> Floats:
        observing = self.reader.observing
        if isinstance(self.env.single_observation_space, Box):
            unmasked("the observations", observations)
            rows: Floats = np.array(observations, dtype=np.float64)  # the vector may write into its own
            if len(rows) != self.places:
                raise ValueError(
                    f"the observations have the shape {rows.shape}; they must have a row for each of {self.places} environments"
                )
            rows = rows.reshape(self.places, -1)
            if rows.shape[1] == observing.num_inputs and np.isfinite(rows).all():
                return rows
        return np.array([observing.flat(one) for one in iterate(self.env.observation_space, observations)])

    def _must_begin(self, observations: Any, begun: Flags) -> None:
        """Raise an error if an episode begins with an observation that is not in its space."""
        space = self.env.single_observation_space
        for each, is_first in zip(iterate(self.env.observation_space, observations), begun, strict=False):
            if is_first:
                must_begin(each, space, self._read)

    def _masks(self, observations: Any, infos: Info, over: Any = ()) -> Masks:
        """Return the masks; at the places that are over, where nothing is done any more, all actions are allowed."""
        key = self.reader.mask_key
        if key is not None and key.partition(".")[0] not in infos:
            return self._all
        each = enumerate(iterate(self.env.observation_space, observations))
        return np.array(
            [
                self._all[place] if place in over else self.reader.allowed(one, info_of(infos, place))
                for place, one in each
            ]
        )

    def step(self, actions: Actions, explored: Flags) -> Transitions:
        """Take an action at each place; return the steps that are complete."""
        self.has_begun = False  # until this step is over
        told = self.reader.observing.told_all(actions)
        if len(self._taken) * self.places <= MOST_ACTIONS:
            self._taken.append(told)
        shown_now, rewards, terminated, truncated, infos = self.env.step(told)
        ended: Flags = np.asarray(terminated, dtype=np.bool_) | np.asarray(truncated, dtype=np.bool_)
        earned = rewards_of(rewards, self.places)
        led_to = self._flat(shown_now)
        same_step = self._clock.mode is AutoresetMode.SAME_STEP  # it shows the next episodes already
        over = [] if same_step else np.flatnonzero(terminated).tolist()
        masks = self._masks(shown_now, infos, over)
        for place in np.flatnonzero(infos.get(f"_{FORBIDDEN}", False)).tolist():
            must_be_taken(info_of(infos, place))
        self._must_begin(shown_now, ended if same_step else self._clock.resets)
        seen = Transitions(
            places=self._places,
            observations=self.observations,
            allowed=self.allowed,
            actions=actions,
            rewards=earned,
            durations=self._clock.durations(infos, told, ended),
            next_observations=led_to,
            next_allowed=masks,
            cut=ended & ~np.asarray(terminated, dtype=np.bool_),
            explored=explored,
        )
        self.observations, self.allowed = led_to, masks
        if ended.any() or self._clock.resets.any():
            seen = self._at_ends(seen, ended, infos)
        self.has_begun = True
        return seen

    def _at_ends(self, seen: Transitions, ended: Flags, infos: Info) -> Transitions:
        """Return the steps that are complete, when some episodes end or begin in this step."""
        if self._clock.mode is AutoresetMode.NEXT_STEP:
            complete = []
            if self._waiting is not None:  # the steps that terminated led to what is shown now
                at = self._waiting.places
                begun = self._waiting._replace(
                    next_observations=self.observations[at], next_allowed=self.allowed[at]
                )
                complete, self._waiting = [begun], None
            taken = ~self._clock.resets
            terminated = taken & ended & ~seen.cut
            if terminated.any():
                self._waiting = _rows(seen, terminated)
            self._clock.go_on(ended)
            return _together([*complete, _rows(seen, taken & ~terminated)])
        led_to, masks = self.observations.copy(), np.array(self.allowed)
        if self._clock.mode is AutoresetMode.DISABLED:
            fresh, fresh_infos = self.env.reset(options={"reset_mask": ended.copy()})
            self._must_begin(fresh, ended)
            first, first_masks = self._flat(fresh), self._masks(fresh, fresh_infos)
            self.observations = np.where(ended[:, np.newaxis], first, led_to)
            self.allowed = np.where(ended[:, np.newaxis], first_masks, masks)
        for place in np.flatnonzero(ended).tolist():
            if self._clock.mode is AutoresetMode.SAME_STEP:
                last, last_info = infos["final_obs"][place], info_of(infos["final_info"], place)
                must_be_taken(last_info)
                led_to[place] = self.reader.observing.flat(last)
                if seen.cut[place]:
                    masks[place] = self.reader.allowed(last, last_info)
            if not seen.cut[place]:
                led_to[place], masks[place] = self.observations[place], self.allowed[place]
        return seen._replace(next_observations=led_to, next_allowed=masks)

    def state(self) -> Memory:
        """Return all actions since the beginning: the same seed and the same actions lead to the same place."""
        if not self.has_begun or len(self._taken) * self.places > MOST_ACTIONS:
            return {"actions": None, "waiting": None}
        return {
            "actions": np.array(self._taken) if self._taken else np.zeros((0, self.places)),
            "waiting": None if self._waiting is None else self._waiting._asdict(),
        }

    def restored(self, state: Memory) -> None:
        """Take all actions again."""
        if state["actions"] is None:
            return
        try:
            self._replay(np.asarray(state["actions"]))
        except Exception:  # noqa: BLE001 - other people's environments may raise anything; new episodes begin then
            self.has_begun = False
        if self._waiting is not None and state["waiting"] is not None:  # all of it came again, except chance
            explored = np.asarray(state["waiting"]["explored"], dtype=np.bool_)
            if explored.shape == self._waiting.explored.shape:
                self._waiting = self._waiting._replace(explored=explored)

    def _replay(self, taken: NDArray[np.generic]) -> None:
        """Begin, and take these actions; those that do not exist are refused."""
        self.begin()
        observing, space = self.reader.observing, self.env.single_action_space
        for told in taken:
            actions: Actions = (
                told.astype(np.int64) - observing.first_action
                if observing.num_actions
                else told.astype(np.float64).reshape(self.places, -1)
            )
            if len(actions) != self.places or not all(one in space for one in observing.told_all(actions)):
                raise ValueError(f"{shown(told)} are not actions of {self.places} environments")
            self.step(actions, np.zeros(self.places, dtype=np.bool_))


def _rows(steps: Transitions, chosen: Flags) -> Transitions:
    """Return some of the steps."""
    return Transitions._make(column[chosen] for column in steps)


def _together(parts: list[Transitions]) -> Transitions:
    """Return the steps of several records as one."""
    return Transitions._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
