"""The best policy of a small model, by policy iteration on sparse rows.

In every plan each step leads back home, to the agent's current state, with a small probability e. So with
h(home) = 0 a policy's values solve

    h = r - g t + (1 - e) P h,      that is      M h = r - g t,  M = I - (1 - e) P,

whatever the chain is like, and g is the reward of a cycle from home to home divided by its time. M is an M-matrix, so
the incomplete factorisation without fill exists (Meijerink and van der Vorst, Math. Comp. 31, 1977); it is the
preconditioner of BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992). On queues and other chains that
step to a neighbour it is exact; elsewhere a few rounds are enough. The next plan starts from the values of the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart, inlined

HOME = 1e-4  # the probability that a step leads home
_PRECISION = 1e-10  # of the residual, relative to the right-hand side
_ROUNDS = 60  # of BiCGSTAB
_POLICIES = 40  # of policy iteration
_BETTER = 1e-8  # by how much an action must be better, relative to the values and to what a step pays


class Model(NamedTuple):
    """A model of few states: pair number state * num_actions + action has the rows begin[pair] to begin[pair + 1]."""

    begin: Ints
    successor: Ints
    share: Floats  # its probability
    reward: Floats  # of each pair
    duration: Floats
    allowed: Flags


class PolicyMatrix(NamedTuple):
    """The matrix M of a policy in compressed rows with sorted columns, and its incomplete factors."""

    begin: Ints
    column: Ints
    entry: Floats
    factor: Floats  # L below the diagonal (its own diagonal is 1), U from the diagonal on
    diagonal: Ints  # the place of the diagonal in each row


@inlined
def look_ahead(model: Model, h: Floats, pair: int, gain: float) -> float:
    """Return r - g t + (1 - e) P h of a pair."""
    ahead = 0.0
    for entry in range(model.begin[pair], model.begin[pair + 1]):
        ahead += model.share[entry] * h[model.successor[entry]]
    return float(model.reward[pair] - gain * model.duration[pair] + (1.0 - HOME) * ahead)


@compiled_apart
def improve(
    model: Model, policy: Ints, h: Floats, w: Floats, home: int, margin: float = 0.0
) -> tuple[float, int]:
    """Turn a policy into the best one, and h into its values; return its gain, and the work in entries touched.

    h, and the expected time w until home, start from where the last plan left them. An action replaces another only if
    it is better by the margin, and by more than rounding.
    """
    size = len(policy)
    num_actions = len(model.allowed) // size
    gain, work = 0.0, 0
    right, time = np.empty(size), np.empty(size)
    changed = True
    for _ in range(_POLICIES):
        if not changed:
            break
        rows = rows_of(model, policy)
        for state in range(size):
            pair = state * num_actions + policy[state]
            time[state] = model.duration[pair]
            right[state] = model.reward[pair] - gain * time[state]
        rounds = solve_rows(rows, right, h) + solve_rows(rows, time, w)
        surplus = h[home] / w[home]
        gain += surplus
        for state in range(size):
            h[state] -= surplus * w[state]
        work += len(model.share) + (rounds + 2) * 4 * len(rows.entry)

        usual = 0.0  # what a step pays or its time costs, in the mean over the states
        for state in range(size):
            pair = state * num_actions + policy[state]
            usual += (abs(model.reward[pair]) + abs(gain) * model.duration[pair]) / size
        changed = False
        for state in range(size):
            chosen = policy[state]
            now = look_ahead(model, h, state * num_actions + chosen, gain)
            highest = now + margin + _BETTER * (usual + abs(now))
            for action in range(num_actions):
                if model.allowed[state * num_actions + action]:
                    ahead = look_ahead(model, h, state * num_actions + action, gain)
                    if ahead > highest:
                        chosen = action
                        highest = ahead
            changed = changed or chosen != policy[state]
            policy[state] = chosen
    return gain, work


@compiled_apart
def rows_of(model: Model, policy: Ints) -> PolicyMatrix:
    """Return M for a policy, and its incomplete factors: elimination that keeps only entries that M has."""
    size = len(policy)
    num_actions = len(model.allowed) // size
    most = size
    for state in range(size):
        pair = state * num_actions + policy[state]
        most += model.begin[pair + 1] - model.begin[pair]
    begin, diagonal = np.zeros(size + 1, np.int64), np.zeros(size, np.int64)
    column, entry = np.empty(most, np.int64), np.empty(most)
    end = 0
    for state in range(size):
        pair = state * num_actions + policy[state]
        start = end
        column[end] = state
        entry[end] = 1.0
        end += 1
        for row in range(model.begin[pair], model.begin[pair + 1]):  # insertion keeps columns sorted
            successor, amount = model.successor[row], -(1.0 - HOME) * model.share[row]
            place = end
            while place > start and column[place - 1] >= successor:
                place -= 1
            if place < end and column[place] == successor:
                entry[place] += amount
                continue
            for other in range(end, place, -1):
                column[other] = column[other - 1]
                entry[other] = entry[other - 1]
            column[place] = successor
            entry[place] = amount
            end += 1
        begin[state + 1] = end
        for place in range(start, end):
            if column[place] == state:
                diagonal[state] = place

    factor = np.empty(end)
    where = np.zeros(size, np.int64)  # the place of a column in this row, plus 1
    for k in range(end):
        factor[k] = entry[k]
    for row in range(size):
        for k in range(begin[row], begin[row + 1]):
            where[column[k]] = k + 1
        for k in range(begin[row], diagonal[row]):
            above = column[k]
            factor[k] /= factor[diagonal[above]]
            for other in range(diagonal[above] + 1, begin[above + 1]):
                if where[column[other]] > 0:
                    factor[where[column[other]] - 1] -= factor[k] * factor[other]
        for k in range(begin[row], begin[row + 1]):
            where[column[k]] = 0
    return PolicyMatrix(begin, column, entry, factor, diagonal)


@compiled_apart
def precondition(rows: PolicyMatrix, right: Floats, out: Floats) -> None:
    """Solve with the incomplete factors in place of M."""
    begin, column, factor, diagonal = rows.begin, rows.column, rows.factor, rows.diagonal
    size = len(right)
    for row in range(size):
        total = right[row]
        for k in range(begin[row], diagonal[row]):
            total -= factor[k] * out[column[k]]
        out[row] = total
    for row in range(size - 1, -1, -1):
        total = out[row]
        for k in range(diagonal[row] + 1, begin[row + 1]):
            total -= factor[k] * out[column[k]]
        out[row] = total / factor[diagonal[row]]


@compiled_apart
def multiply(rows: PolicyMatrix, x: Floats, out: Floats) -> None:
    """Write M x to `out`."""
    for row in range(len(x)):
        total = 0.0
        for k in range(rows.begin[row], rows.begin[row + 1]):
            total += rows.entry[k] * x[rows.column[k]]
        out[row] = total


@compiled_apart
def dot(x: Floats, y: Floats) -> float:
    """Return the sum of x y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled_apart
def add(x: Floats, factor: float, y: Floats) -> None:
    """Add factor y to x."""
    for i in range(len(x)):
        x[i] += factor * y[i]


@compiled_apart
def solve_rows(rows: PolicyMatrix, right: Floats, x: Floats) -> int:
    """Solve M x = right in place by BiCGSTAB, starting from the given x; return the number of rounds.

    If the method breaks down, it starts afresh; if it ends worse than it began, x stays as it was.
    """
    size = len(x)
    wanted = dot(right, right)
    if wanted == 0.0:
        for i in range(size):
            x[i] = 0.0
        return 0
    begun = x.copy()
    residual, direction, v, shadow = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    smooth, applied, t = np.empty(size), np.empty(size), np.empty(size)
    multiply(rows, x, v)
    for i in range(size):
        residual[i] = right[i] - v[i]
    left = dot(residual, residual)
    enough = _PRECISION * _PRECISION * max(wanted, 1e-12 * left)
    first = left
    rounds, rho, fresh = 0, 0.0, True
    while rounds < _ROUNDS and left > enough:
        rounds += 1
        if fresh:
            for i in range(size):
                direction[i] = residual[i]
                shadow[i] = residual[i]
            rho = left
        precondition(rows, direction, smooth)
        multiply(rows, smooth, v)
        along = dot(shadow, v)
        alpha = rho / along if abs(along) > 1e-30 * left else 0.0
        add(x, alpha, smooth)
        add(residual, -alpha, v)
        precondition(rows, residual, applied)
        multiply(rows, applied, t)
        length = dot(t, t)
        omega = dot(t, residual) / length if length > 0.0 else 0.0
        add(x, omega, applied)
        add(residual, -omega, t)
        last, rho = rho, dot(shadow, residual)
        left = dot(residual, residual)
        fresh = not (abs(omega) > 1e-30 and abs(alpha) > 0.0 and abs(rho) > 1e-12 * left)
        if not fresh:
            beta = rho / last * (alpha / omega)
            for i in range(size):
                direction[i] = residual[i] + beta * (direction[i] - omega * v[i])
    if not left <= first:  # or it is not a number
        for i in range(size):
            x[i] = begun[i]
    return rounds
