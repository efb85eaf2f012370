"""The named problems as Gymnasium environments, each with the docstring of its problem under fixed headings.

For every entry of `sojourn.models.problems.PROBLEMS` there is a class here: `LongShotEnv` for
"long-shot". It is made when it is first asked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from sojourn.envs.named import class_name, title
from sojourn.envs.worlds import WorldEnv
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.models.smdp import SMDP
from sojourn.worlds.tabular import Tabular

_PARAGRAPHS = {
    "States": "Observation space",
    "Actions": "Action space",
    "Rewards": "Rewards",
    "Durations": "Durations",
}
_OURS = "sojourn.models.problems"


class ProblemEnv(WorldEnv):
    """A finite model as a Gymnasium environment.

    The model is `env.unwrapped.model`. Where some of its states lack some actions,
    `info["action_mask"]` has a 1 for each action that the state has.

    >>> from sojourn.models.problems import two_choice
    >>> env = ProblemEnv(two_choice(), compiled=False)
    >>> env.reset(seed=0)[1]["action_mask"], env.step(1)[4]["action_mask"]
    (array([1, 1], dtype=int8), array([1, 0], dtype=int8))
    """

    def __init__(self, model: SMDP, *, start: int = 0, compiled: bool = True) -> None:
        self.model = model
        super().__init__(Tabular(model, start), compiled=compiled)


def __getattr__(name: str) -> type[ProblemEnv]:
    """Return the environment's class of a problem, such as `LongShotEnv`."""
    for problem in PROBLEMS:
        if class_name(problem) == name:
            return _class(problem, PROBLEMS[problem])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *map(class_name, PROBLEMS)]


@functools.cache
def _class(name: str, problem: Callable[..., SMDP]) -> type[ProblemEnv]:
    """Return the class of a problem's environment: its arguments are those of the problem."""

    def __init__(  # noqa: N807 - of the class that is made below
        self: ProblemEnv, *, start: int = 0, compiled: bool = True, **parameters: Any
    ) -> None:
        ProblemEnv.__init__(self, problem(**parameters), start=start, compiled=compiled)

    body = {"__init__": __init__, "__doc__": _docstring(name, problem), "__module__": __name__}
    return type(class_name(name), (ProblemEnv,), body)


def _docstring(name: str, problem: Callable[..., SMDP]) -> str:
    """Return the docstring of a problem under the headings of an environment's.

    A user's problem need not have all the paragraphs that ours have.
    """
    first_line, *paragraphs = inspect.cleandoc(problem.__doc__ or "").split("\n\n")
    told = first_line or f"the problem {name}."
    said = {
        label: rest.strip() for label, colon, rest in (each.partition(":") for each in paragraphs) if colon
    }
    labelled = [number for number, each in enumerate(paragraphs) if each.startswith("States:")]
    parts = {
        "Description": "\n\n".join(paragraphs[: labelled[0] if labelled else None]),
        **{heading: said.get(label, "Not described.") for label, heading in _PARAGRAPHS.items()},
        "Episode end": "Never.",
        "Arguments": _arguments(problem),
        "Source": said.get("Source", "Not given."),
    }
    body = "\n\n".join(f"## {heading}\n{text}" for heading, text in parts.items())
    return f"`sojourn/{title(name)}-v0`: {told[:1].lower()}{told[1:]}\n\n{body}\n"


def _arguments(problem: Callable[..., SMDP]) -> str:
    module = _OURS if problem.__module__.startswith(f"{_OURS}.") else problem.__module__
    defaults = ", ".join(
        f"`{each.name}={_short(each.default)}`" for each in inspect.signature(problem).parameters.values()
    )
    function = getattr(problem, "__qualname__", type(problem).__qualname__)
    own = f"{defaults}: those of `{module}.{function}`; " if defaults else ""
    return f"{own}`start=0`, the first state; and `compiled` of `sojourn.WorldEnv`."


def _short(default: Any) -> str:
    text = repr(default)
    return text if len(text) <= 40 else "..."
