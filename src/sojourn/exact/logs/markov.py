"""Check whether the states of a log tell all that matters for what comes next, and whether the log is stationary.

Given the state and the action, what a row shows must not depend on the past beyond the state (*memory*), nor on when it was
(*drift*). With e the deviation of a row's reward, duration or worth of its successor from the mean of its pair, and z something
from the past, minus its mean among the rows of the pair, the sum of e z has the mean 0 and about the variance sum of e^2 z^2, so

    t = sum of e z / root of the sum of e^2 z^2

is about normal: e is a martingale difference. Where a few rows decide, Student's law has as few degrees of freedom, and where they
are fewer than 30, there is no test. The past is the reward, the duration and the state of the row before, by its
worth and as one of the commonest states; the time is the row's place in the log, and how far it is from the middle. As many tests
are made, p-values are multiplied by their number (Bonferroni), for memory and drift each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from sojourn.exact.logs.fit import Fit, LogRows, Worth
from sojourn.rules.arrays import Flags, Floats, Ints

_LEVEL = 0.02  # since p-values of short logs are only about right, false alarms stay below 5 %
_COMMON = 4  # states before that are tried one by one
_LEAST = 30.0  # rows that a test must be worth


class MarkovCheck(NamedTuple):
    """Whether a log looks Markov and stationary: p-values, corrected for their number, and a verdict in words.

    `memory` and `drift` have a p-value by what was tried, such as "the reward depends on the state before".

    >>> import sojourn as sj
    >>> log = sj.read_log({"state": [0] * 400, "action": [0] * 400, "reward": [0, 0, 1, 1] * 100, "duration": [1] * 400})
    >>> log.markov().is_markov, log.markov().is_stationary
    (True, True)
    >>> moved = sj.read_log({"state": [0] * 400, "action": [0] * 400, "reward": [0] * 200 + [1] * 200, "duration": [1] * 400}).markov()
    >>> moved.is_stationary, moved.verdict.partition("; the log")[2][:56]
    (False, ' is not stationary: the reward depends on the time (p = ')
    """

    memory: dict[str, float]
    drift: dict[str, float]

    @property
    def is_markov(self) -> bool:
        """Whether nothing of the past beyond the state was found to matter, at 2 %."""
        return min(self.memory.values(), default=1.0) > _LEVEL

    @property
    def is_stationary(self) -> bool:
        """Whether nothing was found to change over the log, at 2 %."""
        return min(self.drift.values(), default=1.0) > _LEVEL

    @property
    def verdict(self) -> str:
        """The result in words, with what to add to the state."""
        if not self.memory or not self.drift:
            return "the log is too short to tell whether its states are Markov"
        said = []
        if not self.is_markov:
            said.append(f"the states leave something out: {_worst(self.memory)}; add it to the state")
        if not self.is_stationary:
            said.append(
                f"the log is not stationary: {_worst(self.drift)}; add it to the state, or read a part of the log"
            )
        return "; ".join(said) or "nothing speaks against states that are Markov and a log that is stationary"


def _worst(found: dict[str, float]) -> str:
    name = min(found, key=lambda one: found[one])
    return f"{name} (p = {found[name]:.2g})"


def checked(rows: LogRows, trajectory: Ints, fit: Fit, behaviour: Worth) -> MarkovCheck:
    """Return the check of a log with the bias of its behaviour."""
    # The mean of completed values does not depend on when a unit was lost from sight; that of the rows that ended does.
    after = behaviour.bias[rows.next_state]
    worth = after if fit.ends is None else fit.ends.successors(behaviour.bias[fit.cell_next])
    what = {"reward": rows.reward, "duration": rows.duration, "next state": worth}
    follows = np.append(False, (np.diff(trajectory) == 0) & (rows.next_state[:-1] == rows.state[1:]))
    earlier = np.maximum(np.arange(len(follows)) - 1, 0)
    before = {
        "the reward before": rows.reward[earlier],
        "the duration before": rows.duration[earlier],
        "the state before": behaviour.bias[rows.state[earlier]],
    }
    for state in np.argsort(-fit.visits, kind="stable")[:_COMMON].tolist():
        before[f"the state before#{state}"] = (rows.state[earlier] == state).astype(np.float64)
    place = np.arange(len(follows)) / len(follows)
    when = {"the time": place, "the time#": np.abs(place - 0.5)}
    always = np.ones(len(follows), dtype=bool)
    return MarkovCheck(
        _tested(what, before, follows, fit.row_pair), _tested(what, when, always, fit.row_pair)
    )


def _tested(what: dict[str, Floats], past: dict[str, Floats], used: Flags, pair: Ints) -> dict[str, float]:
    """Return the p-values of all pairs of a target and a past, corrected for their number; the smallest under each name."""
    used = used & (np.bincount(pair)[pair] >= _LEAST)
    pair = pair[used]
    errors = {name: _centred(values[used], pair) for name, values in what.items()}
    found: list[tuple[str, float]] = []
    for name, values in past.items():
        off = _centred(values[used], pair)
        for target, error in errors.items():
            products = error * off
            squares = float(products @ products)
            freedom = squares**2 / float((products**4).sum()) if squares > 0.0 else 0.0
            if freedom >= _LEAST:
                chance = 2.0 * float(stdtr(freedom, -abs(float(products.sum())) / math.sqrt(squares)))
                found.append((f"the {target} depends on {name.partition('#')[0]}", chance))
    least: dict[str, float] = {}
    for name, p in found:
        least[name] = min(least.get(name, 1.0), p * len(found))
    return least


def _centred(values: Floats, pair: Ints) -> Floats:
    """Return values minus the means of their pairs, and 0 for what is only rounding."""
    count = np.maximum(np.bincount(pair), 1)
    off = values - (np.bincount(pair, values) / count)[pair]
    return np.where(np.abs(off) > 1e-9 * np.abs(values).max(initial=0.0), off, 0.0)
