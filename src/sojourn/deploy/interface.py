"""What all policies in files have in common: they act, say which observations they know, and say how they were trained."""

from __future__ import annotations

import base64
import binascii
import json
import math
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.data.files import MOST_TEXT, JsonObject, write_text
from sojourn.data.numbers import shown, unmasked, whole

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


VERSION = 1  # of all formats of policy files


class About(TypedDict, total=False):
    """The facts of a policy: who made it and how, and what it was trained with.

    >>> facts: About = {"agent": "smart", "options": {"step_size": 0.01}, "steps": 1000}
    >>> facts["agent"]
    'smart'
    """

    agent: str
    options: dict[str, Any]  # all of the agent's options, those that were left at their defaults too
    environment: str
    observations: str
    actions: str
    steps: int
    duration: float
    reward: float
    rate: float
    seed: int
    sojourn: str  # the version


def version() -> str:
    """Return the version of Sojourn, as policy files have it."""
    return str(sys.modules[__package__.partition(".")[0]].__version__)


class WithAbout(TypedDict, total=False):
    """A file that may have these facts."""

    about: About


class Policy(ABC):
    """A policy from a file. `about` has the facts of its training, and `seed` starts the draws of a policy that draws.

    >>> from sojourn.deploy.tables import LabelPolicy
    >>> LabelPolicy({"long": "pass", "short": "take"})
    <LabelPolicy of 2 states>
    """

    about: About

    def __init__(self, about: About | None, seed: int = 0) -> None:
        self.about = {} if about is None else about
        self._rng = np.random.default_rng(whole("seed", seed, least=0))

    @abstractmethod
    def act(self, obs: Any, action_mask: ArrayLike | None = None, *, sample: bool | None = None) -> Any:
        """Return the action for an observation, of those that a mask allows.

        With `sample=True` a policy that has probabilities draws, and with False it takes the likeliest action. By default a
        solved policy draws, as its limits hold only then, and a learned one does not. Others have one best action anyway.
        """

    @property
    @abstractmethod
    def size(self) -> str:
        """How large the policy is, in words."""

    def known(self, obs: Any) -> bool:
        """Whether the policy has an action for an observation that it has learned, and does not guess."""
        return True

    @classmethod
    @abstractmethod
    def from_contents(cls, data: Any, seed: int = 0) -> Self:
        """Return the policy that a file holds, or say what is wrong with it."""

    @abstractmethod
    def contents(self) -> JsonObject:
        """Return everything that the policy's file holds."""

    def write(self, path: str | Path) -> None:
        """Write the policy as JSON, which `load_policy` reads."""
        path = Path(path)
        if path.suffix != ".json":
            raise ValueError(
                f"{path} must end with .json, for a policy that can be loaded; this one has no table for .csv"
            )
        text = json.dumps(self.contents(), indent=1) + "\n"
        if len(text) > MOST_TEXT:
            raise ValueError(
                f"the policy takes {len(text) / 1e6:,.0f} MB as JSON, and a policy file may have at most "
                f"{MOST_TEXT / 1e6:.0f} MB; give the agent less memory, or smaller layers"
            )
        write_text(path, text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.size}>"

    def __call__(self, obs: Any) -> Any:
        """Act, so that `Learner.evaluate` and `Learner.verdict` can follow the policy."""
        return self.act(obs)


def check_format(data: JsonObject, name: str) -> None:
    """Refuse the content of a file that is of another format or version."""
    if (data["format"], data["version"]) != (name, VERSION):
        raise ValueError(f"it holds {shown(data['format'])} of version {shown(data['version'])}")


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


# --- Arrays in JSON -------------------------------------------------------------------


class PackedArray(TypedDict):
    """An array as JSON: its type, its shape, and its bytes in base64, by rows and with the lowest byte first."""

    dtype: str
    shape: list[int]
    base64: str


_KINDS = ("<f4", "<f8", "<i8")


def packed(array: NDArray[Any]) -> PackedArray:
    """Return an array as JSON.

    >>> packed(np.array([1.0]))
    {'dtype': '<f8', 'shape': [1], 'base64': 'AAAAAAAA8D8='}
    """
    kind = array.dtype.newbyteorder("<")
    data = base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes())
    return {"dtype": kind.str, "shape": list(array.shape), "base64": data.decode("ascii")}


def unpacked(name: str, data: PackedArray, kind: str | None = None, dimensions: int = 1) -> NDArray[Any]:
    """Return the array in JSON, or say what is wrong with it. Its entries are finite, unless `kind` allows bounds.

    >>> unpacked("low", packed(np.array([1.0, 2.0])))
    array([1., 2.])
    """
    if data["dtype"] not in _KINDS or (kind is not None and data["dtype"] != kind):
        raise ValueError(
            f"{name} has numbers of the kind {shown(data['dtype'])}; it must be {kind or 'one of ' + ', '.join(_KINDS)}"
        )
    if len(data["shape"]) != dimensions or not all(0 <= length < 2**40 for length in data["shape"]):
        raise ValueError(f"{name} has the shape {shown(data['shape'])}; it must have {dimensions} dimensions")
    try:
        raw = base64.b64decode(data["base64"], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{name} is not in base64") from None
    found = np.dtype(data["dtype"])
    if len(raw) != math.prod(data["shape"]) * found.itemsize:
        raise ValueError(f"{name} has {len(raw)} bytes, which do not fit its shape {shown(data['shape'])}")
    array: NDArray[Any] = (
        np.frombuffer(raw, dtype=found).reshape(data["shape"]).astype(found.newbyteorder("="))
    )
    return array
