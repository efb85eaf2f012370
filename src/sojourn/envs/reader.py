"""Reads environments, single ones and vectors alike: durations, rewards, clocks, masks of actions, observations.

Sojourn's own environments give the duration in `info["duration"]`. Others give it under another
key such as "tau", or at a path through nested dictionaries such as "smdp.duration"; or it has to be
computed; or it is nowhere, because every step takes the same time. A duration that is missing or
makes no sense is an error. It is never assumed to be 1: a wrong duration would silently change the task.

The mask is looked for next to the duration: `info["action_mask"]` as in Gymnasium's Taxi, or
`info["smdp"]["action_mask"]` where the duration is `info["smdp"]["duration"]`. That matters: a
Taxi that is wrapped in SMDPfier has both masks, one for the taxi's own six actions and one for the
options, and only the second is about the actions of the agent.

An agent with a table reads an observation as the number of its state (`TableReader`), any other agent as a flat array of
numbers (`ArrayReader`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsFloat, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import utils
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import ArrayLike, NDArray

from sojourn.agents.networks.protocol import Actions, Masks
from sojourn.data.numbers import positive, shown, unmasked
from sojourn.deploy.interface import checked_mask, packed
from sojourn.deploy.spaces import Actions as ActionForm
from sojourn.deploy.spaces import Form
from sojourn.deploy.tabulation import Tabulation
from sojourn.envs.protocol import FORBIDDEN, Element, Environment, Info, Space, element_reader
from sojourn.envs.states import Bins, action_count, first_action, tabulate
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.vectors import Bounds

DurationFunction: TypeAlias = Callable[..., SupportsFloat]  # of (obs, action, info)
DurationSource: TypeAlias = str | float | DurationFunction
DurationReader: TypeAlias = "Callable[[Element | None, Element | None, Info], float]"
MaskReader: TypeAlias = Callable[[Info], ArrayLike | None]
MaskFunction: TypeAlias = Callable[..., ArrayLike | None]  # of (obs, info)
MaskSource: TypeAlias = str | MaskFunction

MOST_AT_ONCE = 10_000  # steps that may follow each other without time passing

_INF = math.inf
_EXACT = 2**53  # whole numbers below it are exact as floats
_UNBOUNDED = 1e30  # spaces in single precision say "no bound" with its largest number
_ABSENT: Any = object()
_ALL = np.ones(1, dtype=np.bool_)


class Reader:
    """Reads the steps of one environment, or of each one in a vector.

    `duration(obs, action, info)` is how long a step took, `mask(obs, info)` the action mask as the environment gives it,
    or None, and `read(obs)` the observation as the agent sees it; all raise an error if there is something wrong. The
    agent numbers its actions from 0, the environment from `first_action`; `num_actions` is 0 if they are continuous.
    """

    num_actions: int
    first_action: int

    def __init__(
        self,
        source: DurationSource = "duration",
        action_mask: MaskSource | None = None,
        clock: str | None = None,
    ) -> None:
        self.source, self.clock_key = source, clock
        self.duration = duration_reader(source)
        self.mask_name, self.mask = mask_source(action_mask, source)
        # None if it is a function.
        self.mask_key = None if callable(action_mask) else mask_key(action_mask, source)
        self.clock()  # which checks its key

    def read(self, observation: Element) -> Any:
        """Return an observation as the agent sees it, or say what is wrong with it."""
        raise NotImplementedError

    def clock(self) -> Clock:
        """Return a checker for the clock of one environment."""
        return Clock(self.clock_key)

    def time_must_pass(self, steps: int) -> None:
        """Raise an error if the last `steps` steps, which took no time at all, are too many."""
        if steps >= MOST_AT_ONCE:
            raise ValueError(
                f"the last {steps:,} steps took no time ({shown(self.source)} is 0); single steps may take none, but a "
                "rate needs time to pass"
            )


class TableReader(Reader):
    """Reads an observation as the number of its state, a row in a table of values."""

    def __init__(
        self,
        env: Environment,
        source: DurationSource = "duration",
        action_mask: MaskSource | None = None,
        clock: str | None = None,
        bins: Bins | Tabulation | None = None,
    ) -> None:
        self.states = bins if isinstance(bins, Tabulation) else tabulate(env.observation_space, bins)
        self.num_actions, self.first_action = action_count(env.action_space), first_action(env.action_space)
        super().__init__(source, action_mask, clock)

    def read(self, observation: Element) -> int:
        """Return the number of the state that an observation belongs to."""
        return self.states.index(observation)


class ArrayReader(Reader):
    """Reads an observation as a flat array of numbers, and turns arrays into actions of the environment.

    Gymnasium's own functions flatten what is not yet an array of numbers, such as a Dict or a Tuple.

    >>> reader = ArrayReader(spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(0, 9, (2,))), spaces.Discrete(3))
    >>> reader.read({"a": 1, "b": np.array([5.0, 7.0])})
    array([0., 1., 5., 7.])
    """

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        source: DurationSource = "duration",
        action_mask: MaskSource | None = None,
        clock: str | None = None,
    ) -> None:
        self.space, self.action_space = observation_space, action_space
        self.num_inputs = _size(observation_space)
        self._shape = observation_space.shape if isinstance(observation_space, spaces.Box) else None
        self._element = element_reader(_without_bounds(observation_space))
        self.num_actions = self.first_action = 0
        self.low = self.high = np.zeros(0)
        if isinstance(action_space, spaces.Discrete):
            self.num_actions, self.first_action = int(action_space.n), int(action_space.start)
        elif (
            isinstance(action_space, spaces.Box)
            and action_space.dtype.kind == "f"
            and action_space.shape != (0,)
        ):
            self.low = action_space.low.ravel().astype(np.float64)
            self.high = action_space.high.ravel().astype(np.float64)
        else:
            raise TypeError(
                f"the action space is {shown(action_space)}; an agent of observations needs Discrete actions, or a Box of floats, "
                "so map it to one in a gymnasium.ActionWrapper"
            )
        self._all: Masks = np.ones(self.num_actions, dtype=np.int8)
        super().__init__(source, action_mask, clock)

    @property
    def bounds(self) -> Bounds:
        """The bounds of observations; equal bounds are set 1 apart, and a bound beyond 1e30 counts as none."""
        flat: Any = utils.flatten_space(self.space)
        low, high = (np.ravel(side).astype(np.float64) for side in (flat.low, flat.high))
        high = np.where(high > low, high, low + 1.0)
        low, high = np.where(low < -_UNBOUNDED, -np.inf, low), np.where(high > _UNBOUNDED, np.inf, high)
        return Bounds(tuple(low.tolist()), tuple(high.tolist()))

    def forms(self) -> tuple[Form, ActionForm]:
        """Return plain descriptions of observations and actions, for policies that act without Gymnasium."""
        if self.num_actions:
            return form_of(self.space), {
                "kind": "numbered",
                "count": self.num_actions,
                "first": self.first_action,
            }
        shape, kind = self.action_space.shape or (), str(self.action_space.dtype)
        low, high = packed(self.low), packed(self.high)
        return form_of(self.space), {
            "kind": "points", "low": low, "high": high, "shape": list(shape), "dtype": kind,
        }  # fmt: skip

    def read(self, observation: Element) -> Floats:
        """Return an observation as a flat array of its own, or say what is wrong with it.

        An array may go beyond the bounds of its Box, as in many environments, if it did not begin there.
        """
        if type(observation) is not np.ndarray:  # nearly always it is
            unmasked("an observation", observation)
        if self._shape is None:
            if self._element(observation) is None:
                raise ValueError(_not_of(observation, self.space))
            try:
                numbers: Floats = np.asarray(utils.flatten(self.space, observation), dtype=np.float64).ravel()
            except (TypeError, ValueError, KeyError, IndexError, AttributeError, AssertionError) as error:
                raise ValueError(f"{_not_of(observation, self.space)} ({shown(error)})") from None
        else:
            try:
                numbers = np.array(observation, dtype=np.float64)  # the environment may write into its own
            except (TypeError, ValueError):
                raise ValueError(_not_of(observation, self.space)) from None
            if numbers.shape != self._shape:
                raise ValueError(_not_of(observation, self.space))
            numbers = numbers.ravel()
        # The sum of squares is finite if all entries are, unless it overflows.
        if len(numbers) != self.num_inputs or not (
            math.isfinite(numbers.dot(numbers)) or np.isfinite(numbers).all()
        ):
            wrong = numbers[~np.isfinite(numbers)]
            if len(wrong):
                raise ValueError(
                    f"an observation has the entry {wrong[0]}; its entries must be finite numbers"
                )
            raise ValueError(_not_of(observation, self.space))
        return numbers

    def allowed(self, observation: Element, info: Info) -> Masks:
        """Return which actions are allowed, as a row."""
        return self.checked(self.mask(observation, info))

    def checked(self, mask: ArrayLike | None) -> Masks:
        """Return a mask as a row; without one, all actions are allowed."""
        if mask is None or not len(self._all):
            return self._all
        return checked_mask(mask, len(self._all), self.mask_name).astype(np.int8)

    def env_actions(self, actions: Actions) -> NDArray[np.generic]:
        """Return actions as a vector of environments takes them; points are clipped to the bounds."""
        if self.num_actions:
            return actions + self.first_action
        points = np.clip(actions, self.low, self.high)
        return points.astype(self.action_space.dtype).reshape(-1, *(self.action_space.shape or ()))

    def env_action(self, actions: Actions) -> Any:
        """Return the first action as a single environment takes it."""
        if self.num_actions:
            return int(actions[0]) + self.first_action
        return self.env_actions(actions[:1]).reshape(self.action_space.shape or ())


# --- Durations, rewards and clocks ----------------------------------------------------


def duration_reader(duration: DurationSource = "duration") -> DurationReader:
    """Return the function of (obs, action, info) that says how long a step took.

    `duration` is a key of info, with dots for a path through nested dictionaries; a function of
    (obs, action, info); or a number, if every step takes that long. The durations read are finite
    and not negative; a step may take no time.

    >>> duration_reader("smdp.duration")(None, None, {"smdp": {"duration": 3}})
    3.0
    >>> duration_reader(lambda obs, action, info: info["end"] - info["begin"])(
    ...     None, None, {"begin": 2.0, "end": 2.5}
    ... )
    0.5
    >>> duration_reader(60)(None, None, {})
    60.0
    """
    if isinstance(duration, str):
        if not all(duration.split(".")):
            raise ValueError(f'duration is "{duration}"; it must be a key of info, or keys joined by dots')
        return _from_path(duration)
    if callable(duration):
        return _from_function(duration)
    if isinstance(duration, bool | np.bool_):
        raise TypeError(f"duration is {duration}; it must be a key of info, a function or a number")
    constant = positive("duration", duration)
    return lambda _obs, _action, _info: constant


def _from_path(path: str) -> DurationReader:
    name = f'info["{path}"]'
    first, *rest = path.split(".")

    def read(obs: Element | None, action: Element | None, info: Info) -> float:
        try:
            duration = info[first]
            for key in rest:
                duration = duration[key]
        except (KeyError, TypeError, IndexError):
            raise _missing(name, info) from None
        # Nearly always a float, and then this is all there is to do.
        if type(duration) is float and 0.0 < duration < _INF:
            return duration
        return _clean(name, duration)

    return read


def _from_function(function: DurationFunction) -> DurationReader:
    name = f"the duration from {getattr(function, '__name__', type(function).__name__)}"

    def read(obs: Element | None, action: Element | None, info: Info) -> float:
        return _clean(name, function(obs, action, info))

    return read


def _clean(name: str, duration: SupportsFloat) -> float:
    """Return a duration as a float, or say what is wrong with it."""
    if type(duration) is int and 0 < duration < _EXACT:
        return float(duration)
    unmasked(name, duration)
    # NumPy would turn an array of one entry into a number, and warn.
    if isinstance(duration, bool | np.bool_ | str | bytes) or getattr(duration, "ndim", 0) > 0:
        raise ValueError(f"{name} is {shown(duration)}; a duration must be a number")
    try:
        number = float(duration)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {shown(duration)}; a duration must be a number") from None
    except OverflowError:
        number = _INF
    if not 0.0 <= number < _INF:
        raise ValueError(f"{name} is {duration}; a duration must be finite and not negative")
    return number + 0.0  # turns -0.0 into 0.0


def _missing(name: str, info: Info) -> ValueError:
    if not isinstance(info, Mapping):
        return ValueError(f"info is {info!r}, so it has no duration; it must be a dictionary")
    there = ", ".join(f'"{key}"' for key in info)
    return ValueError(
        f"{name} is missing, and info {f'has only {there}' if there else 'is empty'}; set duration (on the command line, "
        "--duration) to the key of info that has it, to a number if every step takes equally long, or in Python to a function"
    )


def reward_of(reward: Any) -> float:
    """Return what a step paid as a float, or say what is wrong with it.

    >>> reward_of(None)
    Traceback (most recent call last):
    ValueError: the reward is None; a reward must be a number
    """
    unmasked("the reward", reward)
    if getattr(reward, "shape", ()) not in ((), (1,)) or isinstance(reward, str | bytes):
        raise ValueError(f"the reward is {shown(reward)}; a reward must be a number")
    try:
        number = float(reward if getattr(reward, "shape", ()) == () else reward[0])
    except (TypeError, ValueError):
        raise ValueError(f"the reward is {shown(reward)}; a reward must be a number") from None
    except OverflowError:
        number = _INF
    if not -_INF < number < _INF:
        raise ValueError(f"the reward is {number}; a reward must be finite")
    return number


def is_sum(after: float, before: float, duration: float) -> bool:
    """Whether a clock has advanced by a duration, up to rounding, in any unit of time.

    >>> is_sum(0.1 + 0.2, 0.1, 0.2), is_sum(0.0, -0.3, 0.1 + 0.2), is_sum(3e-12, 1e-12, 1e-12)
    (True, True, False)
    """
    return abs(after - (before + duration)) <= 1e-9 * max(abs(before), abs(after), duration)


class Clock:
    """Checks the clock that an environment shows in info, if a key is given: each step must advance it by its duration.

    >>> clock = Clock("time")
    >>> clock.begin({"time": 5.0})
    >>> clock.advance({"time": 7.0}, duration=2.0)
    >>> clock.advance({"time": 7.5}, duration=2.0)
    Traceback (most recent call last):
    ValueError: info["time"] went from 7.0 to 7.5, but the step took 2.0; say where the duration is: duration="key"
    """

    def __init__(self, key: str | None) -> None:
        if key is not None and (not isinstance(key, str) or not key):
            raise TypeError(f"clock is {shown(key)}; it must be the key of info that has the time")
        self.key, self._at = key, math.nan

    def begin(self, info: Info) -> None:
        """Note the time at which an episode begins; if the reset does not give it, checks begin after the first step."""
        self._at = self._read(info, self.key) if self.key is not None and self.key in info else math.nan

    def advance(self, info: Info, duration: float) -> None:
        """Check the time after a step."""
        if self.key is None:
            return
        before, self._at = self._at, self._read(info, self.key)
        if not math.isnan(before) and not is_sum(self._at, before, duration):
            raise ValueError(
                f'info["{self.key}"] went from {before} to {self._at}, but the step took {duration}; say where the '
                'duration is: duration="key"'
            )

    @staticmethod
    def _read(info: Info, key: str) -> float:
        at = info.get(key)
        if isinstance(at, bool) or not isinstance(at, int | float | np.number) or not math.isfinite(at):
            there = f"is {shown(at)}" if key in info else "is missing"
            raise ValueError(f'info["{key}"] {there}; the clock must be a finite number')
        return float(at)


# --- Masks ----------------------------------------------------------------------------


def mask_key(action_mask: str | None, duration: DurationSource) -> str:
    """Return the key of info that has the mask, with dots for a path; None means beside the duration.

    >>> mask_key(None, "duration"), mask_key(None, "smdp.duration"), mask_key("legal", "duration")
    ('action_mask', 'smdp.action_mask', 'legal')
    """
    if action_mask is None:
        parent, dot, _ = duration.rpartition(".") if isinstance(duration, str) else ("", "", "")
        return f"{parent}{dot}action_mask"
    if not isinstance(action_mask, str) or not all(action_mask.split(".")):
        raise ValueError(
            f"action_mask is {shown(action_mask)}; it must be a key of info, keys joined by dots, or a function of (obs, info)"
        )
    return action_mask


def mask_reader(key: str) -> MaskReader:
    """Return the function of info that returns its action mask unchanged, or None if there is none.

    >>> mask_reader("smdp.action_mask")({"action_mask": [0, 1], "smdp": {"action_mask": [1, 1, 0]}})
    [1, 1, 0]
    """
    *parents, last = key.split(".")

    def read(info: Info) -> ArrayLike | None:
        within: Any = info
        for name in parents:
            within = within.get(name) if isinstance(within, Mapping) else None
        try:
            mask: ArrayLike | None = within.get(last, _ABSENT)
        except AttributeError:
            if parents:
                return None
            raise ValueError(f"info is {shown(info)}; it must be a dictionary") from None
        if mask is None:  # whether that means all actions or none cannot be known
            raise ValueError(
                f'info["{key}"] is None; leave the mask out where every action is allowed, or give a 0 or 1 for each'
            )
        return None if mask is _ABSENT else mask

    return read


def mask_source(action_mask: MaskSource | None, duration: DurationSource) -> tuple[str, MaskFunction]:
    """Return the name of a mask in messages, and the function of (obs, info) that finds the mask.

    `action_mask` is a key of info, a function of (obs, info), or None for a mask beside the duration.

    >>> name, read = mask_source(lambda obs, info: [1, obs > 0], "duration")
    >>> name, read(3, {})
    ('the mask from <lambda>', [1, True])
    """
    if action_mask is not None and callable(action_mask):
        return f"the mask from {getattr(action_mask, '__name__', type(action_mask).__name__)}", action_mask
    key = mask_key(action_mask, duration)
    read = mask_reader(key)
    return f'info["{key}"]', lambda _obs, info: read(info)


def must_be_taken(info: Info, so: str = "nothing can be learned from that") -> None:
    """Raise an error if a step's info says that the action was forbidden, with what follows.

    >>> must_be_taken({"duration": 0.0, "forbidden_action": 2})
    Traceback (most recent call last):
    ValueError: the action 2 was taken where info["action_mask"] does not allow it; nothing can be learned from that
    """
    if isinstance(info, dict) and FORBIDDEN in info:
        raise ValueError(
            f'the action {shown(info[FORBIDDEN])} was taken where info["action_mask"] does not allow it; {so}'
        )


# --- Observations ---------------------------------------------------------------------


def is_listed(space: Space) -> bool:
    """Whether the elements of a space can be listed, however many they are.

    >>> is_listed(spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(3)])), is_listed(spaces.Box(0, 1))
    (True, False)
    """
    if isinstance(space, spaces.Tuple):
        return all(map(is_listed, space.spaces))
    if isinstance(space, spaces.Dict):
        return all(map(is_listed, space.spaces.values()))
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)


def form_of(space: Space) -> Form:
    """Return a plain description of a space whose observations become flat arrays.

    >>> form_of(spaces.Discrete(3, start=1))
    {'kind': 'choices', 'shape': [], 'counts': [3], 'start': [1]}
    """
    if isinstance(space, spaces.Tuple):
        return {"kind": "tuple", "parts": [form_of(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict):
        parts = [form_of(part) for part in space.spaces.values()]
        return {"kind": "dict", "keys": list(space.spaces), "parts": parts}
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return {"kind": "numbers", "shape": list(space.shape)}
    if isinstance(space, spaces.Discrete):
        return {"kind": "choices", "shape": [], "counts": [int(space.n)], "start": [int(space.start)]}
    if isinstance(space, spaces.MultiDiscrete):
        counts, start = space.nvec.ravel().tolist(), space.start.ravel().tolist()
        return {"kind": "choices", "shape": list(space.shape), "counts": counts, "start": start}
    raise TypeError(
        f"the observations are of {shown(space)}, which a policy file cannot describe; map them to a Box in a "
        "gymnasium.ObservationWrapper"
    )


def _without_bounds(space: Space) -> Space:
    """Return a space with Boxes of any numbers in place of its Boxes."""
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([_without_bounds(part) for part in space.spaces])
    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: _without_bounds(part) for key, part in space.spaces.items()})
    return spaces.Box(-np.inf, np.inf, space.shape, np.float64) if isinstance(space, spaces.Box) else space


def _size(space: Space) -> int:
    """Return the number of inputs that an observation of a space has."""
    flat: Space = space
    with contextlib.suppress(NotImplementedError):
        flat = utils.flatten_space(space)
    if not isinstance(flat, spaces.Box) or not math.prod(flat.shape):
        raise TypeError(
            f"the observation space is {shown(space)}, which is not an array of a fixed size; map it to a Box in a "
            "gymnasium.ObservationWrapper"
        )
    return math.prod(flat.shape)


def _not_of(observation: Element, space: Space) -> str:
    shape = getattr(observation, "shape", None)
    what = (
        f"has the shape {shape}" if shape is not None and shape != space.shape else f"is {shown(observation)}"
    )
    return f"an observation {what}; the observation space is {shown(space)}"


# --- Vectors of environments ----------------------------------------------------------


class VectorClock:
    """Reads how long the steps of a vector took, whichever way it resets.

    `resets` marks the places whose next step is only a reset: such a step is not the agent's, and takes no time.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], source: DurationSource = "duration") -> None:
        self.mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.places, self.source = int(env.num_envs), source
        self.resets: Flags = np.zeros(self.places, dtype=np.bool_)
        self._read = duration_reader(source)

    def durations(self, infos: Info, actions: NDArray[np.generic], ended: Flags) -> Floats:
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
            durations[place] = self._read(None, actions[place], info_of(within, place))
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
