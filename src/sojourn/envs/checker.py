"""Checks that an environment whose steps take time keeps the rules."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import data_equivalence

from sojourn.data.numbers import shown, whole
from sojourn.deploy.interface import Mask, checked_mask
from sojourn.envs.protocol import Element, Environment, Info, Space, parts_of
from sojourn.envs.reader import DurationSource, MaskSource, Reader, is_sum, reward_of
from sojourn.rules.door import told

_MOST_STEPS = 1_000_000  # all that they show is stored, to be compared with the second run


class EnvReport(NamedTuple):
    """What `check_smdp_env` saw in an environment that keeps the rules."""

    steps: int
    mean_duration: float
    shortest: float
    longest: float
    zero_durations: int
    truncated: int
    terminated: int


class _Seen(NamedTuple):
    """What one reset or step showed."""

    observation: Element
    reward: float
    duration: float
    terminated: bool
    truncated: bool
    mask: Mask | None


@told
def check_smdp_env(
    env: Environment,
    *,
    duration: DurationSource = "duration",
    steps: int = 1000,
    seed: int = 0,
    episodic: bool = False,
    action_mask: MaskSource | None = None,
    clock: str = "clock",
) -> EnvReport:
    """Check that an environment keeps the rules of a continuing task whose steps take time.

    It takes random actions, up to a million and twice with the same seed, and says in one sentence which rule is broken first:

    - Each step takes a finite time that is not negative.
    - The clock, `info["clock"]` or another key, is the sum of the durations, if there is a clock.
    - Rewards are finite, and observations are in their space.
    - An action mask, if there is one, has a 0 or 1 for each action and allows at least one.
    - The episode does not terminate, unless `episodic`.
    - The second run shows the same as the first.

    `duration`, `action_mask` and `clock` say where these are in info; see
    `sojourn.envs.reader`. Steps that take no time are allowed, and the report counts them.

    >>> from sojourn.envs.registered import TwoStateEnv
    >>> report = check_smdp_env(TwoStateEnv(), steps=100)
    >>> report.steps, report.zero_durations, report.truncated
    (100, 0, 0)
    """
    if not isinstance(env, gymnasium.Env):
        raise TypeError(f"{type(env).__name__} is not an environment; check_smdp_env takes a gymnasium.Env")
    steps, seed = whole("steps", steps, most=_MOST_STEPS), whole("seed", seed, least=0)
    reader = Reader(duration, action_mask, clock)
    actions = _Actions(env.action_space, seed)
    first = _trajectory(_Checked(env, reader, episodic), actions, steps, seed)
    _trajectory(_Checked(env, reader, episodic), actions, steps, seed, expected=first)
    taken = [seen for seen in first if not math.isnan(seen.duration)]
    durations = np.array([seen.duration for seen in taken])
    if not durations.any():
        raise ValueError(f"none of the {steps} steps took any time; a rate needs a clock that goes on")
    return EnvReport(
        steps=steps,
        mean_duration=float(durations.mean()),
        shortest=float(durations.min()),
        longest=float(durations.max()),
        zero_durations=int((durations == 0.0).sum()),
        truncated=sum(seen.truncated for seen in taken),
        terminated=sum(seen.terminated for seen in taken),
    )


class _Actions:
    """Random actions, drawn when first asked for and the same from then on."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = copy.deepcopy(space)  # not to disturb the caller's own draws
        self._space.seed(seed)
        self._drawn: list[Element] = []

    def at(self, step: int, mask: Mask | None) -> Element:
        if step == len(self._drawn):
            sample = self._space.sample
            self._drawn.append(sample() if mask is None else sample(mask=mask.astype(np.int8)))
        return self._drawn[step]


def _trajectory(
    env: _Checked, actions: _Actions, steps: int, seed: int, expected: list[_Seen] | None = None
) -> list[_Seen]:
    """Return what the steps and the resets between them showed; raise if that is not as `expected`."""
    record: list[_Seen] = []

    def note(seen: _Seen, when: str) -> None:
        if expected is not None:
            _compare(expected[len(record)], seen, when, seed)
        record.append(seen)

    seen = env.reset(seed, 0)
    note(seen, "after the first reset")
    for step in range(steps):
        seen = env.step(actions.at(step, seen.mask), step)
        note(seen, f"at step {step}")
        if seen.terminated or seen.truncated:
            seen = env.reset(None, step + 1)
            note(seen, f"after the reset at step {step + 1}")
    return record


@contextlib.contextmanager
def _at(step: int) -> Iterator[None]:
    """Say at which step a rule was broken."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"at step {step}, {error}") from None


class _Checked:
    """An environment that checks what it shows, and raises an error that names the broken rule."""

    def __init__(self, env: Environment, reader: Reader, episodic: bool) -> None:
        self._env, self._reader, self._episodic = env, reader, episodic
        self._clock = 0.0

    def reset(self, seed: int | None, step: int) -> _Seen:
        """Begin an episode before this step."""
        returned: Any = self._env.reset(seed=seed)
        with _at(step):
            return self._begun(returned)

    def step(self, action: Element, step: int) -> _Seen:
        """Take an action."""
        returned: Any = self._env.step(action)
        with _at(step):
            return self._taken(action, returned)

    def _begun(self, returned: Any) -> _Seen:
        if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)):
            raise ValueError(f"reset returned {shown(returned)}; it must return (obs, info)")
        observation, info = returned
        self._must_be_in_space(observation, "reset")
        self._clock = self._time(info, 0.0)
        return _Seen(copy.deepcopy(observation), 0.0, math.nan, False, False, self._mask(observation, info))

    def _taken(self, action: Element, returned: Any) -> _Seen:
        observation, reward, terminated, truncated, info = parts_of(returned)
        if not isinstance(info, dict):
            raise ValueError(f"info is {shown(info)}; it must be a dictionary")  # noqa: TRY004 - what an environment does wrong
        self._must_be_in_space(observation, "step")
        earned, duration = reward_of(reward), self._reader.duration(observation, action, info)
        if terminated and not self._episodic:
            raise ValueError(
                "the episode terminated, but an average-reward task goes on for ever; let it truncate or begin again "
                "by itself, or set episodic=True if it is meant to end"
            )
        before, self._clock = self._clock, self._time(info, self._clock + duration)
        if not is_sum(self._clock, before, duration):
            raise ValueError(
                f'info["{self._reader.clock_key}"] is {self._clock}; it must be {before + duration}, the sum of the '
                "durations"
            )
        mask = self._mask(observation, info)
        return _Seen(copy.deepcopy(observation), earned, duration, bool(terminated), bool(truncated), mask)

    def _must_be_in_space(self, observation: Element, method: str) -> None:
        space = self._env.observation_space
        if not space.contains(observation):
            raise ValueError(
                f"{method} returned the observation {shown(observation)}, which is not in the observation space, "
                f"{shown(space)}"
            )

    def _time(self, info: Info, default: float) -> float:
        key = self._reader.clock_key or "clock"
        time = info.get(key, default)
        if isinstance(time, bool) or not isinstance(time, int | float | np.number):
            raise ValueError(f'info["{key}"] is {shown(time)}; it must be a number')  # noqa: TRY004 - likewise
        return float(time)

    def _mask(self, observation: Element, info: Info) -> Mask | None:
        mask, space = self._reader.mask(observation, info), self._env.action_space
        if mask is None:
            return None
        if not isinstance(space, Discrete):
            raise ValueError(  # noqa: TRY004 - likewise
                f"there is an action mask, but the action space is {shown(space)}; only Discrete actions can be masked"
            )
        return checked_mask(mask, int(space.n), self._reader.mask_name)


def _compare(one: _Seen, other: _Seen, when: str, seed: int) -> None:
    """Raise an error that says what differs the second time."""
    for name, before, after in zip(_Seen._fields, one, other, strict=True):
        if not _alike(before, after):
            raise ValueError(
                f"the {name} {when} is {shown(before)} the first time and {shown(after)} the second, with "
                f"the seed {seed} and the same actions; take all randomness from self.np_random"
            )


def _alike(one: Element | None, other: Element | None) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return data_equivalence(one, other, exact=True)
