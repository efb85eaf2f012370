"""A world as a Gymnasium environment.

One step takes about 1.5 microseconds, most of it for the way into compiled code and back, where
the rule in Python takes 8 to 16. To hand a world over and get a new one back would take longer,
and an interrupt on the way back would crash Numba; so the environment holds its world as arrays
of one number each, and the kernel writes into them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypedDict

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from sojourn.envs.protocol import Info
from sojourn.rules.compile import kernel
from sojourn.rules.numbers import within
from sojourn.rules.stacks import put, take
from sojourn.rules.streams import Stream, check_stream, streams
from sojourn.rules.values import Column, V, Value, is_value, named_fields, replaced
from sojourn.worlds.checks import explain_step, ready_world, rehearse_world
from sojourn.worlds.protocol import World, start, step

_start, _step = start.bare, step.bare

_STATE, _REWARD, _DURATION, _CLOCK, _STEPS = range(5)

Number: TypeAlias = int | np.integer  # of a state or of an action
Masks: TypeAlias = NDArray[np.int8]  # states by actions, or the row of one state
Advance: TypeAlias = Callable[[World, Column, int, Stream], None]


class WorldPlace(TypedDict):
    """Where an environment stands, as numbers."""

    world: str
    held: list[bool | float]
    state: int
    now: list[float]
    stream: list[int]


class WorldEnv(gymnasium.Env[Number, Number]):
    """Any world as a Gymnasium environment.

    ## Description
    The environment moves exactly as the world does in `sojourn.run`: after `reset(seed=s)` it
    shows the world noise of `run(world, agent, steps, seed=s)`, bit for bit. `reset()` without
    a seed begins another episode with the random numbers going on, like `episodes` in `run`.

    ## Observation space
    `Discrete(world.num_states)`: the state.

    ## Action space
    `Discrete(world.num_actions)`.

    ## Rewards
    The total over the step, never a rate.

    ## Durations
    `info["duration"]` is how long the step took, finite and at least 0; `info["clock"]` is
    the sum since the reset, and 0 in the reset's own info.

    Where some states lack some actions, `info["action_mask"]` has a 1 for each action of the state,
    `action_space.sample()` draws one of these, and any other is refused.

    ## Episode end
    Never: `terminated` and `truncated` stay False. A `TimeLimit` may truncate.

    ## Arguments
    `world`: the world; it is not changed.
    `compiled`: whether steps are compiled, at the first reset. With False the same source runs
    in Python, about eight times slower, for a debugger.

    >>> from sojourn.worlds.two_state import TwoState
    >>> env = WorldEnv(TwoState(log_scale=1e-3), compiled=False)
    >>> env.reset(seed=0)
    (0, {'clock': 0.0})
    >>> env.step(1)
    (1, 10.0, False, False, {'duration': 11.0, 'clock': 11.0})
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, world: World, *, compiled: bool = True) -> None:
        self.world = ready_world(world)
        rehearse_world(self.world)
        self.compiled = compiled
        self.observation_space = Discrete(self.world.num_states)
        self._num_states, self._num_actions = int(self.world.num_states), int(self.world.num_actions)
        self._masks = _masks(self.world)
        self._choices = AllowedActions(self.world.num_actions)
        self.action_space = Discrete(self.world.num_actions) if self._masks is None else self._choices
        self._held = _held(self.world)
        self._now: Column = np.zeros(5)
        self._state = 0
        self._rng: Stream = streams(0, 2)[0]
        self._has_stream = False  # of its own: the first reset gives it one
        self._advance: Advance = _not_reset

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[int, Info]:
        """Begin an episode; with a seed, the first one of that seed."""
        super().reset(seed=seed)
        if seed is not None or not self._has_stream:
            self._has_stream = True
            self._rng = streams(self._entropy() if seed is None else seed, 2)[0]
            put(self._held, 0, self.world)
        world, state = _start(take(self._held, 0), self._rng)
        state = within(f"the first state of {type(world).__name__}", state, self._num_states)
        put(self._held, 0, world)
        self._state = state
        self._now[:] = (state, 0.0, 0.0, 0.0, 0.0)
        if self._advance is _not_reset:
            self._advance = self._prepared()
        info: Info = {"clock": 0.0}
        if self._masks is not None:
            info["action_mask"] = self._allowed(self._masks[state])
        return state, info

    def step(self, action: Number) -> tuple[int, float, bool, bool, Info]:
        """Take one action."""
        if type(action) is not int or not 0 <= action < self._num_actions:
            action = within("action", action, self._num_actions)
        self._advance(self._held, self._now, action, self._rng)
        next_state, reward, duration, clock, steps = self._now.tolist()
        if not (0 <= next_state < self._num_states and 0.0 <= duration < np.inf and abs(reward) < np.inf):
            self._advance = _not_reset
            raise ValueError(
                explain_step(
                    self.world, "you", int(steps) - 1, self._state, action, reward, duration, next_state
                )
            )
        self._state = state = int(next_state)
        info: Info = {"duration": duration, "clock": clock}
        if self._masks is not None:
            info["action_mask"] = self._allowed(self._masks[state])
        return state, reward, False, False, info

    def place(self) -> WorldPlace:
        """Return where the environment stands, as numbers: what `go_to` needs to bring it back there."""
        if not self._has_stream:
            raise RuntimeError("the environment has not begun an episode; call reset() first")
        return {
            "world": digest(self.world),
            "held": _numbers(take(self._held, 0)),
            "state": self._state,
            "now": self._now.tolist(),
            "stream": [int(word) for word in self._rng],
        }

    def go_to(self, place: WorldPlace) -> int | None:
        """Go where an environment of the same world stood; return its state, or None if the world is another."""
        if place["world"] != digest(self.world):
            return None
        self.reset(seed=0)
        world = take(self._held, 0)
        if len(place["held"]) != len(_numbers(world)):
            raise ValueError("the world has another number of numbers")
        world = ready_world(_with_numbers(world, iter(place["held"])))  # numbers may be anything
        rng = check_stream(np.array(place["stream"], dtype=np.uint64))
        state = within("state", place["state"], self._num_states)
        if len(place["now"]) != len(self._now) or place["now"][_STATE] != state:
            raise ValueError("it does not say in one state where it stands")
        _step(world, state, 0, rng.copy())  # in Python, which looks for bounds
        put(self._held, 0, world)
        self._rng, self._state = rng, state
        self._now[:] = place["now"]
        if self._masks is not None:
            self._allowed(self._masks[state])
        return state

    def _allowed(self, mask: Masks) -> Masks:
        """Let the action space draw by the mask of the state, and return a copy of it to show."""
        self._choices.allowed = mask
        return mask.copy()

    def _entropy(self) -> int:
        """Return a seed where none was given: Gymnasium's own, unless its generator was replaced."""
        seed = self.np_random_seed
        return seed if seed >= 0 else int(self.np_random.integers(2**63))

    def _prepared(self) -> Advance:
        if not self.compiled:
            return _advance.python
        return _advance.prepared(self._held, self._now, 0, self._rng)

    def __getstate__(self) -> dict[str, Any]:
        # A world is pickled as itself; machine code not at all, it is found again.
        begun = self._advance is not _not_reset
        return self.__dict__ | {"_held": take(self._held, 0), "_advance": begun}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.world, self._held = ready_world(self.world), _held(ready_world(self._held))
        self._advance = self._prepared() if state["_advance"] else _not_reset


class AllowedActions(Discrete):
    """Actions numbered from 0, of which `sample` draws one that is allowed now, unless told otherwise.

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


@kernel
def _advance(held: World, now: Column, action: int, rng: Stream) -> None:
    """Take one step, from what `held` and `now` are to what they become."""
    world, next_state, reward, duration = _step(take(held, 0), int(now[_STATE]), action, rng)
    put(held, 0, world)
    now[_STATE] = next_state
    now[_REWARD] = reward
    now[_DURATION] = duration
    now[_CLOCK] += duration
    now[_STEPS] += 1


def _held(world: V) -> V:
    """Return a stack of one that shares the world's arrays."""
    fields = {
        name: _held(field)
        if is_value(field)
        else field[np.newaxis]
        if isinstance(field, np.ndarray)
        else np.array([field])
        for name, field in named_fields(world)
    }
    return replaced(world, **fields)


def _masks(world: World) -> Masks | None:
    """Return the mask of every state, as Gymnasium's spaces take them; None if every state has all actions."""
    available = np.asarray(getattr(world, "available", True))
    return None if available.all() else available.astype(np.int8)


def digest(world: Value) -> str:
    """Return a hash of all that is in a world, which tells it from others."""
    whole = hashlib.sha256(type(world).__name__.encode())
    for field in world:
        whole.update(
            digest(field).encode()
            if is_value(field)
            else field.tobytes()
            if isinstance(field, np.ndarray)
            else repr(field).encode()
        )
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
    return replaced(world, **fields)


def _not_reset(held: World, now: Column, action: int, rng: Stream) -> None:
    raise RuntimeError("the environment has not begun an episode; call reset() before step()")
