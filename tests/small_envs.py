"""Small environments that learners are tested in, and what a learner does in them, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import naive
import sojourn as sj
from sojourn.envs.states import Bins
from sojourn.rules.values import same

TAXI = max(env_id for env_id in gym.registry if env_id.startswith("Taxi-v"))
CART_BINS: Bins = [1, 1, [-np.inf, -0.1, 0.0, 0.1, np.inf], [-np.inf, -0.5, 0.5, np.inf]]


class Maze(gym.Env[Any, Any]):
    """Four states and three actions; the next state is random, so it is often the same once more.

    `masks` says what an action mask depends on: "none", "state", "time" or "both". `ends` and
    `cuts` are the probabilities that a step terminates or truncates the episode. What is not
    allowed raises. `special` are entries of info for certain steps since the last reset.
    """

    def __init__(
        self,
        masks: str = "none",
        ends: float = 0.0,
        cuts: float = 0.0,
        first_state: int = 0,
        first_action: int = 0,
        special: dict[int, dict[str, Any]] | None = None,
    ) -> None:
        self.observation_space = spaces.Discrete(4, start=first_state)
        self.action_space: Any = spaces.Discrete(3, start=first_action)
        self.masks, self.ends, self.cuts = masks, ends, cuts
        self.first_state, self.first_action = first_state, first_action
        self.special = special or {}
        self.state = self.t = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.state, self.t = int(self.np_random.integers(4)), 0
        return self.state + self.first_state, self._info()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        index = int(action) - self.first_action
        assert 0 <= index < 3, f"there is no action {action}"
        assert self.mask()[index], f"action {action} is not allowed"
        noise, length, end, cut = self.np_random.random(4).tolist()
        reward = (self.state - 1.0) * (index + 0.5) + noise
        duration = 0.25 + length * (1.0 + index)
        self.state = int(self.np_random.integers(4))
        info = self._info() | {"duration": duration} | self.special.get(self.t, {})
        self.t += 1
        info |= self._info()
        return self.state + self.first_state, reward, end < self.ends, cut < self.cuts, info

    def mask(self) -> list[int]:
        """Return the mask as it is now; at least one entry is 1."""
        number = 7
        if self.masks in ("state", "both"):
            number = 1 + self.state
        if self.masks in ("time", "both"):
            number = 1 + (number * 5 + 3 * self.t + self.t // 2) % 7
        return [number >> bit & 1 for bit in range(3)]

    def _info(self) -> dict[str, Any]:
        return {} if self.masks == "none" else {"action_mask": np.array(self.mask(), dtype=np.int8)}


class Gamble(gym.Env[Any, Any]):
    """One state: A earns 1 or 9 in a time of 1, B earns 4 or 20 in a time of 4; A is better, 5 against 3."""

    def __init__(self, noisy: bool = True) -> None:
        self.observation_space = spaces.Discrete(1)
        self.action_space: Any = spaces.Discrete(2)
        self.noisy = noisy

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        luck = (1.0 if self.np_random.random() < 0.5 else -1.0) if self.noisy else 0.0
        reward, duration = (5.0 + 4.0 * luck, 1.0) if action == 0 else (12.0 + 8.0 * luck, 4.0)
        return 0, reward, False, False, {"duration": duration}


class Running(Maze):
    """A maze that a generator walks through, as simulations of events are: it can be neither copied nor pickled."""

    opened = 0  # environments that are open

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        Running.opened += 1
        self._steps: Any = iter(())

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self._steps = self._walk()
        shown = super().reset(seed=seed, options=options)
        next(self._steps)
        return shown

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        result: tuple[int, float, bool, bool, dict[str, Any]] = self._steps.send(action)
        return result

    def _walk(self) -> Any:
        result = None
        while True:
            result = super().step((yield result))

    def close(self) -> None:
        Running.opened -= 1


class Fleet(gym.Env[Any, Any]):
    """Four machines whose wear, from 0 to 1, is seen, and one crew: action 0 lets them run, action i mends machine i.

    To run on takes Exp(1). To mend takes Gamma(4, scale 0.125) and costs 2, or, if the machine has failed at wear 1,
    Gamma(4, scale 0.75) and 12; its wear is 0 then. Meanwhile the others run: in a time t the wear of each grows by
    Gamma(t, scale 0.08), and it earns 1 per unit time until it fails.
    """

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (4,), np.float64)
        self.action_space: Any = spaces.Discrete(5)
        self.wear = np.zeros(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.wear = np.zeros(4)
        return self.wear.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward, crew = 0.0, int(action) - 1
        if crew < 0:
            duration = float(self.np_random.exponential(1.0))
        else:
            failed = self.wear[crew] >= 1.0
            duration = float(self.np_random.gamma(4.0, 0.75 if failed else 0.125))
            reward -= 12.0 if failed else 2.0
        grown = self.np_random.gamma(duration, 0.08, size=4)
        for machine in range(4):
            if machine != crew:
                left = 1.0 - self.wear[machine]
                reward += duration * min(1.0, left / max(grown[machine], 1e-12))  # it wears evenly in a step
                self.wear[machine] = min(1.0, self.wear[machine] + grown[machine])
        if crew >= 0:
            self.wear[crew] = 0.0
        return self.wear.copy(), float(reward), False, False, {"duration": duration}


class Scripted(gym.Env[Any, Any]):
    """Two states in turn; every step gives the next entry of a list of (reward, info), and then (1, 1)."""

    def __init__(self, *entries: tuple[Any, dict[str, Any]]) -> None:
        self.observation_space = spaces.Discrete(2)
        self.action_space: Any = spaces.Discrete(2)
        self.entries, self.t = entries, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return self.t % 2, {}

    def step(self, action: Any) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        reward, info = self.entries[self.t] if self.t < len(self.entries) else (1.0, {"duration": 1.0})
        self.t += 1
        return self.t % 2, reward, False, False, info


class ByHand(NamedTuple):
    q: list[list[float]]
    rate: float
    reward: float
    duration: float
    greedy_steps: int
    actions: list[int]


def by_hand(
    env: Any, rate: naive.Rate, steps: int, *, step_size: float, exploration: float, seed: int
) -> ByHand:
    """Return what SMART and its relatives learn, with masks, terminations and truncations, in plain Python."""
    count, first = int(env.action_space.n), int(env.action_space.start)
    q = [[0.0] * count for _ in range(int(env.observation_space.n))]
    lowest = int(env.observation_space.start)
    stream = naive.streams(seed)[1]

    def allowed(info: dict[str, Any]) -> list[int]:
        return [a for a, entry in enumerate(info.get("action_mask", [1] * count)) if entry]

    def best(state: int, choices: list[int]) -> int:
        return max(choices, key=lambda action: (q[state][action], -action))

    def drawn(state: int, choices: list[int]) -> int:
        u = stream.uniform()
        return choices[int(u / exploration * len(choices))] if u < exploration else best(state, choices)

    observation, info = env.reset(seed=seed)
    state, choices = int(observation) - lowest, allowed(info)
    reward_sum = duration_sum = 0.0
    greedy_steps, actions = 0, []
    for _ in range(steps):
        action = drawn(state, choices)
        actions.append(action)
        observation, reward, terminated, truncated, info = env.step(action + first)
        duration = info["duration"]
        begun = env.reset() if terminated or truncated else (observation, info)
        led_to = begun if terminated else (observation, info)
        ahead = int(led_to[0]) - lowest
        was_greedy = action == best(state, choices)
        value = max(q[ahead][a] for a in allowed(led_to[1]))
        delta = reward - rate.value() * duration + value - q[state][action]
        q[state][action] += step_size * delta
        if was_greedy:
            rate.update(reward, duration)
            greedy_steps += 1
        reward_sum, duration_sum = reward_sum + reward, duration_sum + duration
        state, choices = int(begun[0]) - lowest, allowed(begun[1])
    return ByHand(q, rate.value(), reward_sum, duration_sum, greedy_steps, actions)


def values(learner: sj.Learner) -> Any:
    """Return Q with the values of actions that are not allowed at present."""
    return np.array([learner._table.hidden.values(state) for state in range(len(learner.q))])


def is_by_hand(learner: sj.Learner, expected: ByHand) -> bool:
    """Whether a learner has learned what was learned by hand."""
    close: Callable[[Any], Any] = lambda number: pytest.approx(number, rel=1e-9, abs=1e-9)  # noqa: E731
    totals = learner.totals
    return bool(
        values(learner).ravel().tolist() == close([entry for row in expected.q for entry in row])
        and learner.rate == close(expected.rate)
        and (totals.reward, totals.duration) == close((expected.reward, expected.duration))
        and (totals.steps, totals.greedy_steps) == (len(expected.actions), expected.greedy_steps)
    )


def alike(one: sj.Learner, other: sj.Learner) -> bool:
    """Whether two learners are the same bit for bit, and would go on in the same way."""
    return bool(
        same(one.agent, other.agent)
        and one.totals == other.totals
        and same(one._table.table.rng, other._table.table.rng)
        and one.policy.tolist() == other.policy.tolist()
        and same(values(one), values(other))
        and one._table.position == other._table.position
    )


def sentence(call: Callable[[], object], kinds: Any = (TypeError, ValueError)) -> str:
    """Return the one sentence that a call is refused with."""
    with pytest.raises(kinds) as error:
        call()
    text = str(error.value)
    assert text
    assert "\n" not in text
    assert "Traceback" not in text
    return text
