"""Many copies of a world as one vector of environments, which step together in compiled code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from sojourn.data.numbers import shown, unmasked, whole, within
from sojourn.envs.protocol import FORBIDDEN, Info, warn_of
from sojourn.envs.worlds import NumberedStates, WorldEnv, actions_of, states_of
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.door import told
from sojourn.rules.kernel import gradually, kernel
from sojourn.rules.random import Stream, streams
from sojourn.rules.values import Column, V, is_value, named_fields, put, take, with_fields
from sojourn.rules.vectors import State, spot, state_in, write_state
from sojourn.worlds.protocol import Fault, World, explain_step, ready_world, rehearse_world, start, step

_start, _step = start.bare, step.bare

_REWARD, _DURATION, _CLOCK, _STEPS, _BEFORE, _STATE = range(
    6
)  # before: the state; the state is the rest of a row

_NONE_REFUSED, _SOME_REFUSED = -1, -2

Advance: TypeAlias = Callable[..., int]
Table: TypeAlias = NDArray[np.int8]


@told
class WorldVectorEnv(VectorEnv[Any, Any, Any]):
    """Copies of a world that step together, as `gymnasium.make_vec("sojourn/...", num_envs=64)` makes them.

    The numbers are those of as many single environments: after `reset(seed=s)` copy i moves as `sojourn.envs.WorldEnv` after
    `reset(seed=s + i)`, bit for bit. Infos are arrays, such as `infos["duration"]`, in the form of
    `gymnasium.vector.SyncVectorEnv`. Tasks never end; with `max_episode_steps` episodes are truncated, and the step after
    that is the reset (`AutoresetMode.NEXT_STEP`).

    `world`, `compiled`: as in `sojourn.envs.WorldEnv`. `num_envs`: how many copies.

    >>> from sojourn.worlds.two_state import TwoState
    >>> envs = WorldVectorEnv(TwoState(log_scale=1e-3), num_envs=2, compiled=False)
    >>> envs.reset(seed=0)[0]
    array([0, 0])
    >>> observations, rewards, *_, infos = envs.step([1, 0])
    >>> observations, rewards, infos["duration"].round(3)
    (array([1, 1]), array([10.,  0.]), array([11.   ,  0.883]))
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - Gymnasium declares it so

    @told
    def __init__(
        self, world: World, num_envs: int, *, compiled: bool = True, max_episode_steps: int | None = None
    ) -> None:
        self.world = ready_world(world)
        rehearse_world(self.world)
        self.num_envs, self.compiled = whole("num_envs", num_envs), compiled
        self.max_episode_steps = (
            None if max_episode_steps is None else whole("max_episode_steps", max_episode_steps)
        )
        self._states = states_of(self.world)
        self._actions = actions_of(self.world, self._states.is_masked)
        space = self._actions.space
        # Without the mask of one environment, which each of them would have otherwise.
        self.single_action_space = Discrete(int(space.n)) if isinstance(space, Discrete) else space
        self.single_observation_space = self._states.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        count, like, states = self.num_envs, self._states.like, self._states
        self._now: Floats = np.zeros((count, _STATE + (len(like) if isinstance(like, tuple) else 1)))
        self._stack = _stack_of(self.world, count)
        self._rngs = np.zeros((count, 4), dtype=np.uint64)
        self._over = np.zeros(count, dtype=np.bool_)  # those whose next step is a reset
        self._refused = np.zeros(count, dtype=np.bool_)
        self._masks: Table = np.zeros((0, 0), dtype=np.int8)  # by state, if states are listed
        num_states, mask_at = 0, -1
        if isinstance(states, NumberedStates):
            num_states = states.num_states
            if states.is_masked:
                self._masks = np.array(
                    [states.mask([float(one)]) for one in range(num_states)], dtype=np.int8
                )
        elif states.is_masked:
            mask_at = states.num_seen
        num_actions = int(space.n) if isinstance(space, Discrete) else 0
        self._sizes = num_states, num_actions, mask_at
        self._shape = (count,) if num_actions else ()  # of whole numbers as actions
        self._has_begun = self._has_warned = False
        self._advance: Advance = _advance_all.python

    def single(self) -> gymnasium.Env[Any, Any]:
        """Return a single environment like these."""
        env = WorldEnv(self.world, compiled=self.compiled)
        return env if self.max_episode_steps is None else TimeLimit(env, self.max_episode_steps)

    @told
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Info | None = None
    ) -> tuple[Any, Info]:
        """Begin an episode in each copy, or in those that `options["reset_mask"]` marks."""
        chosen = np.ones(self.num_envs, dtype=np.bool_)
        if options is not None and "reset_mask" in options:
            chosen = np.asarray(options["reset_mask"])
            if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_ or not chosen.any():
                raise ValueError(
                    f"reset_mask is {shown(options['reset_mask'])}; give an array of {self.num_envs} booleans, one of them True"
                )
        listed = [seed] * self.num_envs if seed is None else seed
        if isinstance(listed, int | np.integer):
            listed = [int(listed) + place for place in range(self.num_envs)]
        if len(listed) != self.num_envs:
            raise ValueError(
                f"seed is {shown(seed)}; give a number, or one for each of the {self.num_envs} environments"
            )
        for place in np.flatnonzero(chosen).tolist():
            self._begin(place, listed[place])
        if not self._has_begun:
            self._has_begun, self._advance = True, self._prepared()
        self._over[chosen] = False
        observations = self._observed()
        infos: Info = {"clock": np.zeros(self.num_envs), "_clock": chosen.copy()}
        if self._states.is_masked:
            infos["action_mask"] = self._masks_now(observations) * chosen[:, np.newaxis]
            infos["_action_mask"] = chosen.copy()
        return observations, infos

    def _begin(self, place: int, seed: int | None) -> None:
        """Begin an episode in one copy; without a seed, its random numbers go on."""
        if seed is None and not self._rngs[place].any():
            seed = int(self.np_random.integers(2**63))
        if seed is not None:
            self._rngs[place] = streams(seed, 2)[0]
            put(self._stack, place, self.world)
        rng: Stream = self._rngs[place]
        world, state = _start(take(self._stack, place), rng)
        self._now[place, :_STATE] = 0.0
        write_state(self._now[place], _STATE, state)
        if not self._states.is_sound(self._now[place, _STATE:].tolist()):
            raise ValueError(explain_step(world, "you", 0, Fault(-1, -1, 0.0, 1.0, spot(state))))
        put(self._stack, place, world)

    def step(self, actions: Any) -> tuple[Any, Floats, Flags, Flags, Info]:
        """Take an action in each copy."""
        if not self._has_begun:
            raise RuntimeError("the environments have not begun an episode; call reset() before step()")
        taken, over = self._taken(actions), self._over
        if self.max_episode_steps is not None:
            for place in np.flatnonzero(over).tolist():
                self._begin(place, None)
        wrong = self._advance(*self._arguments(taken))
        if wrong >= 0:
            self._fail(wrong, taken)
        observations = self._observed()
        columns = self._now.T
        infos: Info = {
            "clock": columns[_CLOCK].copy(),
            "_clock": np.ones(self.num_envs, dtype=np.bool_),
        }
        if self.max_episode_steps is None or not over.all():
            infos |= {"duration": columns[_DURATION].copy(), "_duration": ~over}
        if self._states.is_masked:
            infos["action_mask"] = self._masks_now(observations)
            infos["_action_mask"] = np.ones(self.num_envs, dtype=np.bool_)
            if wrong == _SOME_REFUSED:
                self._with_refused(infos, taken)
        ended = np.zeros(self.num_envs, dtype=np.bool_)
        if self.max_episode_steps is not None:
            ended = ~over & (columns[_STEPS] >= self.max_episode_steps)
            self._over = ended.copy()
        return (
            self._observed(),
            columns[_REWARD].copy(),
            np.zeros(self.num_envs, dtype=np.bool_),
            ended,
            infos,
        )

    def _arguments(self, taken: NDArray[Any]) -> tuple[Any, ...]:
        """Return the arguments of the kernel for these actions."""
        return (
            self._stack,
            self._now.reshape(-1),
            self._states.like,
            taken,
            self._rngs,
            self._over,
            self._masks,
            self._sizes,
            self._refused,
        )

    def _with_refused(self, infos: Info, taken: NDArray[Any]) -> None:
        """Add the actions that the masks did not allow, and warn the first time."""
        refused = self._refused & ~self._over
        infos |= {FORBIDDEN: np.where(refused, taken, 0), f"_{FORBIDDEN}": refused}
        if not self._has_warned:
            self._has_warned = True
            warn_of(int(taken[refused][0]), self)

    def _observed(self) -> Any:
        if isinstance(self._states, NumberedStates):
            return self._now[:, _STATE].astype(np.int64)
        return self._now[:, _STATE : _STATE + self._states.num_seen].copy()

    def _masks_now(self, observations: Any) -> Table:
        """Return the masks of the current states."""
        if self._masks.size:
            listed: Table = self._masks.take(observations, axis=0)
            return listed
        return self._now[:, _STATE + self._states.num_seen :].astype(np.int8)

    def _taken(self, actions: Any) -> NDArray[Any]:
        """Return actions as the world takes them, or say what is wrong with them."""
        if type(actions) is np.ndarray and actions.dtype == np.int64 and actions.shape == self._shape:
            return actions  # the kernel checks that they are among those that there are
        given = np.asarray(unmasked("actions", actions))
        if not isinstance(self.single_action_space, Discrete):
            if given.size != self.num_envs:
                raise ValueError(
                    f"actions is {shown(actions)}; give a number for each of the {self.num_envs} environments"
                )
            numbers = given.reshape(-1).astype(np.float64)
            if not np.isfinite(numbers).all():
                raise ValueError(f"actions is {shown(actions)}; they must be finite numbers")
            return numbers
        if given.shape != (self.num_envs,):
            raise ValueError(
                f"actions is {shown(actions)}; give one action for each of the {self.num_envs} environments"
            )
        if given.dtype != np.int64:
            if given.dtype.kind not in "biu":
                raise TypeError(f"actions is {shown(actions)}; they must be whole numbers")
            given = given.astype(np.int64)
        return given

    def _fail(self, place: int, taken: NDArray[Any]) -> None:
        """Say what is wrong with an action, or with a step that a world has taken; the episodes are over then."""
        if isinstance(self.single_action_space, Discrete):
            within(f"action {place}", int(taken[place]), int(self.single_action_space.n))
        self._has_begun = False
        reward, duration, _, steps, before = self._now[place, :_STATE].tolist()
        there = spot(state_in(self._now[place], _STATE, self._states.like))
        fault = Fault(before, taken[place].item(), reward, duration, there)
        raise ValueError(explain_step(self.world, "you", int(steps) - 1, fault))

    def _prepared(self) -> Advance:
        if not self.compiled:
            return _advance_all.python
        like = self._arguments(self._taken(self.action_space.sample()))
        return gradually(_advance_all, like, use=functools.partial(setattr, self, "_advance"))

    def __getstate__(self) -> dict[str, Any]:
        # Worlds are pickled as values. Machine code is not pickled, since it is found again.
        worlds = [take(self._stack, place) for place in range(self.num_envs)]
        return self.__dict__ | {"_stack": worlds, "_advance": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.world = ready_world(self.world)
        self._stack = _stack_of(self.world, self.num_envs)
        for place, world in enumerate(state["_stack"]):
            put(self._stack, place, ready_world(world))
        self._advance = self._prepared() if self._has_begun else _advance_all.python


@kernel
def _advance_all(
    stack: World,
    now: Column,
    like: State,
    actions: NDArray[Any],
    rngs: NDArray[np.uint64],
    over: Flags,
    masks: Table,
    sizes: tuple[int, int, int],
    refused: Flags,
) -> int:
    """Take a step in each copy, except those that have just been reset; return the first that went wrong, or how it ended."""
    num_states, num_actions, mask_at = sizes
    ended, count = _NONE_REFUSED, len(over)
    row = len(now) // count
    for i in range(count):
        if over[i]:
            continue
        at = i * row
        there = at + _STATE
        action = actions[i]
        if num_actions > 0 and not 0 <= action < num_actions:
            return i
        is_refused = (masks.size > 0 and masks[np.int64(now[there]), np.int64(action)] == 0) or (
            mask_at >= 0 and now[there + mask_at + np.int64(action)] == 0.0
        )
        now[at + _REWARD] = 0.0
        now[at + _DURATION] = 0.0
        refused[i] = is_refused
        if is_refused:
            ended = _SOME_REFUSED
        else:
            now[at + _BEFORE] = now[there]
            world, next_state, reward, duration = _step(
                take(stack, i), state_in(now, there, like), action, rngs[i]
            )
            put(stack, i, world)
            write_state(now, there, next_state)
            now[at + _REWARD] = reward
            now[at + _DURATION] = duration
            now[at + _CLOCK] += duration
            now[at + _STEPS] += 1
            if not (0.0 <= duration < np.inf and -np.inf < reward < np.inf):
                return i
            if num_states > 0 and not 0 <= now[there] < num_states:
                return i
            if num_states == 0:
                for j in range(there, at + row):
                    if not -np.inf < now[j] < np.inf:
                        return i
    return ended


def _stack_of(world: V, count: int) -> V:
    """Return a stack of copies of a world that share its arrays."""
    fields: dict[str, Any] = {}
    for name, field in named_fields(world):
        if is_value(field):
            fields[name] = _stack_of(field, count)
        elif isinstance(field, np.ndarray):
            fields[name] = np.broadcast_to(field, (count, *field.shape))
        else:
            fields[name] = np.full(count, field)
    return with_fields(world, **fields)
