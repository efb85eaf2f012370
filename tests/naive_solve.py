"""An oracle for exact answers: every deterministic policy, one after the other, in fractions.

A model is a list of states, a state a list of actions, an action a triple of a list of
probabilities (one for each state), a reward and a duration, all of them fractions. It shares
nothing with Sojourn but the definition of the gain.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TypeAlias

Action: TypeAlias = tuple[list[Fraction], Fraction, Fraction]
Model: TypeAlias = list[list[Action]]


def solve_linear(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan."""
    size = len(right)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = next(k for k in range(i, size) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(size):
            if k != i and rows[k][i] != 0:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def reachable(chain: list[Action], start: int) -> set[int]:
    found, todo = {start}, [start]
    while todo:
        for successor, p in enumerate(chain[todo.pop()][0]):
            if p > 0 and successor not in found:
                found.add(successor)
                todo.append(successor)
    return found


def gains(chain: list[Action]) -> list[Fraction]:
    """The gain of a chain from each state."""
    size = len(chain)
    reach = [reachable(chain, s) for s in range(size)]
    recurrent = [s for s in range(size) if all(s in reach[t] for t in reach[s])]
    known: dict[int, Fraction] = {}
    for s in recurrent:
        members = sorted(reach[s])
        balance = [[chain[t][0][u] - (1 if t == u else 0) for t in members] for u in members[1:]] + [
            [Fraction(1)] * len(members)
        ]
        law = solve_linear(balance, [Fraction(0)] * (len(members) - 1) + [Fraction(1)])
        reward = sum((x * chain[t][1] for x, t in zip(law, members, strict=True)), Fraction(0))
        duration = sum((x * chain[t][2] for x, t in zip(law, members, strict=True)), Fraction(0))
        known[s] = reward / duration
    transient = [s for s in range(size) if s not in known]
    matrix = [[(1 if s == t else 0) - chain[s][0][t] for t in transient] for s in transient]
    right = [sum((chain[s][0][t] * g for t, g in known.items()), Fraction(0)) for s in transient]
    known.update(zip(transient, solve_linear(matrix, right), strict=True))
    return [known[s] for s in range(size)]


def biases(chain: list[Action]) -> list[Fraction]:
    """The bias of a chain from each state: h + g d = r + P h, with h = 0 in the first state of each recurrent class."""
    size, gain = len(chain), gains(chain)
    reach = [reachable(chain, s) for s in range(size)]
    firsts = {min(reach[s]) for s in range(size) if all(s in reach[t] for t in reach[s])}
    matrix, right = [], []
    for s, (law, reward, duration) in enumerate(chain):
        row = [Fraction(s == t) - p for t, p in enumerate(law)]
        matrix.append([Fraction(s == t) for t in range(size)] if s in firsts else row)
        right.append(Fraction(0) if s in firsts else reward - gain[s] * duration)
    return solve_linear(matrix, right)


def optimal_gains(model: Model) -> list[Fraction]:
    """The best gain of any deterministic policy, from each state."""
    all_gains = [gains(list(chain)) for chain in itertools.product(*model)]
    return [max(column) for column in zip(*all_gains, strict=True)]


# --- Totals -------------------------------------------------------------------------------

Paying: TypeAlias = tuple[list[tuple[float, int]], float]  # where to with which weight, and what is paid


def largest_totals(model: list[list[Paying]], ends: set[int], sweeps: int) -> list[float]:
    """Value iteration in plain Python: the largest total of so many steps, which stops in `ends`."""
    values = [0.0] * len(model)
    for _ in range(sweeps):
        values = [
            0.0
            if state in ends
            else max(sum(w * values[after] for w, after in moves) + paid for moves, paid in actions)
            for state, actions in enumerate(model)
        ]
    return values


def totals_until(chain: list[Action], ends: set[int]) -> list[Fraction] | None:
    """The total of a chain until it is in `ends`, exactly; None if it is not sure to come there."""
    if any(not reachable(chain, state) & ends for state in range(len(chain)) if state not in ends):
        return None
    inner = [state for state in range(len(chain)) if state not in ends]
    matrix = [[Fraction(s == t) - chain[s][0][t] for t in inner] for s in inner]
    known = dict(zip(inner, solve_linear(matrix, [chain[s][1] for s in inner]), strict=True))
    return [known.get(state, Fraction(0)) for state in range(len(chain))]


def optimal_totals_until(model: Model, ends: set[int]) -> list[Fraction]:
    """The largest total until `ends` of any deterministic policy that is sure to come there, from each state."""
    totals = [totals_until(list(chain), ends) for chain in itertools.product(*model)]
    return [max(column) for column in zip(*(each for each in totals if each is not None), strict=True)]
