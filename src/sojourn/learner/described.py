"""How the file of a learner says what environment it was trained in, and what kind of file it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

NETWORK_FORMAT, NETWORK_VERSION = "sojourn learner with a network", 1

Options = dict[str, bool | int | float | str | None]


class SavedEnvironment(TypedDict):
    """How an environment was made; `kwargs` is None if a file cannot hold them."""

    id: str
    kwargs: Options | None
    max_episode_steps: int | None


def described(env: Any) -> SavedEnvironment | None:
    """Return how an environment was made, if it says so."""
    spec = getattr(env, "spec", None)
    if spec is None:
        return None
    return {"id": spec.id, "kwargs": _plain(spec.kwargs), "max_episode_steps": spec.max_episode_steps}


def _plain(options: Mapping[str, Any]) -> Options | None:
    """Return options that a file can hold, or None if some cannot be held."""
    kinds = (bool, int, float, str, type(None))
    return dict(options) if all(isinstance(choice, kinds) for choice in options.values()) else None
