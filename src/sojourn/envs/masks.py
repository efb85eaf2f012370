"""Reads from an environment which actions it allows.

The mask is looked for beside the duration: `info["action_mask"]` as in Gymnasium's Taxi, or
`info["smdp"]["action_mask"]` where the duration is `info["smdp"]["duration"]`. That matters: a
Taxi that is wrapped in SMDPfier has both masks, one for the taxi's own six actions and one for the
options, and only the second is about the actions of the agent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import shown, unmasked
from sojourn.envs.durations import DurationSource
from sojourn.envs.protocol import Info

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
MaskReader: TypeAlias = Callable[[Info], ArrayLike | None]
MaskFunction: TypeAlias = Callable[..., ArrayLike | None]  # of (obs, info)
MaskSource: TypeAlias = str | MaskFunction

_ABSENT: Any = object()
FORBIDDEN = (
    "forbidden_action"  # the key of info that says that the action was not allowed, and nothing happened
)


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
            f"action_mask is {shown(action_mask)}; it must be a key of info, keys joined by dots, or a function of (obs, info)"
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
                mask: ArrayLike | None = info.get(key, _ABSENT)
            except AttributeError:
                raise ValueError(f"info is {shown(info)}; it must be a dictionary") from None
            return None if mask is _ABSENT else _given(mask, key)

        return read_key
    path = key.split(".")

    def read(info: Info) -> ArrayLike | None:
        within: Info | None = info
        for name in path[:-1]:
            within = within.get(name) if isinstance(within, Mapping) else None
        if not isinstance(within, Mapping) or path[-1] not in within:
            return None
        return _given(within[path[-1]], key)

    return read


def _given(mask: ArrayLike | None, key: str) -> ArrayLike:
    """Return a mask, or refuse one that is None: whether that means all actions or none cannot be known."""
    if mask is None:
        raise ValueError(
            f'info["{key}"] is None; leave the mask out where every action is allowed, or give a 0 or 1 for each'
        )
    return mask


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
    unmasked(name, mask)
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


def warn_of(action: int, env: object) -> None:
    """Warn that an environment was given an action that its mask does not allow."""
    warnings.warn(
        f'{type(env).__name__} was given the action {action}, which info["action_mask"] does not allow: nothing happened, and no '
        'time passed; draw actions by the mask, as in action_space.sample(info["action_mask"]) (this is said once)',
        RuntimeWarning,
        stacklevel=3,
    )


def must_be_taken(info: Info) -> None:
    """Raise an error if a step's info says that the action was forbidden, so that nothing was learned by it.

    >>> must_be_taken({"duration": 0.0, "forbidden_action": 2})
    Traceback (most recent call last):
    ValueError: the action 2 was taken where info["action_mask"] does not allow it; nothing can be learned from that
    """
    if isinstance(info, dict) and FORBIDDEN in info:
        raise ValueError(
            f'the action {shown(info[FORBIDDEN])} was taken where info["action_mask"] does not allow it; nothing can be '
            "learned from that"
        )
