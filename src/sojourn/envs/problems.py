"""The named problems as Gymnasium environments, each with the docstring of its problem under fixed headings.

For every entry of `sojourn.models.problems.PROBLEMS` there is a class here: `LongShotEnv` for
"long-shot". It is made when it is first asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sojourn.envs.headings import headed
from sojourn.envs.named import class_name
from sojourn.envs.worlds import WorldEnv
from sojourn.exact.solve import solve
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.models.smdp import SMDP
from sojourn.worlds.tabular import Tabular


class ProblemEnv(WorldEnv):
    """A finite model as a Gymnasium environment.

    The model is `env.unwrapped.model`. Where some of its states lack some actions,
    `info["action_mask"]` has a 1 for each action that the state has; any other changes nothing (see `sojourn.WorldEnv`).

    >>> from sojourn.models.problems import two_choice
    >>> env = ProblemEnv(two_choice(), compiled=False)
    >>> env.reset(seed=0)[1]["action_mask"], env.step(1)[4]["action_mask"]
    (array([1, 1], dtype=int8), array([1, 0], dtype=int8))
    """

    def __init__(self, model: SMDP, *, start: int = 0, compiled: bool = True) -> None:
        self.model = model
        super().__init__(Tabular(model, start), compiled=compiled)

    @property
    def gain(self) -> float:
        """The exact gain of the model."""
        return solve(self.model).gain


def __getattr__(name: str) -> type[ProblemEnv]:
    """Return the class of a problem's environment, such as `LongShotEnv`."""
    for problem in PROBLEMS:
        if class_name(problem) == name:
            return _class(problem, PROBLEMS[problem])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *map(class_name, PROBLEMS)]


@functools.cache
def _class(name: str, problem: Callable[..., SMDP]) -> type[ProblemEnv]:
    """Return the class of a problem's environment, which takes the arguments of the problem."""

    def __init__(  # noqa: N807 - of the class that is made below
        self: ProblemEnv, *, start: int = 0, compiled: bool = True, **parameters: Any
    ) -> None:
        ProblemEnv.__init__(self, problem(**parameters), start=start, compiled=compiled)

    told = headed(name, problem, "`start=0`, the first state; and ")
    body = {"__init__": __init__, "__doc__": told, "__module__": __name__}
    return type(class_name(name), (ProblemEnv,), body)
