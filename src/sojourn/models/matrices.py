"""Models made from arrays and from matrices.

Rewards and durations are given for each state and action, or for each state, action and next state; the number of dimensions
of an array says which. A single number holds for all. States and actions are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sojourn.data.numbers import shown, unmasked
from sojourn.models.smdp import SMDP
from sojourn.models.validation import by_name, offsets_of, pair_means
from sojourn.rules.arrays import Floats, Ints, Sparse
from sojourn.rules.door import told

Matrix: TypeAlias = "ArrayLike | Sparse"


@told
def from_arrays(
    transitions: ArrayLike,
    rewards: ArrayLike,
    durations: ArrayLike = 1.0,
    *,
    available: ArrayLike | None = None,
    amounts: Mapping[str, ArrayLike] | None = None,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model in which `transitions[s, a, s']` is the probability of s' after a in s.

    Rewards and durations are arrays [s, a] or [s, a, s'], or one number. `available[s, a]`
    says which actions a state has, by default all. `amounts` are further arrays of the same kind, by name.

    >>> model = from_arrays([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]], [[1, 0], [0, 2]])
    >>> model, model.reward
    (SMDP(2 states, 4 pairs, 5 rows), array([1., 0., 0., 2.]))
    """
    table = numbers_of("transitions", transitions)
    if table.ndim != 3 or table.shape[0] != table.shape[2]:
        raise ValueError(f"transitions has the shape {table.shape}; it must be (states, actions, states)")
    num_states, num_actions, _ = table.shape
    has = np.ones((num_states, num_actions), dtype=bool)
    if available is not None:
        has = np.asarray(unmasked("available", available), bool)
    if has.shape != (num_states, num_actions):
        raise ValueError(f"available has the shape {has.shape}; it must be {(num_states, num_actions)}")
    possible = (table != 0.0) & has[:, :, None]
    possible[:, :, 0] |= has & ~possible.any(axis=2)  # a row of zeros is refused later, with its place
    where = np.nonzero(possible)
    row_offsets, chance = offsets_of(possible.sum(axis=2)[has]), table[where]

    def means(name: str, given: ArrayLike) -> dict[str, Any]:
        numbers = numbers_of(f"{name}s", given)
        if numbers.ndim == 0:
            numbers = np.full(has.shape, numbers)
        if numbers.shape == table.shape:
            return {f"row_{name}": numbers[where]}
        if numbers.shape == has.shape:
            return {name: numbers[has]}
        raise ValueError(
            f"{name}s has the shape {numbers.shape}; it must be one number, {has.shape} or {table.shape}"
        )

    return SMDP(
        pair_offsets=offsets_of(has.sum(axis=1)),
        row_offsets=row_offsets,
        successor=where[2],
        probability=chance,
        action=np.nonzero(has)[1],
        state_names=state_names,
        action_names=action_names,
        amounts={
            name: _per_pair(means("amount", each), chance, row_offsets)
            for name, each in by_name("amounts", amounts).items()
        },
        **means("reward", rewards),
        **means("duration", durations),
    )


@told
def from_matrices(
    transitions: Sequence[Matrix],
    rewards: Matrix | Sequence[Matrix],
    durations: Matrix | Sequence[Matrix] = 1.0,
    *,
    amounts: Mapping[str, Matrix | Sequence[Matrix]] | None = None,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model with one matrix of transition probabilities [s, s'] for each action.

    The matrices may be dense or from `scipy.sparse`. Rewards and durations are an array [s, a], or
    one matrix [s, s'] for each action, or one number, and so are further `amounts` by name. Gosavi's textbook and the MDP
    toolboxes use this form:

    >>> model = from_matrices(
    ...     [[[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]]],
    ...     rewards=[[[6, -5], [7, 12]], [[10, 17], [-14, 13]]],
    ...     durations=[[[1, 5], [120, 60]], [[50, 75], [7, 2]]],
    ... )
    >>> model.reward.round(6), model.duration.round(6)
    (array([ 2.7, 10.7, 10. ,  7.6]), array([ 2.2, 52.5, 84. ,  3. ]))
    """
    matrices = [
        sparse.csr_array(given if sparse.issparse(given) else numbers_of(f"transitions[{action}]", given))
        for action, given in enumerate(transitions)
    ]
    num_actions = len(matrices)
    if not num_actions:
        raise ValueError("transitions has no matrix; give one for each action")
    num_states = matrices[0].shape[0]
    for action, matrix in enumerate(matrices):
        if matrix.shape != (num_states, num_states):
            raise ValueError(
                f"transitions[{action}] has the shape {matrix.shape}; it must be {(num_states, num_states)}"
            )
    order, row_offsets = _interleaved(matrices)
    chance = np.concatenate([matrix.data for matrix in matrices])[order]

    def means(name: str, given: Matrix | Sequence[Matrix]) -> dict[str, Any]:
        listed = _listed_matrices(given)
        if listed is not None:
            return {f"row_{name}": _entries(f"{name}s", listed, matrices)[order]}
        numbers = numbers_of(f"{name}s", given)
        if numbers.ndim == 0:
            numbers = np.full((num_states, num_actions), numbers)
        if numbers.shape != (num_states, num_actions):
            raise ValueError(
                f"{name}s has the shape {numbers.shape}; it must be one number, {(num_states, num_actions)} "
                f"or {num_actions} matrices"
            )
        return {name: numbers.ravel()}

    return SMDP(
        pair_offsets=np.arange(num_states + 1) * num_actions,
        row_offsets=row_offsets,
        successor=np.concatenate([matrix.indices for matrix in matrices])[order],
        probability=chance,
        state_names=state_names,
        action_names=action_names,
        amounts={
            name: _per_pair(means("amount", each), chance, row_offsets)
            for name, each in by_name("amounts", amounts).items()
        },
        **means("reward", rewards),
        **means("duration", durations),
    )


# --- Parts ------------------------------------------------------------------------------


def numbers_of(name: str, numbers: Matrix | Sequence[Matrix]) -> Floats:
    """Return the given numbers as an array, or raise an error."""
    unmasked(name, numbers)
    try:
        return np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(numbers)}; it must be an array of numbers") from None


def _per_pair(given: dict[str, Any], chance: Floats, row_offsets: Ints) -> Floats:
    """Return the means of an amount for every pair, given those of pairs or of rows."""
    ((name, numbers),) = given.items()
    return np.asarray(numbers) if name == "amount" else pair_means(numbers, chance, row_offsets)


def _listed_matrices(given: Matrix | Sequence[Matrix]) -> list[Matrix] | None:
    """Return the matrices if a list of matrices was given, else None."""
    unmasked("an array of matrices", given)
    if sparse.issparse(given) or not isinstance(given, np.ndarray | Sequence) or isinstance(given, str):
        return None
    if isinstance(given, np.ndarray):
        return list(given) if given.ndim == 3 else None
    return list(given) if len(given) > 0 and (sparse.issparse(given[0]) or np.ndim(given[0]) == 2) else None


def _interleaved(matrices: list[Sparse]) -> tuple[Ints, Ints]:
    """Return the order that sorts the entries of all matrices by state and action, and the offsets."""
    counts = np.stack([np.diff(matrix.indptr) for matrix in matrices], axis=1)
    offsets = offsets_of(counts.ravel())
    behind = offsets_of([matrix.nnz for matrix in matrices])
    begins = (np.stack([matrix.indptr[:-1] for matrix in matrices], axis=1) + behind[:-1]).ravel()
    order = np.repeat(begins - offsets[:-1], counts.ravel()) + np.arange(offsets[-1])
    return order, offsets


def _entries(name: str, given: Sequence[Matrix], matrices: list[Sparse]) -> Floats:
    """Return the entries of given matrices at the places of the transitions."""
    if len(given) != len(matrices):
        raise ValueError(
            f"the number of matrices in {name} is {len(given)}; it must be {len(matrices)}, the number of actions"
        )
    entries = []
    for action, (each, matrix) in enumerate(zip(given, matrices, strict=True)):
        values = sparse.csr_array(each) if sparse.issparse(each) else numbers_of(f"{name}[{action}]", each)
        if values.shape != matrix.shape:
            raise ValueError(f"{name}[{action}] has the shape {values.shape}; it must be {matrix.shape}")
        state = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        entries.append(np.asarray(values[state, matrix.indices], dtype=np.float64).ravel())
    return np.concatenate(entries)
