"""Gives every observation of an environment a number, its row in the table of an agent.

An observation made of finitely many choices has a number already: the choices are its digits, the first one the most
significant. A continuous part, a Box, has none until it is cut into bins, and the user must say how.

`tabulate` turns a Gymnasium space into a description, which is plain data, and a `Tabulation` turns a description into
the function from observations to numbers. It is the same for the same space and bins, so values learned with one
tabulation are not used with another.
"""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sojourn.data.numbers import shown, unmasked, whole
from sojourn.envs.protocol import Element, Space

# A number of bins; a list with a number or the edges for each dimension; or bins for each part of a space.
Bins: TypeAlias = (
    "float | np.integer | NDArray[np.generic] | Sequence[Bins | None] | Mapping[str, Bins | None]"
)

MOST_STATES = 10_000_000
_UNBOUNDED = 1e30  # some environments say "no bound" with the largest number that a float can hold

Index: TypeAlias = Callable[[Element], int]


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


def tabulate(space: Space, bins: Bins | None = None) -> Tabulation:
    """Return the numbering of a space's observations.

    Discrete, MultiDiscrete and MultiBinary spaces, and any Tuple or Dict of these, need no
    `bins`. A Box does: a number of equal bins for each of its dimensions, or a list with one
    entry for each dimension, a number or the edges of the bins. k edges make k - 1 bins. Values
    beyond the outer edges belong to the outer bins, so the outer edges may be -inf and inf. With
    one bin, a dimension is ignored. A Tuple takes a sequence and a Dict a mapping of bins for their
    Box parts, with None for other parts.

    >>> tabulate(spaces.Discrete(5, start=-2))(-2)
    0
    >>> tabulate(spaces.MultiDiscrete([2, 3]))(np.array([1, 2]))
    5
    >>> tabulate(spaces.Box(-1.0, 1.0, shape=(2,)), bins=[2, [-1, 0.5, 1]]).num_states
    4
    """
    description = _described(space, bins, "the observation space")
    size = size_of(description)
    if size > MOST_STATES:
        number = f"{size:,}" if size < 10**15 else f"about 10^{size.bit_length() * math.log10(2):.0f}"
        raise ValueError(
            f"the observation space has {number} states, more than the {MOST_STATES:,} that a table may have; "
            "use fewer bins, or an observation wrapper that keeps less"
        )
    return Tabulation(description)


def elements_of(space: Space) -> list[Any]:
    """Return all elements of a space that can be listed, in the order of their numbers.

    >>> elements_of(spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2, start=5)]))
    [(0, 5), (0, 6), (1, 5), (1, 6)]
    """
    if isinstance(space, spaces.Discrete):
        return list(range(int(space.start), int(space.start) + int(space.n)))
    if isinstance(space, spaces.Tuple):
        return list(itertools.product(*map(elements_of, space.spaces)))
    if isinstance(space, spaces.Dict):
        rows = itertools.product(*map(elements_of, space.spaces.values()))
        return [dict(zip(space.spaces, row, strict=True)) for row in rows]
    if not isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        raise TypeError(f"the elements of {shown(space)} cannot be listed")
    counts = space.nvec if isinstance(space, spaces.MultiDiscrete) else np.full(space.shape, 2)
    start = space.start if isinstance(space, spaces.MultiDiscrete) else np.zeros(space.shape)
    digits = itertools.product(*map(range, counts.ravel().tolist()))
    return [(np.array(row).reshape(counts.shape) + start).astype(space.dtype) for row in digits]


def action_count(space: Space) -> int:
    """Return the number of actions of a Discrete space.

    >>> action_count(spaces.Discrete(4, start=1))
    4
    """
    return int(_discrete(space).n)


def first_action(space: Space) -> int:
    """Return the number of the first action of a Discrete space.

    >>> first_action(spaces.Discrete(4, start=1))
    1
    """
    return int(_discrete(space).start)


def _discrete(space: Space) -> spaces.Discrete:
    if not isinstance(space, spaces.Discrete):
        raise TypeError(
            f"the action space is {shown(space)}; a table of values needs Discrete actions, so number them in a "
            "gymnasium.ActionWrapper"
        )
    return space


# --- From a space to its description ------------------------------------------------


def _described(space: Space, bins: Bins | None, where: str) -> Description:
    if isinstance(space, spaces.Box):
        return _described_box(space, bins, where)
    if isinstance(space, spaces.Tuple):
        chosen = _bins_of_tuple(space, bins, where)
        parts = zip(space.spaces, chosen, strict=True)
        return {
            "kind": "tuple",
            "parts": [_described(part, b, f"part {i} of {where}") for i, (part, b) in enumerate(parts)],
        }
    if isinstance(space, spaces.Dict):
        chosen_by_key = _bins_of_dict(space, bins, where)
        return {
            "kind": "dict",
            "keys": list(space.spaces),
            "parts": [
                _described(part, chosen_by_key.get(key), f'"{key}" of {where}')
                for key, part in space.spaces.items()
            ],
        }
    description: Description
    if isinstance(space, spaces.Discrete):
        description = {"kind": "discrete", "count": int(space.n), "start": int(space.start)}
    elif isinstance(space, spaces.MultiDiscrete):
        description = _array_of(space.shape, space.nvec.ravel().tolist(), space.start.ravel().tolist())
    elif isinstance(space, spaces.MultiBinary):
        size = math.prod(space.shape)
        description = _array_of(space.shape, [2] * size, [0] * size)
    else:
        raise TypeError(
            f"{where} is {shown(space)}, which has no finite table of states; map it to a Discrete, MultiDiscrete "
            "or Box in a gymnasium.ObservationWrapper"
        )
    if bins is not None:
        raise ValueError(
            f"{where} is {shown(space)}, which needs no bins; leave them out, or give None for this part"
        )
    return description


def _array_of(shape: tuple[int, ...], counts: list[int], start: list[int]) -> ArrayStates:
    return {"kind": "array", "shape": list(shape), "counts": counts, "start": start}


def _bins_of_tuple(space: spaces.Tuple[Any], bins: Bins | None, where: str) -> Sequence[Bins | None]:
    if bins is None:
        return [None] * len(space.spaces)
    if not isinstance(bins, Sequence) or isinstance(bins, str) or len(bins) != len(space.spaces):
        raise ValueError(
            f"the bins of {where} are {shown(bins)}; a Tuple of {len(space.spaces)} parts takes a list of "
            f"{len(space.spaces)}, with None for each part that is not a Box"
        )
    return bins


def _bins_of_dict(space: spaces.Dict, bins: Bins | None, where: str) -> Mapping[str, Bins | None]:
    if bins is None:
        return {}
    if not isinstance(bins, Mapping) or not set(bins) <= set(space.spaces):
        keys = ", ".join(map(repr, space.spaces))
        raise ValueError(
            f"the bins of {where} are {shown(bins)}; a Dict takes a mapping whose keys are among {keys}"
        )
    return bins


def _described_box(space: spaces.Box, bins: Bins | None, where: str) -> BoxStates:
    size = math.prod(space.shape)
    if bins is None:
        raise ValueError(
            f"{where} is {shown(space)}, which has no finite table of states; give bins=..., such as bins=8: a number "
            f"for each of its dimensions ({size}), or the edges"
        )
    if isinstance(bins, int | np.integer):
        bins = [bins] * size
    if not isinstance(bins, Sequence | np.ndarray) or isinstance(bins, str) or len(bins) != size:
        raise ValueError(
            f"the bins of {where} are {shown(bins)}; they must be a number, or a list with an entry for each of its "
            f"dimensions ({size})"
        )
    low = space.low.ravel().astype(np.float64).tolist()
    high = space.high.ravel().astype(np.float64).tolist()
    cuts = [_cuts(choice, low[i], high[i], f"dimension {i} of {where}") for i, choice in enumerate(bins)]
    return {"kind": "box", "shape": list(space.shape), "cuts": cuts}


def _cuts(choice: Bins | None, low: float, high: float, where: str) -> list[float]:
    """Return the inner edges of the bins that were chosen for one dimension."""
    if isinstance(choice, int | np.integer):
        count = whole(f"the number of bins of {where}", choice)
        if count > 1 and not (abs(low) < _UNBOUNDED and abs(high) < _UNBOUNDED and low < high):
            raise ValueError(
                f"{where} goes from {low:g} to {high:g}, which cannot be cut into {count} equal bins; "
                "give the edges of its bins, or 1 to ignore it"
            )
        return [float(cut) for cut in np.linspace(low, high, count + 1)[1:-1]] if count > 1 else []
    unmasked("bins", choice)
    try:
        edges = np.asarray(choice, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.zeros(0)
    if edges.ndim != 1 or len(edges) < 2 or not (edges[1:] > edges[:-1]).all():
        raise ValueError(
            f"the bins of {where} are {shown(choice)}; they must be a whole number, or at least two edges that ascend"
        )
    return [float(edge) for edge in edges[1:-1]]


# --- From a description to the number of an observation -------------------------------


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

    def __call__(self, observation: Element) -> int:
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


def _flat(observation: Element, shape: tuple[int, ...], name: str) -> list[int | float]:
    unmasked("an observation", observation)
    try:
        array = np.asarray(observation)
    except ValueError:
        raise _bad(observation, name) from None
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise _bad(observation, name)
    numbers: list[int | float] = array.ravel().tolist()
    return numbers


def _bad(observation: Element, name: str) -> ValueError:
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
