"""Gymnasium: worlds as its environments, and what other environments need to be learned in.

To import this package is to
register the environments below, by name only: a world and its environment are imported when
one is made. Nothing else in Sojourn imports Gymnasium.

    import gymnasium as gym
    import sojourn.envs

    env = gym.make("sojourn/TwoState-v0", log_scale=1e-3)

or, with nothing but Gymnasium imported, `gym.make("sojourn.envs:sojourn/TwoState-v0")`.
"""

import importlib
from typing import Any

import gymnasium
from gymnasium.envs.registration import register, registry

ENVIRONMENTS = {
    "sojourn/TwoState-v0": "sojourn.envs.two_state:TwoStateEnv",
    "sojourn/Market-v0": "sojourn.envs.market:MarketEnv",
    "sojourn/Gosavi-v0": "sojourn.envs.problems:GosaviEnv",
    "sojourn/TijmsMaintenance-v0": "sojourn.envs.problems:TijmsMaintenanceEnv",
    "sojourn/AccessControl-v0": "sojourn.envs.problems:AccessControlEnv",
    "sojourn/RiverSwim-v0": "sojourn.envs.problems:RiverSwimEnv",
    "sojourn/TwoChoice-v0": "sojourn.envs.problems:TwoChoiceEnv",
    "sojourn/AdmissionControl-v0": "sojourn.envs.problems:AdmissionControlEnv",
    "sojourn/Replacement-v0": "sojourn.envs.problems:ReplacementEnv",
    "sojourn/FourRooms-v0": "sojourn.envs.problems:FourRoomsEnv",
    "sojourn/LongShot-v0": "sojourn.envs.problems:LongShotEnv",
    "sojourn/LongReturn-v0": "sojourn.envs.problems:LongReturnEnv",
    "sojourn/Jobs-v0": "sojourn.envs.problems:JobsEnv",
}

for _id, _entry_point in ENVIRONMENTS.items():
    if _id not in registry:
        register(_id, entry_point=_entry_point)


def make(env_id: str, options: dict[str, Any], max_episode_steps: int | None = None) -> Any:
    """Return the environment of this id, or say in one sentence why there is none."""
    try:
        return gymnasium.make(env_id, max_episode_steps=max_episode_steps, **options)
    except gymnasium.error.Error as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{env_id} cannot be made: {reason}; `sojourn envs` lists Sojourn's own") from None
    except ModuleNotFoundError as error:
        raise ValueError(f"{env_id} cannot be made: {error}") from None
    except TypeError as error:
        told = str(error).partition(" was raised from")[0]
        told = told.rpartition("__init__() ")[2].replace(
            "got an unexpected keyword argument", "there is no option"
        )
        raise ValueError(f"{env_id} cannot be made with these options: {told}") from None


def summary(env_id: str) -> str:
    """Return what one of Sojourn's environments is, in a line."""
    module, _, name = ENVIRONMENTS[env_id].partition(":")
    line = (getattr(importlib.import_module(module), name).__doc__ or "").partition("\n")[0]
    return line.partition(": ")[2].rstrip(".")
