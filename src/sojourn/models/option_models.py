"""The exact model of an MDP with options, in which options are actions that take time.

An option takes the primitive actions of its own policy until it ends. It makes at least one step, and on arriving in state s
it ends with probability beta(s) (Sutton, Precup and Singh, Artificial Intelligence 112, 1999). Let P, r and d be the chain
of its policy, and C(s, s') = P(s, s') (1 - beta(s')) the steps after which it goes on. Then its reward R, its duration D and
the law E of where it ends solve

    R = r + C R        D = d + C D        E(s, s') = P(s, s') beta(s') + (C E)(s, s')

If d is 1, the duration is counted in primitive steps. An option that ends after n steps at the latest has

    R(k) = r + C R(k - 1)        D(k) = d + C D(k - 1)        E(k) = P beta + C E(k - 1)        R(0) = D(0) = 0,  E(1) = P

and R(n), D(n), E(n) are its own. Only the means of reward and duration are known, not their laws, so
the model is meant for computing gains. To simulate options, or to learn with them, put `sojourn.envs.Options` around an
environment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import sparse

from sojourn.data.numbers import at_least_zero, shown, unmasked, whole
from sojourn.models.chain import Chain, chain_of, solved, state_means
from sojourn.models.smdp import SMDP
from sojourn.models.validation import offsets_of
from sojourn.rules.arrays import Flags, Floats, Ints, Sparse
from sojourn.rules.door import told

MOST_STEPS = 100_000  # after which an option may be made to end


class Acting(Protocol):
    """What has a method `act`, such as a learner or a saved policy."""

    def act(self, obs: Any, /) -> Any:
        """Return the action for an observation."""


class Option(NamedTuple):
    """A policy that is followed until it ends, which may be used as an action.

    `policy` is one action for all states; an action for each state (-1 in states that the option never reaches);
    probabilities [state, action]; a function of the observation; or anything with a method `act`, such as what
    `load_policy` returns or a `Learner`. `termination` is the probability of ending on arrival: one number, one for each state,
    or a function of the observation. The option ends after `steps` steps at the latest. `initiation` says in which
    states the option can begin, by default in all where it has an action; it may be a function of the observation, too.

    Functions are given what the environment shows. In a model, that is the number of the state.

    >>> Option(policy=[0, 0, 0], termination=[0.0, 0.0, 1.0], name="to the end").termination
    [0.0, 0.0, 1.0]
    >>> Option(policy=1, steps=5, name="right, five times").steps
    5
    """

    policy: ArrayLike | Callable[..., Any] | Acting
    termination: ArrayLike | Callable[..., Any] = 0.0
    initiation: ArrayLike | Callable[..., Any] | None = None
    name: str | None = None
    steps: int | None = None


def option_label(number: int, option: Option) -> str:
    """Return what an option is called in a sentence.

    >>> option_label(3, Option(0, name="left"))
    'option 3 (left)'
    """
    return f"option {number}" + (f" ({option.name})" if option.name else "")


@told
def primitive(model: SMDP, action: int) -> Option:
    """Return the option that takes an action once, in the states that have it.

    >>> from sojourn.models import from_arrays
    >>> corridor = from_arrays([[[0, 1]], [[1, 0]]], rewards=[[1.0], [5.0]])
    >>> from_options(corridor, [primitive(corridor, 0)]).reward
    array([1., 5.])
    """
    has = model.pair_table()[:, action] >= 0
    name = model.action_names[action] if model.action_names else None
    return Option(np.where(has, action, -1), 1.0, has, name)


@told
def from_options(model: SMDP, options: Sequence[Option], *, price: float = 0.0) -> SMDP:
    """Return the model whose actions are these options; `price` is paid whenever one begins.

    In a corridor of three states, the option "go right to the end" takes two steps from the first state:

    >>> from sojourn.models import from_arrays
    >>> corridor = from_arrays([[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]], rewards=[[1.0], [5.0], [0.0]])
    >>> there = from_options(corridor, [Option(policy=[0, 0, 0], termination=[0.0, 0.0, 1.0])])
    >>> there.reward, there.duration, there.successor
    (array([6., 5., 6.]), array([2., 1., 3.]), array([2, 2, 2], dtype=int32))
    """
    options = list(options)
    if not options:
        raise ValueError("there are no options; give at least one")
    parts = [_outcome(model, number, option) for number, option in enumerate(options)]
    states, amounts, laws = zip(*parts, strict=True)
    totals = np.concatenate(amounts)
    state, action = np.concatenate(states), np.repeat(np.arange(len(parts)), list(map(len, states)))
    order = np.lexsort((action, state))
    ends = sparse.vstack(laws, format="csr")[order]
    names = [option.name for option in options if option.name is not None]
    return SMDP(
        pair_offsets=offsets_of(np.bincount(state, minlength=model.num_states)),
        row_offsets=ends.indptr,
        successor=ends.indices,
        probability=ends.data,
        reward=totals[order, 0] - at_least_zero("price", price),
        duration=totals[order, 1],
        action=action[order],
        state_names=model.labels if model.has_labels else None,
        action_names=names if len(names) == len(options) else None,
        amounts={name: totals[order, 2 + place] for place, name in enumerate(model.amounts)},
    )


@told
def interrupted(model: SMDP, options: Sequence[Option], values: ArrayLike) -> list[Option]:
    """Return options that also end where another option that can begin there has a larger value.

    `values` are those of the options [state, option]. If they are the values of a policy over options, following that policy
    with interruption earns at least as much per unit time (Sutton, Precup and Singh 1999; Wan, Naik and Sutton 2021).

    In a corridor, "to the end" is given up in the middle, where going back is worth more:

    >>> from sojourn.models import from_arrays
    >>> corridor = from_arrays(
    ...     [[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]]], rewards=np.zeros((3, 2))
    ... )
    >>> options = [Option(0, [0.0, 0.0, 1.0], name="to the end"), primitive(corridor, 1)]
    >>> interrupted(corridor, options, [[2.0, 0.0], [1.0, 3.0], [0.0, 1.0]])[0].termination
    array([0., 1., 1.])
    """
    listed = [_by_state(model, option_label(*each), each[1]) for each in enumerate(options)]
    table = np.asarray(values, dtype=np.float64)
    if table.shape != (model.num_states, len(listed)):
        raise ValueError(
            f"values has the shape {table.shape}; it must have a row for each of {model.num_states} states, and a column for "
            f"each of {len(listed)} options"
        )
    begins = np.column_stack([_initiation(model, option_label(*each), each[1]) for each in enumerate(listed)])
    best = np.where(begins, table, -np.inf).max(axis=1)
    return [
        option._replace(
            termination=np.where(
                best > table[:, number], 1.0, _termination(model, option_label(number, option), option)
            )
        )
        for number, option in enumerate(listed)
    ]


def _outcome(model: SMDP, number: int, option: Option) -> tuple[Ints, Floats, Sparse]:
    """Return the states in which an option can begin, and its mean amounts (reward and duration first) and ends from there."""
    label = option_label(number, option)
    option = _by_state(model, label, option)
    unmasked(label, (option.policy, option.termination, option.initiation))
    stop, begins = _termination(model, label, option), _initiation(model, label, option)
    policy = np.asarray(option.policy)
    known: Flags = np.asarray(policy >= 0 if policy.ndim == 1 else policy.any(axis=1))
    if len(known) == model.num_states:
        policy = _filled(model, policy, known)
    try:
        chain = chain_of(model, policy)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    steps = None if option.steps is None else whole(f"the steps of {label}", option.steps, most=MOST_STEPS)
    goes_on = (chain.matrix @ sparse.diags_array(1.0 - stop)).tocsr()
    goes_on.eliminate_zeros()
    states = np.flatnonzero(_reached(goes_on, begins, None if steps is None else steps - 1))
    if not known[states].all():
        lost = states[~known[states]][0]
        raise ValueError(
            f"{label} comes to {model.state_place(lost)}, where its policy has no action; give it one there"
        )
    further = (state_means(model, policy, each) for each in model.amounts.values())
    totals = np.column_stack([chain.reward, chain.duration, *further])
    starts = np.flatnonzero(begins)
    if steps is not None:
        return starts, *_limited(chain, goes_on, stop, totals, steps, starts)
    ending = chain.matrix @ sparse.diags_array(stop)
    ending.eliminate_zeros()
    ends_at = np.diff(ending.indptr) > 0
    endless = states[~_reached(goes_on.T.tocsr(), ends_at)[states]]
    if endless.size:
        raise ValueError(
            f"{label} never ends once it is in {model.state_place(endless[0])}; let it end in a state that it can reach"
        )
    system = sparse.eye_array(len(states)) - goes_on[states][:, states]
    exits = np.unique(ending[states].indices)
    count = totals.shape[1]
    right = np.column_stack([totals[states], ending[states][:, exits].toarray()])
    answer = solved(system, right)[np.searchsorted(states, starts)]
    # Rounding may give impossible ends tiny probabilities; these are removed.
    law = np.where(answer[:, count:] > 1e-15, answer[:, count:], 0.0)
    law = sparse.coo_array(law / law.sum(axis=1, keepdims=True))
    shape = (len(answer), model.num_states)
    ends = sparse.csr_array((law.data, (law.row, exits[law.col])), shape=shape)
    return starts, answer[:, :count], ends


def _limited(
    chain: Chain, goes_on: Sparse, stop: Floats, totals: Floats, steps: int, starts: Ints
) -> tuple[Floats, Sparse]:
    """Return the mean amounts and the ends of an option that ends after so many steps at the latest."""
    ending = (chain.matrix @ sparse.diags_array(stop)).tocsr()
    amounts, ends = totals, chain.matrix.tocsr()
    for _ in range(steps - 1):
        amounts, ends = totals + goes_on @ amounts, (ending + goes_on @ ends).tocsr()
    ends = ends[starts]
    ends.eliminate_zeros()
    away = sparse.diags_array(1.0 / np.asarray(ends.sum(axis=1)).ravel())  # rounding
    return amounts[starts], (away @ ends).tocsr()


def _by_state(model: SMDP, label: str, option: Option) -> Option:
    """Return an option whose functions have become arrays by the number of the state."""
    states = range(model.num_states)
    policy: Any = option.policy
    act, knows = getattr(policy, "act", policy), getattr(policy, "known", lambda _: True)
    if callable(act):
        policy = [_asked(f"the policy of {label}", act, state) if knows(state) else -1 for state in states]
    elif np.ndim(policy) == 0:
        policy = np.full(model.num_states, policy)
    termination, initiation = option.termination, option.initiation
    if callable(termination):
        termination = [float(_asked(f"the termination of {label}", termination, state)) for state in states]
    if callable(initiation):
        initiation = [bool(_asked(f"the initiation of {label}", initiation, state)) for state in states]
    return option._replace(policy=policy, termination=termination, initiation=initiation)


def _asked(what: str, function: Callable[..., Any], state: int) -> Any:
    try:
        return function(state)
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise ValueError(
            f"{what} has no answer for state {state}: {shown(error)}; in a model, functions are given the number of the state"
        ) from None


def _filled(model: SMDP, policy: npt.NDArray[np.generic], known: Flags) -> npt.NDArray[np.generic]:
    """Return a policy with any action in the states where it has none."""
    first = model.action[model.pair_offsets[:-1]]
    if policy.ndim == 1:
        return np.where(known, policy, first)
    policy = policy.astype(np.float64)
    policy[~known, first[~known]] = 1.0
    return policy


def _termination(model: SMDP, label: str, option: Option) -> Floats:
    stop = np.asarray(option.termination, dtype=np.float64)
    stop = np.full(model.num_states, float(stop)) if stop.ndim == 0 else stop
    if stop.shape != (model.num_states,) or not ((stop >= 0.0) & (stop <= 1.0)).all():
        raise ValueError(
            f"the termination of {label} must be a probability, or one for each of {model.num_states} states"
        )
    return stop


def _initiation(model: SMDP, label: str, option: Option) -> Flags:
    if option.initiation is None:
        policy = np.asarray(option.policy)
        if len(policy) != model.num_states:
            return np.ones(model.num_states, dtype=bool)  # it is refused, with its shape, when it is followed
        return np.asarray(policy >= 0 if policy.ndim == 1 else policy.any(axis=1))
    begins = np.asarray(option.initiation)
    if begins.shape != (model.num_states,) or begins.dtype != bool or not begins.any():
        raise ValueError(
            f"the initiation of {label} must be true or false for each of {model.num_states} states, and true for at least one"
        )
    return begins


def _reached(matrix: Sparse, begins: Flags, most: int | None = None) -> Flags:
    """Return the states that are reached from some states, including these, in at most so many steps."""
    reached, left = begins.copy(), len(begins) if most is None else most
    for _ in range(left):
        more = reached | (matrix.T @ reached.astype(np.float64) > 0.0)
        if (more == reached).all():
            break
        reached = more
    return reached
