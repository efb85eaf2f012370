"""Policy iteration for large models: each policy is evaluated by a sparse LU factorisation without pivoting.

Leave one recurrent state out of I - P. What remains is a nonsingular M-matrix: elimination in any symmetric order needs no
pivots, and a symmetric order fills up much less than one that has to allow for them. Two right-hand sides are enough,

    u = r + P u,     w = d + P w     in all other states, with u = w = 0 in the state left out,

because then the gain is what is earned over what is taken between two visits to that state, g = (r0 + p0 u) / (d0 + p0 w),
and the bias is h = u - g w. This includes the states that the policy leaves for good. The state left out should be visited
often, since u and w add up all that happens between two visits.

Between two factorisations, the policy is improved again and again in sweeps that raise h state by state, forward and backward in
turn, for about twice as long as a factorisation takes. This is what makes policies change in whole regions instead of along
their borders.

The iteration stops when the bounds are near enough, or when no action is better by more than rounding.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from sojourn.exact.bounds import Goal, Solution, proven
from sojourn.exact.chains import LARGEST, valued
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.operators import Arrays, Workers, arrays, evaluate_block, improve_block, relax
from sojourn.models.chain import Chain, chain_of_pairs, classes_of, leading_to
from sojourn.models.smdp import SMDP
from sojourn.models.structure import several_classes
from sojourn.rules.arrays import Floats, Ints, Sparse
from sojourn.rules.blas import one_thread

_DAMPING = 0.9
_STEPS = 50  # of the chain, to find a state that is visited often
_RARE = 1e6  # a state left out that is visited this much less often than another is replaced
_HUB = 10.0  # times the square root of the number of states: a column with more entries is full
_ULPS = 1e-15  # of the largest bias: what rounding does to a surplus
_CORRECTIONS = 3  # at most
_USUAL, _NEARLY, _COARSE = 1e-8, 1e-6, 1e-6  # tolerances
_SETTLED = 1e-3  # of the states: if a policy is improved in no more of them, it is nearly the best one
_USELESS = 1e-3  # bounds that are further apart, relative to the largest reward per unit time, are no answer
# Measured: seconds for an entry of the factors, for a row in a sweep, and for a state in a sweep.
_PER_ENTRY, _PER_ROW, _PER_STATE = 7e-8, 1.3e-9, 4e-9
_FEWEST, _MOST, _SHARE = 2, 300, 2.0  # sweeps between two factorisations, and their time over that of one
_BETWEEN_LOOKS = 10  # sweeps from one look at the policy to the next
_FACTORISATIONS = (
    4.0  # that policy iteration usually takes after sweeps, each with as much time for further sweeps
)
_IMPROVED = 5  # sweeps of modified policy iteration between two improvements, at first
_PROOF = 30.0  # sweeps that proven bounds take in models with decisions that take no time
_DEPTH, _WIDE = 100, 8.0  # levels of the search, and times the square root of the number of states
MOST_ENTRIES = 2e8  # of the factors, which then have about 3 gigabytes


class FillEstimate(NamedTuple):
    """What a factorisation will about take: seconds, and entries of the factors."""

    seconds: float
    entries: float


def estimate(matrix: Sparse) -> FillEstimate:
    """Return what the factorisation of a chain's matrix will take, from the width of its graph.

    Number the states by their distance from one at the rim. The smallest level near the middle separates the rest into two
    halves; eliminated last, it becomes a full block of its size w. The other blocks add a constant factor, or the length of
    the graph over w if it is long and narrow. Full columns are left out of the graph and added to w.

    >>> walk = sparse.diags_array([0.5, 0.5], offsets=[-1, 1], shape=(10_000, 10_000), format="csr")
    >>> estimate(walk).entries < 1e6
    True
    """
    size = matrix.shape[0]
    entries = matrix.tocoo()
    hub = np.bincount(entries.col, minlength=size) > _HUB * np.sqrt(size)
    inner = ~(hub[entries.row] | hub[entries.col])
    graph = sparse.csr_array(
        (np.ones(int(inner.sum()), np.int8), (entries.row[inner], entries.col[inner])), matrix.shape
    )
    part = csgraph.connected_components(graph, directed=False)[1]
    states = np.flatnonzero(part == np.argmax(np.bincount(part[~hub], minlength=1)) if not hub.all() else hub)
    level = _levels(graph, int(states[0]))
    level = _levels(graph, int(np.argmax(np.where(np.isfinite(level), level, -1.0))))
    widths = np.bincount(level[np.isfinite(level)].astype(np.int64))
    share = np.cumsum(widths) / widths.sum()
    central = widths[(share >= 0.3) & (share - widths / widths.sum() <= 0.7)]
    width, length = float(central.min()) + float(hub.sum()), float(len(widths))
    seconds = 2e-9 * width**3 * max(1.0, length / width) + 1e-6 * size
    return FillEstimate(seconds, 30.0 * (width**2 + size))


def cost_in_sweeps(model: SMDP, pairs: Ints) -> float:
    """Return how many sweeps of modified policy iteration take as long as `direct_policy_iteration`; infinity if it is too large.

    The figures are estimates, the same on every machine.
    """
    expected = estimate(chain_of_pairs(model, pairs).matrix)
    if expected.entries > MOST_ENTRIES:
        return np.inf
    rows = model.num_rows * (model.num_states / model.num_pairs + 1.0 / _IMPROVED**2)
    if model.duration.min() == 0.0:
        rows += model.num_rows * _PROOF / _IMPROVED
    return 2.0 * _FACTORISATIONS * expected.seconds / (_PER_ROW * rows + _PER_STATE * model.num_states)


def is_narrow(model: SMDP) -> bool:
    """Return whether one gets from the first state to others little by little, as in queues, so that factors may be small.

    In a random model, the number of states that can be reached explodes. It takes a moment to see this; to estimate the
    factors takes about as long as solving such a model.
    """
    met, new = np.zeros(model.num_states, dtype=bool), np.zeros(1, dtype=np.int64)
    first = model.pair_offsets[:-1]
    for _ in range(_DEPTH):
        met[new] = True
        ahead = model.successor[model.rows_of(first[new])[1]]
        new = np.unique(ahead[~met[ahead]]).astype(np.int64)
        if not new.size:
            break
        if len(new) > _WIDE * np.sqrt(model.num_states):
            return False
    return True


def _levels(graph: Sparse, start: int) -> Floats:
    """Return the distance of each state from one of them, with steps in either direction."""
    return np.asarray(csgraph.dijkstra(graph, directed=False, unweighted=True, indices=start))


class Factored:
    """The factors of I - P without one state, and with them the gain and bias of a policy with one recurrent class."""

    def __init__(self, chain: Chain, recurrent: Ints, law: Floats | None = None) -> None:
        """Factorise; `law` is a guess of how often states are visited, and is replaced by what was found."""
        if law is None:
            following, law = chain.matrix.T.tocsr(), np.full(len(chain.reward), 1.0 / len(chain.reward))
            for _ in range(_STEPS):
                law = law + _DAMPING * (following @ law - law)
        for _ in range(2):
            self._factorise(chain, int(recurrent[np.argmax(law[recurrent])]))
            visits = np.append(self._solve(self._ahead, "T"), 1.0)
            law = np.zeros(len(law))
            law[np.append(self._others, self._left_out)] = (
                np.abs(visits) if np.isfinite(visits).all() else 1.0
            )
            if self._steps_take_time() and visits.max() < _RARE:
                break
        self.law = law / law.sum()

    def _factorise(self, chain: Chain, left_out: int) -> None:
        size = len(chain.reward)
        self._left_out, self._others = left_out, np.delete(np.arange(size), left_out)
        self._factors = factors_of(_without(chain.matrix, left_out))
        self._ahead = chain.matrix[[left_out]].toarray()[0][self._others]
        self._first = np.array([chain.reward[left_out], chain.duration[left_out]])
        earned = np.column_stack([chain.reward[self._others], chain.duration[self._others]])
        self._totals = self._solve(earned)

    def _solve(self, right: Floats, trans: str = "N") -> Floats:
        return np.asarray(self._factors.solve(right, trans))

    def _steps_take_time(self) -> bool:
        return bool(np.isfinite(self._totals).all() and self._totals[:, 1].min(initial=0.0) >= 0.0)

    @property
    def entries(self) -> int:
        """The number of entries of both factors."""
        return int(self._factors.nnz)

    def valued(self) -> tuple[float, Floats]:
        """Return the gain and the bias, which is 0 in the state left out."""
        gains, biases = self._from_totals(self._first[:1], self._totals[:, :1])
        return float(gains[0]), biases[0]

    def corrected(self, surplus: Floats) -> tuple[float, Floats]:
        """Return what to add to a gain and a bias whose surplus r - g d + P h - h is not 0 as it should be."""
        gains, biases = self.corrections(surplus[None])
        return float(gains[0]), biases[0]

    def corrections(self, surpluses: Floats) -> tuple[Floats, Floats]:
        """Return the same for several surpluses, [which, state], at once."""
        return self._from_totals(surpluses[:, self._left_out], self._solve(surpluses[:, self._others].T))

    def _from_totals(self, earned: Floats, totals: Floats) -> tuple[Floats, Floats]:
        between = self._first[1] + self._ahead @ self._totals[:, 1]
        gains = (earned + self._ahead @ totals) / between
        biases = np.zeros((len(gains), len(self._others) + 1))
        biases[:, self._others] = (totals - self._totals[:, 1:] * gains).T
        return gains, biases


def factors_of(system: Sparse) -> Any:
    """Return SuperLU's factors, without pivoting, of an M-matrix in which each row has a diagonal of at least its sum."""
    # A minimum degree of A' + A takes long where columns are full; the order by columns sets them aside.
    full = bool(np.diff(system.indptr).max(initial=0) > _HUB * np.sqrt(system.shape[0]))
    try:
        return linalg.splu(
            system,
            permc_spec="COLAMD" if full else "MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": not full},
        )
    except (RuntimeError, MemoryError) as error:  # a RuntimeError if the matrix is singular
        raise NotSolvedError(
            f"the linear equations of a policy of {system.shape[0]} states cannot be solved: {error}"
        ) from None


def _without(matrix: Sparse, left_out: int) -> Sparse:
    """Return I - P without a row and a column; the diagonal is what leaves each state, added up without a subtraction."""
    size, row, column = (
        matrix.shape[0],
        np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)),
        matrix.indices,
    )
    away = row != column
    leaves = np.delete(np.bincount(row[away], weights=matrix.data[away], minlength=size), left_out)
    away &= (row != left_out) & (column != left_out)
    row, column, others = row[away], column[away], np.arange(size - 1)
    row, column = row - (row > left_out), column - (column > left_out)
    return sparse.csc_array(
        (
            np.concatenate([leaves, -matrix.data[away]]),
            (np.concatenate([others, row]), np.concatenate([others, column])),
        ),
        shape=(size - 1, size - 1),
    )


class Evaluated(NamedTuple):
    """A policy by its pairs, with its gain, its bias, and the largest of its surpluses, which are 0 but for rounding."""

    pairs: Ints
    gain: float
    bias: Floats
    rounding: float


class Start(NamedTuple):
    """A policy to begin with, by its pairs, and perhaps a guess of how often it visits each state."""

    pairs: Ints
    law: Floats | None = None


class _Evaluator:
    """Evaluates one policy after the other, and remembers which states are visited often."""

    def __init__(self, model: SMDP, workers: Workers, law: Floats | None) -> None:
        self._model, self._crew, self.law = model, workers, law
        self._surplus, self._spare = np.empty((2, model.num_states))
        self.entries = 0

    def __call__(self, pairs: Ints) -> Evaluated:
        """Evaluate a policy, or if it has several recurrent classes, one that leads to the best of them."""
        chain = chain_of_pairs(self._model, pairs)
        classes = classes_of(chain)
        if len(classes) > 1:
            if len(self._model.structure.parts) > 1:
                raise NotSolvedError(several_classes(self._model, self._model.structure.parts))
            best = max(classes, key=lambda states: _gain_of(chain, states))
            pairs = leading_to(self._model, best, pairs)
            chain, classes = chain_of_pairs(self._model, pairs), [best]
        factored = Factored(chain, classes[0], self.law)
        self.law, self.entries = factored.law, factored.entries
        gain, bias = factored.valued()
        found = self._with_rounding(pairs, gain, bias)
        for _ in range(_CORRECTIONS):
            # u and g w may be much larger than their difference, so what rounding left of the surplus is solved for again.
            gain, bias = factored.corrected(self._surplus)
            better = self._with_rounding(pairs, found.gain + gain, found.bias + bias)
            if not better.rounding < 0.5 * found.rounding:
                break
            found = better
        return found

    def _with_rounding(self, pairs: Ints, gain: float, bias: Floats) -> Evaluated:
        self._crew.sweep(evaluate_block, bias, gain, 0.0, pairs, self._surplus, self._spare)
        return Evaluated(pairs, gain, bias, float(np.abs(self._surplus).max()))


def _gain_of(chain: Chain, states: Ints) -> float:
    """Return the gain of a recurrent class."""
    part = Chain(chain.matrix[states][:, states], chain.reward[states], chain.duration[states])
    if len(states) <= LARGEST:
        return float(valued(part).gains[0])
    return Factored(part, np.arange(len(states))).valued()[0]


@one_thread()
def direct_policy_iteration(
    model: SMDP, start: Ints | Start, tolerance: float | None = None, *, max_iterations: int = 1000
) -> Solution:
    """Return an optimal policy of a model whose gain is one number, found from the policy `start`.

    With a tolerance, the iteration stops when the bounds are that near, and otherwise when no action is better by more than
    rounding. If the bounds are then still further apart than the tolerance asks, floats can do no better, and
    the solution says so.

    >>> from sojourn.models import from_transitions
    >>> walk = [(s, a, (s + step) % 500, 0.5, -float(s), 1.0) for s in range(500) for a, step in ((0, 1), (0, 2), (1, 3))]
    >>> walk += [(s, 1, s, 0.5, 1.0 - s, 1.0) for s in range(500)]
    >>> model = from_transitions(walk)
    >>> found = direct_policy_iteration(model, model.pair_offsets[:-1])
    >>> found.upper - found.lower < 1e-9, found.solver
    (True, 'policy iteration')
    """
    began = time.perf_counter()
    goal = Goal(model, _USUAL if tolerance is None else tolerance)
    ratio, surplus = np.empty((2, model.num_states))
    with Workers(model) as workers, np.errstate(all="ignore"):
        start = start if isinstance(start, Start) else Start(start)
        found, iterations = _iterated(model, workers, start, tolerance, max_iterations)[:2]
        lower, upper, _ = proven(model, found.bias, found.pairs)
        gain = min(max(found.gain, lower), upper)
        is_coarse = upper - lower > goal.allowed(found.pairs, gain)
        if is_coarse or tolerance is None:
            _check_useful(model, found, upper - lower)
        workers.sweep(improve_block, found.bias, gain, 0.0, False, found.pairs.copy(), ratio, surplus)
    return Solution(
        model=model,
        gains=np.full(model.num_states, gain),
        bias=found.bias,
        policy=model.action[found.pairs].astype(np.int64),
        lower=lower,
        upper=upper,
        residual=float(np.abs(surplus).max()),
        iterations=iterations,
        solver="policy iteration",
        seconds=time.perf_counter() - began,
        is_coarse=is_coarse,
    )


@one_thread()
def nearly_best(model: SMDP, start: Start) -> Start:
    """Return a policy that changes in hardly any state if it is evaluated and improved again."""
    with Workers(model) as workers, np.errstate(all="ignore"):
        found, _, law = _iterated(model, workers, start, _NEARLY, 1000, _SETTLED * model.num_states)
        return Start(found.pairs, law)


def _iterated(
    model: SMDP, workers: Workers, start: Start, tolerance: float | None, max_iterations: int, settled: float = -1.0
) -> tuple[Evaluated, int, Floats | None]:  # fmt: skip
    """Return the last policy, the number of factorisations, and how often each state is visited.

    The policy is the last one, too, if it was improved in at most so many states as `settled` says.
    """
    ratio, surplus = np.empty((2, model.num_states))
    evaluate, seen, pairs = _Evaluator(model, workers, start.law), set[bytes](), start.pairs
    goal = None if tolerance is None else Goal(model, tolerance)
    is_coarse = tolerance is not None and tolerance > _COARSE  # so that sweeps may be enough
    is_plain = False
    for iteration in range(1, max_iterations + 1):
        found = evaluate(pairs)
        if not (np.isfinite(found.gain) and np.isfinite(found.bias).all()):
            raise NotSolvedError(_too_different(model))
        pairs, slack = found.pairs.copy(), _ULPS * float(np.abs(found.bias).max())
        workers.sweep(
            improve_block, found.bias, found.gain, 4.0 * found.rounding + slack, False, pairs, ratio, surplus
        )
        met = found.pairs.tobytes() in seen
        if (pairs == found.pairs).all() or (met and is_plain) or _near(model, found, ratio, goal):
            return found, iteration, evaluate.law
        if met:  # sweeps may lead to a policy once more; without them only rounding does
            is_plain = True
            seen.clear()
        seen.add(found.pairs.tobytes())
        if is_plain:
            continue
        steep = found._replace(pairs=pairs, rounding=slack)
        steep = swept(arrays(model), steep, sweeps_like(model, evaluate.entries))
        if np.count_nonzero(steep.pairs != found.pairs) <= settled:
            return steep, iteration, evaluate.law
        if is_coarse:
            workers.sweep(
                improve_block, steep.bias, found.gain, 0.0, False, steep.pairs.copy(), ratio, surplus
            )
            if _near(model, steep, ratio, goal):
                return steep, iteration, evaluate.law
    lower, upper, _ = proven(model, found.bias, found.pairs)
    raise NotSolvedError(
        f"after {max_iterations} iteration{'' if max_iterations == 1 else 's'} the policy still changes, and the optimal gain "
        f"is known to be between {lower:.9g} and {upper:.9g}; allow more with max_iterations"
    )


def sweeps_like(model: SMDP, entries: float) -> int:
    """Return how many sweeps to take beside a factorisation with so many entries."""
    seconds = _PER_ROW * model.num_rows + _PER_STATE * model.num_states
    return min(max(int(_SHARE * _PER_ENTRY * entries / seconds), _FEWEST), _MOST)


def swept(model: Arrays, found: Evaluated, most: int) -> Evaluated:
    """Improve the policy, in place, in up to `most` sweeps, forward and backward in turn, or until it no longer changes."""
    before, bias = found.pairs.copy(), found.bias.copy()
    for sweep in range(1, most + 1):
        relax(model, bias, found.gain, found.rounding, sweep % 2 == 0, found.pairs)
        if sweep % _BETWEEN_LOOKS == 0:
            if (found.pairs == before).all():
                break
            before = found.pairs.copy()
    return found._replace(bias=bias)


class BetterPolicy(NamedTuple):
    """A better policy, None if there is none or none is needed; what the bias that it was found with proves and leaves."""

    pairs: Ints | None
    upper: float
    residual: float


@one_thread()
def improved_policy(model: SMDP, pairs: Ints, bias: Floats, gain: float, enough: float) -> BetterPolicy:
    """Return a better policy than the one that takes `pairs`, whose gain and bias are given.

    It is not looked for if the bias proves that no gain is above `enough`.
    """
    ratio, surplus = np.empty((2, model.num_states))
    better, slack = pairs.copy(), 4.0 * _ULPS * float(np.abs(bias).max())
    with Workers(model) as workers, np.errstate(all="ignore"):
        workers.sweep(improve_block, bias, gain, slack, False, better, ratio, surplus)
        upper = proven(model, bias, pairs)[1]
        residual = float(np.abs(surplus).max())
        if upper <= enough or (better == pairs).all():
            return BetterPolicy(None, upper, residual)
        steep = better.copy()
        swept(arrays(model), Evaluated(better, gain, bias, slack), _MOST // 2)
    return BetterPolicy(steep if (better == pairs).all() else better, upper, residual)


def _near(model: SMDP, found: Evaluated, ratio: Floats, goal: Goal | None) -> bool:
    """Return whether the bounds that a bias proves are as near as the goal asks, if there is one."""
    if goal is None:
        return False
    allowed = goal.allowed(found.pairs, found.gain)
    apart = float(ratio.max() - ratio.min())  # but for rounding; infinite with decisions that take no time
    if model.duration.min() > 0.0 and not apart <= allowed:
        return False
    lower, upper, _ = proven(model, found.bias, found.pairs)
    return bool(upper - lower <= allowed)


def _check_useful(model: SMDP, found: Evaluated, apart: float) -> None:
    duration = model.duration[found.pairs]
    size = np.abs(model.reward[found.pairs]) / np.where(duration > 0.0, duration, duration.max())
    if not apart <= _USELESS * max(float(size.max()), abs(found.gain)):
        raise NotSolvedError(_too_different(model))


def _too_different(model: SMDP) -> str:
    return (
        f"the numbers of the model's {model.num_states} states differ too much in size for floats, and decimals are used "
        f"for at most {LARGEST} states; lump states, or leave out the smallest probabilities"
    )
