"""Checks that an environment whose steps take time keeps the rules."""

from __future__ import annotations

import copy
import math
from typing import NamedTuple, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import data_equivalence

from sojourn.data.numbers import shown, whole
from sojourn.envs.durations import DurationSource, Reader, duration_reader, is_sum
from sojourn.envs.masks import Mask, MaskFunction, MaskSource, checked_mask, mask_source
from sojourn.envs.protocol import Element, Environment, Info, Space
from sojourn.rules.door import told

_MOST_STEPS = 1_000_000  # all that they show is kept, to be compared with the second time


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


class _Rules(NamedTuple):
    """What every step is checked against."""

    env: Environment
    duration: Reader
    mask: MaskFunction
    mask_name: str
    clock: str
    episodic: bool


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

    `duration`, `action_mask` and `clock` say where these are in info; see `sojourn.envs.durations` and
    `sojourn.envs.masks`. Steps that take no time are allowed, and the report counts them.

    >>> from sojourn.envs.two_state import TwoStateEnv
    >>> report = check_smdp_env(TwoStateEnv(), steps=100)
    >>> report.steps, report.zero_durations, report.truncated
    (100, 0, 0)
    """
    if not isinstance(env, gymnasium.Env):
        raise TypeError(f"{type(env).__name__} is not an environment; check_smdp_env takes a gymnasium.Env")
    steps, seed = whole("steps", steps, most=_MOST_STEPS), whole("seed", seed, least=0)
    name, mask = mask_source(action_mask, duration)
    rules = _Rules(env, duration_reader(duration), mask, name, clock, episodic)
    actions = _Actions(env.action_space, seed)
    first = _trajectory(rules, actions, steps, seed)
    _trajectory(rules, actions, steps, seed, expected=first)
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
    rules: _Rules, actions: _Actions, steps: int, seed: int, expected: list[_Seen] | None = None
) -> list[_Seen]:
    """Return what the steps and the resets between them showed; raise if that is not as `expected`."""
    record: list[_Seen] = []

    def note(seen: _Seen, when: str) -> None:
        if expected is not None:
            _compare(expected[len(record)], seen, when, seed)
        record.append(seen)

    seen, clock = _reset(rules, seed, 0)
    note(seen, "after the first reset")
    for step in range(steps):
        seen, clock = _step(rules, actions.at(step, seen.mask), clock, step)
        note(seen, f"at step {step}")
        if seen.terminated or seen.truncated:
            seen, clock = _reset(rules, None, step + 1)
            note(seen, f"after the reset at step {step + 1}")
    return record


def _reset(rules: _Rules, seed: int | None, step: int) -> tuple[_Seen, float]:
    """Reset, and return what was seen and the clock."""
    returned = rules.env.reset(seed=seed)
    if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)):
        raise ValueError(f"reset returned {shown(returned)} at step {step}; it must return (obs, info)")
    observation, info = returned
    _check_observation(rules.env, observation, f"by reset, at step {step}")
    mask = _mask(rules, observation, info, step)
    return _Seen(copy.deepcopy(observation), 0.0, math.nan, False, False, mask), _clock(
        rules, info, 0.0, step
    )


def _step(rules: _Rules, action: Element, clock: float, step: int) -> tuple[_Seen, float]:
    """Take one step, check what it returns, and return what was seen and the clock."""
    returned = rules.env.step(action)
    if not (isinstance(returned, tuple) and len(returned) == 5 and isinstance(returned[4], dict)):
        four = isinstance(returned, tuple) and len(returned) == 4
        raise ValueError(
            f"step returned {shown(returned)} at step {step}{': truncated is missing' if four else ''}; it must return "
            "(obs, reward, terminated, truncated, info)"
        )
    observation, reward, terminated, truncated, info = returned
    _check_observation(rules.env, observation, f"at step {step}")
    reward = _reward(reward, step)
    try:
        duration = rules.duration(observation, action, info)
    except ValueError as error:
        raise ValueError(f"at step {step}, {error}") from None
    if terminated and not rules.episodic:
        raise ValueError(
            f"the episode terminated at step {step}, but an average-reward task goes on for ever; let it "
            "truncate or begin again by itself, or set episodic=True if it is meant to end"
        )
    after = _clock(rules, info, clock + duration, step)
    if not is_sum(after, clock, duration):
        raise ValueError(
            f'info["{rules.clock}"] is {after} at step {step}; it must be {clock + duration}, the sum of the durations'
        )
    mask = _mask(rules, observation, info, step)
    seen = _Seen(copy.deepcopy(observation), reward, duration, bool(terminated), bool(truncated), mask)
    return seen, after


def _check_observation(env: Environment, observation: Element, when: str) -> None:
    if not env.observation_space.contains(observation):
        raise ValueError(
            f"the observation {shown(observation)}, returned {when}, is not in the observation space, "
            f"{shown(env.observation_space)}"
        )


def _reward(reward: SupportsFloat, step: int) -> float:
    try:
        number = float(reward)
    except (TypeError, ValueError):
        raise ValueError(f"the reward is {shown(reward)} at step {step}; it must be a number") from None
    if not math.isfinite(number):
        raise ValueError(f"the reward is {number} at step {step}; it must be finite")
    return number


def _clock(rules: _Rules, info: Info, default: float, step: int) -> float:
    clock = info.get(rules.clock, default)
    if isinstance(clock, bool) or not isinstance(clock, int | float | np.number):
        raise ValueError(f'info["{rules.clock}"] is {shown(clock)} at step {step}; it must be a number')  # noqa: TRY004 - see _mask
    return float(clock)


def _mask(rules: _Rules, observation: Element, info: Info, step: int) -> Mask | None:
    try:
        mask = rules.mask(observation, info)
    except ValueError as error:
        raise ValueError(f"at step {step}, {error}") from None
    if mask is None:
        return None
    space = rules.env.action_space
    if not isinstance(space, Discrete):
        raise ValueError(  # noqa: TRY004 - whatever an environment does wrong is a ValueError
            f"there is an action mask at step {step}, but the action space is {shown(space)}; only Discrete "
            "actions can be masked"
        )
    try:
        return checked_mask(mask, int(space.n), rules.mask_name)
    except ValueError as error:
        raise ValueError(f"at step {step}, {error}") from None


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
