"""Where an environment stands, and how agents take steps in it: one environment, or several at once.

A `Trace` remembers where an environment stands, so that a saved learner can go on from there. Sojourn's own environments
can say where they stand, and can be put back there. Any other environment is replayed: its random generator is set to
what it was before the last reset, then it is reset, and the actions since then are taken again. That is exact for every
environment whose `reset` starts from scratch and which draws from Gymnasium's own generator. If the episode is longer than
MOST_ACTIONS, it is not replayed; a new one begins.

`Places` are what an agent of observations sees: arrays with a row for each environment, of which a single one is a vector
of one. Gymnasium resets the environments of a vector in one of three ways, and all three are understood. If an episode
was terminated, its last action led to the first observation of the next episode; if it was truncated, to its own last
observation. If the reset happens in the next step, as in `gymnasium.make_vec`, the step that terminated an episode is
complete only one step later, and that later step is not one of the agent's.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from sojourn.agents.networks.protocol import Actions, Masks, Memory, Transitions
from sojourn.data.numbers import shown, unmasked
from sojourn.envs.protocol import (
    FORBIDDEN,
    Element,
    Environment,
    Info,
    VectorEnvironment,
    element_reader,
    must_begin,
    opener,
    parts_of,
)
from sojourn.envs.reader import (
    ArrayReader,
    DurationSource,
    MaskSource,
    VectorClock,
    info_of,
    must_be_taken,
    reward_of,
    rewards_of,
)
from sojourn.envs.world_vector import WorldVectorEnv
from sojourn.envs.worlds import WorldEnv, WorldPlace
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Flags, Floats, Ints

MOST_ACTIONS = 1_000_000
_PASSIVE = (OrderEnforcing, PassiveEnvChecker, TimeLimit)

Shown: TypeAlias = tuple[Element, Info]  # what a reset shows
Generator: TypeAlias = WorldPlace | Mapping[str, Any]  # of a world, or the state of one of NumPy's


# The numbers of actions, or the coordinates of points one after the other.
Recorded: TypeAlias = (
    np.ndarray[tuple[int], np.dtype[np.int64]] | np.ndarray[tuple[int], np.dtype[np.float64]]
)


class PlaceInWorld(TypedDict):
    """Where a world stands, and the steps that its time limits have counted."""

    kind: Literal["world"]
    place: WorldPlace
    elapsed: list[int]


class PlaceByReplay(TypedDict):
    """The generator before the last reset (None if that was the first), and the actions since."""

    kind: Literal["replay"]
    generator: Generator | None
    actions: Recorded


SavedPlace: TypeAlias = PlaceInWorld | PlaceByReplay


class Trace:
    """An environment, and how it got to where it is."""

    def __init__(self, env: Environment, seed: int) -> None:
        self.env, self.seed = env, seed
        self._reset = opener(env)
        self._world = _direct_world(env)
        # The generator before the last reset; None for the first, which has the seed.
        self._generator: Generator | None = None
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

    def place(self) -> SavedPlace | None:
        """Return where the environment stands, as data, or None if that is not known."""
        if not self._begun or len(self._actions) > MOST_ACTIONS:
            return None
        if self._world is not None:
            elapsed = [limit._elapsed_steps for limit in _limits(self.env)]  # noqa: SLF001 - it has no public name
            return {"kind": "world", "place": self._world.place(), "elapsed": elapsed}
        if not self._is_readable:
            return None
        return {"kind": "replay", "generator": self._generator, "actions": np.array(self._actions)}

    def go_to(self, place: SavedPlace | None) -> Shown | None:
        """Bring the environment to a place; return its observation and info, or None if that is impossible."""
        if place is None:
            return None
        try:
            return self._replay(place) if self._world is None else self._go_directly(self._world, place)
        except Exception:  # noqa: BLE001 - other people's environments may raise anything; a new episode begins then
            self._begun = False
            return None

    def _replay(self, place: SavedPlace) -> Shown | None:
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

    def _go_directly(self, world: WorldEnv, place: SavedPlace) -> Shown | None:
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


# --- Places: what an agent of observations sees ---------------------------------------

_HERE = np.zeros(1, dtype=np.int64)
_NO, _YES = np.zeros(1, dtype=np.bool_), np.ones(1, dtype=np.bool_)


class _Places:
    """One environment or several: what they show now, and which actions they allow, with a row for each."""

    def __init__(self, env: Any, reader: ArrayReader, seed: int, count: int) -> None:
        self.env, self.reader, self.seed, self.count = env, reader, seed, count
        self.observations: Floats = np.zeros((count, reader.num_inputs))
        self.allowed: Masks = np.zeros((count, reader.num_actions), dtype=np.int8)
        self.has_begun = False


class SinglePlace(_Places):
    """One environment: a single place."""

    def __init__(self, env: Environment, reader: ArrayReader, seed: int) -> None:
        super().__init__(env, reader, seed, 1)
        self.trace, self._clock = Trace(env, seed), reader.clock()

    def begin(self) -> None:
        """Begin an episode, unless one is under way."""
        if not self.has_begun:
            self.observations, self.allowed = self._reset()
            self.has_begun = True

    def _reset(self) -> tuple[Floats, Masks]:
        observation, info = self.trace.reset()
        self._clock.begin(info)
        reader = self.reader
        return reader.read(observation)[np.newaxis], reader.allowed(observation, info)[np.newaxis]

    def step(self, actions: Actions, explored: Flags) -> Transitions:
        """Take an action."""
        reader, record = self.reader, self.trace.recorder
        self.has_begun = False  # until this step is over: if it fails, a new episode begins
        action = reader.env_action(actions)
        observation, reward, terminated, truncated, info = parts_of(self.env.step(action))
        if record is not None:
            record(action)
        duration, earned = reader.duration(observation, action, info), reward_of(reward)
        must_be_taken(info)
        self._clock.advance(info, duration)
        following = reader.read(observation)[np.newaxis]
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
            cut=_YES if truncated and not terminated else _NO,
            explored=explored,
            ended=_YES if terminated else _NO,
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
        self._clock.begin(shown_there[1])
        there, allowed = self.reader.read(shown_there[0])[np.newaxis], np.array(state["allowed"])
        if np.array_equal(there, state["observations"]) and allowed.shape == self.allowed.shape:
            self.observations, self.has_begun = there, True
            self.allowed = self.reader.checked(allowed[0])[np.newaxis]


class VectorPlaces(_Places):
    """A vector of environments."""

    def __init__(self, env: VectorEnvironment, reader: ArrayReader, seed: int) -> None:
        super().__init__(env, reader, seed, int(env.num_envs))
        self._clock = VectorClock(env, reader.source)
        self._waiting: Transitions | None = None  # terminated steps, until the next episode begins
        self._rows: Ints = np.arange(self.count)
        self._read = element_reader(env.single_observation_space)
        self._all: Masks = np.ones_like(self.allowed)
        self._taken: list[Any] = []  # all actions so far, for a replay

    def begin(self) -> None:
        """Begin an episode at each place, unless they are under way."""
        if not self.has_begun:
            observations, infos = self.env.reset(seed=self.seed)
            self._must_begin(observations, np.ones(self.count, dtype=np.bool_))
            self.observations, self.allowed = self._flat(observations), self._masks(observations, infos)
            self._clock.resets[:], self._waiting, self._taken, self.has_begun = False, None, [], True

    def _flat(self, observations: Any) -> Floats:
        reader = self.reader
        if isinstance(reader.space, spaces.Box):
            unmasked("the observations", observations)
            rows: Floats = np.array(observations, dtype=np.float64)  # the vector may write into its own
            if len(rows) != self.count:
                raise ValueError(
                    f"the observations have the shape {rows.shape}; they must have a row for each of {self.count} environments"
                )
            rows = rows.reshape(self.count, -1)
            if rows.shape[1] == reader.num_inputs and np.isfinite(rows).all():
                return rows
        return np.array([reader.read(one) for one in iterate(self.env.observation_space, observations)])

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
        allowed = self.reader.allowed
        return np.array([self._all[i] if i in over else allowed(one, info_of(infos, i)) for i, one in each])

    def step(self, actions: Actions, explored: Flags) -> Transitions:
        """Take an action at each place; return the steps that are complete."""
        self.has_begun = False  # until this step is over
        taken = self.reader.env_actions(actions)
        if len(self._taken) * self.count <= MOST_ACTIONS:
            self._taken.append(taken)
        shown_now, rewards, terminated, truncated, infos = self.env.step(taken)
        ended: Flags = np.asarray(terminated, dtype=np.bool_) | np.asarray(truncated, dtype=np.bool_)
        earned = rewards_of(rewards, self.count)
        led_to = self._flat(shown_now)
        same_step = self._clock.mode is AutoresetMode.SAME_STEP  # it shows the next episodes already
        over = [] if same_step else np.flatnonzero(terminated).tolist()
        masks = self._masks(shown_now, infos, over)
        for place in np.flatnonzero(infos.get(f"_{FORBIDDEN}", False)).tolist():
            must_be_taken(info_of(infos, place))
        self._must_begin(shown_now, ended if same_step else self._clock.resets)
        seen = Transitions(
            places=self._rows,
            observations=self.observations,
            allowed=self.allowed,
            actions=actions,
            rewards=earned,
            durations=self._clock.durations(infos, taken, ended),
            next_observations=led_to,
            next_allowed=masks,
            cut=ended & ~np.asarray(terminated, dtype=np.bool_),
            explored=explored,
            ended=np.array(terminated, dtype=np.bool_),
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
                self._waiting = _selected(seen, terminated)
            self._clock.go_on(ended)
            return _together([*complete, _selected(seen, taken & ~terminated)])
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
                led_to[place] = self.reader.read(last)
                if seen.cut[place]:
                    masks[place] = self.reader.allowed(last, last_info)
            if not seen.cut[place]:
                led_to[place], masks[place] = self.observations[place], self.allowed[place]
        return seen._replace(next_observations=led_to, next_allowed=masks)

    def state(self) -> Memory:
        """Return all actions since the beginning: the same seed and the same actions lead to the same place."""
        if not self.has_begun or len(self._taken) * self.count > MOST_ACTIONS:
            return {"actions": None, "waiting": None}
        return {
            "actions": np.array(self._taken) if self._taken else np.zeros((0, self.count)),
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

    def _replay(self, recorded: NDArray[np.generic]) -> None:
        """Begin, and take these actions; those that do not exist are refused."""
        self.begin()
        reader, space = self.reader, self.env.single_action_space
        for taken in recorded:
            actions: Actions = (
                taken.astype(np.int64) - reader.first_action
                if reader.num_actions
                else taken.astype(np.float64).reshape(self.count, -1)
            )
            if len(actions) != self.count or not all(one in space for one in reader.env_actions(actions)):
                raise ValueError(f"{shown(taken)} are not actions of {self.count} environments")
            self.step(actions, np.zeros(self.count, dtype=np.bool_))


def _selected(steps: Transitions, chosen: Flags) -> Transitions:
    """Return some of the steps."""
    return Transitions._make(column[chosen] for column in steps)


def _together(parts: list[Transitions]) -> Transitions:
    """Return the steps of several records as one."""
    return Transitions._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


Places: TypeAlias = SinglePlace | VectorPlaces


def places_of(
    env: Any,
    seed: int = 0,
    source: DurationSource = "duration",
    action_mask: MaskSource | None = None,
    clock: str | None = None,
) -> Places:
    """Return an environment, or a vector of them, as an agent of observations sees it."""
    if not is_vector(env):
        reader = ArrayReader(env.observation_space, env.action_space, source, action_mask, clock)
        return SinglePlace(env, reader, seed)
    if clock is not None:
        raise TypeError("clock is checked in a single environment only; leave it out for a vector of them")
    reader = ArrayReader(env.single_observation_space, env.single_action_space, source, action_mask)
    return VectorPlaces(env, reader, seed)


# --- Which environment it is ----------------------------------------------------------


def is_vector(env: Any) -> bool:
    """Whether this is a vector of environments."""
    return hasattr(env, "num_envs") and hasattr(env, "single_observation_space")


def single_of(env: Any) -> Environment:
    """Return one environment like those of a vector; an environment that is not a vector is returned unchanged."""
    if not is_vector(env):
        single: Environment = env
        return single
    if isinstance(env.unwrapped, WorldVectorEnv):
        return env.unwrapped.single()
    inner = getattr(env.unwrapped, "envs", None)
    if inner:
        first: Environment = inner[0]
        return first
    if env.spec is None:
        raise ValueError(
            "the vector does not say how to make one of its environments; pass one: evaluate(..., env=...)"
        )
    for_vectors = {name: None for name in env.spec.kwargs if name.startswith("vector")}
    return gymnasium.make(env.spec.id, **{**env.spec.kwargs, **for_vectors})


def exact_model(env: Environment) -> SMDP | None:
    """Return the `model` of an environment, or None if it has none or a wrapper may change what happens.

    >>> import sojourn as sj
    >>> from sojourn.envs.registered import ProblemEnv
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
    if isinstance(
        inner, WorldEnv
    ):  # wrappers around it, such as options, may draw from the generator that it has, too
        return {"place": inner.place(), "draws": inner.np_random.bit_generator.state}
    try:
        return inner.np_random.bit_generator.state
    except AttributeError:
        return None


def _set_generator(env: Environment, generator: Any) -> bool:
    """Put back what decides the next episode; return False if it belongs to another world."""
    inner = env.unwrapped
    if isinstance(inner, WorldEnv):
        if "draws" not in generator:  # in files of 0.2
            return inner.go_to(generator) is not None
        if inner.go_to(generator["place"]) is None:
            return False
        generator = generator["draws"]
    inner.np_random.bit_generator.state = generator
    return True
