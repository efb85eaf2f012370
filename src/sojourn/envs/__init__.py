"""Gymnasium: worlds as its environments, and what other environments need to be learned in.

To import this package is to register the environments below, by name only: a world and its
environment are imported when one is made. Nothing else in Sojourn imports Gymnasium.

    import gymnasium as gym
    import sojourn.envs

    env = gym.make("sojourn/TwoState-v0", log_scale=1e-3)

or, with nothing but Gymnasium imported, `gym.make("sojourn.envs:sojourn/TwoState-v0")`.
"""

from gymnasium.envs.registration import register, registry

ENVIRONMENTS = {
    "sojourn/TwoState-v0": "sojourn.envs.two_state:TwoStateEnv",
    "sojourn/Market-v0": "sojourn.envs.market:MarketEnv",
}

for _id, _entry_point in ENVIRONMENTS.items():
    if _id not in registry:
        register(_id, entry_point=_entry_point)
