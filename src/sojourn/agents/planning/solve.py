"""The best policy of a small model, by policy iteration on sparse rows.

In every plan each step leads back home, to the state where the agent stands, with a small probability e. So with
h(home) = 0 a policy's values solve

    h = r - g t + (1 - e) P h,      that is      M h = r - g t,  M = I - (1 - e) P,

whatever the chain is like, and g is the reward of a cycle from home to home over its time. M is an M-matrix, so
the incomplete factorisation without fill exists (Meijerink and van der Vorst, Math. Comp. 31, 1977); it is the
preconditioner of BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992). On queues and other chains that
step to a neighbour it is exact, elsewhere a few rounds do. Values of the last plan are where the next one begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart

HOME = 1e-4  # the probability that a step leads home
_PRECISION = 1e-10  # of the residual, relative to the right-hand side
_ROUNDS = 60  # of BiCGSTAB
_POLICIES = 40  # of policy iteration
_BETTER = 1e-8  # by how much an action must be better, relative to the values


class Model(NamedTuple):
    """A model of few states: pair number state * num_actions + action has the rows begin[pair] to begin[pair + 1]."""

    begin: Ints
    successor: Ints
    share: Floats  # its probability
    reward: Floats  # of each pair
    duration: Floats
    allowed: Flags


class Rows(NamedTuple):
    """The matrix M of a policy in compressed rows, sorted, its diagonal, and its factors."""

    begin: Ints
    column: Ints
    entry: Floats
    factor: Floats  # L below the diagonal (its own diagonal is 1), U from there on
    diagonal: Ints  # where in each row the diagonal stands


class Plan(NamedTuple):
    """A policy and its values; planning writes into the arrays."""

    policy: Ints
    h: Floats
    w: Floats  # expected time until home


@compiled_apart
def improve(model: Model, plan: Plan, home: int, num_actions: int) -> tuple[float, int]:
    """Make the plan's policy the best one; return its gain, and the work in entries touched."""
    gain, work = 0.0, 0
    for _ in range(_POLICIES):
        rows = rows_of(model, plan.policy, num_actions)
        gain, rounds = evaluate(model, rows, plan, home, num_actions, gain)
        work += len(model.share) + (rounds + 2) * 4 * len(rows.entry)
        if not turn(model, plan, num_actions, gain):
            break
    return gain, work


@compiled_apart
def turn(model: Model, plan: Plan, num_actions: int, gain: float) -> bool:
    """Give each state its best action by the plan's values; return whether a policy changed."""
    changed = False
    for state in range(len(plan.policy)):
        chosen = plan.policy[state]
        now = look_ahead(model, plan.h, state * num_actions + chosen, gain)
        margin = now + _BETTER * (1.0 + abs(now))
        for action in range(num_actions):
            if model.allowed[state * num_actions + action]:
                ahead = look_ahead(model, plan.h, state * num_actions + action, gain)
                if ahead > margin:
                    chosen, margin = action, ahead
        if chosen != plan.policy[state]:
            plan.policy[state] = chosen
            changed = True
    return changed


@compiled_apart
def look_ahead(model: Model, h: Floats, pair: int, gain: float) -> float:
    """R - g t + (1 - e) P h of a pair."""
    ahead = 0.0
    for entry in range(model.begin[pair], model.begin[pair + 1]):
        ahead += model.share[entry] * h[model.successor[entry]]
    return float(model.reward[pair] - gain * model.duration[pair] + (1.0 - HOME) * ahead)


@compiled_apart
def evaluate(
    model: Model, rows: Rows, plan: Plan, home: int, num_actions: int, gain: float
) -> tuple[float, int]:
    """Solve for the values of the plan's policy, from where they stand; return its gain and the rounds it took."""
    size = len(plan.policy)
    right, time = np.empty(size), np.empty(size)
    for state in range(size):
        pair = state * num_actions + plan.policy[state]
        time[state] = model.duration[pair]
        right[state] = model.reward[pair] - gain * time[state]
    rounds = solve_rows(rows, right, plan.h) + solve_rows(rows, time, plan.w)
    surplus = plan.h[home] / plan.w[home]
    for state in range(size):
        plan.h[state] -= surplus * plan.w[state]
    return gain + surplus, rounds


@compiled_apart
def rows_of(model: Model, policy: Ints, num_actions: int) -> Rows:
    """Return M for a policy, and its incomplete factors."""
    size = len(policy)
    begin = np.zeros(size + 1, np.int64)
    for state in range(size):
        pair = state * num_actions + policy[state]
        count = model.begin[pair + 1] - model.begin[pair]
        begin[state + 1] = begin[state] + count + 1
    column = np.empty(begin[size], np.int64)
    entry = np.empty(begin[size])
    diagonal = np.empty(size, np.int64)
    end = 0
    for state in range(size):
        pair = state * num_actions + policy[state]
        start = end
        column[end], entry[end] = state, 1.0
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
                column[other], entry[other] = column[other - 1], entry[other - 1]
            column[place], entry[place] = successor, amount
            end += 1
        begin[state] = start
        for place in range(start, end):
            if column[place] == state:
                diagonal[state] = place
    begin[size] = end
    rows = Rows(begin, column[:end].copy(), entry[:end].copy(), entry[:end].copy(), diagonal)
    factorise(rows)
    return rows


@compiled_apart
def factorise(rows: Rows) -> None:
    """Write the incomplete factors: elimination that keeps only entries M has."""
    begin, column, factor, diagonal = rows.begin, rows.column, rows.factor, rows.diagonal
    size = len(diagonal)
    place = np.full(size, -1)
    for row in range(size):
        for k in range(begin[row], begin[row + 1]):
            place[column[k]] = k
        for k in range(begin[row], diagonal[row]):
            above = column[k]
            factor[k] /= factor[diagonal[above]]
            for other in range(diagonal[above] + 1, begin[above + 1]):
                here = place[column[other]]
                if here >= 0:
                    factor[here] -= factor[k] * factor[other]
        for k in range(begin[row], begin[row + 1]):
            place[column[k]] = -1


@compiled_apart
def precondition(rows: Rows, right: Floats, out: Floats) -> None:
    """Solve with the incomplete factors in M's place."""
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
def multiply(rows: Rows, x: Floats, out: Floats) -> None:
    """M x."""
    for row in range(len(x)):
        total = 0.0
        for k in range(rows.begin[row], rows.begin[row + 1]):
            total += rows.entry[k] * x[rows.column[k]]
        out[row] = total


@compiled_apart
def dot(x: Floats, y: Floats) -> float:
    """The sum of x y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compiled_apart
def subtract(right: Floats, ax: Floats, out: Floats) -> float:
    """Write right - ax; return its squared length."""
    total = 0.0
    for i in range(len(out)):
        out[i] = right[i] - ax[i]
        total += out[i] * out[i]
    return total


@compiled_apart
def solve_rows(rows: Rows, right: Floats, x: Floats) -> int:
    """Solve M x = right, from the x given, in place, by BiCGSTAB; return the rounds it took.

    Should that break down, as it may, the rest is done by x += K^-1 (right - M x), K the incomplete factors: slow,
    but sure to converge, for K is a regular splitting of M.
    """
    size = len(x)
    residual, ax = np.empty(size), np.empty(size)
    multiply(rows, x, ax)
    first = subtract(right, ax, residual)
    enough = _PRECISION * _PRECISION * max(dot(right, right), 1e-12 * first) + 1e-300
    if first <= enough:
        return 0
    begun = x.copy()
    rounds = stabilised_gradients(rows, residual, x, enough)
    multiply(rows, x, ax)
    left = subtract(right, ax, residual)
    if not left <= first:  # also if it is no number
        for i in range(size):
            x[i] = begun[i]
        multiply(rows, x, ax)
        left = subtract(right, ax, residual)
    while rounds < 2 * _ROUNDS and left > 100.0 * enough:
        rounds += 1
        precondition(rows, residual, ax)
        for i in range(size):
            x[i] += ax[i]
        multiply(rows, x, ax)
        left = subtract(right, ax, residual)
    return rounds


@compiled_apart
def stabilised_gradients(rows: Rows, residual: Floats, x: Floats, enough: float) -> int:
    """BiCGSTAB: change x until the squared length of the residual is small enough; return the rounds it took."""
    size = len(x)
    shadow, direction, v = residual.copy(), residual.copy(), np.zeros(size)
    smooth, applied, t = np.zeros(size), np.zeros(size), np.zeros(size)
    rho = dot(shadow, residual)
    rounds = 0
    while rounds < _ROUNDS and dot(residual, residual) > enough:
        rounds += 1
        precondition(rows, direction, smooth)
        multiply(rows, smooth, v)
        along = dot(shadow, v)
        if abs(along) < 1e-300:
            break
        alpha = rho / along
        for i in range(size):
            x[i] += alpha * smooth[i]
            residual[i] -= alpha * v[i]
        precondition(rows, residual, applied)
        multiply(rows, applied, t)
        length = dot(t, t)
        if length < 1e-300:
            break
        omega = dot(t, residual) / length
        for i in range(size):
            x[i] += omega * applied[i]
            residual[i] -= omega * t[i]
        last, rho = rho, dot(shadow, residual)
        if abs(omega) < 1e-300 or abs(last) < 1e-300:
            break
        beta = rho / last * (alpha / omega)
        for i in range(size):
            direction[i] = residual[i] + beta * (direction[i] - omega * v[i])
    return rounds
