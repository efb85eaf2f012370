"""The named problems as Gymnasium environments, each with the docstring of its problem under fixed headings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sojourn.envs.worlds import WorldEnv
from sojourn.models import problems
from sojourn.models.smdp import SMDP
from sojourn.worlds.tabular import Tabular

_PARAGRAPHS = {
    "States": "Observation space",
    "Actions": "Action space",
    "Rewards": "Rewards",
    "Durations": "Durations",
}


class ProblemEnv(WorldEnv):
    """A finite model as a Gymnasium environment.

    The model is `env.unwrapped.model`. Where some of its states lack some actions,
    `info["action_mask"]` has a 1 for each action that the state has.

    >>> env = ProblemEnv(problems.two_choice(), compiled=False)
    >>> env.reset(seed=0)[1]["action_mask"], env.step(1)[4]["action_mask"]
    (array([1, 1], dtype=int8), array([1, 0], dtype=int8))
    """

    def __init__(self, model: SMDP, *, start: int = 0, compiled: bool = True) -> None:
        self.model = model
        super().__init__(Tabular(model, start), compiled=compiled)


def _env(name: str, problem: Callable[..., SMDP]) -> type[ProblemEnv]:
    """Return the class of a problem's environment: its arguments are those of the problem."""

    def __init__(  # noqa: N807 - of the class that is made below
        self: ProblemEnv, *, start: int = 0, compiled: bool = True, **parameters: Any
    ) -> None:
        ProblemEnv.__init__(self, problem(**parameters), start=start, compiled=compiled)

    body = {"__init__": __init__, "__doc__": _docstring(name, problem), "__module__": __name__}
    return type(f"{name}Env", (ProblemEnv,), body)


def _docstring(name: str, problem: Callable[..., SMDP]) -> str:
    """Return the docstring of a problem under the headings of an environment's."""
    title, *paragraphs = inspect.cleandoc(problem.__doc__ or "").split("\n\n")
    said = {
        label: rest.strip() for label, colon, rest in (each.partition(":") for each in paragraphs) if colon
    }
    first = next(number for number, each in enumerate(paragraphs) if each.startswith("States:"))
    defaults = ", ".join(
        f"`{each.name}={_short(each.default)}`" for each in inspect.signature(problem).parameters.values()
    )
    arguments = (
        f"{defaults}: those of `sojourn.models.problems.{problem.__name__}`; `start=0`, the first state; and "
        "`compiled` of `sojourn.WorldEnv`."
    )
    parts = {
        "Description": "\n\n".join(paragraphs[:first]),
        **{heading: said[label] for label, heading in _PARAGRAPHS.items()},
        "Episode end": "Never.",
        "Arguments": arguments,
        "Source": said["Source"],
    }
    body = "\n\n".join(f"## {heading}\n{text}" for heading, text in parts.items())
    return f"`sojourn/{name}-v0`: {title[:1].lower()}{title[1:]}\n\n{body}\n"


def _short(default: Any) -> str:
    text = repr(default)
    return text if len(text) <= 40 else "..."


GosaviEnv = _env("Gosavi", problems.gosavi)
TijmsMaintenanceEnv = _env("TijmsMaintenance", problems.tijms_maintenance)
AccessControlEnv = _env("AccessControl", problems.access_control)
RiverSwimEnv = _env("RiverSwim", problems.river_swim)
TwoChoiceEnv = _env("TwoChoice", problems.two_choice)
AdmissionControlEnv = _env("AdmissionControl", problems.admission_control)
ReplacementEnv = _env("Replacement", problems.replacement)
FourRoomsEnv = _env("FourRooms", problems.four_rooms)
LongShotEnv = _env("LongShot", problems.long_shot)
LongReturnEnv = _env("LongReturn", problems.long_return)
JobsEnv = _env("Jobs", problems.jobs)
