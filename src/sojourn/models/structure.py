"""The parts of a model in which a policy can stay for ever.

An *end component* is a set of states with some of their actions that never lead out of it and lead from every state
of it to every other. The recurrent classes of every policy lie in end components. If there is only one maximal end
component, the model is weakly communicating: from any start, every part in which a policy can stay for ever can be
reached, so the optimal gain is one number. If there are several, the gain may depend on the start.

End components are found in rounds: cut the graph of all pairs into strongly connected components, and remove the pairs
that lead from one to another, until no pair is removed (de Alfaro, "Formal verification of probabilistic systems", 1997,
algorithm 3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from sojourn.rules.arrays import Flags, Floats, Indices, Ints, owned
from sojourn.rules.door import told

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

_SHOWN = 5  # how many states a sentence names


class Structure(NamedTuple):
    """The end components of a model: that of each state, -1 if it has none, and the pairs that stay inside."""

    label: Ints
    kept: Flags

    @property
    def parts(self) -> list[Ints]:
        """The states of every maximal end component, ordered by their first states."""
        return [np.flatnonzero(self.label == number) for number in range(self.label.max() + 1)]


@told
def end_components(model: SMDP) -> list[Ints]:
    """Return the states of every maximal end component.

    >>> from sojourn.models import from_arrays
    >>> stay_or_go = from_arrays([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], rewards=1.0)
    >>> [part.tolist() for part in end_components(stay_or_go)]
    [[0], [1]]
    """
    return model.structure.parts


def structure_of(model: SMDP, usable: Flags | None = None) -> Structure:
    """Compute the end components of a model; `model.structure` caches them.

    With `usable`, only the pairs that it marks count.
    """
    state = model.state_of_pair()
    starts, counts = model.row_offsets[:-1], np.diff(model.row_offsets)
    kept = np.ones(model.num_pairs, dtype=bool) if usable is None else usable
    while True:
        rows = np.repeat(kept, counts)
        part = strong_parts(model.num_states, np.repeat(state, counts)[rows], model.successor[rows])
        # A state without pairs is a part of its own, and pairs that lead to it are removed in the next round.
        inside = part[model.successor] == np.repeat(part[state], counts)
        still = kept & np.logical_and.reduceat(inside, starts)
        if (still == kept).all():
            break
        kept = still
    member = np.zeros(model.num_states, dtype=bool)
    member[state[kept]] = True
    numbers = np.full(model.num_states, -1)
    _, numbers[member] = np.unique(_by_first_state(part)[member], return_inverse=True)
    return Structure(owned(numbers), owned(kept))


def strong_parts(num_states: int, source: Ints, target: Ints | Indices) -> Ints:
    """Return the strongly connected component of each state."""
    graph = sparse.csr_array(
        (np.ones(len(source), dtype=np.int8), (source, target)), shape=(num_states, num_states)
    )
    return np.asarray(csgraph.connected_components(graph, directed=True, connection="strong")[1], np.int64)


def recurrent_classes(num_states: int, source: Ints, target: Ints | Indices) -> list[Ints]:
    """Return the strongly connected components that nothing leads out of, ordered by their first states."""
    part = _by_first_state(strong_parts(num_states, source, target))
    left = np.zeros(num_states, dtype=bool)
    left[part[source[part[source] != part[target]]]] = True
    return [np.flatnonzero(part == number) for number in np.unique(part) if not left[number]]


def _by_first_state(part: Ints) -> Ints:
    """Return parts numbered by the first state of each."""
    _, first, inverse = np.unique(part, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)


def named(model: SMDP, states: Ints) -> str:
    """Return the name of a set of states for use in a sentence."""
    names = [model.state_names[s] if model.state_names else str(s) for s in states[:_SHOWN].tolist()]
    more = f" and {len(states) - _SHOWN} more" if len(states) > _SHOWN else ""
    return "{" + ", ".join(names) + "}" + more


def several_classes(model: SMDP, parts: list[Ints]) -> str:
    """Return the error message for a model with several end components."""
    shown = ", ".join(named(model, part) for part in parts[:_SHOWN])
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return (
        f"the model has {len(parts)} classes of states that a policy can stay in for ever, {shown}{more}, "
        "so its gain may depend on the start; sojourn.solve finds the gain of each state"
    )


@told
def findings(model: SMDP) -> tuple[str, ...]:
    """Return sentences on anything unusual about a model; for most models there are none.

    >>> from sojourn.models import from_arrays
    >>> for line in findings(from_arrays([[[0.0, 1.0]], [[0.0, 1.0]]], rewards=1.0)):
    ...     print(line)
    state 1 is absorbing: no action leaves it
    every policy leaves {0} for good
    """
    counts = np.diff(model.row_offsets)
    state = model.state_of_pair()
    loops = np.logical_and.reduceat(model.successor == np.repeat(state, counts), model.row_offsets[:-1])
    absorbing = np.flatnonzero(np.logical_and.reduceat(loops, model.pair_offsets[:-1]))
    if model.num_states == 1:
        absorbing = absorbing[:0]  # there is nowhere else to go
    result = [
        f"{model.state_place(s)} is absorbing: no action leaves it" for s in absorbing[:_SHOWN].tolist()
    ]
    if len(absorbing) > _SHOWN:
        result.append(f"{len(absorbing) - _SHOWN} more states are absorbing")
    passing = np.flatnonzero(model.structure.label < 0)
    if passing.size:
        result.append(f"every policy leaves {named(model, passing)} for good")
    parts = model.structure.parts
    if len(parts) > 1:
        result.append(several_classes(model, parts))
    return tuple(result)


def one_gain(gains: Floats, rounding: float = 0.0) -> float:
    """Return the gain if it is the same in all states up to rounding, else raise an error."""
    low, high = float(gains.min()), float(gains.max())
    if high - low > max(rounding, 1e-9 * max(abs(low), abs(high))):
        raise ValueError(
            f"the gain depends on the first state, from {low:.9g} (state {int(gains.argmin())}) "
            f"to {high:.9g} (state {int(gains.argmax())}); in Python, use gains, which has the gain of each state"
        )
    return low if low == high else low / 2.0 + high / 2.0
