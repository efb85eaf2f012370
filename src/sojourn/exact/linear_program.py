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
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told

_TOLERANCE = 1e-10  # the smallest that HiGHS accepts
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
            "rewards or durations differ much in size; use policy_iteration"
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
    counts = np.diff(model.row_offsets)
    pair = np.arange(model.num_pairs)
    leaves = sparse.coo_array((np.ones(model.num_pairs), (model.state_of_pair(), pair)))
    enters = sparse.coo_array(
        (model.probability, (model.successor, np.repeat(pair, counts))),
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
