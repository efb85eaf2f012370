"""Where an environment says which actions it allows.

The mask is looked for beside the duration: `info["action_mask"]` as in Gymnasium's Taxi, or
`info["smdp"]["action_mask"]` where the duration is `info["smdp"]["duration"]`. That matters: a
Taxi that is wrapped in SMDPfier has both, one for the taxi's own six actions and one for the
options, and only the second is about what the agent does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


def mask_reader(action_mask: str | None, duration: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function of info that gives its action mask as it is, or None.

    `action_mask` is a key of info, with dots for a path; None means beside the duration.

    >>> mask_reader(None, "duration")({"action_mask": [0, 1]})
    [0, 1]
    >>> mask_reader(None, "smdp.duration")({"action_mask": [0, 1], "smdp": {"action_mask": [1, 1, 0]}})
    [1, 1, 0]
    """
    if action_mask is None:
        parent, dot, _ = duration.rpartition(".") if isinstance(duration, str) else ("", "", "")
        action_mask = f"{parent}{dot}action_mask"
    if not isinstance(action_mask, str) or not all(action_mask.split(".")):
        raise ValueError(
            f"action_mask is {action_mask!r}; it must be a key of info, or keys with dots between"
        )
    if "." not in action_mask:
        key = action_mask
        return lambda info: info.get(key)
    path = action_mask.split(".")

    def read(info: Mapping[str, Any]) -> Any:
        found: Any = info
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    return read


def checked_mask(mask: Any, num_actions: int) -> Mask:
    """Return a mask as an array of bools, or say what is wrong with it.

    >>> checked_mask([0, 1, 1], num_actions=3)
    array([False,  True,  True])
    """
    array = np.asarray(mask)
    if array.shape != (num_actions,) or array.dtype.kind not in "biuf":
        raise ValueError(
            f"action_mask is {mask!r}; it must be an array of 0 and 1 with one entry for each of the "
            f"{num_actions} actions"
        )
    allowed = array.astype(np.bool_)
    if not (array == allowed).all():
        raise ValueError(f"action_mask is {mask!r}; it must have no entries but 0 and 1")
    if not allowed.any():
        raise ValueError("action_mask allows no action; at least one entry must be 1")
    return allowed
