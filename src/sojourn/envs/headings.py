"""The docstrings of environments: those of their problems or worlds, under fixed headings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sojourn.envs.named import title

_PARAGRAPHS = {
    "States": "Observation space",
    "Actions": "Action space",
    "Rewards": "Rewards",
    "Durations": "Durations",
}
_OURS = (
    "sojourn.models.problems",
    "sojourn.worlds.changes",
    "sojourn.worlds.continuous",
)  # shown by the names of these packages


def headed(name: str, maker: Callable[..., object], besides: str = "") -> str:
    """Return the docstring of a function that makes a problem or a world, under the headings of an environment.

    A user's own docstring may lack some of the paragraphs. `besides` names arguments that the maker does not have.
    """
    first_line, *paragraphs = inspect.cleandoc(maker.__doc__ or "").split("\n\n")
    paragraphs = [each for each in paragraphs if not each.startswith(">>>")]
    told = first_line or f"the problem {name}."
    said = {
        label: rest.strip() for label, colon, rest in (each.partition(":") for each in paragraphs) if colon
    }
    labelled = [number for number, each in enumerate(paragraphs) if each.startswith("States:")]
    parts = {
        "Description": "\n\n".join(paragraphs[: labelled[0] if labelled else None]),
        **{heading: said.get(label, "Not described.") for label, heading in _PARAGRAPHS.items()},
        "Episode end": "Never.",
        "Arguments": _arguments(maker, besides),
        "Source": said.get("Source", "Not given."),
    }
    parts["Action space"] += (
        " To take an action that the state lacks changes nothing; see `sojourn.WorldEnv`."
    )
    body = "\n\n".join(f"## {heading}\n{text}" for heading, text in parts.items())
    return f"`sojourn/{title(name)}-v0`: {told[:1].lower()}{told[1:]}\n\n{body}\n"


def _arguments(maker: Callable[..., object], besides: str) -> str:
    module = next((room for room in _OURS if maker.__module__.startswith(f"{room}.")), maker.__module__)
    defaults = ", ".join(
        f"`{each.name}={_short(each.default)}`" for each in inspect.signature(maker).parameters.values()
    )
    function = getattr(maker, "__qualname__", type(maker).__qualname__)
    own = f"{defaults}: those of `{module}.{function}`; " if defaults else ""
    return f"{own}{besides}`compiled` of `sojourn.WorldEnv`."


def _short(default: Any) -> str:
    text = repr(default)
    return text if len(text) <= 40 else "..."
