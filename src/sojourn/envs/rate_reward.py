"""Wrappers that let any algorithm written for Gymnasium optimise reward per unit time.

The reward of a step becomes r - rho tau, where rho is the wrapper's estimate of the rate. Once the estimate is right, an
algorithm that maximises the sum of these rewards maximises reward per unit time (Dinkelbach 1967 has the argument).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from sojourn.data.numbers import shown
from sojourn.envs.protocol import Environment, Info, parts_of
from sojourn.envs.reader import DurationSource, VectorClock, duration_reader, reward_of, rewards_of
from sojourn.rates.meter import RateMeter
from sojourn.rates.protocol import Rate, carry, value
from sojourn.rates.ratio import Exponential
from sojourn.rules.arrays import Flags
from sojourn.rules.door import told

_USUAL = Exponential(0.001)


class RateReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose reward is r - rho tau, the surplus of a step over what the rate earns in its time.

    `rate` is any of Sojourn's estimators. The reward of a step is computed with its previous estimate; only then does it
    see the step. `duration` says where the duration of a step is found, as in `sojourn.Learner`. `info["rate"]` is the
    estimate after the step, `info["reward"]` the original reward.

    >>> import sojourn as sj
    >>> env = RateReward(sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=1e-3), compiled=False), rate=sj.Cumulative())
    >>> observation, info = env.reset(seed=0)
    >>> [env.step(1)[1] for _ in range(2)]  # 10 in a time of 11 while the rate is 0; then 0 in a time of 1
    [10.0, -0.9090909090909091]
    """

    @told
    def __init__(
        self, env: Environment, rate: Rate | None = None, duration: DurationSource = "duration"
    ) -> None:
        RecordConstructorArgs.__init__(self, rate=rate, duration=duration)
        gymnasium.Wrapper.__init__(self, env)
        self._meter = RateMeter(_USUAL if rate is None else rate)
        self._read = duration_reader(duration)

    @property
    def rate(self) -> float:
        """The estimate of the rate."""
        return self._meter.rate

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Take one action."""
        observation, reward, terminated, truncated, info = parts_of(self.env.step(action))
        duration, earned = self._read(observation, action, info), reward_of(reward)
        surplus = earned - self._meter.rate * duration
        self._meter.update(earned, duration)
        return observation, surplus, terminated, truncated, info | {"rate": self.rate, "reward": earned}


@told
class VectorRateReward(VectorWrapper[Any, Any, Any], RecordConstructorArgs):
    """A vector of environments whose rewards are r - rho tau, with one estimate of the rate for all of them.

    The estimator sees the steps one by one, in the order of the environments. See `RateReward`.

    >>> import gymnasium, sojourn as sj, sojourn.envs
    >>> envs = gymnasium.make_vec("sojourn/TwoState-v0", num_envs=2, log_scale=1e-3, compiled=False)
    >>> envs = VectorRateReward(envs, rate=sj.Cumulative())
    >>> observations, infos = envs.reset(seed=0)
    >>> envs.step([1, 1])[1]
    array([10., 10.])
    """

    @told
    def __init__(
        self, env: VectorEnv[Any, Any, Any], rate: Rate | None = None, duration: DurationSource = "duration"
    ) -> None:
        RecordConstructorArgs.__init__(self, rate=rate, duration=duration)
        VectorWrapper.__init__(self, env)
        self._rate: Rate = RateMeter(_USUAL if rate is None else rate).estimator
        self._clock, self._carried = VectorClock(env, duration), [0.0] * int(env.num_envs)

    @property
    def rate(self) -> float:
        """The estimate of the rate."""
        return float(value(self._rate))

    @told
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Info | None = None
    ) -> tuple[Any, Info]:
        """Begin an episode in each environment, or in those that `options` asks for."""
        if options is None or "reset_mask" not in options:
            self._clock.resets[:] = False
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type] # one for each, too
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Take an action in each environment."""
        if not hasattr(actions, "__len__") or len(actions) != self._clock.places:
            raise ValueError(
                f"actions is {shown(actions)}; give one action for each of the {self._clock.places} environments"
            )
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended: Flags = np.asarray(terminated, dtype=np.bool_) | np.asarray(truncated, dtype=np.bool_)
        durations = self._clock.durations(infos, np.asarray(actions), ended)
        earned = rewards_of(rewards, self._clock.places)
        surplus = earned - self.rate * durations
        for place in np.flatnonzero(~self._clock.resets):
            self._rate, self._carried[place] = carry(
                self._rate, self._carried[place], float(earned[place]), float(durations[place])
            )
        self._clock.go_on(ended)
        more = {"rate": np.full(len(earned), self.rate), "reward": earned}
        return observations, surplus, terminated, truncated, infos | more
