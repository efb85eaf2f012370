"""Models made from transition rates: controlled Markov chains in continuous time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from sojourn.data.numbers import finite, positive, shown, unmasked
from sojourn.models.laws import Exponential
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Label, Row, from_transitions
from sojourn.rules.door import told

RateRow: TypeAlias = tuple[Label, Label, Label, float] | tuple[Label, Label, Label, float, float]


@told
def from_rates(
    rates: Iterable[RateRow],
    *,
    earning: Mapping[tuple[Label, Label], float] | None = None,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model made from `(s, a, s', rate)` or `(s, a, s', rate, reward)`, where the reward comes with the move.

    `earning` says what a pair `(s, a)` earns per unit time while it lasts; a pair that it does not name earns nothing in this
    way. A sojourn has an exponential law, whose mean is 1 over the sum of the pair's rates. What is earned during the sojourn
    enters the model by its mean.

    >>> from sojourn.exact.solve import solve
    >>> machine = from_rates(
    ...     [("up", "run", "down", 0.1), ("down", "mend", "up", 1.0, -3.0)], earning={("up", "run"): 5.0}
    ... )
    >>> machine.duration, machine.reward  # up for a time of 10 at 5 per unit, down for 1 at a cost of 3
    (array([10.,  1.]), array([50., -3.]))
    >>> round(solve(machine).gain, 6)  # 47 / 11
    4.272727
    """
    earning = {} if earning is None else dict(earning)
    moves: dict[tuple[Label, Label], list[tuple[Label, float, float]]] = {}
    for number, given in enumerate(rates):
        if not isinstance(given, tuple | list) or len(given) not in (4, 5):
            raise ValueError(
                f"rate {number} is {shown(given)}; it must be (s, a, s', rate) or (s, a, s', rate, reward)"
            )
        state, action, successor, rate, *reward = unmasked(f"rate {number}", given)
        for label in (state, action, successor):
            if label.__hash__ is None:
                raise TypeError(
                    f"a label of rate {number} is {shown(label)}; it must be a whole number or a name"
                )
        moves.setdefault((state, action), []).append((
            successor,
            positive(f"the rate of {given[:3]}", rate),
            finite(f"the reward of {given[:3]}", reward[0]) if reward else 0.0,
        ))  # fmt: skip
    unknown = [pair for pair in earning if pair not in moves]
    if unknown:
        raise ValueError(
            f"earning names the pair {unknown[0]}, which has no rates; give its rates, or leave it out"
        )
    rows: list[Row] = []
    for pair, ways in moves.items():
        total = math.fsum(rate for _, rate, _ in ways)
        earned = finite(f"what {pair} earns", earning.get(pair, 0.0)) / total
        rows += [
            (*pair, successor, rate / total, earned + reward, Exponential(1.0 / total))
            for successor, rate, reward in ways
        ]
    return from_transitions(rows, state_names=state_names, action_names=action_names)
