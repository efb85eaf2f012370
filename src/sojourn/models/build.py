"""Models made of what people have: arrays, matrices, lists of transitions.

Rewards and durations are given for each state and action, or for each state, action and next
state: an array says by its number of dimensions which. A duration may be one number for
all. States and actions are numbered from 0, or named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sojourn.models.laws import Constant, FlatLaws, Law, Outcomes, as_law, flat
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints, Sparse
from sojourn.rules.numbers import finite, shown

Matrix: TypeAlias = ArrayLike | Sparse
Label: TypeAlias = int | str | np.int64  # of a state or an action: its number or its name
Row: TypeAlias = tuple[Label, Label, Label, float, Law | float, Law | float]
Transition: TypeAlias = Row | tuple[Label, Label, Label, float, Outcomes]


class Quantities(NamedTuple):
    """Rewards or durations: means of pairs, or of rows, or laws of rows."""

    means: Floats | None = None
    rows: Floats | None = None
    laws: FlatLaws | None = None


def from_arrays(
    transitions: ArrayLike,
    rewards: ArrayLike,
    durations: ArrayLike = 1.0,
    *,
    available: ArrayLike | None = None,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model with `transitions[s, a, s']` the probability of s' after a in s.

    Rewards and durations are arrays [s, a] or [s, a, s'], or one number. `available[s, a]`
    says which actions a state has; all of them unless given.

    >>> model = from_arrays([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]], [[1, 0], [0, 2]])
    >>> model, model.reward
    (SMDP(2 states, 4 pairs, 5 rows), array([1., 0., 0., 2.]))
    """
    table = numbers_of("transitions", transitions)
    if table.ndim != 3 or table.shape[0] != table.shape[2]:
        raise ValueError(f"transitions has the shape {table.shape}; it must be (states, actions, states)")
    num_states, num_actions, _ = table.shape
    has = np.ones((num_states, num_actions), dtype=bool) if available is None else np.asarray(available, bool)
    if has.shape != (num_states, num_actions):
        raise ValueError(f"available has the shape {has.shape}; it must be {(num_states, num_actions)}")
    possible = (table != 0.0) & has[:, :, None]
    possible[:, :, 0] |= has & ~possible.any(axis=2)  # a row of zeros is refused later, with its place
    where = np.nonzero(possible)

    def quantities(name: str, given: ArrayLike) -> Quantities:
        numbers = numbers_of(name, given)
        if numbers.ndim == 0:
            numbers = np.full((num_states, num_actions), numbers)
        if numbers.shape == table.shape:
            return Quantities(rows=numbers[where])
        if numbers.shape == has.shape:
            return Quantities(means=numbers[has])
        raise ValueError(
            f"{name} has the shape {numbers.shape}; it must be one number, {has.shape} or {table.shape}"
        )

    reward, duration = quantities("rewards", rewards), quantities("durations", durations)
    return SMDP(
        pair_offsets=_offsets(has.sum(axis=1)),
        row_offsets=_offsets(possible.sum(axis=2)[has]),
        successor=where[2],
        probability=table[where],
        action=np.nonzero(has)[1],
        state_names=state_names,
        action_names=action_names,
        reward=reward.means,
        duration=duration.means,
        row_reward=reward.rows,
        row_duration=duration.rows,
    )


def from_matrices(
    transitions: Sequence[Matrix],
    rewards: Matrix | Sequence[Matrix],
    durations: Matrix | Sequence[Matrix] = 1.0,
    *,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model with one matrix of transition probabilities [s, s'] for each action.

    The matrices are dense or of `scipy.sparse`. Rewards and durations are an array [s, a], or
    one matrix [s, s'] for each action, or one number. This is the form of Gosavi's
    textbook and of the MDP toolboxes:

    >>> model = from_matrices(
    ...     [[[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]]],
    ...     rewards=[[[6, -5], [7, 12]], [[10, 17], [-14, 13]]],
    ...     durations=[[[1, 5], [120, 60]], [[50, 75], [7, 2]]],
    ... )
    >>> model.reward.round(6), model.duration.round(6)
    (array([ 2.7, 10.7, 10. ,  7.6]), array([ 2.2, 52.5, 84. ,  3. ]))
    """
    matrices = [_matrix(f"transitions[{action}]", matrix) for action, matrix in enumerate(transitions)]
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

    def quantities(name: str, given: Matrix | Sequence[Matrix]) -> Quantities:
        listed = _listed_matrices(given)
        if listed is not None:
            return Quantities(rows=_entries(name, listed, matrices)[order])
        numbers = numbers_of(name, given)
        if numbers.ndim == 0:
            numbers = np.full((num_states, num_actions), numbers)
        if numbers.shape != (num_states, num_actions):
            raise ValueError(
                f"{name} has the shape {numbers.shape}; it must be one number, {(num_states, num_actions)} "
                f"or {num_actions} matrices"
            )
        return Quantities(means=numbers.ravel())

    reward, duration = quantities("rewards", rewards), quantities("durations", durations)
    return SMDP(
        pair_offsets=np.arange(num_states + 1) * num_actions,
        row_offsets=row_offsets,
        successor=np.concatenate([matrix.indices for matrix in matrices])[order],
        probability=np.concatenate([matrix.data for matrix in matrices])[order],
        state_names=state_names,
        action_names=action_names,
        reward=reward.means,
        duration=duration.means,
        row_reward=reward.rows,
        row_duration=duration.rows,
    )


def from_transitions(
    transitions: Iterable[Transition],
    *,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model made of `(s, a, s', probability, reward, duration)`, in any order.

    States and actions are whole numbers or names; names are numbered in the order given, or
    that in which they first come. A reward and a duration may each be a number or a law of
    `sojourn.models.laws`; the two of them together may be `Outcomes`, in a tuple of five.

    >>> from sojourn.models.laws import Exponential, Outcomes
    >>> model = from_transitions([
    ...     ("up", "run", "up", 0.9, 5.0, Exponential(2.0)),
    ...     ("up", "run", "down", 0.1, 1.0, 0.5),
    ...     ("down", "mend", "up", 1.0, Outcomes([(0.5, -1.0, 1.0), (0.5, -4.0, 2.0)])),
    ... ])
    >>> model.state_names, model.reward, model.duration
    (('up', 'down'), array([ 4.6, -2.5]), array([1.85, 1.5 ]))
    """
    rows = [row for number, given in enumerate(transitions) for row in _outcomes(number, given)]
    if not rows:
        raise ValueError("there are no transitions; give at least one")
    states = _numbering("state", state_names, [row[0] for row in rows] + [row[2] for row in rows])
    actions = _numbering("action", action_names, [row[1] for row in rows])
    from_state = np.array([states.number(row[0]) for row in rows])
    action = np.array([actions.number(row[1]) for row in rows])
    order = np.lexsort((action, from_state))
    from_state, action = from_state[order], action[order]
    begins = np.flatnonzero(np.append(True, (np.diff(from_state) != 0) | (np.diff(action) != 0)))
    row_offsets = np.append(begins, len(rows))
    reward = _means_or_laws(
        [as_law(f"the reward of {rows[row][:3]}", rows[row][4]) for row in order], row_offsets
    )
    duration = _means_or_laws(
        [as_law(f"the duration of {rows[row][:3]}", rows[row][5]) for row in order], row_offsets
    )
    return SMDP(
        pair_offsets=_offsets(np.bincount(from_state[begins], minlength=states.count)),
        row_offsets=row_offsets,
        successor=np.array([states.number(rows[row][2]) for row in order]),
        probability=np.array([finite(f"the probability of {rows[row][:3]}", rows[row][3]) for row in order]),
        action=action[begins],
        state_names=states.names,
        action_names=actions.names,
        reward=reward.means,
        duration=duration.means,
        row_reward=reward.rows,
        row_duration=duration.rows,
        reward_law=reward.laws,
        duration_law=duration.laws,
    )


# --- Parts ------------------------------------------------------------------------------


def _offsets(counts: ArrayLike) -> Ints:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def numbers_of(name: str, numbers: Matrix | Sequence[Matrix]) -> Floats:
    """Return an array of numbers, or say that there is none."""
    try:
        return np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(numbers)}; it must be an array of numbers") from None


def _matrix(name: str, matrix: Matrix) -> Sparse:
    return sparse.csr_array(matrix if sparse.issparse(matrix) else numbers_of(name, matrix))


def _listed_matrices(given: Matrix | Sequence[Matrix]) -> list[Matrix] | None:
    """Return the matrices of a list of them; None where it is none."""
    if sparse.issparse(given) or not isinstance(given, np.ndarray | Sequence) or isinstance(given, str):
        return None
    if isinstance(given, np.ndarray):
        return list(given) if given.ndim == 3 else None
    return list(given) if len(given) > 0 and (sparse.issparse(given[0]) or np.ndim(given[0]) == 2) else None


def _interleaved(matrices: list[Sparse]) -> tuple[Ints, Ints]:
    """Return the order that puts the entries of all matrices by state, then action; and the offsets."""
    counts = np.stack([np.diff(matrix.indptr) for matrix in matrices], axis=1)
    offsets = _offsets(counts.ravel())
    behind = _offsets([matrix.nnz for matrix in matrices])
    begins = (np.stack([matrix.indptr[:-1] for matrix in matrices], axis=1) + behind[:-1]).ravel()
    order = np.repeat(begins - offsets[:-1], counts.ravel()) + np.arange(offsets[-1])
    return order, offsets


def _entries(name: str, given: Sequence[Matrix], matrices: list[Sparse]) -> Floats:
    """Return the entries of given matrices at the places of the transitions."""
    if len(given) != len(matrices):
        raise ValueError(f"{name} has {len(given)} matrices for {len(matrices)} actions")
    entries = []
    for action, (each, matrix) in enumerate(zip(given, matrices, strict=True)):
        values = sparse.csr_array(each) if sparse.issparse(each) else numbers_of(f"{name}[{action}]", each)
        if values.shape != matrix.shape:
            raise ValueError(f"{name}[{action}] has the shape {values.shape}; it must be {matrix.shape}")
        state = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        entries.append(np.asarray(values[state, matrix.indices], dtype=np.float64).ravel())
    return np.concatenate(entries)


def _outcomes(number: int, given: Transition) -> list[Row]:
    """Return the rows of one transition: one, or one for each of its joint outcomes."""
    if not isinstance(given, tuple):  # a list does as well
        return _outcomes(number, tuple(given))
    if len(given) == 5 and isinstance(given[4], Outcomes):
        outcomes = given[4].outcomes
        total = sum(outcome[0] for outcome in outcomes)
        if not abs(total - 1.0) <= 1e-8:
            raise ValueError(
                f"the outcomes of {given[:3]} have probabilities that sum to {total:.9g}; they must sum to 1"
            )
        return [
            (given[0], given[1], given[2], given[3] * chance, reward, duration)
            for chance, reward, duration in outcomes
        ]
    if len(given) != 6:
        raise ValueError(
            f"transition {number} is {shown(given)}; it must be (s, a, s', probability, reward, duration)"
        )
    return [given]


class _numbering:  # noqa: N801 - used as a function
    """Numbers for states or actions that are given by number or by name."""

    def __init__(self, what: str, names: Sequence[str] | None, used: list[Label]) -> None:
        self.what = what
        numbers = [int(each) for each in used if isinstance(each, int | np.integer)]
        self.names = (
            tuple(names)
            if names is not None
            else None
            if len(numbers) == len(used)
            else tuple(dict.fromkeys(map(str, used)))
        )
        self.count = max(numbers) + 1 if self.names is None else len(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names or ())}

    def number(self, given: Label) -> int:
        """Return the number of a state or action."""
        if isinstance(given, int | np.integer):
            if not 0 <= given < self.count:
                raise ValueError(f"{self.what} {given} is not one of 0 to {self.count - 1}")
            return int(given)
        if str(given) not in self._numbers:
            raise ValueError(f"{self.what} {given!r} is not one of {', '.join(self._numbers)}")
        return self._numbers[str(given)]


def _means_or_laws(laws: list[Law], row_offsets: Ints) -> Quantities:
    """Return means of pairs where they tell all, else means of rows, or laws of rows."""
    constants = [law.value for law in laws if isinstance(law, Constant)]
    if len(constants) < len(laws):
        return Quantities(laws=flat(laws))
    values = np.array(constants)
    first = values[row_offsets[:-1]]
    if (values == np.repeat(first, np.diff(row_offsets))).all():
        return Quantities(means=first)
    return Quantities(rows=values)
