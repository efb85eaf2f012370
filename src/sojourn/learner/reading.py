"""How a learner reads its environment: states, durations, action masks, and what a step may not be."""

from __future__ import annotations

import math

from sojourn.envs.durations import DurationSource, duration_reader
from sojourn.envs.masks import mask_key, mask_reader
from sojourn.envs.protocol import Environment
from sojourn.envs.states import Bins, action_count, first_action, tabulate
from sojourn.envs.tabulation import Tabulation
from sojourn.rules.numbers import shown

ZERO_DURATIONS = ("error", "skip")
_INF = math.inf


class Reading:
    """The ways to read one environment.

    `duration(obs, action, info)` is how long a step took, `mask(info)` the action mask or None, and
    `states.index(obs)` the number of the state. The agent numbers its actions from 0, the
    environment from `first_action`.
    """

    def __init__(
        self,
        env: Environment,
        *,
        source: DurationSource = "duration",
        zero_duration: str = "error",
        bins: Bins | Tabulation | None = None,
        action_mask: str | None = None,
    ) -> None:
        if zero_duration not in ZERO_DURATIONS:
            raise ValueError(f"zero_duration is {zero_duration!r}; it must be error or skip")
        self.source, self.zero_duration = source, zero_duration
        self.states = bins if isinstance(bins, Tabulation) else tabulate(env.observation_space, bins)
        self.num_actions = action_count(env.action_space)
        self.first_action = first_action(env.action_space)
        self.duration = duration_reader(source)
        self.mask_key = mask_key(action_mask, source)
        self.mask = mask_reader(self.mask_key)

    def is_skipped(self, duration: float, reward: float) -> bool:
        """Whether a step is passed over because it took no time; raise ValueError if it breaks the rules."""
        if duration > 0.0:
            if -_INF < reward < _INF:
                return False
            raise ValueError(f"the reward is {reward}; a reward must be finite")
        if self.zero_duration == "error":
            raise ValueError(
                f"the duration ({shown(self.source)}) is 0; a step must take time, or pass zero_duration='skip' "
                "to pass over such steps"
            )
        return True


def check_env(env: Environment) -> None:
    """Refuse what is not one Gymnasium environment."""
    for name in ("observation_space", "action_space", "reset", "step"):
        if not hasattr(env, name):
            raise TypeError(
                f"{shown(env)} is not a Gymnasium environment: it has no {name}; make one with gymnasium.make, or "
                "sojourn.WorldEnv(world)"
            )
    if hasattr(env, "num_envs"):
        raise TypeError("a Learner takes one environment, not a vector of them; give it a single one")
