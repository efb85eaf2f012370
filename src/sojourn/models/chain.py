"""The Markov chain of a policy in a model, its recurrent classes, and sparse linear systems."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph, linalg

from sojourn.data.numbers import listed, nearest, shown, unmasked
from sojourn.models.structure import recurrent_classes
from sojourn.rules.arrays import Flags, Floats, Ints, Sparse
from sojourn.rules.blas import one_thread

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

PolicyLike: TypeAlias = ArrayLike | Mapping[Any, Any]  # by number, or {state: action} by name

_DENSE = 500  # states: up to here a dense solver is fast; above, a sparse one may fill up all memory
_ROUNDING = 1e-14  # relative to the largest number
_CLOSE, _MOST_STEPS = 1e-10, 500  # of BiCGSTAB: how much it must reduce the error, and in how many steps
_NORMAL = float(np.finfo(np.float64).tiny)  # smaller floats have fewer digits


class Chain(NamedTuple):
    """The Markov chain that a policy follows in a model: transition matrix, mean rewards and durations."""

    matrix: Sparse
    reward: Floats
    duration: Floats


def by_number(model: SMDP, policy: PolicyLike) -> npt.NDArray[Any]:
    """Return a policy as an array; a dictionary of names becomes the number of an action for each state.

    >>> from sojourn.models.problems import long_return
    >>> by_number(long_return(), {"choice": "B", "return": "A"})
    array([1, 0])
    """
    unmasked("the policy", policy)
    if not isinstance(policy, Mapping):
        return np.asarray(policy)
    wanted = {_number_of(model, state): action for state, action in policy.items()}
    numbers = np.empty(model.num_states, dtype=np.int64)
    offsets, actions = model.pair_offsets.tolist(), model.action.tolist()
    for state in range(model.num_states):
        own = actions[offsets[state] : offsets[state + 1]]
        if state not in wanted and len(own) > 1:
            raise ValueError(
                f"the policy has no action for {model.state_place(state)}; it can be {listed(_names(model, own))}"
            )
        action = _action_of(model, wanted[state]) if state in wanted else own[0]
        if action not in own:
            raise ValueError(
                f"{model.state_place(state)} has no action {shown(wanted[state])}"
                f"{nearest(wanted[state], _names(model, own))}"
            )
        numbers[state] = action
    return numbers


def _number_of(model: SMDP, state: Hashable) -> int:
    try:
        return model.state_number(state)
    except ValueError as error:
        hint = str(error).partition(";")[2]
        raise ValueError(f"the policy names {shown(state)}, which is not a state;{hint}") from None


def _action_of(model: SMDP, action: Hashable) -> int:
    try:
        return model.action_number(action)
    except ValueError:
        return -1  # no state has it


def _names(model: SMDP, actions: list[int]) -> list[str]:
    return [str(model.action_labels[action]) for action in actions]


def chain_of(model: SMDP, policy: PolicyLike) -> Chain:
    """Return the chain of a policy."""
    given = by_number(model, policy)
    if given.ndim == 0:
        raise TypeError(
            f"policy is {shown(policy)}; give a dictionary from states to actions, or an action for each of "
            f"{model.num_states} states"
        )
    if given.ndim == 1 and given.dtype.kind in "iu" and len(given) == model.num_states:
        return chain_of_pairs(model, pairs_of(model, given))
    if given.shape != (model.num_states, model.num_actions) or given.dtype.kind not in "biuf":
        raise ValueError(
            f"policy has the shape {given.shape}; it must have an action for each of {model.num_states} states, "
            f"or probabilities {(model.num_states, model.num_actions)}"
        )
    table, state = model.pair_table(), model.state_of_pair()
    away = np.abs(given.sum(axis=1) - 1.0)
    wrong = (given < 0.0).any(axis=1) | ~(away <= 1e-8) | ((given != 0.0) & (table < 0)).any(axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"the policy in {model.state_place(at)} is {given[at].tolist()}; "
            "it must be probabilities of the state's own actions that sum to 1"
        )
    weight = given[state, model.action].astype(np.float64)
    counts = np.diff(model.row_offsets)
    share = np.repeat(weight, counts)
    mixed = model.probability * share
    if ((mixed < _NORMAL) & (share > 0.0) & (share < 1.0)).any():
        raise ValueError(
            "the policy takes an action so seldom that its transitions have probabilities below 1e-307; use 0 instead"
        )
    matrix = sparse.coo_array(
        (mixed, (np.repeat(state, counts), model.successor)), shape=(model.num_states, model.num_states)
    ).tocsr()
    matrix.eliminate_zeros()
    first = model.pair_offsets[:-1]
    return Chain(
        _normalised(matrix),
        np.add.reduceat(weight * model.reward, first),
        np.add.reduceat(weight * model.duration, first),
    )


def state_means(model: SMDP, policy: PolicyLike, amount: Floats) -> Floats:
    """Return the mean in each state of an amount that is given for every pair, for a policy that `chain_of` accepts."""
    given = by_number(model, policy)
    if given.ndim == 0:
        raise TypeError(
            f"policy is {shown(policy)}; give a dictionary from states to actions, or an action for each of "
            f"{model.num_states} states"
        )
    if given.ndim == 1:
        return np.asarray(amount[pairs_of(model, given)])
    weight = given[model.state_of_pair(), model.action].astype(np.float64)
    return np.asarray(np.add.reduceat(weight * amount, model.pair_offsets[:-1]))


def pair_shares(model: SMDP, policy: PolicyLike) -> Floats:
    """Return how often a policy that `chain_of` accepts takes each pair when it is in the pair's state.

    >>> from sojourn.models.problems import long_return
    >>> pair_shares(long_return(), [1, 0])
    array([0., 1., 1., 0.])
    """
    given = by_number(model, policy)
    if given.ndim == 0:
        raise TypeError(
            f"policy is {shown(policy)}; give a dictionary from states to actions, or an action for each of "
            f"{model.num_states} states"
        )
    if given.ndim == 1:
        shares = np.zeros(model.num_pairs)
        shares[pairs_of(model, given)] = 1.0
        return shares
    return np.asarray(given[model.state_of_pair(), model.action], dtype=np.float64)


def pairs_of(model: SMDP, policy: Ints) -> Ints:
    """Return the pair that a policy takes in each state."""
    if policy.dtype.kind not in "iu" or policy.shape != (model.num_states,):
        raise ValueError(
            f"a policy of type {policy.dtype} and shape {policy.shape} is not the number of an action for each of "
            f"{model.num_states} states"
        )
    if policy.min() < 0 or policy.max() >= model.num_actions:
        found = np.full(model.num_states, -1)
        inside = (policy >= 0) & (policy < model.num_actions)
        found[inside] = model.pair_table()[np.flatnonzero(inside), policy[inside]]
    else:
        found = model.pair_table()[np.arange(model.num_states), policy]
    if found.min() < 0:
        state = int(np.argmin(found))
        model.pair(state, int(policy[state]))  # raises the error
    return found


def expected(model: SMDP, values: Floats) -> Floats:
    """Return the expected value of the next state for each pair, given the value of each state."""
    return np.add.reduceat(model.probability * values[model.successor], model.row_offsets[:-1])


def chain_of_pairs(model: SMDP, pairs: Ints) -> Chain:
    """Return the chain of the policy that takes these pairs."""
    offsets, rows = model.rows_of(pairs)
    matrix = sparse.csr_array(
        (model.probability[rows], model.successor[rows], offsets), shape=(model.num_states, model.num_states)
    )
    matrix.sum_duplicates()
    return Chain(_normalised(matrix), model.reward[pairs], model.duration[pairs])


def _normalised(matrix: Sparse) -> Sparse:
    """Return a matrix with rows that sum to 1, as in the true model (see `SMDP`)."""
    sums = np.asarray(matrix.sum(axis=1))
    if (sums != 1.0).any():
        matrix.data = matrix.data / np.repeat(sums, np.diff(matrix.indptr))
    return matrix


def classes_of(chain: Chain) -> list[Ints]:
    """Return the recurrent classes of a chain."""
    entries = chain.matrix.tocoo()
    return recurrent_classes(len(chain.reward), entries.row, entries.col)


class SingularError(ValueError):
    """Raised when a linear system has no solution in floats."""


@one_thread()
def solved(system: Sparse, right: Floats) -> Floats:
    """Return the solution of a sparse linear system."""
    try:
        if len(right) <= _DENSE:
            return np.asarray(np.linalg.solve(system.toarray(), right))
        if right.ndim == 1:
            answer = iterated(system.tocsr(), right)
            if answer is not None:
                return answer
        return np.asarray(linalg.splu(sparse.csc_array(system)).solve(right))
    except (np.linalg.LinAlgError, RuntimeError):  # SuperLU raises a RuntimeError if the matrix is singular
        raise SingularError(
            "the linear equations of a policy have no solution in floats, because some probabilities are too small "
            "compared with others; lump states, or leave out the smallest probabilities"
        ) from None


def outward(matrix: Sparse, inner: Ints | None = None) -> Sparse:
    """Return the matrix of the system v(i) sum of p(i, j) - sum of p(i, j) v(j), with sums over all j except i.

    `matrix` has the rows of the states `inner` (by default all) and a column for every state. The result is 1 - P, computed
    without a subtraction that would lose small probabilities of leaving.
    """
    size = matrix.shape[0]
    inner = np.arange(size) if inner is None else inner
    entries = matrix.tocoo()
    away = entries.col != inner[entries.row]
    leaves = np.bincount(entries.row[away], weights=entries.data[away], minlength=size).astype(np.float64)
    place = np.full(matrix.shape[1], -1)
    place[inner] = np.arange(size)
    within = away & (place[entries.col] >= 0)
    moves = sparse.coo_array(
        (entries.data[within], (entries.row[within], place[entries.col[within]])), shape=(size, size)
    )
    return (sparse.diags_array(leaves) - moves).tocsc()


def iterated(system: Sparse, right: Floats, most: int = _MOST_STEPS) -> Floats | None:
    """Return the solution by BiCGSTAB if it is exact up to rounding after so many steps, else None."""
    answer = np.zeros(len(right))
    for _ in range(2):  # the second time for the digits that the first time left
        answer = answer + _bicgstab(system, right - system @ answer, most)
    left, scale = np.abs(system @ answer - right).max(), np.abs(right).max() + np.abs(answer).max()
    return answer if left <= _ROUNDING * scale else None


def _bicgstab(system: Sparse, right: Floats, most: int) -> Floats:
    """Return an approximate solution (H. A. van der Vorst, SIAM Journal on Scientific Computing 13, 1992).

    SciPy's has an absolute limit below which it gives up, and its dot products start the threads of BLAS, which wait for each
    other on a busy machine for longer than they compute.
    """
    answer, left = np.zeros(len(right)), right.copy()
    goal, shadow = _CLOSE**2 * _dot(right, right), right
    rho = alpha = omega = 1.0
    way, moved = np.zeros((2, len(right)))
    with np.errstate(all="ignore"):
        for _ in range(most):
            if not _dot(left, left) > goal:
                break
            last, rho = rho, _dot(shadow, left)
            if last * omega == 0.0:  # broken down
                return answer
            way = left + (rho / last * alpha / omega) * (way - omega * moved)
            moved = system @ way
            alpha = rho / _dot(shadow, moved)
            half = left - alpha * moved
            step = system @ half
            omega = _dot(step, half) / _dot(step, step)
            if not np.isfinite(alpha * omega):  # broken down, or half of a step was enough
                return answer + alpha * way if np.isfinite(alpha) else answer
            answer += alpha * way + omega * half
            left = half - omega * step
    return answer


def _dot(one: Floats, other: Floats) -> float:
    """Return a scalar product without BLAS."""
    return float(np.einsum("i,i", one, other))


def steps_to(model: SMDP, target: Ints, usable: Flags | None = None) -> Floats:
    """Return the least number of steps in which each state may get to `target`; infinity if it cannot.

    `usable` says which pairs may be taken, by default all.
    """
    counts, state = np.diff(model.row_offsets), model.state_of_pair()
    rows = slice(None) if usable is None else np.repeat(usable, counts)
    source, size = np.repeat(state, counts)[rows], (model.num_states, model.num_states)
    back = sparse.csr_array((np.ones(len(source)), (model.successor[rows], source)), shape=size)
    if not target.size:
        return np.full(model.num_states, np.inf)
    return np.asarray(csgraph.dijkstra(back, unweighted=True, indices=target, min_only=True))


def leading_to(model: SMDP, target: Ints, pairs: Ints, usable: Flags | None = None) -> Ints:
    """Return the policy changed so that every state that can lead to `target` does.

    `usable` says which pairs may be taken, by default all. States in the target, and those from which it cannot be reached,
    keep their pairs.
    """
    pairs, state, steps = pairs.copy(), model.state_of_pair(), steps_to(model, target, usable)
    ahead = np.minimum.reduceat(steps[model.successor], model.row_offsets[:-1])
    nearer = (ahead < steps[state]) & np.isfinite(ahead)
    new = np.flatnonzero(nearer if usable is None else nearer & usable)
    states, first = np.unique(state[new], return_index=True)
    pairs[states] = new[first]
    return pairs
