"""Two continuous worlds with a known gain, as small Gymnasium environments."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Wear(gym.Env[Any, Any]):
    """Wear w: a job pays 1 - 1.6 w^2 and takes Exp(1 + w), then w += Exp(.1); a repair costs 1, takes .5, w = 0.

    The best is to repair from w = .35985 on, which earns .583015 per unit time.
    """

    gain = 0.583015
    threshold = 0.35985

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, np.inf, (1,))
        self.action_space: Any = spaces.Discrete(2)
        self.w = 0.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.w = 0.0
        return np.array([self.w], dtype=np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == 1:
            reward, duration, self.w = -1.0, 0.5, 0.0
        else:
            reward, duration = 1.0 - 1.6 * self.w**2, float(self.np_random.exponential(1.0 + self.w))
            self.w += float(self.np_random.exponential(0.1))
        return np.array([self.w], dtype=np.float32), reward, False, False, {"duration": duration}


class Offers(gym.Env[Any, Any]):
    """Offers z: a job pays R and takes S, log S = z1, log R = (z1 + z2) / 2; every step also has a search of Exp(1/2).

    The best is to take a job if R > g S, g = .74776 being the gain: g / 2 = E(R - g S)+.
    """

    gain = 0.747760

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,))
        self.action_space: Any = spaces.Discrete(2)
        self.z = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.z = self.np_random.normal(size=2)
        return self.z.astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        duration, reward = float(self.np_random.exponential(0.5)), 0.0
        if action == 1:
            duration += float(np.exp(self.z[0]))
            reward = float(np.exp(0.5 * (self.z[0] + self.z[1])))
        self.z = self.np_random.normal(size=2)
        return self.z.astype(np.float32), reward, False, False, {"duration": duration}
