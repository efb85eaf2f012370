"""Gives every observation of an environment a number, its row in the table of an agent.

An observation made of finitely many choices has a number already: the choices are its digits, the first one the most
significant. A continuous part, a Box, has none until it is cut into bins, and the user must say how.

`tabulate` turns a Gymnasium space into a description, which is plain data, and a `Tabulation` (`sojourn.deploy.tabulation`) turns
a description into the function from observations to numbers. It is the same for the same space and bins, so values learned with one
tabulation are not used with another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sojourn.data.numbers import shown, unmasked, whole
from sojourn.deploy.tabulation import MOST_STATES, ArrayStates, BoxStates, Description, Tabulation, size_of
from sojourn.envs.protocol import Space

# A number of bins; a list with a number or the edges for each dimension; or bins for each part of a space.
Bins: TypeAlias = (
    "float | np.integer | NDArray[np.generic] | Sequence[Bins | None] | Mapping[str, Bins | None]"
)

_UNBOUNDED = 1e30  # some environments say "no bound" with the largest number that a float can hold


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
