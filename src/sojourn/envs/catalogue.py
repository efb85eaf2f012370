"""Sojourn's environments by their ids, and their registration with Gymnasium.

Every entry of `sojourn.models.problems.PROBLEMS` and of `sojourn.worlds.catalogue.WORLDS` is an environment:
"long-shot" is "sojourn/LongShot-v0". Only names are registered: a world and its environment are imported
when one is made.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
from gymnasium.envs import registration

from sojourn.data.hints import fitted
from sojourn.data.names import found
from sojourn.data.numbers import nearest, shown
from sojourn.envs.protocol import Environment
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.rules.door import told
from sojourn.worlds.catalogue import WORLDS, users_world

ENVIRONMENTS: dict[str, str] = {}  # the entry point of each id, as of the last call of `register`


def register() -> None:
    """Register every world and problem that Gymnasium does not know yet, and forget those that no longer exist.

    `import sojourn.envs` calls it, and so does `make`. Call it after you have added a problem:

    >>> from sojourn.models.problems import PROBLEMS, long_shot
    >>> PROBLEMS["my-shot"] = lambda: long_shot()
    >>> register()
    >>> gymnasium.make("sojourn/MyShot-v0").observation_space
    Discrete(1)
    >>> del PROBLEMS["my-shot"]
    >>> register()
    """
    own = {name: world.environment for name, world in WORLDS.items()}
    now = {
        f"sojourn/{title(name)}-v0": own.get(name) or f"sojourn.envs.registered:{class_name(name)}"
        for name in (*WORLDS, *PROBLEMS)
    }
    for env_id in ENVIRONMENTS.keys() - now.keys():
        registration.registry.pop(env_id, None)
    ENVIRONMENTS.clear()
    ENVIRONMENTS.update(now)
    for env_id, entry_point in now.items():
        if env_id not in registration.registry:
            ours = entry_point.startswith("sojourn.envs.registered:")
            vectors = f"{entry_point.removesuffix('Env')}VectorEnv" if ours else None
            registration.register(env_id, entry_point=entry_point, vector_entry_point=vectors)


@told
def make(env_id: str, options: Mapping[str, Any], max_episode_steps: int | None = None) -> Environment:
    """Return the environment of this id, or say in one sentence why it cannot be made.

    `module:Name` imports a module. `Name` is an id that the module registers, a class or function in it that
    makes an environment, or a user's own world or model.

    >>> make("sojourn.envs.registered:TwoStateEnv", {"log_scale": 0.5}).unwrapped.world.log_scale
    0.5
    """
    register()
    if not isinstance(options, Mapping):
        raise TypeError(f"options is {shown(options)}; it must be a dictionary")
    try:
        return gymnasium.make(_spec(env_id), max_episode_steps=max_episode_steps, **options)
    except gymnasium.error.Error as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"{env_id} cannot be made: {reason}{'' if reason.endswith('?') else ';'} `sojourn envs` lists Sojourn's own"
        ) from None
    except ModuleNotFoundError as error:
        raise ValueError(f"{env_id} cannot be made: {error}") from None
    except TypeError as error:
        reason = str(error).partition(" was raised from")[0]
        reason = reason.rpartition("() ")[2].replace(
            "got an unexpected keyword argument", "there is no option"
        )
        raise ValueError(f"{env_id} cannot be made with these options: {reason}") from None


def _spec(env_id: str) -> str | registration.EnvSpec:
    """Return the id, or an `EnvSpec` if the name is that of a class or function in a module."""
    module, colon, name = env_id.rpartition(":")
    if not (colon and name.isidentifier()):
        return env_id
    if module not in sys.modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise  # the missing module is one that it imports
            found(env_id)  # looks in the current folder, too
    own: Callable[..., Any] | None = getattr(sys.modules[module], name, None)
    if not callable(own):
        return env_id
    if isinstance(own, type) and hasattr(own, "step"):
        return registration.EnvSpec(name, entry_point=env_id)
    made = functools.partial(_opened, env_id, own)
    return registration.EnvSpec(name, entry_point=made, order_enforce=False, disable_env_checker=True)


def _opened(env_id: str, own: Callable[..., Any], **options: Any) -> Environment:
    """Return the environment that a user's function makes, or one for the world or model that it makes."""
    if not isinstance(own, type):
        thing: Any = own(**fitted(own, options))
        if hasattr(thing, "step"):
            env: Environment = thing
            return env
    world = users_world(env_id)
    make_env: Callable[..., Environment] = found("sojourn.envs.worlds:WorldEnv")  # type: ignore[assignment]
    return make_env(world.make(**fitted(world.make, options, besides=world.not_options)))


def environments() -> dict[str, str]:
    """Return the ids of Sojourn's environments, each with a description in one line.

    >>> environments()["sojourn/Market-v0"]
    'at every bar of an instrument, buy or sell'
    """
    register()
    return {env_id: summary(env_id) for env_id in ENVIRONMENTS}


@told
def summary(env_id: str) -> str:
    """Return the description of one of Sojourn's environments in one line."""
    if env_id not in ENVIRONMENTS:
        raise ValueError(f"there is no environment {shown(env_id)}{nearest(env_id, ENVIRONMENTS)}")
    line = (registration.load_env_creator(ENVIRONMENTS[env_id]).__doc__ or "").partition("\n")[0]
    return line.partition(": ")[2].rstrip(".")


def title(name: str) -> str:
    """Return a name in the form that an id has.

    >>> title("long-shot"), title("two_state")
    ('LongShot', 'TwoState')
    """
    return "".join(word.capitalize() for word in name.replace("_", "-").split("-"))


def class_name(name: str) -> str:
    """Return the name of the class of a problem's environment."""
    return f"{title(name)}Env"
