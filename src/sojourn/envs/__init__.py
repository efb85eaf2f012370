"""Worlds as Gymnasium environments, and the reading of other people's environments.

Everything that needs Gymnasium is here: the environments made from worlds, problems and simulations; the
code that finds durations, action masks and states in an environment and remembers where it stands; and a
checker. Agents and learning do not belong here, and no other room imports Gymnasium.

Importing this package registers its environments with Gymnasium:

    import gymnasium as gym
    import sojourn.envs

    env = gym.make("sojourn/TwoState-v0", log_scale=1e-3)

If only Gymnasium is imported, `gym.make("sojourn.envs:sojourn/TwoState-v0")` does the same. To register a
problem of your own, add it to `sojourn.models.problems.PROBLEMS` and, if this package has already been
imported, call `sojourn.envs.register()`.

>>> import sojourn as sj
>>> sj.envs.environments()["sojourn/Market-v0"]
'at every bar of an instrument, buy or sell'
"""

from sojourn.data.names import public_names
from sojourn.envs.catalogue import register

__getattr__, __dir__, __all__ = public_names(__name__, __file__)

register()
