"""Drives an agent through its environment, step by step.

There are two paths. A `TableDriver` drives an agent with a table of values through one environment; a step has a few
microseconds of overhead, so nothing is put into arrays. An `ObservingDriver` drives any other agent (tiles and
networks, Sojourn's or third-party) through one or several environments at once, with arrays of observations; the
agent is any object with the methods of `sojourn.agents.networks.protocol`.
"""

from __future__ import annotations

import contextlib
import copy
import math
import operator
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.networks.base import NetworkAgent, check_arrays
from sojourn.agents.networks.protocol import Memory, ObservingAgent, Transitions
from sojourn.agents.protocol import Agent
from sojourn.data.numbers import shown
from sojourn.envs.epochs import Frame
from sojourn.envs.options import options_of
from sojourn.envs.places import Places, SavedPlace, Shown, Trace
from sojourn.envs.protocol import Element, Info, parts_of
from sojourn.envs.reader import TableReader, must_be_taken, reward_of
from sojourn.learner.facts import OURS, Recipe
from sojourn.learner.table_agent import HiddenActions, TableAgent
from sojourn.learner.watch import RateLimits, Seen, Watcher, rate_is_learned
from sojourn.rules.arrays import Floats
from sojourn.runs.recording import Totals, counted

# A state, the next action there, and whether it was drawn to explore.
Position: TypeAlias = tuple[int, int, bool]
# A policy: the action for an observation and its mask, in the environment's form.
Choose: TypeAlias = Callable[[Any, ArrayLike | None], Any]
Transition: TypeAlias = tuple[int, int, float, float, int, bool]  # as `TableAgent.advance` takes it

_INF = math.inf
_STORM = 1.0  # seconds: a key held down causes many signals, which count as one


class Greedy:
    """The greedy policy of a table, which counts the states that it visits and its actions there."""

    def __init__(self, q: Floats, hidden: HiddenActions, reader: TableReader) -> None:
        self.actions: list[int] = q.argmax(axis=1).tolist()
        self.asked: Counter[int] = Counter()
        self.taken: Counter[tuple[int, int]] = Counter()
        self._hidden, self._index, self._first = hidden, reader.states.index, reader.first_action

    def __call__(self, observation: Element, mask: ArrayLike | None) -> int:
        """Return the best allowed action."""
        state = self._index(observation)
        self.asked[state] += 1
        mask = self._hidden.lifted(state) if mask is None else mask
        best = self.actions[state] if mask is None else self._hidden.seen_through(state, mask).argmax()
        action = int(best)
        self.taken[state, action] += 1
        return action + self._first

    def otherwise(self, actions: list[int]) -> Choose:
        """Return a policy that takes these actions by state, or this policy's where one is not allowed."""

        def choose(observation: Element, mask: ArrayLike | None) -> int:
            action = actions[self._index(observation)]
            allowed = mask is None or self._hidden.checked(mask)[action]
            return action + self._first if allowed else self(observation, mask)

        return choose


class TableDriver:
    """An agent with a table in an environment, and where both are."""

    def __init__(self, reader: TableReader, table: TableAgent, hidden: HiddenActions, trace: Trace) -> None:
        sizes = (reader.states.num_states, reader.num_actions)
        if table.q.shape != sizes:
            raise ValueError(
                f"the agent's q has the shape {table.q.shape}, but the environment has {sizes[0]} states and "
                f"{sizes[1]} actions"
            )
        self.reader, self.table, self.hidden, self.trace = reader, table, hidden, trace
        self.seed, self.env = trace.seed, trace.env
        self._at: Position | None = None
        # The saved position, until the environment is restored to it.
        self._left: tuple[SavedPlace, Position] | None = None
        self._clock = reader.clock()
        if table.learns_inside:
            options = options_of(self.env)
            if options is None:
                raise TypeError(
                    f"{type(table.agent).__name__} learns from the steps inside options; give Learner an environment of "
                    "options, sojourn.envs.Options(env, options)"
                )
            options.keeps_frames = True
        self.watcher = Watcher(table.q.size, table.agent)
        self.limits = RateLimits(table.rate, is_rate=rate_is_learned(table.agent))
        self.recipe: Recipe | None = None  # of the agent; learners of 0.2 do not say

    @property
    def totals(self) -> Totals:
        """Steps, reward and time so far, and those of the greedy steps."""
        return self.table.totals

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now."""
        return self.table.agent

    @property
    def rate(self) -> float:
        """The learned rate."""
        return self.table.rate

    @property
    def q(self) -> Floats:
        """The values of states by actions."""
        return self.table.values[: self.reader.states.num_states]

    @property
    def largest_value(self) -> float:
        """The largest |Q|."""
        return float(np.abs(self.q[np.isfinite(self.q)]).max(initial=0.0))

    error = math.nan  # a table has no batches

    @property
    def position(self) -> Position | None:
        """The agent's current state; None before the first episode, and when a new one has to begin."""
        return self._at if self._left is None else self._left[1]

    def place(self) -> SavedPlace | None:
        """Return the environment's position as data, or None if it is not known."""
        if self._left is not None:
            return self._left[0]
        return None if self._at is None else self.trace.place()

    @property
    def is_sound(self) -> bool:
        """Whether the rate and all values are finite."""
        return math.isfinite(self.rate) and self.hidden.is_finite()

    def warnings(self) -> list[str]:
        """Return the warnings that are due."""
        table = self.table
        seen = Seen(self.totals, self.q, self.rate, table.surplus, table.late_surplus, self.is_sound)
        return self.watcher.look(seen)

    def act(self, observation: Element, action_mask: ArrayLike | None = None) -> int:
        """Return the best action for an observation, of those that a mask allows."""
        return self._best(self.q, self.hidden, observation, action_mask)

    def acting(self, policy: Memory) -> Choose:
        """Return `act` of a policy that was kept."""
        return partial(self._best, *self.table_of(policy)[:2])

    def _best(
        self, q: Floats, hidden: HiddenActions, observation: Element, action_mask: ArrayLike | None = None
    ) -> int:
        state = self.reader.read(observation)
        row = q[state] if action_mask is None else hidden.seen_through(state, action_mask)
        return int(row.argmax()) + self.reader.first_action

    def greedy(self) -> Greedy:
        """Return the greedy policy, which counts the states that it visits."""
        return Greedy(self.q, self.hidden, self.reader)

    is_stochastic = False  # a table has values, which make no policy to draw from

    def policy(self) -> Memory:
        """Return what decides about actions, and how often each pair was visited."""
        hidden = self.hidden.to_dict()
        if self.table.worth is not None:  # masks write elsewhere than into the values
            hidden["values"] = np.array(
                [self.hidden.values(state)[action] for state, action in hidden["places"]]
            )
        return {"q": self.q.copy(), "hidden": hidden, "visits": self.table.visits.copy()}

    def table_of(self, policy: Memory) -> tuple[Floats, HiddenActions, Floats]:
        """Return the values, the hidden actions and the visits of a policy that was kept, or say why it does not fit."""
        check_arrays(
            {"q": self.q, "visits": self.table.visits},
            {name: policy[name] for name in policy if name != "hidden"},
        )
        return (
            policy["q"],
            HiddenActions.restored(policy["q"], self.hidden.name, policy["hidden"]),
            policy["visits"],
        )

    def chooser(self, policy: Memory | None, seed: int | None = None) -> Choose:
        """Return a policy that was kept, or the present one."""
        assert seed is None
        return self.greedy() if policy is None else Greedy(*self.table_of(policy)[:2], self.reader)

    def begin(self) -> None:
        """Begin an episode, unless one is in progress."""
        if self._left is not None:
            (place, position), self._left = self._left, None
            self._go_to(place, position)
        if self._at is None:
            state = self._arrive(self.trace.reset())
            self._at = state, *self.table.draw(state)

    def go_to(self, place: SavedPlace | None, position: Position) -> None:
        """Restore the environment to a saved position; if that fails, the next step begins a new episode.

        If that means replaying the actions of an episode, it is deferred until training continues, so that a
        learner that is only queried for its policy loads at once.
        """
        if place is not None and place["kind"] == "replay":
            self._left = place, position
        else:
            self._go_to(place, position)

    def _go_to(self, place: SavedPlace | None, position: Position) -> None:
        shown_there = self.trace.go_to(place)
        if shown_there is not None and self._arrive(shown_there) == position[0]:
            self._at = position

    def _arrive(self, shown_there: Shown) -> int:
        """Return the environment's current state, after applying its mask."""
        state, mask = self._begun(*shown_there)
        if mask is not None:
            self.hidden.apply(state, mask)
        return state

    def _begun(self, observation: Element, info: Info) -> tuple[int, ArrayLike | None]:
        """Return the environment's state and mask where an episode begins or continues."""
        self._clock.begin(info)
        state = self.reader.states.index(observation)
        return state, self._mask(state, observation, info)

    def _mask(self, state: int, observation: Element, info: Info) -> ArrayLike | None:
        """Return the mask of a state; None if no action is hidden there, since without a mask all are allowed."""
        mask = self.reader.mask(observation, info)
        return self.hidden.lifted(state) if mask is None else mask

    def advance(self, last: float, until: float, asked: list[int]) -> None:
        """Take steps until there are `last` in total, the time `until` is reached, or the end is requested."""
        assert self._at is not None
        reader, table = self.reader, self.table
        step, read, index, find_mask = self.env.step, reader.duration, reader.states.index, self._mask
        learn, first, clock, record = table.advance, reader.first_action, table.clock, self.trace.recorder
        state, action, explored = self._at
        is_inside = table.learns_inside
        tick = None if reader.clock_key is None else self._clock
        low, high = self.limits.low, self.limits.high
        left = last - self.totals.steps
        while left > 0 and clock[0] < until and not asked:
            self._at = None  # until this step is complete: if it is interrupted, a new episode begins
            returned = step(action + first)
            if record is not None:
                record(action + first)
            try:
                if type(returned) is not tuple or len(returned) != 5:
                    parts_of(returned)  # raises a descriptive error
                observation, reward, terminated, truncated, info = returned
                duration = read(observation, action + first, info)
                if type(reward) is not float or not -_INF < reward < _INF:
                    reward = reward_of(reward)  # or raises a descriptive error
                next_state = index(observation)
                mask = find_mask(next_state, observation, info)
                must_be_taken(info)
                if tick is not None:
                    tick.advance(info, duration)
            except (TypeError, ValueError) as error:
                raise ValueError(f"step {self.totals.steps}: {error}") from error
            if not low * duration <= reward <= high * duration:
                low, high = self.limits.see(reward, duration)
            if is_inside:
                left -= len(info["frames"]) - 1
                position = self._inside((state, action, explored), info["frames"], terminated, truncated)
                state, action, explored = position
            elif mask is None and not (terminated or truncated):
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

    def _inside(self, begun: Position, frames: list[Frame], terminated: bool, truncated: bool) -> Position:
        """Learn from all steps inside an option, and continue from where it ended."""
        state, action, explored = begun
        table, states = self.table, [state]
        for frame in frames:
            states.append(self.reader.states.index(frame.observation))
            if frame.action_mask is not None:
                self.hidden.apply(states[-1], frame.action_mask)
        go_on = states[-1]
        if terminated or truncated:
            go_on, mask = self._begun(*self.trace.reset())
            if mask is not None:
                self.hidden.apply(go_on, mask)
            if terminated:  # the last action led to where the next episode begins
                states[-1] = go_on
        for place, frame in enumerate(frames):
            here, there = states[place : place + 2]
            self.limits.see(frame.reward, frame.duration)
            table.advance(here, action, frame.reward, frame.duration, there, explored, -1)
        return go_on, *table.draw(go_on)

    def _unusual(
        self, seen: Transition, mask: ArrayLike | None, terminated: bool, truncated: bool
    ) -> Position:
        """Learn from a step that ends an episode or leads where not all actions are allowed, and continue from there.

        What the agent learns about the state that it leaves depends on the mask there; what it expects of the
        next state depends on that state's own mask. If both are the same state, an agent that looks ahead
        sees the state with its new mask in a spare row.
        """
        state, action, reward, duration, next_state, explored = seen
        table, go_on, mask_there = self.table, next_state, mask
        if terminated or truncated:
            mask = copy.copy(mask)  # the reset may reuse the array
            go_on, mask_there = self._begun(*self.trace.reset())
            if terminated:  # the last action led to the first state of the next episode
                next_state, mask = go_on, mask_there
        if mask is None and mask_there is None:
            return go_on, *table.advance(state, action, reward, duration, next_state, explored, go_on)
        if mask is not None and next_state != state:
            self.hidden.apply(next_state, mask)
        elif mask is not None and table.looks_ahead and not self.hidden.is_known(state, mask):
            next_state = self._shown_apart(state, mask)
        table.advance(state, action, reward, duration, next_state, explored, -1)
        if mask_there is not None:
            self.hidden.apply(go_on, mask_there)
        return go_on, *table.draw(go_on)

    def _shown_apart(self, state: int, mask: ArrayLike) -> int:
        """Return the spare row, filled with a state's values under a mask."""
        values = self.hidden.seen_through(state, mask)
        if self.table.spare < 0:
            self.table.make_spare()
            self.hidden.q = self.table.q[: self.table.spare]
        self.table.q[self.table.spare] = values
        return self.table.spare


class ObservingDriver:
    """An agent of observations in its environments, and their current positions."""

    def __init__(self, agent: ObservingAgent, places: Places) -> None:
        self.agent, self.places, self.totals = agent, places, Totals()
        self.reader, self.seed, self.env = places.reader, places.seed, places.env
        self.limits = RateLimits(self.rate)
        self.recipe: Recipe | None = None

    @property
    def rate(self) -> float:
        """The learned rate."""
        return float(self.agent.rate)

    @property
    def largest_value(self) -> float:
        """The largest absolute weight, if the agent is one of Sojourn's."""
        return self.agent.largest_weight if isinstance(self.agent, OURS) else 0.0

    @property
    def error(self) -> float:
        """How far values were from their aims, if the agent is a network of Sojourn's, in units of rewards; else nan."""
        return self.agent.error if isinstance(self.agent, NetworkAgent) else math.nan

    def begin(self) -> None:
        """Begin episodes, unless they are in progress."""
        self.places.begin()

    def advance(self, last: float, until: float, asked: list[int]) -> None:
        """Take steps until there are `last` in total, the time `until` is reached, or the end is requested."""
        agent, places = self.agent, self.places
        while self.totals.steps < last and self.totals.duration < until and not asked:
            actions, explored = agent.draw(places.observations, places.allowed)
            if np.asarray(actions).dtype.kind == "f" and not np.isfinite(actions).all():
                raise ValueError(
                    f"step {self.totals.steps}: the agent chose the action {shown(np.asarray(actions).tolist())}, so it "
                    "has diverged; train it again with a smaller step size"
                )
            try:
                steps = places.step(actions, explored)
            except (TypeError, ValueError) as error:
                raise ValueError(f"step {self.totals.steps}: {error}") from error
            if len(steps.rewards):
                agent.learn(steps)
                self.totals = _counted(self.totals, steps)
                self.limits.see_all(steps.rewards, steps.durations)

    def warnings(self) -> list[str]:
        """Return the warnings that are due."""
        return (
            []
            if self.is_sound
            else ["the weights or the rate are no longer finite; a smaller step size may help"]
        )

    @property
    def is_sound(self) -> bool:
        """Whether the rate and all weights are finite."""
        return math.isfinite(self.rate) and math.isfinite(self.largest_value)

    def act(self, observation: Element, action_mask: ArrayLike | None = None) -> Any:
        """Return the best action for an observation, of those that a mask allows."""
        return self._chosen(self.agent.greedy, observation, action_mask)

    def _chosen(self, choose: Any, observation: Element, action_mask: ArrayLike | None) -> Any:
        seen, allowed = self.reader.read(observation), self.reader.checked(action_mask)
        return self.reader.env_action(choose(seen[np.newaxis], allowed[np.newaxis]))

    def greedy(self) -> Choose:
        """Return the greedy policy."""
        return self.act

    def acting(self, policy: Memory) -> Choose:
        """Return `act` of a policy that was kept."""
        return self.chooser(policy)

    @property
    def is_stochastic(self) -> bool:
        """Whether the agent has a policy to draw from; one of yours says so itself."""
        return bool(getattr(self.agent, "is_stochastic", False))

    def policy(self) -> Memory | None:
        """Return what decides about actions; None if the agent is one of yours that cannot say it."""
        agent: Any = self.agent
        return agent.policy() if hasattr(agent, "policy") and hasattr(agent, "with_policy") else None

    def agent_of(self, policy: Memory | None, seed: int | None = None) -> Any:
        """Return an agent that acts by a policy that was kept, or by the present one; with a seed it can draw."""
        agent: Any = self.agent
        return agent.with_policy(agent.policy() if policy is None else policy, seed)

    def chooser(self, policy: Memory | None, seed: int | None = None) -> Choose:
        """Return a policy that was kept, or the present one; with a seed, actions are drawn from it."""
        if policy is None and seed is None:
            return self.act
        agent = self.agent_of(policy, seed)
        choose = agent.greedy if seed is None else lambda seen, allowed: agent.draw(seen, allowed)[0]
        return partial(self._chosen, choose)


Driver: TypeAlias = TableDriver | ObservingDriver


def _counted(totals: Totals, steps: Transitions) -> Totals:
    """Add these steps to the totals; those that did not explore are the greedy ones."""
    rewards, durations, greedy = steps.rewards, steps.durations, ~steps.explored
    if len(rewards) == 1:
        return counted(totals, float(rewards[0]), float(durations[0]), bool(greedy[0]))
    columns = (rewards, durations, greedy, rewards[greedy], durations[greedy])
    more = (len(rewards), *(column.sum().item() for column in columns))
    return Totals._make(map(operator.add, totals, more))


# --- Ctrl-C ends the work between two steps, never within one --------------------------


class _Asking:
    """Records Ctrl-C, and interrupts if it is pressed again more than a second later."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._first = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self._first = time.monotonic()
        elif time.monotonic() - self._first > _STORM:
            raise KeyboardInterrupt
        self.asked.append(number)


@contextlib.contextmanager
def interruptible() -> Iterator[list[int]]:
    """Yield a list that stays empty until Ctrl-C is pressed; a second press, more than a second later, interrupts at once.

    Inside another such block, the list is the same.
    """
    outer = signal.getsignal(signal.SIGINT)
    if isinstance(outer, _Asking) and threading.current_thread() is threading.main_thread():
        yield outer.asked
        return
    asking = _Asking()
    with _handled_by(asking):
        try:
            yield asking.asked
        finally:
            noted = getattr(outer, "noted", None)  # the command line's handler ignores further signals
            if asking.asked and noted is not None:
                noted()


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C during something short, such as writing a file."""
    with _handled_by(lambda number, frame: None):
        yield


@contextlib.contextmanager
def _handled_by(handler: signal._HANDLER) -> Iterator[None]:
    """Install another handler for Ctrl-C temporarily; only the main thread is ever interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
