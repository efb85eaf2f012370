"""A world as a Gymnasium environment.

One step takes about 1.5 microseconds, most of them for the call into compiled code and back; the
same rule in Python takes 8 to 16. To pass a world in and get a new one back would take longer,
and an interrupt on the way back would crash Numba. So the environment holds its world as arrays
of one number each, and the kernel writes into them.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypedDict

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from sojourn.data.numbers import finite, shown, unmasked, within
from sojourn.envs.protocol import FORBIDDEN, Info, warn_of
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told
from sojourn.rules.kernel import gradually, kernel
from sojourn.rules.random import Stream, check_stream, streams
from sojourn.rules.values import Column, V, Value, is_value, named_fields, put, same, take, with_fields
from sojourn.rules.vectors import Action, State, spot, state_in, write_state
from sojourn.worlds.protocol import (
    Fault,
    NotDrawnError,
    World,
    controlled,
    explain_step,
    extent,
    first_state,
    gain,
    is_masked,
    moving,
    observed,
    ready_world,
    rehearse_world,
    start,
    step,
)

_start, _step = start.bare, step.bare

_REWARD, _DURATION, _CLOCK, _STEPS, _STATE = range(5)  # the state is the rest, however many numbers it has

Advance: TypeAlias = Callable[[World, Column, State, Action, Stream], None]


class WorldPlace(TypedDict):
    """Where an environment stands, as numbers."""

    world: str
    held: list[bool | float]
    now: list[float]
    stream: list[int]


Number: TypeAlias = int | np.integer  # of a state or of an action
Seen: TypeAlias = Number | Floats  # an observation
Given: TypeAlias = Number | float | Floats  # an action, as the caller gives it


@told
class WorldEnv(gymnasium.Env[Seen, Given]):
    """Any world as a Gymnasium environment.

    ## Description
    The environment moves exactly as the world does in `sojourn.run`: after `reset(seed=s)` its
    random numbers are those of the world in `run(world, agent, steps, seed=s)`, bit for bit. `reset()`
    without a seed begins another episode, and the random numbers go on, like `episodes` in `run`.

    ## Observation space
    `Discrete(world.num_states)`: the state. Where states are vectors, a `Box` of float64.

    ## Action space
    `Discrete(world.num_actions)`. Where actions are numbers, a `Box` of one number.

    ## Rewards
    The total over the step, never a rate.

    ## Durations
    `info["duration"]` is how long the step took, finite and at least 0; `info["clock"]` is
    the sum since the reset, and 0 in the reset's own info.

    ## Actions that a state lacks
    Where some states lack some actions, `info["action_mask"]` has a 1 for each action of the state. Draw by it, as in
    `action_space.sample(info["action_mask"])`; without an argument, `sample()` draws by the mask of the current state.
    If another action is taken nevertheless, as a vector of environments does that draws from its own space, nothing
    happens: the state stays, the reward and the duration are 0, and no random number is drawn. The environment warns
    the first time, and `info["forbidden_action"]` is the action; a `Learner` refuses such a step.

    ## Episode end
    Never: `terminated` and `truncated` stay False. A `TimeLimit` may truncate.

    ## Arguments
    `world`: the world; it is not changed.
    `compiled`: whether steps are compiled once there have been so many that it is worth it. With False the
    same source runs in Python, about eight times slower, so that a debugger can follow it.

    >>> from sojourn.worlds.two_state import TwoState
    >>> env = WorldEnv(TwoState(log_scale=1e-3), compiled=False)
    >>> env.reset(seed=0)
    (0, {'clock': 0.0})
    >>> env.step(1)
    (1, 10.0, False, False, {'duration': 11.0, 'clock': 11.0})
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    @told
    def __init__(self, world: World, *, compiled: bool = True) -> None:
        self.world = ready_world(world)
        rehearse_world(self.world)
        self.compiled = compiled
        self._states = states_of(self.world)
        self._actions = actions_of(self.world, self._states.is_masked)
        self.observation_space, self.action_space = self._states.space, self._actions.space
        self._stack = _stack_of(self.world)
        length = len(self._states.like) if isinstance(self._states.like, tuple) else 1
        self._now: Column = np.zeros(_STATE + length)
        self._entries: list[float] = [0.0] * self._states.num_seen  # of the current state
        self._mask: Masks | None = None  # of the current state, if it lacks actions
        self._has_warned = False  # of an action that was not allowed
        self._rng: Stream = streams(0, 2)[0]
        self._has_stream = False  # of its own: the first reset gives it one
        self._advance: Advance = _not_reset

    @property
    def gain(self) -> float | None:
        """The exact gain, the most that can be earned per unit of time; None if there is no single one, or it is unknown.

        In a world that changes at known times, it is the gain at the start of an episode.
        """
        try:
            return gain(self.world)
        except NotDrawnError:
            return None

    @told
    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Seen, Info]:
        """Begin an episode; with a seed, the first episode of that seed."""
        super().reset(seed=seed)
        if seed is not None or not self._has_stream:
            self._has_stream = True
            self._rng = streams(self._entropy() if seed is None else seed, 2)[0]
            put(self._stack, 0, self.world)
        world, state = _start(take(self._stack, 0), self._rng)
        self._now[:_STATE] = 0.0
        write_state(self._now, _STATE, state)
        entries = self._now[_STATE:].tolist()
        if not self._states.is_sound(entries):
            raise ValueError(explain_step(world, "you", 0, Fault(-1, -1, 0.0, 1.0, spot(state))))
        put(self._stack, 0, world)
        if self._advance is _not_reset:
            self._advance = self._prepared()
        return self._states.observation(entries), self._with_mask({"clock": 0.0}, entries)

    def step(self, action: Given) -> tuple[Seen, float, bool, bool, Info]:
        """Take one action."""
        taken, before = self._actions.taken(action), self._entries[0]
        if self._mask is not None and not self._mask[int(taken)]:
            return self._stayed(int(taken))
        self._advance(self._stack, self._now, self._states.like, taken, self._rng)
        reward, duration, clock, steps, *entries = self._now.tolist()
        if not (self._states.is_sound(entries) and 0.0 <= duration < np.inf and abs(reward) < np.inf):
            self._advance, self._mask = _not_reset, None
            there = spot(state_in(self._now, _STATE, self._states.like))
            fault = Fault(before, taken, reward, duration, there)
            raise ValueError(explain_step(self.world, "you", int(steps) - 1, fault))
        info = self._with_mask({"duration": duration, "clock": clock}, entries)
        return self._states.observation(entries), reward, False, False, info

    def _stayed(self, action: int) -> tuple[Seen, float, bool, bool, Info]:
        """Return a step in which nothing happened, because the state lacks the action."""
        if not self._has_warned:
            self._has_warned = True
            warn_of(action, self)
        info: Info = {"duration": 0.0, "clock": float(self._now[_CLOCK]), FORBIDDEN: action}
        self._with_mask(info, self._entries)
        return self._states.observation(self._entries), 0.0, False, False, info

    def place(self) -> WorldPlace:
        """Return where the environment stands, as numbers that `go_to` takes to bring it back there."""
        if not self._has_stream:
            raise RuntimeError("the environment has not begun an episode; call reset() first")
        return {
            "world": digest(self.world),
            "held": _numbers(take(self._stack, 0)),
            "now": self._now.tolist(),
            "stream": [int(word) for word in self._rng],
        }

    @told
    def go_to(self, place: WorldPlace) -> Seen | None:
        """Go to where an environment of the same world stood; return the observation, or None if the world differs."""
        if place["world"] != digest(self.world):
            return None
        self.reset(seed=0)
        world = take(self._stack, 0)
        if len(place["held"]) != len(_numbers(world)):
            raise ValueError("the place does not have as many numbers as the world")
        own, world = world, ready_world(_with_numbers(world, iter(place["held"])))  # which may be anything
        if not _is_moved(ready_world(own), world):
            raise ValueError("the place is in a world of other settings")
        rng = check_stream(np.array(place["stream"], dtype=np.uint64))
        now = np.array(place["now"], dtype=np.float64)
        entries = now[_STATE:].tolist()
        if now.shape != self._now.shape or not self._states.is_sound(entries):
            raise ValueError("the place does not have a state of the world")
        # In Python, which checks bounds.
        _step(world, state_in(now, _STATE, self._states.like), self._actions.like, rng.copy())
        put(self._stack, 0, world)
        self._rng = rng
        self._now[:] = now
        self._with_mask({}, entries)
        return self._states.observation(entries)

    def _with_mask(self, info: Info, entries: list[float]) -> Info:
        """Remember the entries of the current state, and add its mask to info if it has one."""
        self._entries = entries
        self._mask = self._states.mask(entries)
        if self._mask is not None:
            info["action_mask"] = self._actions.allow(self._mask)
        return info

    def _entropy(self) -> int:
        """Return a seed where none was given: Gymnasium's own, unless its generator was replaced."""
        seed = self.np_random_seed
        return seed if seed >= 0 else int(self.np_random.integers(2**63))

    def _prepared(self) -> Advance:
        if not self.compiled:
            return _advance.python
        like = (self._stack, self._now, self._states.like, self._actions.like, self._rng)
        return gradually(_advance, like, use=functools.partial(setattr, self, "_advance"))

    def __getstate__(self) -> dict[str, Any]:
        # The world is pickled as a value. Machine code is not pickled, since it is found again.
        begun = self._advance is not _not_reset
        return self.__dict__ | {"_stack": take(self._stack, 0), "_advance": begun}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.world, self._stack = ready_world(self.world), _stack_of(ready_world(self._stack))
        self._advance = self._prepared() if state["_advance"] else _not_reset


@kernel
def _advance(stack: World, now: Column, like: State, action: Action, rng: Stream) -> None:
    """Take one step and write its result into `stack` and `now`; `like` is an example of the world's states."""
    world, next_state, reward, duration = _step(take(stack, 0), state_in(now, _STATE, like), action, rng)
    put(stack, 0, world)
    write_state(now, _STATE, next_state)
    now[_REWARD] = reward
    now[_DURATION] = duration
    now[_CLOCK] += duration
    now[_STEPS] += 1


def _stack_of(world: V) -> V:
    """Return a stack of one world that shares the world's arrays."""
    fields = {
        name: _stack_of(field) if is_value(field) else np.asarray(field)[np.newaxis]
        for name, field in named_fields(world)
    }
    return with_fields(world, **fields)


def digest(world: Value) -> str:
    """Return a hash of everything in a world, which tells it from others."""
    whole = hashlib.sha256(type(world).__name__.encode())
    for field in world:
        if isinstance(field, np.ndarray):
            whole.update(field.tobytes())
        else:
            whole.update((digest(field) if is_value(field) else repr(field)).encode())
    return whole.hexdigest()


def _numbers(world: Value) -> list[float]:
    """Return the numbers of a world that are not in arrays: those that can change."""
    numbers: list[float] = []
    for field in world:
        if is_value(field):
            numbers += _numbers(field)
        elif not isinstance(field, np.ndarray):
            numbers.append(field.item() if isinstance(field, np.generic) else field)
    return numbers


def _with_numbers(world: V, numbers: Iterator[float]) -> V:
    """Return a world with these numbers in it."""
    fields = {
        name: _with_numbers(field, numbers) if is_value(field) else type(field)(next(numbers))
        for name, field in named_fields(world)
        if not isinstance(field, np.ndarray)
    }
    return with_fields(world, **fields)


def _is_moved(one: Any, other: Any) -> bool:
    """Whether two worlds, or parts of worlds, differ only in what changes while they move."""
    free = moving(one)
    for name, field in named_fields(one):
        there = getattr(other, name)
        if is_value(field) and name in free:
            if not _is_moved(field, there):
                return False
        elif name not in free and not same(field, there):
            return False
    return True


def _not_reset(stack: World, now: Column, like: State, action: Action, rng: Stream) -> None:
    raise RuntimeError("the environment has not begun an episode; call reset() before step()")


# --- What an environment shows of a world ---------------------------------------------

Masks: TypeAlias = NDArray[np.int8]  # states by actions, or the row of one state


class AllowedActions(Discrete):
    """Actions numbered from 0; without arguments, `sample` draws one that is allowed now.

    >>> space = AllowedActions(3)
    >>> space.allowed = np.array([0, 1, 0], dtype=np.int8)
    >>> int(space.sample()), space == Discrete(3)
    (1, True)
    """

    allowed: Masks | None = None

    def sample(  # type: ignore[override] # as in all versions
        self, mask: Masks | None = None, **options: Masks | None
    ) -> np.int64:
        """Draw an action."""
        return super().sample(self.allowed if mask is None and not options else mask, **options)


# --- States -----------------------------------------------------------------------------


class NumberedStates:
    """States 0, 1, ...; the actions of each are known from the start."""

    def __init__(self, world: World) -> None:
        self.num_states, self.num_seen = int(extent(world)[0]), 1
        self.like: State = 0
        self.space: gymnasium.Space[Any] = Discrete(self.num_states)
        available = np.asarray(getattr(world, "available", True))
        self._masks: Masks | None = None if available.all() else available.astype(np.int8)
        self.is_masked = self._masks is not None

    def is_sound(self, entries: list[float]) -> bool:
        """Whether these are the numbers of a state."""
        return 0 <= entries[0] < self.num_states

    def observation(self, entries: list[float]) -> Seen:
        """Return what is seen of a state."""
        return int(entries[0])

    def mask(self, entries: list[float]) -> Masks | None:
        """Return a 1 for each action that the state has; None if every state has all of them."""
        return None if self._masks is None else self._masks[int(entries[0])]


class VectorStates:
    """States that are vectors; they may say themselves which actions they have."""

    def __init__(self, world: World) -> None:
        bounds = observed(world)
        assert bounds is not None
        self.like: State = first_state(world)
        self.num_seen = len(bounds.low)
        self.space: gymnasium.Space[Any] = Box(np.array(bounds.low), np.array(bounds.high), dtype=np.float64)
        self.is_masked = is_masked(world, self.like)

    def is_sound(self, entries: list[float]) -> bool:
        """Whether these are the numbers of a state."""
        return all(map(math.isfinite, entries))

    def observation(self, entries: list[float]) -> Seen:
        """Return what is seen of a state."""
        return np.array(entries[: self.num_seen])

    def mask(self, entries: list[float]) -> Masks | None:
        """Return a 1 for each action that the state has; None if every state has all of them."""
        return np.array(entries[self.num_seen :], dtype=np.int8) if self.is_masked else None


States: TypeAlias = NumberedStates | VectorStates


def states_of(world: World) -> States:
    """Return how a world's states are seen."""
    return NumberedStates(world) if observed(world) is None else VectorStates(world)


# --- Actions ----------------------------------------------------------------------------


class ListedActions:
    """Actions 0, 1, ..."""

    def __init__(self, num_actions: int, is_masked: bool) -> None:
        self._num_actions = num_actions
        self._is_masked = is_masked
        self.choices = AllowedActions(num_actions)
        self.space: gymnasium.Space[Any] = self.choices if is_masked else Discrete(num_actions)
        self.like: Action = 0

    def taken(self, action: Given) -> Action:
        """Return an action as the world takes it, or refuse it."""
        if type(action) is int and 0 <= action < self._num_actions:
            return action
        return within("action", action, self._num_actions)

    def allow(self, mask: Masks) -> Masks:
        """Let the space draw by the mask of the state, and return a copy of it to show."""
        self.choices.allowed = mask
        return mask.copy()


class NumericActions:
    """Actions that are numbers; an array of one number is accepted, too."""

    def __init__(self, low: float, high: float) -> None:
        self.space: gymnasium.Space[Any] = Box(low, high, (1,), dtype=np.float64)
        self.like: Action = 0.0

    def taken(self, action: Given) -> Action:
        """Return an action as the world takes it, or refuse it."""
        if np.size(unmasked("action", action)) != 1:
            raise ValueError(f"action is {shown(action)}; it must be one number")
        return finite("action", np.asarray(action).reshape(-1)[0])

    def allow(self, mask: Masks) -> Masks:
        """Return a copy of the mask; numbers are not masked."""
        return mask.copy()


Actions: TypeAlias = ListedActions | NumericActions


def actions_of(world: World, is_masked: bool) -> Actions:
    """Return how a world's actions are given."""
    bounds = controlled(world)
    if bounds is None:
        return ListedActions(int(extent(world)[1]), is_masked)
    return NumericActions(bounds.low[0], bounds.high[0])
