"""A policy for policy iteration to begin with, from coarser and coarser models.

Policy iteration in a queue moves the border between two actions by so many states for each evaluation, and in a large model an
evaluation takes long. So states are joined in groups of up to four that often lead to each other, and the groups make a
model of a quarter of the size: each of its pairs has the mean reward, duration and transitions of its states. What is best
there is begun with here, group by group, and the coarser model is solved in the same way. (Multigrid methods for
Markov decision processes go back to Chow and Tsitsiklis, IEEE Transactions on Automatic Control 36, 1991.)

The coarser models are only a guess, since moves within a group are lost and noise counts for too much. The answer is that of
policy iteration on the model itself, with its own proof.
"""

from __future__ import annotations

import contextlib

import numpy as np
from scipy import sparse

from sojourn.exact.direct import Start, nearly_best
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.operators import Arrays, arrays
from sojourn.models.chain import pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Ints
from sojourn.rules.kernel import kernel

_COARSEST = 2000  # states
_JOINED = 0.75  # at most so many groups for each state, or the model is not coarser enough to be worth it
_BRIEFEST = (
    0.01  # of the mean duration: the least in a coarser model, so that no group stays for ever without time
)


@kernel
def join(model: Arrays, group: Ints) -> int:
    """Number groups of one or two states, and return how many there are; `group` has -1 for each state at first.

    A state is joined with the one of those it may lead to, and which have the same actions, that is the likeliest.
    """
    count = 0
    for state in range(len(group)):
        if group[state] >= 0:
            continue
        first, last = model.pair_offsets[state], model.pair_offsets[state + 1]
        partner, likeliest = np.int64(-1), 0.0
        for row in range(model.row_offsets[first], model.row_offsets[last]):
            other = np.int64(model.successor[row])
            if other != state and group[other] < 0 and model.probability[row] > likeliest:
                begins = model.pair_offsets[other]
                same = model.pair_offsets[other + 1] - begins == last - first
                for pair in range(first, last):
                    same = same and model.action[pair] == model.action[begins + pair - first]
                if same:
                    partner, likeliest = other, model.probability[row]
        group[state] = count
        if partner >= 0:
            group[partner] = count
        count += 1
    return count


def coarser(model: SMDP) -> tuple[SMDP, Ints]:
    """Return a model of groups of one or two states, and the group of each state.

    >>> from sojourn.models import from_transitions
    >>> walk = from_transitions([(s, 0, (s + 1) % 4, 1.0, float(s), 1.0) for s in range(4)])
    >>> found, group = coarser(walk)
    >>> group, found.reward, found.probability
    (array([0, 0, 1, 1]), array([0.5, 2.5]), array([0.5, 0.5, 0.5, 0.5]))
    """
    group = np.full(model.num_states, -1, dtype=np.int64)
    count = join(arrays(model), group)
    representative = np.full(count, model.num_states, dtype=np.int64)
    np.minimum.at(representative, group, np.arange(model.num_states))
    widths = np.diff(model.pair_offsets)
    offsets = np.concatenate([[0], np.cumsum(widths[representative])])
    first = np.repeat(model.pair_offsets[representative], widths[representative])
    state = model.state_of_pair()
    pair = offsets[group[state]] + np.arange(model.num_pairs) - model.pair_offsets[state]
    size = np.bincount(pair, minlength=offsets[-1])
    row = np.repeat(pair, np.diff(model.row_offsets))
    moves = sparse.coo_array(
        (model.probability / size[row], (row, group[model.successor])), shape=(offsets[-1], count)
    ).tocsr()
    duration = np.bincount(pair, model.duration) / size
    moves.data /= np.repeat(np.add.reduceat(moves.data, moves.indptr[:-1]), np.diff(moves.indptr))
    found = SMDP(
        pair_offsets=offsets,
        row_offsets=moves.indptr,
        successor=moves.indices,
        probability=moves.data,
        reward=np.bincount(pair, model.reward) / size,
        duration=np.maximum(duration, _BRIEFEST * duration.mean()),
        action=model.action[first + np.arange(offsets[-1]) - np.repeat(offsets[:-1], widths[representative])],
    )
    return found, group


def coarse_start(model: SMDP, otherwise: Ints) -> Start:
    """Return the best policy of a coarser model, with how often states are visited there, or the pairs `otherwise`."""
    half, to_half = coarser(model)
    quarter, to_quarter = coarser(half)
    start = Start(quarter.pair_offsets[:-1].copy())
    if quarter.num_states > _JOINED**2 * model.num_states:
        return Start(otherwise)
    if quarter.num_states > _COARSEST:
        start = coarse_start(quarter, start.pairs)
    group = to_quarter[to_half]
    with contextlib.suppress(NotSolvedError):
        pairs, law = nearly_best(quarter, start)
        return Start(
            pairs_of(model, quarter.action[pairs][group].astype(np.int64)),
            None if law is None else law[group],
        )
    return Start(otherwise)
