"""Takes an agent through an environment, one step after the other.

A `Driver` has an agent, an environment and a way to read it; it knows where the environment is
and what the agent will do next.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.protocol import Agent
from sojourn.envs.durations import DurationSource, reward_of
from sojourn.envs.masks import must_be_taken
from sojourn.envs.places import Place, Shown, Trace
from sojourn.envs.protocol import Element, Environment, Info, parts_of
from sojourn.learner.evaluation import Greedy, Pace, followed
from sojourn.learner.held import HeldAgent
from sojourn.learner.masks import HiddenActions
from sojourn.learner.reading import Reading
from sojourn.learner.watch import Seen, Watcher
from sojourn.rules.arrays import Floats
from sojourn.rules.long_run import MicroBatches
from sojourn.runs.recording import Totals

Transition: TypeAlias = tuple[int, int, float, float, int, bool]  # as `HeldAgent.advance` takes it

_INF = math.inf


class Position(NamedTuple):
    """The state that an agent is in, its next action there, and whether that was drawn to explore."""

    state: int
    action: int
    explored: bool


class Driver:
    """An agent in an environment, and where both are."""

    def __init__(self, reading: Reading, held: HeldAgent, hidden: HiddenActions, trace: Trace) -> None:
        sizes = (reading.states.num_states, reading.num_actions)
        if held.q.shape != sizes:
            raise ValueError(
                f"the agent's q has the shape {held.q.shape}, but the environment has {sizes[0]} states and "
                f"{sizes[1]} actions"
            )
        self.reading, self.held, self.hidden, self.trace = reading, held, hidden, trace
        self._at: tuple[int, int, bool] | None = None  # the fields of a Position
        self._left: tuple[Place, Position] | None = None  # where a file says that it was; it is not there yet
        self._clock = reading.clock()
        self.watcher = Watcher(held.q.size, held.agent)

    @property
    def totals(self) -> Totals:
        """Steps, reward and time so far, and those of the greedy steps."""
        return self.held.totals

    @property
    def position(self) -> Position | None:
        """Where the agent is; None before the first episode, and when a new one has to begin."""
        if self._left is not None:
            return self._left[1]
        return None if self._at is None else Position(*self._at)

    def place(self) -> Place | None:
        """Return where the environment is, as data, or None if that is not known."""
        if self._left is not None:
            return self._left[0]
        return None if self._at is None else self.trace.place()

    @property
    def seed(self) -> int:
        """The seed of the environment's first episode and of the agent."""
        return self.trace.seed

    @property
    def source(self) -> DurationSource:
        """Where the duration of a step is found."""
        return self.reading.source

    @property
    def num_actions(self) -> int:
        """The number of actions."""
        return self.reading.num_actions

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now."""
        return self.held.agent

    @property
    def rate(self) -> float:
        """The learned rate."""
        return self.held.rate

    @property
    def q(self) -> Floats:
        """The values of states by actions."""
        return self.held.q[: self.reading.states.num_states]

    @property
    def largest_value(self) -> float:
        """The largest |Q|."""
        return float(np.abs(self.q[np.isfinite(self.q)]).max(initial=0.0))

    def time_must_pass(self, steps: int) -> None:
        """Raise an error if the last `steps` steps, which took no time at all, are too many."""
        self.reading.time_must_pass(steps)

    def warnings(self) -> list[str]:
        """Return the warnings that are due."""
        sound = math.isfinite(self.rate) and self.hidden.is_finite()
        held = self.held
        return self.watcher.look(Seen(self.totals, self.q, self.rate, held.surplus, held.late_surplus, sound))

    def act(self, observation: Element, action_mask: ArrayLike | None = None) -> int:
        """Return the best action for an observation, of those that a mask allows."""
        state = self.reading.states(observation)
        row = self.q[state] if action_mask is None else self.hidden.seen_through(state, action_mask)
        return int(row.argmax()) + self.reading.first_action

    def greedy(self) -> Greedy:
        """Return the greedy policy, which counts the states that it is asked about."""
        return Greedy(self.q, self.hidden, self.reading.states.index)

    def followed(self, env: Environment, pace: Pace, until: float, seed: int) -> MicroBatches:
        """Follow the greedy policy for the time `until`, and return what it earned."""
        return followed(env, self.reading, self.greedy(), until, seed, pace).batches

    def begin(self) -> None:
        """Begin an episode, unless one is under way."""
        if self._left is not None:
            (place, position), self._left = self._left, None
            self._go_to(place, position)
        if self._at is None:
            state = self._arrive(self.trace.reset())
            self._at = state, *self.held.draw(state)

    def go_to(self, place: Place | None, position: Position) -> None:
        """Bring the environment back to a place; if that cannot be done, the next step begins a new episode.

        If all actions of an episode have to be repeated, that is done only when training continues, so that a learner
        that is only asked for its policy answers at once.
        """
        if place is not None and place["kind"] == "replay":
            self._left = place, position
        else:
            self._go_to(place, position)

    def _go_to(self, place: Place | None, position: Position) -> None:
        shown_there = self.trace.go_to(place)
        if shown_there is not None and self._arrive(shown_there) == position.state:
            self._at = position.state, position.action, bool(position.explored)

    def _arrive(self, shown_there: Shown) -> int:
        """Return the state that an environment shows, after applying the mask there."""
        observation, info = shown_there
        if self._clock is not None:
            self._clock.begin(info)
        state = self.reading.states.index(observation)
        mask = self._mask(state, observation, info)
        if mask is not None:
            self.hidden.apply(state, mask)
        return state

    def _mask(self, state: int, observation: Element, info: Info) -> ArrayLike | None:
        """Return the mask of a state; without one all actions are allowed, so it is None if none is hidden there."""
        mask = self.reading.mask(observation, info)
        return self.hidden.lifted(state) if mask is None else mask

    def advance(self, last: float, until: float, asked: list[int]) -> None:
        """Take steps until `last` have been taken, the time `until` has come, or an end was asked for."""
        assert self._at is not None
        reading, held = self.reading, self.held
        step, read, index, find_mask = (
            self.trace.env.step,
            reading.duration,
            reading.states.index,
            self._mask,
        )
        learn, first, clock, record = held.advance, reading.first_action, held.clock, self.trace.recorder
        state, action, explored = self._at
        tick = self._clock
        left = last - self.totals.steps
        while left > 0 and clock[0] < until and not asked:
            self._at = None  # until this step is over: if it is broken off, a new episode begins
            returned = step(action + first)
            if record is not None:
                record(action + first)
            try:
                if type(returned) is not tuple or len(returned) != 5:
                    parts_of(returned)  # raises an error that says what is wrong
                observation, reward, terminated, truncated, info = returned
                duration = read(observation, action + first, info)
                if type(reward) is not float or not -_INF < reward < _INF:
                    reward = reward_of(reward)  # or raises an error that says what is wrong
                next_state = index(observation)
                mask = find_mask(next_state, observation, info)
                must_be_taken(info)
                if tick is not None:
                    tick.advance(info, duration)
            except (TypeError, ValueError) as error:
                raise ValueError(f"step {self.totals.steps}: {error}") from error
            if mask is None and not (terminated or truncated):
                action, explored = learn(state, action, reward, duration, next_state, explored, next_state)
                state = next_state
            else:
                seen = (state, action, reward, duration, next_state, explored)
                try:
                    state, action, explored = self._unusual(seen, mask, terminated, truncated)
                except ValueError as error:
                    raise ValueError(f"step {self.totals.steps}: {error}") from error
            self._at = state, action, explored
            left -= 1

    def _unusual(
        self, seen: Transition, mask: ArrayLike | None, terminated: bool, truncated: bool
    ) -> tuple[int, int, bool]:
        """Learn from a step that ends an episode or leads where not all actions are allowed, and continue from there.

        What the agent learns about the state that it leaves depends on the mask that applied there, and what it
        expects of the next state on that state's own mask. If both are the same state, an agent that looks ahead
        is shown the state with its new mask in a spare row.
        """
        state, action, reward, duration, next_state, explored = seen
        held, go_on, mask_there = self.held, next_state, mask
        if terminated or truncated:
            mask = copy.copy(mask)  # the reset may write into the same array
            observation, info = self.trace.reset()
            if self._clock is not None:
                self._clock.begin(info)
            go_on = self.reading.states.index(observation)
            mask_there = self._mask(go_on, observation, info)
            if terminated:  # the last action led to where the next episode begins
                next_state, mask = go_on, mask_there
        if mask is None and mask_there is None:
            return go_on, *held.advance(state, action, reward, duration, next_state, explored, go_on)
        if mask is not None and next_state != state:
            self.hidden.apply(next_state, mask)
        elif mask is not None and held.looks_ahead and not self.hidden.is_known(state, mask):
            next_state = self._shown_apart(state, mask)
        held.advance(state, action, reward, duration, next_state, explored, -1)
        if mask_there is not None:
            self.hidden.apply(go_on, mask_there)
        return go_on, *held.draw(go_on)

    def _shown_apart(self, state: int, mask: ArrayLike) -> int:
        """Return the spare row, with the values of a state as a mask shows them."""
        values = self.hidden.seen_through(state, mask)
        if self.held.spare < 0:
            self.held.make_spare()
            self.hidden.move_to(self.held.q[: self.reading.states.num_states])
        self.held.q[self.held.spare] = values
        return self.held.spare
