"""An oracle for audits: laws as lists of outcomes, policies one after the other, in fractions.

A model is a list of states, a state a dictionary from actions to lists of outcomes, an outcome a tuple of
a probability, a next state, a reward and a duration, all of them fractions. It shares nothing with
Sojourn but the definitions: SPEC's table of estimators, and F(rate) = max (r - rate d).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

from naive import power_mean
from naive_solve import solve_linear

Outcome: TypeAlias = tuple[Fraction, int, Fraction, Fraction]
Model: TypeAlias = list[dict[int, list[Outcome]]]
Chain: TypeAlias = list[list[Outcome]]


def followed(model: Model, policy: list[dict[int, Fraction]]) -> Chain:
    """The outcomes in each state under probabilities of actions."""
    return [
        [
            (share * p, successor, r, d)
            for action, share in choice.items()
            for p, successor, r, d in state[action]
        ]
        for state, choice in zip(model, policy, strict=True)
    ]


def deterministic(model: Model) -> Iterator[tuple[tuple[int, ...], Chain]]:
    """Every deterministic policy, with its chain."""
    for actions in itertools.product(*(sorted(state) for state in model)):
        yield actions, [state[action] for state, action in zip(model, actions, strict=True)]


def classes(chain: Chain) -> list[list[int]]:
    """The recurrent classes: states that every state one comes to comes back to."""
    reach = []
    for start in range(len(chain)):
        found, todo = {start}, [start]
        while todo:
            for p, successor, _, _ in chain[todo.pop()]:
                if p > 0 and successor not in found:
                    found.add(successor)
                    todo.append(successor)
        reach.append(found)
    recurrent = [s for s in range(len(chain)) if all(s in reach[t] for t in reach[s])]
    return [list(states) for states in sorted({tuple(sorted(reach[s])) for s in recurrent})]


def stationary(chain: Chain, states: list[int]) -> dict[int, Fraction]:
    """The share of steps of each state of a recurrent class."""
    into = {
        u: {t: sum((p for p, v, _, _ in chain[t] if v == u), Fraction(0)) for t in states} for u in states
    }
    balance = [[into[u][t] - (1 if t == u else 0) for t in states] for u in states[1:]]
    law = solve_linear(
        [*balance, [Fraction(1)] * len(states)], [Fraction(0)] * (len(states) - 1) + [Fraction(1)]
    )
    return dict(zip(states, law, strict=True))


def steps(chain: Chain, states: list[int]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The law of a step in a class: (probability, reward, duration)."""
    law = stationary(chain, states)
    return [(law[s] * p, r, d) for s in states for p, _, r, d in chain[s] if p > 0]


def mean(law: list[tuple[Fraction, Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """Mean reward and mean duration."""
    return sum((p * r for p, r, _ in law), Fraction(0)), sum((p * d for p, _, d in law), Fraction(0))


def limits(law: list[tuple[Fraction, Fraction, Fraction]]) -> dict[str, Fraction]:
    """What every estimator comes to when steps have this law, for step sizes that go to zero."""
    reward, duration = mean(law)
    gain = reward / duration
    harmonic = weighted = Fraction(0)
    for sign in (1, -1):
        side = [(p, r, d) for p, r, d in law if sign * r > 0]
        share = sum((p for p, _, _ in side), Fraction(0))
        if share:
            # P(r>0) / E[tau/r | r>0], and P(r>0) E[|r| | r>0] / E[|r| tau/r | r>0].
            harmonic += share / (sum(p * d / r for p, r, d in side) / share)
            weighted += (
                share * sum(p * abs(r) for p, r, _ in side) / sum(p * abs(r) * d / r for p, r, d in side)
            )
    return {
        "Cumulative": gain,
        "SmoothedCumulative": gain,
        "Exponential": gain,
        "TimeSmoothed": gain,
        "TimeForgetting": gain,
        "Incremental": gain,
        "Harmonic": harmonic,
        "CumulativeHarmonic": harmonic,
        "WeightedHarmonic": weighted,
        "CumulativeWeightedHarmonic": weighted,
        "MeanOfRates": sum((p * r / d for p, r, d in law), Fraction(0)),
        "PowerMean": Fraction(power_mean([(float(r), float(d), float(p)) for p, r, d in law], 0.0, "unit")),
        "Fixed": Fraction(0),
    }


def lines(model: Model) -> set[tuple[Fraction, Fraction]]:
    """Mean reward and duration of a step, of every recurrent class of every policy."""
    return {mean(steps(chain, states)) for _, chain in deterministic(model) for states in classes(chain)}


def height(lines_: set[tuple[Fraction, Fraction]], rate: Fraction) -> Fraction:
    """F."""
    return max(r - rate * d for r, d in lines_)


def greedy_gains(lines_: set[tuple[Fraction, Fraction]], rate: Fraction) -> set[Fraction]:
    """The gains of the policies that are greedy for a rate."""
    top = height(lines_, rate)
    return {r / d for r, d in lines_ if r - rate * d == top}


def interval(lines_: set[tuple[Fraction, Fraction]]) -> tuple[Fraction | None, Fraction | None]:
    """The lowest and the highest rate at which an optimal line is one of the greedy ones; None where there is none.

    An optimal line (g d, d) is at least as high as (r, e) where (g - rate) d >= r - rate e, which is
    rate (e - d) >= r - g d: a bound from below for e > d, from above for e < d.
    """
    gain = max(r / d for r, d in lines_)
    ends: list[tuple[Fraction | None, Fraction | None]] = []
    for reward, d in lines_:
        if reward != gain * d:
            continue
        low = [(r - reward) / (e - d) for r, e in lines_ if e > d]
        high = [(r - reward) / (e - d) for r, e in lines_ if e < d]
        ends.append((max(low) if low else None, min(high) if high else None))
    lows, highs = zip(*ends, strict=True)
    return (
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
    )


def explored(
    model: Model, policy: tuple[int, ...], exploration: Fraction
) -> dict[tuple[int, int], Fraction] | None:
    """The share of steps of each pair under a policy with a share of random actions, None if there is no one law."""
    chances = [
        {action: exploration / len(state) + (1 - exploration) * (action == taken) for action in state}
        for state, taken in zip(model, policy, strict=True)
    ]
    chain = followed(model, chances)
    found = classes(chain)
    if len(found) > 1:
        return None
    law = stationary(chain, found[0])
    return {(s, a): law[s] * chances[s][a] for s in found[0] for a in model[s] if chances[s][a] > 0}


def accepted(
    model: Model, policy: tuple[int, ...], shares: dict[tuple[int, int], Fraction]
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """The law of a step that takes the policy's action, in the states where exploration leads: (probability, r, d)."""
    own = {(s, a): share for (s, a), share in shares.items() if policy[s] == a}
    return [
        (share * p / sum(own.values()), r, d)
        for (s, a), share in own.items()
        for p, _, r, d in model[s][a]
        if p > 0
    ]


def learned(
    model: Model, policy: tuple[int, ...], shares: dict[tuple[int, int], Fraction], rate: Fraction
) -> tuple[dict[tuple[int, int], Fraction], Fraction]:
    """The values of all pairs, the policy's first one 0, and their growth over the step size: one system for both.

    For each pair, Q(s, a) + w / mu(s, a) - sum of p Q(s', policy(s')) = mean of r - rate d, with w unknown as well.
    """
    pairs = list(shares)
    start = (pairs[0][0], policy[pairs[0][0]])
    unknown = [pair for pair in pairs if pair != start]
    matrix, right = [], []
    for s, a in pairs:
        row = dict.fromkeys(pairs, Fraction(0))
        row[s, a] += 1
        for p, after, _, _ in model[s][a]:
            if p > 0:
                row[after, policy[after]] -= p
        matrix.append([1 / shares[s, a], *(row[pair] for pair in unknown)])
        right.append(sum((p * (r - rate * d) for p, _, r, d in model[s][a]), Fraction(0)))
    growth, *values = solve_linear(matrix, right)
    return {start: Fraction(0), **dict(zip(unknown, values, strict=True))}, growth
