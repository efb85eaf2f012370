"""Importance-weighted cycles: what another policy earns, from the probabilities of the actions that were taken, without a model.

A *cycle* is what happens from one visit to a state until the next. The gain of a policy is the mean reward of its cycles
over their mean time (the renewal-reward theorem). A log of another behaviour has other cycles; weighting each step by the
product of pi(a | s) / probability(a | s) over its cycle so far makes both means right (per-decision importance sampling, D.
Precup, R. S. Sutton and S. Singh, ICML 2000). The only assumption about the states is that, where cycles begin, the future
does not depend on the past. In long cycles the weights vary wildly; the interval is then wide, or there is no answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.exact.logs.fit import LogRows
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.long_run import sum_sides

_LEAST = 30.0  # the number of cycles that the weighted ones must be worth


class Weighted(NamedTuple):
    """A rate from weighted cycles, between `low` and `high`; the log's `cycles` are worth `worth` unweighted ones."""

    rate: float
    low: float
    high: float
    cycles: int
    worth: float


def weighted(rows: LogRows, trajectory: Ints, ratio: Floats, visits: Floats, level: float) -> Weighted | None:
    """Return the rate of a policy whose probabilities are `ratio` times those of the log; None if too little fits.

    Cycles begin in a state that both the policy, by its `visits`, and the log visit often.
    """
    seen = np.bincount(rows.state, minlength=len(visits))
    begins = rows.state == int(np.argmax(seen * np.maximum(visits, 0.0)))
    broken = (trajectory[1:] != trajectory[:-1]) | (rows.next_state[:-1] != rows.state[1:])
    part = np.cumsum(np.append(True, broken | begins[1:])) - 1
    first = np.flatnonzero(np.append(True, np.diff(part) != 0))
    last = np.append(first[1:], len(part)) - 1
    # A whole cycle begins in that state, and its last row leads back to it.
    whole = begins[first] & (rows.next_state[last] == rows.state[np.argmax(begins)])
    if not whole.any():
        return None
    weight = _products(ratio, first[part])
    earned = np.bincount(part, weight * rows.reward)[whole]
    taken = np.bincount(part, weight * rows.duration)[whole]
    clock = float(taken.sum())
    worth = clock**2 / float((taken**2).sum()) if clock > 0.0 else 0.0
    if worth < _LEAST:
        return None
    rate = float(earned.sum()) / clock
    below, above = sum_sides(earned - rate * taken, level)
    return Weighted(rate, rate + below / clock, rate + above / clock, int(whole.sum()), worth)


def _products(ratio: Floats, first: Ints) -> Floats:
    """Return the product of ratios from the first row of each row's cycle to the row itself."""
    impossible = np.cumsum(ratio == 0.0)
    before = np.append(0, impossible)[first]
    logs = np.cumsum(np.log(np.where(ratio == 0.0, 1.0, ratio)))
    since = logs - np.append(0.0, logs)[first]
    return np.where(impossible > before, 0.0, np.exp(since))
