"""Gymnasium: worlds as its environments, and how to read environments of other people.

Here is everything that needs Gymnasium: the environments made of worlds and problems, where an
environment says durations, action masks and states, where it stands, and a checker. Agents and
learning do not belong here, and no other room imports Gymnasium.

To import this package is to register its environments with Gymnasium:

    import gymnasium as gym
    import sojourn.envs

    env = gym.make("sojourn/TwoState-v0", log_scale=1e-3)

or, with nothing but Gymnasium imported, `gym.make("sojourn.envs:sojourn/TwoState-v0")`. A problem
of your own is registered by an entry in `sojourn.models.problems.PROBLEMS` and, if this package
has been imported already, a call of `sojourn.envs.register()`.

>>> make("sojourn/TwoState-v0", {"log_scale": 1e-3}).action_space
Discrete(2)
"""

from sojourn.envs.named import ENVIRONMENTS, environments, make, register, summary
from sojourn.envs.rate_reward import RateReward, VectorRateReward

__all__ = [
    "ENVIRONMENTS", "RateReward", "VectorRateReward", "environments", "make", "register", "summary",
]  # fmt: skip

register()
