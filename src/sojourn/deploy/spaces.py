"""Reads observations as flat arrays, and gives actions their form, by plain descriptions in place of Gymnasium's spaces.

Numbers stay as they are; of `n` choices, the entry of the one that was made is 1 and all others are 0, as in Gymnasium's own
`flatten`; and the parts of tuples and dictionaries follow each other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np

from sojourn.data.numbers import shown, unmasked
from sojourn.deploy.interface import PackedArray, unpacked
from sojourn.rules.arrays import Floats


class NumberForm(TypedDict):
    """An array of numbers."""

    kind: Literal["numbers"]
    shape: list[int]


class ChoiceForm(TypedDict):
    """A choice, or an array of choices, each with its own count and start."""

    kind: Literal["choices"]
    shape: list[int]
    counts: list[int]
    start: list[int]


class TupleForm(TypedDict):
    """Parts in an order."""

    kind: Literal["tuple"]
    parts: list[Form]


class DictForm(TypedDict):
    """Parts with keys."""

    kind: Literal["dict"]
    keys: list[str]
    parts: list[Form]


Form: TypeAlias = NumberForm | ChoiceForm | TupleForm | DictForm
Flatten: TypeAlias = Callable[[Any], list[float]]


class Flattener:
    """Turns an observation into a flat array of numbers.

    >>> choice = ChoiceForm(kind="choices", shape=[], counts=[3], start=[1])
    >>> two = NumberForm(kind="numbers", shape=[2])
    >>> flat = Flattener({"kind": "tuple", "parts": [choice, two]})
    >>> flat.size, flat((2, [0.5, 7.0]))
    (5, array([0. , 1. , 0. , 0.5, 7. ]))
    """

    def __init__(self, form: Form) -> None:
        self.form, self.size = form, _size(form)
        if self.size < 1:
            raise ValueError("its observations have no numbers")
        self._shape = tuple(form["shape"]) if form["kind"] == "numbers" else None
        self._flatten = _flattening(form)

    def __call__(self, observation: Any) -> Floats:
        """Return an observation as a flat array, or say what is wrong with it."""
        if self._shape is not None:
            if type(observation) is not np.ndarray:
                unmasked("an observation", observation)
            try:
                numbers: Floats = np.asarray(observation, dtype=np.float64)
            except (TypeError, ValueError):
                raise _bad(observation, self.form) from None
            if numbers.shape != self._shape:
                raise _bad(observation, self.form)
            numbers = numbers.ravel()
        else:
            unmasked("an observation", observation)
            try:
                numbers = np.array(self._flatten(observation), dtype=np.float64)
            except (TypeError, ValueError, KeyError, IndexError):
                raise _bad(observation, self.form) from None
        if not (math.isfinite(numbers.dot(numbers)) or np.isfinite(numbers).all()):
            raise ValueError(
                f"an observation has the entry {numbers[~np.isfinite(numbers)][0]}; its entries must be finite numbers"
            )
        return numbers


def _size(form: Form) -> int:
    """Return how many numbers an observation becomes, or say what does not fit together in its form."""
    match form["kind"]:
        case "numbers":
            return math.prod(_lengths(form["shape"]))
        case "choices":
            fits = math.prod(_lengths(form["shape"])) == len(form["counts"]) == len(form["start"])
            if not fits or not all(0 < count < 2**31 for count in form["counts"]):
                raise ValueError(f"its observations do not fit together: {shown(form)}")
            return sum(form["counts"])
        case "dict" if len(form["keys"]) != len(form["parts"]):
            raise ValueError(f"its observations have {len(form['keys'])} keys for {len(form['parts'])} parts")
    return sum(map(_size, form["parts"]))


def _lengths(shape: list[int]) -> list[int]:
    if not all(0 <= length < 2**31 for length in shape):
        raise ValueError(f"its observations have the shape {shown(shape)}")
    return shape


def _flattening(form: Form) -> Flatten:
    match form["kind"]:
        case "numbers":
            return _numbers_of(tuple(form["shape"]))
        case "choices":
            return _choices_of(tuple(form["shape"]), form["counts"], form["start"])
        case "tuple":
            return _parts_of([_flattening(part) for part in form["parts"]])
        case "dict":
            return _entries_of(form["keys"], [_flattening(part) for part in form["parts"]])


def _numbers_of(shape: tuple[int, ...]) -> Flatten:
    def flatten(observation: Any) -> list[float]:
        numbers = np.asarray(observation, dtype=np.float64)
        if numbers.shape != shape:
            raise ValueError
        flat: list[float] = numbers.ravel().tolist()
        return flat

    return flatten


def _choices_of(shape: tuple[int, ...], counts: list[int], start: list[int]) -> Flatten:
    digits = list(zip(counts, start, strict=True))

    def flatten(observation: Any) -> list[float]:
        if shape == ():
            chosen = [operator.index(observation)]
        else:
            array = np.asarray(observation)
            if array.shape != shape or array.dtype.kind not in "biu":
                raise ValueError
            chosen = array.ravel().tolist()
        flat: list[float] = []
        for (count, least), choice in zip(digits, chosen, strict=True):
            if not 0 <= choice - least < count:
                raise ValueError
            row = [0.0] * count
            row[choice - least] = 1.0
            flat += row
        return flat

    return flatten


def _parts_of(parts: list[Flatten]) -> Flatten:
    def flatten(observation: Any) -> list[float]:
        if not isinstance(observation, tuple | list) or len(observation) != len(parts):
            raise ValueError
        return [number for part, entry in zip(parts, observation, strict=True) for number in part(entry)]

    return flatten


def _entries_of(keys: list[str], parts: list[Flatten]) -> Flatten:
    def flatten(observation: Any) -> list[float]:
        if not isinstance(observation, Mapping) or set(observation) != set(keys):
            raise ValueError
        return [number for key, part in zip(keys, parts, strict=True) for number in part(observation[key])]

    return flatten


def _bad(observation: Any, form: Form) -> ValueError:
    shape = getattr(observation, "shape", None)
    what = f"has the shape {shape}" if shape else f"is {shown(observation)}"
    return ValueError(f"an observation {what}; it must be {form_in_words(form)}")


def form_in_words(form: Form) -> str:
    """Say what observations of a form are made of.

    >>> form_in_words({"kind": "dict", "keys": ["at"], "parts": [{"kind": "numbers", "shape": [2]}]})
    'a dictionary of at: an array of numbers of the shape (2,)'
    """
    match form["kind"]:
        case "numbers":
            return f"an array of numbers of the shape {tuple(form['shape'])}"
        case "choices":
            ends = [
                f"{least} to {least + count - 1}"
                for count, least in zip(form["counts"], form["start"], strict=True)
            ]
            return (
                f"one of {ends[0]}"
                if form["shape"] == []
                else f"whole numbers of {', '.join(ends[:4])}{', ...' * (len(ends) > 4)}"
            )
        case "tuple":
            return f"a tuple of {', '.join(map(form_in_words, form['parts']))}"
        case "dict":
            named = zip(form["keys"], form["parts"], strict=True)
            return f"a dictionary of {', '.join(f'{key}: {form_in_words(part)}' for key, part in named)}"


# --- Actions ----------------------------------------------------------------------------


class NumberedActions(TypedDict):
    """`count` actions, numbered from `first` on."""

    kind: Literal["numbered"]
    count: int
    first: int


class PointActions(TypedDict):
    """Actions that are arrays of numbers between bounds, which may be infinite."""

    kind: Literal["points"]
    low: PackedArray
    high: PackedArray
    shape: list[int]
    dtype: str


Actions: TypeAlias = NumberedActions | PointActions


class ActionForm:
    """Gives points the form of an environment's actions: moved to the bounds, in its shape and type."""

    def __init__(self, form: PointActions) -> None:
        self.low, self.high = unpacked("low", form["low"], "<f8"), unpacked("high", form["high"], "<f8")
        self.shape = tuple(form["shape"])
        if form["dtype"] not in ("float16", "float32", "float64"):
            raise ValueError(f"its actions are of the kind {shown(form['dtype'])}")
        self.dtype = np.dtype(form["dtype"])
        if not len(self.low) == len(self.high) == math.prod(self.shape) or not (self.low < self.high).all():
            raise ValueError("the bounds of its actions do not fit together")

    def __call__(self, point: Floats) -> Any:
        """Return a point as an action."""
        return np.minimum(np.maximum(point, self.low), self.high).astype(self.dtype).reshape(self.shape)


def actions_in_words(form: Actions) -> str:
    """Say what actions of a form are.

    >>> actions_in_words({"kind": "numbered", "count": 3, "first": 0})
    'one of 0 to 2'
    """
    if form["kind"] == "numbered":
        return f"one of {form['first']} to {form['first'] + form['count'] - 1}"
    return f"an array of numbers of the shape {tuple(form['shape'])}"
