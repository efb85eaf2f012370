"""Numbers observations that can be listed: from a description, which is plain data, to the function that does it.

An observation made of finitely many choices has a number: the choices are its digits, the first one the most significant. A
continuous part is cut into bins. `sojourn.envs.states.tabulate` makes the description from a Gymnasium space and the
user's bins; here nothing needs Gymnasium.
"""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np

from sojourn.data.numbers import shown, unmasked

MOST_STATES = 10_000_000

Index: TypeAlias = Callable[[Any], int]


class DiscreteStates(TypedDict):
    """`count` whole numbers, from `start` on."""

    kind: Literal["discrete"]
    count: int
    start: int


class ArrayStates(TypedDict):
    """An array of whole numbers, each with its own count and start."""

    kind: Literal["array"]
    shape: list[int]
    counts: list[int]
    start: list[int]


class BoxStates(TypedDict):
    """An array of numbers, each cut into bins at its own edges."""

    kind: Literal["box"]
    shape: list[int]
    cuts: list[list[float]]


class TupleStates(TypedDict):
    """Parts in an order."""

    kind: Literal["tuple"]
    parts: list[Description]


class DictStates(TypedDict):
    """Parts with keys."""

    kind: Literal["dict"]
    keys: list[str]
    parts: list[Description]


Description: TypeAlias = DiscreteStates | ArrayStates | BoxStates | TupleStates | DictStates


class Tabulation:
    """Turns an observation into the number of its state.

    `index` is the function itself: it returns the same as calling the tabulation, a little faster.

    >>> from gymnasium.spaces import Box, Discrete, Tuple
    >>> from sojourn.envs.states import tabulate
    >>> tabulation = tabulate(Tuple([Discrete(3), Box(0, 1)]), bins=[None, 4])
    >>> tabulation
    Tabulation of 12 states: (3 choices, 4 bins)
    >>> tabulation((2, np.array([0.6])))
    10
    >>> Tabulation.from_dict(tabulation.to_dict()) == tabulation
    True
    """

    num_states: int
    index: Index

    def __init__(self, description: Description) -> None:
        self._description = description
        wrong = _inconsistent(description)
        if wrong:
            raise ValueError(f"its states do not fit together: {wrong}")
        self.num_states, self.index = _built(description)

    def __call__(self, observation: Any) -> int:
        """Return the number of the state that an observation belongs to."""
        return self.index(observation)

    def describe(self) -> str:
        """Return one line that says how many states there are and what they are made of."""
        return f"{self.num_states} states: {_words(self._description)}"

    @property
    def has_bins(self) -> bool:
        """Whether some part of an observation is cut into bins, so that its state is not all of it."""
        return _has_bins(self._description)

    def to_dict(self) -> Description:
        """Return the description: dictionaries, lists, numbers and strings only."""
        return self._description.copy()

    @classmethod
    def from_dict(cls, description: Description) -> Tabulation:
        """Return the tabulation that `to_dict` described."""
        return cls(description)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tabulation) and self._description == other._description

    def __hash__(self) -> int:
        return hash(self.describe())

    def __repr__(self) -> str:
        return f"Tabulation of {self.describe()}"

    def __reduce__(self) -> tuple[type[Tabulation], tuple[Description]]:
        return Tabulation, (self._description,)


def _inconsistent(description: Description) -> str:
    """Return what does not fit together in a description, or an empty text; a file may hold anything."""
    counts = _counts(description)
    if not all(count > 0 for count in counts):
        return f"the numbers of choices are {shown(counts)}, and each must be at least 1"
    match description["kind"]:
        case "array":
            given = len(description["start"])
            fits = math.prod(description["shape"]) == given == len(counts)
            return "" if fits else f"{given} starts do not fill the shape {shown(description['shape'])}"
        case "box":
            fits = math.prod(description["shape"]) == len(counts)
            ascending = all(cuts == sorted(cuts) for cuts in description["cuts"])
            return (
                ""
                if fits and ascending
                else "the cuts of the bins do not ascend, or there is not one list of them for each number"
            )
        case "dict" if len(description["keys"]) != len(description["parts"]):
            return f"there are {len(description['keys'])} keys for {len(description['parts'])} parts"
        case "tuple" | "dict":
            return next(filter(None, map(_inconsistent, description["parts"])), "")
    return ""


def _counts(description: Description) -> list[int]:
    """Return the number of choices of each digit."""
    match description["kind"]:
        case "discrete":
            return [description["count"]]
        case "array":
            return list(description["counts"])
        case "box":
            return [len(cuts) + 1 for cuts in description["cuts"]]
        case "tuple" | "dict":
            return [size_of(part) for part in description["parts"]]
        case kind:
            raise ValueError(
                f"{kind!r} is not a kind of tabulation; it may be from a newer version of Sojourn"
            )


def size_of(description: Description) -> int:
    """Return the number of states."""
    return math.prod(_counts(description))


def _built(description: Description) -> tuple[int, Index]:
    """Return the number of states and the function from observations to states."""
    size, counts = size_of(description), _counts(description)
    match description["kind"]:
        case "discrete":
            return size, _index_of_choice(description["count"], description["start"])
        case "array":
            return size, _index_of_array(tuple(description["shape"]), counts, description["start"])
        case "box":
            return size, _index_of_box(tuple(description["shape"]), counts, description["cuts"])
        case "tuple":
            return size, _index_of_tuple(counts, [_built(part)[1] for part in description["parts"]])
        case "dict":
            parts = [_built(part)[1] for part in description["parts"]]
            return size, _index_of_dict(description["keys"], counts, parts)


def _index_of_choice(count: int, start: int) -> Index:
    as_int, name = operator.index, f"one of {start} to {start + count - 1}"

    def index(observation: Any) -> int:
        try:
            state = (
                as_int(observation if type(observation) is int else unmasked("an observation", observation))
                - start
            )
        except TypeError:
            raise _bad(observation, name) from None
        if 0 <= state < count:
            return state
        raise _bad(observation, name)

    return index


def _index_of_array(shape: tuple[int, ...], counts: list[int], start: list[int]) -> Index:
    digits = list(zip(counts, start, strict=True))
    name = f"an array of the shape {shape} with whole numbers below {counts}"

    def index(observation: Any) -> int:
        state = 0
        for (count, least), choice in zip(digits, _flat(observation, shape, name), strict=True):
            digit = choice - least if isinstance(choice, int) else -1
            if not 0 <= digit < count:
                raise _bad(observation, name)
            state = state * count + digit
        return state

    return index


def _index_of_box(shape: tuple[int, ...], counts: list[int], cuts: list[list[float]]) -> Index:
    digits = list(zip(counts, cuts, strict=True))
    name = f"an array of numbers of the shape {shape}"

    def index(observation: Any) -> int:
        state = 0
        for (count, edges), number in zip(digits, _flat(observation, shape, name), strict=True):
            if number != number:  # NaN, which belongs to no bin
                raise _bad(observation, name)
            state = state * count + bisect_right(edges, number)
        return state

    return index


def _index_of_tuple(counts: list[int], parts: list[Index]) -> Index:
    digits = list(zip(counts, parts, strict=True))

    def index(observation: Any) -> int:
        if not isinstance(observation, tuple | list) or len(observation) != len(digits):
            raise _bad(observation, f"a tuple of {len(digits)}")
        state = 0
        for (count, part), entry in zip(digits, observation, strict=True):
            state = state * count + part(entry)
        return state

    return index


def _index_of_dict(keys: list[str], counts: list[int], parts: list[Index]) -> Index:
    digits = list(zip(keys, counts, parts, strict=True))

    def index(observation: Any) -> int:
        state = 0
        try:
            for key, count, part in digits:
                state = state * count + part(observation[key])
        except (KeyError, TypeError, IndexError):
            raise _bad(observation, f"a dictionary of {', '.join(map(repr, keys))}") from None
        return state

    return index


def _flat(observation: Any, shape: tuple[int, ...], name: str) -> list[int | float]:
    unmasked("an observation", observation)
    try:
        array = np.asarray(observation)
    except ValueError:
        raise _bad(observation, name) from None
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise _bad(observation, name)
    numbers: list[int | float] = array.ravel().tolist()
    return numbers


def _bad(observation: Any, name: str) -> ValueError:
    return ValueError(f"the observation {shown(observation)} is not in the space: it must be {name}")


def _has_bins(description: Description) -> bool:
    """Return whether a description has bins; a part with one bin leaves a number out, too."""
    parts = description["parts"] if description["kind"] in ("tuple", "dict") else []
    return description["kind"] == "box" or any(map(_has_bins, parts))


def _words(description: Description) -> str:
    """Say what the states are made of."""
    counts = _counts(description)
    match description["kind"]:
        case "discrete":
            return f"{counts[0]} choices"
        case "array" | "box" as kind:
            noun = "choices" if kind == "array" else "bins"
            runs = [(count, len(list(run))) for count, run in itertools.groupby(counts)]
            return " x ".join(f"{count} {noun}" + (f" ({n} times)" if n > 1 else "") for count, n in runs)
        case "tuple":
            return f"({', '.join(map(_words, description['parts']))})"
        case "dict":
            named = zip(description["keys"], description["parts"], strict=True)
            return f"{{{', '.join(f'{key}: {_words(part)}' for key, part in named)}}}"


def digits(description: Description, name: str) -> list[tuple[str, Sequence[int | str]]]:
    """Return the name and the choices of each part of an observation, most significant first."""
    match description["kind"]:
        case "discrete":
            return [(name, range(description["start"], description["start"] + description["count"]))]
        case "array":
            starts = zip(description["start"], description["counts"], strict=True)
            return [(f"{name}_{i}", range(least, least + count)) for i, (least, count) in enumerate(starts)]
        case "box":
            return [(f"{name}_{i}", _bins(cuts)) for i, cuts in enumerate(description["cuts"])]
        case "tuple":
            parts = enumerate(description["parts"])
            return [digit for i, part in parts for digit in digits(part, f"{name}_{i}")]
        case "dict":
            keyed = zip(description["keys"], description["parts"], strict=True)
            return [digit for key, part in keyed for digit in digits(part, key)]


def _bins(cuts: list[float]) -> list[str]:
    """Return the names of bins, from the edges between them."""
    if not cuts:
        return ["any"]
    edges = [f"{cut:.12g}" for cut in cuts]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(edges)]
    return [f"below {edges[0]}", *between, f"from {edges[-1]}"]
