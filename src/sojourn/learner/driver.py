"""The way of an agent through an environment: one step after the other.

A `Driver` has an agent, an environment, and the ways to read the environment's durations,
states and masks; it knows where it stands and what the agent will do next. `Learner` is a
driver that can be trained, asked and saved.
"""

from __future__ import annotations

import math
from typing import Any

from sojourn.envs.durations import duration_reader
from sojourn.envs.masks import mask_key, mask_reader
from sojourn.envs.places import Trace
from sojourn.envs.states import action_count, tabulate
from sojourn.envs.tabulation import Tabulation
from sojourn.learner.held import CLOCK, HeldAgent, Totals
from sojourn.learner.masks import HiddenActions
from sojourn.learner.watch import Watcher
from sojourn.rules.numbers import shown, whole
from sojourn.rules.random import streams

ZERO_DURATIONS = ("error", "skip")
_INF = math.inf


class Driver:
    """An agent in an environment, and where both stand."""

    def __init__(
        self,
        env: Any,
        agent: Any,
        *,
        duration: Any = "duration",
        zero_duration: str = "error",
        bins: Any = None,
        action_mask: str | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        check_env(env)
        if zero_duration not in ZERO_DURATIONS:
            raise ValueError(f"zero_duration is {zero_duration!r}; it must be error or skip")
        self.env, self.seed = env, whole("seed", seed, least=0)
        self.duration, self.zero_duration = duration, zero_duration
        self.states = bins if isinstance(bins, Tabulation) else tabulate(env.observation_space, bins)
        self.num_actions = action_count(env.action_space)
        self._first_action = int(env.action_space.start)
        self._read = duration_reader(duration)
        key = mask_key(action_mask, duration)
        self._mask = mask_reader(key)
        if callable(agent):
            agent = agent(num_states=self.states.num_states, num_actions=self.num_actions, **options)
        elif options:
            raise TypeError(f"{', '.join(options)} cannot be given with an agent that is made already")
        self._held = HeldAgent(agent, streams(self.seed, 2)[1])
        sizes = (self.states.num_states, self.num_actions)
        if self._held.q.shape != sizes:
            raise ValueError(
                f"the agent's q has the shape {self._held.q.shape}, but the environment has "
                f"{sizes[0]} states and {sizes[1]} actions"
            )
        self._hidden = HiddenActions(self._held.q, key)
        self._trace = Trace(env, self.seed)
        self._state: int | None = None  # None before the first episode, and where one has to begin anew
        self._drawn = (0, False)
        self._skipped = 0
        self._watcher = Watcher(sizes[0] * sizes[1], agent)

    @property
    def totals(self) -> Totals:
        """Steps, reward and time so far, and those of the greedy steps."""
        return self._held.totals

    def _begin(self) -> None:
        if self._state is None:
            self._state = self._reset()
            self._drawn = self._held.draw(self._state)

    def _reset(self) -> int:
        """Begin an episode; return its state, in which the mask is respected."""
        observation, info = self._trace.reset()
        return self._at(observation, info)

    def _at(self, observation: Any, info: Any) -> int:
        state = self.states.index(observation)
        mask = self._mask(info)
        if mask is not None:
            self._hidden.apply(state, mask)
        return state

    def _block(self, last: float, until: float, asked: list[int]) -> None:
        """Take steps until so many have been taken, or the time has come, or an end was asked for."""
        step, read, index, find_mask = self.env.step, self._read, self.states.index, self._mask
        advance, first, now = self._held.advance, self._first_action, self._held.now
        record, state, (action, explored) = self._trace.recorder, self._state, self._drawn
        assert state is not None
        left = last - self.totals.steps - self._skipped
        while left > 0 and now[CLOCK] < until and not asked:
            self._state = None  # until this step is over: what breaks off in it begins anew
            observation, reward, terminated, truncated, info = step(action + first)
            if record is not None:
                record(action + first)
            try:
                duration, reward = read(observation, action + first, info), float(reward)
                if duration == 0.0 or not -_INF < reward < _INF:
                    self._odd_step(duration, reward)
                next_state, mask = index(observation), find_mask(info)
            except (TypeError, ValueError) as error:
                raise ValueError(f"step {self.totals.steps + self._skipped}: {error}") from error
            if mask is None and not (terminated or truncated):
                action, explored = advance(state, action, reward, duration, next_state, explored, next_state)
                state = next_state
            else:
                transition = (state, action, reward, duration, next_state, explored)
                try:
                    state, action, explored = self._unusual(transition, mask, info, terminated, truncated)
                except ValueError as error:
                    raise ValueError(f"step {self.totals.steps + self._skipped}: {error}") from error
            self._state, self._drawn = state, (action, explored)
            left -= 1

    def _unusual(
        self, transition: tuple[Any, ...], mask: Any, info: Any, terminated: bool, truncated: bool
    ) -> tuple[int, int, bool]:
        """Learn from a step that ends an episode, or leads where not all actions are allowed; go on from there.

        What is learned of the state that is left goes by the mask that was in force there, what
        is expected of the next by its own mask, even if both are the same state: then the agent
        is shown the state as it is now in a spare row.
        """
        state, action, reward, duration, next_state, explored = transition
        go_on = next_state
        if terminated or truncated:
            observation, info = self._trace.reset()
            go_on = self.states.index(observation)
            if terminated:  # the last action led to where the next episode begins
                next_state, mask = go_on, self._mask(info)
        held, mask_there = self._held, self._mask(info)
        if mask is None and mask_there is None:
            return go_on, *held.advance(state, action, reward, duration, next_state, explored, go_on)
        if mask is not None and next_state != state:
            self._hidden.apply(next_state, mask)
        elif mask is not None and not self._hidden.is_known(state, mask):
            next_state = self._shown_apart(state, mask)
        held.advance(state, action, reward, duration, next_state, explored, -1)
        if mask_there is not None:
            self._hidden.apply(go_on, mask_there)
        return go_on, *held.draw(go_on)

    def _shown_apart(self, state: int, mask: Any) -> int:
        """Return the spare row, with the values of a state as a mask shows them."""
        values = self._hidden.seen_through(state, mask)
        if self._held.spare < 0:
            self._held.make_spare()
            self._hidden.q = self._held.q[: self.states.num_states]
        self._held.q[self._held.spare] = values
        return self._held.spare

    def _odd_step(self, duration: float, reward: float) -> None:
        """Pass over a step that took no time, or say what is wrong with it."""
        if duration > 0.0:
            raise ValueError(f"the reward is {reward}; a reward must be finite")
        if self.zero_duration == "error":
            raise ValueError(
                f"the duration ({shown(self.duration)}) is 0; a step must take time, or pass zero_duration='skip' "
                "to pass over such steps"
            )
        self._skipped += 1


def check_env(env: Any) -> None:
    """Refuse what is no single environment."""
    for name in ("observation_space", "action_space", "reset", "step"):
        if not hasattr(env, name):
            raise TypeError(
                f"{shown(env)} is no Gymnasium environment: it has no {name}; make one with gymnasium.make, or "
                "sojourn.WorldEnv(world)"
            )
    if hasattr(env, "num_envs"):
        raise TypeError("a Learner takes one environment, not a vector of them; give it a single one")
