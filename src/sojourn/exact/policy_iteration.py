"""Policy iteration: exact, for models whose linear systems can be solved.

Evaluate the policy, h + g d = r + P h. Then take in each state the pair of the largest surplus r - g d + P h - h, and
repeat until no surplus is above 0 by more than rounding. The gain never falls, and there are finitely many
policies (Howard 1960; for semi-Markov models Jewell, Operations Research 11, 1963).

The equation has one gain only if the policy has one recurrent class. In some models an optimal policy has one class, but
policies on the way to it have several. If the model has only one end component, the best of these classes can be reached
from every state. The policy is then changed to go there (Haviv and Puterman, Journal of Applied Probability 28, 1991),
which costs no gain.

The bounds of the last bias say whether floats were good enough. If they were not, because probabilities, rewards or
durations differ by many orders of magnitude, the iteration goes on in decimals (see `careful`).
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import unmasked, whole
from sojourn.exact.bounds import Solution, bounds
from sojourn.exact.careful import Found, careful
from sojourn.exact.chains import CHEAP, LARGEST, valued
from sojourn.exact.direct import cost_in_sweeps, direct_policy_iteration
from sojourn.exact.refusals import NotSolvedError
from sojourn.models.chain import chain_of_pairs, classes_of, leading_to, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.models.structure import several_classes
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

_ROUNDING = 1e-12  # relative to the largest bias and to what the pair earns
_CLOSE = 1e-10  # how close the bounds must be, relative to the gain or its terms


@told
def policy_iteration(model: SMDP, *, start: ArrayLike | None = None, max_iterations: int = 1000) -> Solution:
    """Return an optimal policy, found by policy iteration from `start`, by default the policy of the largest r / d.

    >>> from sojourn.models import from_matrices
    >>> model = from_matrices(
    ...     [[[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]]],
    ...     rewards=[[[6, -5], [7, 12]], [[10, 17], [-14, 13]]],
    ...     durations=[[[1, 5], [120, 60]], [[50, 75], [7, 2]]],
    ... )
    >>> best = policy_iteration(model)
    >>> best.policy, round(best.gain, 6), best.iterations
    (array([0, 1]), 2.104478, 1)
    """
    began = time.perf_counter()
    parts = model.structure.parts
    if len(parts) > 1:
        raise NotSolvedError(several_classes(model, parts))
    pairs = _steepest(model) if start is None else pairs_of(model, np.asarray(unmasked("start", start)))
    max_iterations = whole("max_iterations", max_iterations)
    if model.num_states > LARGEST and cost_in_sweeps(model, pairs) < np.inf:
        return direct_policy_iteration(model, pairs, max_iterations=max_iterations)
    with np.errstate(all="ignore"):
        found = _in_floats(model, pairs, max_iterations)
    if not _good(model, found):
        try:
            found = careful(model, found.pairs, max_iterations)
        except NotSolvedError:
            if not _good_enough(model, found):
                raise
    with np.errstate(all="ignore"):
        surplus = _surplus(model, found.gain, found.bias)
    return Solution(
        model=model,
        gains=np.full(model.num_states, found.gain),
        bias=found.bias,
        policy=model.action[found.pairs].astype(np.int64),
        lower=found.lower,
        upper=found.upper,
        residual=float(np.abs(np.maximum.reduceat(surplus, model.pair_offsets[:-1])).max()),
        iterations=found.iterations,
        solver="policy iteration",
        seconds=time.perf_counter() - began,
    )


def _in_floats(model: SMDP, pairs: Ints, max_iterations: int) -> Found:
    """Return a policy that no action improves by more than rounding, and the bounds that its bias proves."""
    seen: set[bytes] = set()
    for iteration in range(1, max_iterations + 1):
        try:
            pairs, gain, bias = _one_class(model, pairs)
        except NotSolvedError:
            return Found(pairs, np.nan, np.full(model.num_states, np.nan), -np.inf, np.inf, iteration)
        surplus = _surplus(model, gain, bias)
        best = np.maximum.reduceat(surplus, model.pair_offsets[:-1])
        terms = np.abs(model.reward) + abs(gain) * model.duration
        choice = _first_best(model, surplus, best)
        slack = _ROUNDING * (np.abs(bias).max() + np.maximum(terms[choice], terms[pairs]))
        better = best > surplus[pairs] + slack
        if not better.any() or pairs.tobytes() in seen:  # only rounding can bring a policy up again
            lower, upper = bounds(model, bias, pairs)
            return Found(pairs, min(max(gain, lower), upper), bias, lower, upper, iteration)
        seen.add(pairs.tobytes())
        pairs = np.where(better, choice, pairs)
    lower, upper = bounds(model, bias)
    raise NotSolvedError(
        f"after {max_iterations} iteration{'' if max_iterations == 1 else 's'} the policy still changes, and the optimal gain "
        f"is known to be between {lower:.9g} and {upper:.9g}; allow more with max_iterations"
    )


def _good(model: SMDP, found: Found) -> bool:
    """Whether the gain is known to ten digits or, in models where decimals are slow, to ten digits of its terms."""
    apart = found.upper - found.lower
    return apart <= _CLOSE * abs(found.gain) or (
        model.num_states > CHEAP and apart <= _CLOSE * _size(model, found)
    )


def _good_enough(model: SMDP, found: Found) -> bool:
    """Whether the gain is known as well as floats allow, if decimals do not solve the model."""
    return found.upper - found.lower <= 1e-8 * _size(model, found)


def _size(model: SMDP, found: Found) -> float:
    """Return the largest reward per unit time that the policy meets again and again."""
    states = classes_of(chain_of_pairs(model, found.pairs))[0]
    reward, duration = np.abs(model.reward[found.pairs[states]]), model.duration[found.pairs[states]]
    return float((reward / np.where(duration > 0.0, duration, duration.max())).max())


def _surplus(model: SMDP, gain: float, bias: Floats) -> Floats:
    """Return r - g d + P h - h of every pair."""
    ahead = np.add.reduceat(model.probability * bias[model.successor], model.row_offsets[:-1])
    return np.asarray(model.reward + (ahead - bias[model.state_of_pair()]) - gain * model.duration)


def _steepest(model: SMDP) -> Ints:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratio = np.where(
            model.duration > 0.0, model.reward / model.duration, np.copysign(np.inf, model.reward)
        )
    return _first_best(model, ratio, np.maximum.reduceat(ratio, model.pair_offsets[:-1]))


def _first_best(model: SMDP, numbers: Floats, best: Floats) -> Ints:
    """Return the first pair of each state that has the state's largest number."""
    state = model.state_of_pair()
    at = np.flatnonzero(numbers == best[state])
    _, first = np.unique(state[at], return_index=True)
    return at[first]


def _one_class(model: SMDP, pairs: Ints) -> tuple[Ints, float, Floats]:
    """Return a policy with one recurrent class that is at least as good, with its gain and bias."""
    gains, bias, classes = valued(chain_of_pairs(model, pairs))
    if len(classes) > 1:
        best = max(classes, key=lambda states: float(gains[states[0]]))
        pairs = leading_to(model, best, pairs)
        gains, bias, _ = valued(chain_of_pairs(model, pairs))
    return pairs, float(gains[0]), bias
