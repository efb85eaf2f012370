"""The linear program over stationary frequencies of pairs.

Let x(s, a) be the number of times per unit time that a policy takes the action a in the state s. The program is

    maximise   sum x(s, a) r(s, a)
    so that    sum over a of x(s', a) = sum over s, a of x(s, a) P(s' | s, a)     for every s'
               sum x(s, a) d(s, a) = 1,        x >= 0

and its value is the optimal gain, if that is one number (Denardo and Fox, SIAM Journal on Applied Mathematics 16, 1968).
In each state the policy takes an action of positive frequency. States without one are transient, and the program says
nothing about them; policy iteration finds their actions, starting from a policy that leads out of them. HiGHS solves
the program.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from sojourn.exact.bounds import Solution
from sojourn.exact.errors import NotSolvedError, check_one_class
from sojourn.exact.operators import first_best
from sojourn.exact.policy_iteration import policy_iteration
from sojourn.models.chain import leading_to
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

_TOLERANCE = 1e-10  # the smallest that HiGHS accepts
_IGNORED = 1.001e-9  # HiGHS takes coefficients up to 1e-9 for 0; a little more, since 1 - p is rounded
_AGREE = 1e-6  # the program and its own policy must be this close, relative to the gain


@told
def linear_program(model: SMDP) -> Solution:
    """Return an optimal policy, found by linear programming.

    `gain` is the value of the program, moved into the policy's proven bounds if it lies outside.

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> round(linear_program(model).gain, 9)
    1.0
    """
    began = time.perf_counter()
    check_one_class(model)
    with np.errstate(all="ignore"):
        length, size = float(model.duration.mean()), float(np.abs(model.reward).max()) or 1.0
        length = length if np.isfinite(length) else float(model.duration.max())
        value, frequency, iterations = _frequencies(model, length, size)
        gain = value * size / length
    first = model.pair_offsets[:-1]
    often = np.maximum.reduceat(frequency, first)
    recurrent = np.flatnonzero(often > 1e-9 * often.max())
    pairs = first.copy()
    pairs[recurrent] = first_best(model.pair_offsets, frequency)[recurrent]
    pairs = leading_to(model, recurrent, pairs)
    polished = policy_iteration(model, start=model.action[pairs])
    if not abs(polished.gain - gain) <= _AGREE * max(abs(gain), size / length):
        raise NotSolvedError(
            f"the linear program has the value {gain:.9g}, but its policy has the gain {polished.gain:.9g}, perhaps because "
            "rewards or durations differ much in size, or because the gain depends on probabilities below 1e-9, which "
            "HiGHS takes for 0; use policy_iteration"
        )
    return replace(
        polished,
        gains=np.full(model.num_states, min(max(gain, polished.lower), polished.upper)),
        iterations=iterations,
        solver="linear program",
        seconds=time.perf_counter() - began,
    )


def _frequencies(model: SMDP, length: float, size: float) -> tuple[float, Floats, int]:
    """Return the value of the program, the frequency of each pair, and the number of iterations.

    The program is scaled to a mean duration of 1 and a largest reward of 1, since the tolerances of HiGHS are absolute.
    """
    pair = np.arange(model.num_pairs)
    row_pair = np.repeat(pair, np.diff(model.row_offsets))
    leaves = sparse.coo_array((np.ones(model.num_pairs), (model.state_of_pair(), pair)))
    enters = sparse.coo_array(
        (_kept(model, row_pair), (model.successor, row_pair)),
        shape=(model.num_states, model.num_pairs),
    )
    balance = sparse.vstack(
        [leaves - enters, sparse.coo_array(model.duration[None, :] / length)], format="csr"
    )
    right = np.zeros(model.num_states + 1)
    right[-1] = 1.0
    found = linprog(
        -model.reward / size,
        A_eq=balance,
        b_eq=right,
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if found.status != 0:
        raise NotSolvedError(f"HiGHS did not solve the linear program: {found.message.rstrip('.')}")
    return -float(found.fun), np.asarray(found.x), int(found.nit)


def _kept(model: SMDP, row_pair: Ints) -> Floats:
    """Return the probabilities with those that HiGHS would ignore moved to the likeliest successor of their pair.

    If HiGHS dropped them, what leaves a state would be more than what enters others. The balance of all states then
    allows no pair that has such a successor, however good it is.
    """
    tiny = model.probability <= _IGNORED
    kept = np.where(tiny, 0.0, model.probability)
    likeliest = first_best(model.row_offsets, model.probability)
    kept[likeliest] += np.bincount(
        row_pair, np.where(tiny, model.probability, 0.0), minlength=model.num_pairs
    )
    return kept
