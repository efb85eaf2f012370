"""How the file of a learner says in what environment it was trained, and what kind of file it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

NETWORK_FORMAT, NETWORK_VERSION = "sojourn learner with a network", 2

Options = dict[str, bool | int | float | str | None]


class SavedEnvironment(TypedDict):
    """How an environment was made: its id, the module that registers it, and its options.

    `module` is None if it is Sojourn's or Gymnasium's; `kwargs` is None if a file cannot hold the options.
    """

    id: str
    module: str | None
    kwargs: Options | None
    max_episode_steps: int | None


def described(env: Any) -> SavedEnvironment | None:
    """Return how an environment was made, if it says so."""
    spec = getattr(env, "spec", None)
    if spec is None:
        return None
    return {
        "id": spec.id,
        "module": _module_of(spec.entry_point),
        "kwargs": _plain(spec.kwargs),
        "max_episode_steps": spec.max_episode_steps,
    }


def _module_of(entry_point: object) -> str | None:
    """Return the module that an environment is defined in, unless Gymnasium or Sojourn registers it."""
    module = (
        entry_point.partition(":")[0]
        if isinstance(entry_point, str)
        else getattr(entry_point, "__module__", None)
    )
    known = module is None or module.partition(".")[0] in ("gymnasium", "sojourn", "__main__")
    return None if known else module


def _plain(options: Mapping[str, Any]) -> Options | None:
    """Return the options, or None if a file cannot hold some of them."""
    kinds = (bool, int, float, str, type(None))
    return dict(options) if all(isinstance(choice, kinds) for choice in options.values()) else None
