"""Reads from an environment which actions it allows.

The mask is looked for beside the duration: `info["action_mask"]` as in Gymnasium's Taxi, or
`info["smdp"]["action_mask"]` where the duration is `info["smdp"]["duration"]`. That matters: a
Taxi that is wrapped in SMDPfier has both masks, one for the taxi's own six actions and one for the
options, and only the second is about the actions of the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.envs.durations import DurationSource
from sojourn.envs.protocol import Info
from sojourn.rules.numbers import shown

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
MaskReader: TypeAlias = Callable[[Info], ArrayLike | None]
MaskFunction: TypeAlias = Callable[..., ArrayLike | None]  # of (obs, info)
MaskSource: TypeAlias = str | MaskFunction


def mask_key(action_mask: str | None, duration: DurationSource) -> str:
    """Return the key of info that has the mask, with dots for a path; None means beside the duration.

    >>> mask_key(None, "duration"), mask_key(None, "smdp.duration"), mask_key("legal", "duration")
    ('action_mask', 'smdp.action_mask', 'legal')
    """
    if action_mask is None:
        parent, dot, _ = duration.rpartition(".") if isinstance(duration, str) else ("", "", "")
        return f"{parent}{dot}action_mask"
    if not isinstance(action_mask, str) or not all(action_mask.split(".")):
        raise ValueError(
            f"action_mask is {action_mask!r}; it must be a key of info, keys joined by dots, or a function of (obs, info)"
        )
    return action_mask


def mask_reader(key: str) -> MaskReader:
    """Return the function of info that returns its action mask unchanged, or None if there is none.

    >>> mask_reader("smdp.action_mask")({"action_mask": [0, 1], "smdp": {"action_mask": [1, 1, 0]}})
    [1, 1, 0]
    """
    if "." not in key:

        def read_key(info: Info) -> ArrayLike | None:
            try:
                mask: ArrayLike | None = info.get(key)
            except AttributeError:
                raise ValueError(f"info is {shown(info)}; it must be a dictionary") from None
            return mask

        return read_key
    path = key.split(".")

    def read(info: Info) -> ArrayLike | None:
        within: Info | None = info
        for name in path[:-1]:
            within = within.get(name) if isinstance(within, Mapping) else None
        mask: ArrayLike | None = within.get(path[-1]) if isinstance(within, Mapping) else None
        return mask

    return read


def mask_source(action_mask: MaskSource | None, duration: DurationSource) -> tuple[str, MaskFunction]:
    """Return the name of a mask in messages, and the function of (obs, info) that finds the mask.

    `action_mask` is a key of info, a function of (obs, info), or None for a mask beside the duration.

    >>> name, read = mask_source(lambda obs, info: [1, obs > 0], "duration")
    >>> name, read(3, {})
    ('the mask from <lambda>', [1, True])
    """
    if action_mask is not None and callable(action_mask):
        return f"the mask from {getattr(action_mask, '__name__', type(action_mask).__name__)}", action_mask
    key = mask_key(action_mask, duration)
    read = mask_reader(key)
    return f'info["{key}"]', lambda _obs, info: read(info)


def checked_mask(mask: ArrayLike, num_actions: int, name: str = 'info["action_mask"]') -> Mask:
    """Return a mask as an array of bools, or say what is wrong with it.

    >>> checked_mask([0, 1, 1], num_actions=3)
    array([False,  True,  True])
    """
    try:
        array = np.asarray(mask)
    except ValueError:
        array = np.zeros(0)  # lists of different lengths
    if array.shape != (num_actions,) or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is {shown(mask)}, but a mask must have a 0 or 1 for each of the {num_actions} actions; if "
            'the mask is elsewhere, set action_mask="key"'
        )
    allowed = array.astype(np.bool_)
    if not (array == allowed).all():
        raise ValueError(f"{name} is {shown(mask)}; its entries must be 0 or 1")
    if not allowed.any():
        raise ValueError(f"{name} allows no action; at least one entry must be 1")
    return allowed
