"""Where a learner's environments come from: one that it is given, or a function that makes them.

A learner is trained in one environment and judged in others like it. If it was given a function that
makes environments, it calls that; if it was given one environment, it takes copies of it.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeGuard

from sojourn.data.numbers import shown
from sojourn.envs.protocol import Environment, VectorEnvironment
from sojourn.envs.vectors import is_vector, single_of

MakeEnvironment: TypeAlias = Callable[[], Environment | VectorEnvironment]
EnvironmentSource: TypeAlias = Environment | VectorEnvironment | MakeEnvironment


class Supply:
    """The environment that a learner is trained in, and further ones like it."""

    def __init__(self, source: EnvironmentSource) -> None:
        self.make = source if makes(source) else None
        self.env = opened(source)  # or a vector of them, for agents that observe

    @property
    def single(self) -> Environment:
        """The environment, if it is a single one."""
        if is_vector(self.env):
            raise TypeError(
                "an agent with a table takes one environment, not a vector of them; give it a single one, or use "
                "deep_q or ppo"
            )
        return self.env

    @contextlib.contextmanager
    def another(self, source: EnvironmentSource | None = None) -> Iterator[Environment]:
        """Yield an environment other than that of the training: from `source`, or otherwise made or copied.

        An environment that is made for this is closed at the end.
        """
        if source is None:
            source = self._copied() if self.make is None else self.make
        env = single_of(opened(source))
        if env.unwrapped is self.env.unwrapped:
            advice = (
                "the function that makes environments must make a new one each time"
                if makes(source)
                else "pass another one, or none for a copy of it"
            )
            raise ValueError(f"env is the learner's own environment; {advice}")
        try:
            yield env
        finally:
            if makes(source):
                env.close()

    def _copied(self) -> Environment:
        try:
            return copy.deepcopy(single_of(self.env))
        except Exception as error:  # noqa: BLE001 - whatever an environment cannot copy
            raise ValueError(
                f"the environment cannot be copied ({type(error).__name__}); give Learner a function that makes one, "
                "Learner(make_env, ...), or pass another one: evaluate(..., env=...)"
            ) from None


def makes(source: EnvironmentSource) -> TypeGuard[MakeEnvironment]:
    """Whether this is a function that makes environments, or a class of them, and not an environment."""
    return callable(source) and (isinstance(source, type) or not hasattr(source, "step"))


def opened(source: EnvironmentSource) -> Environment:
    """Return the environment, or a new one if there is a function that makes them; refuse anything else."""
    env = source() if makes(source) else source
    missing = [
        name for name in ("observation_space", "action_space", "reset", "step") if not hasattr(env, name)
    ]
    if missing and isinstance(source, type) and not missing[0].startswith("re"):
        raise TypeError(
            f"the class {source.__name__} has no {missing[0]}; give it one, such as gymnasium.spaces.Discrete(5)"
        )
    if missing or isinstance(env, type):
        what = f"the function made {shown(env)}, which" if makes(source) else shown(env)
        why = f"it has no {missing[0]}" if missing else "it is a class"
        raise TypeError(
            f"{what} is not a Gymnasium environment: {why}; make one with gymnasium.make, or "
            "sojourn.WorldEnv(world)"
        )
    return env  # type: ignore[return-value] # it has all that is needed
