"""Check whether the states of a log tell all that matters for what comes next, and whether the log is stationary.

Given the state and the action, what a row shows must not depend on the past beyond the state (*memory*), nor on when it was
(*drift*): the rows of a pair might as well have been shuffled. With e the deviation of a row's reward, duration or worth of its
successor from the mean of its pair, and z something from the past, minus its mean among the rows of the pair, the sum T of e z has, over
all shuffles of the pair's n rows, the mean 0 and

    variance = sum e^2 sum z^2 / (n - 1),     third moment = n sum e^3 sum z^3 / ((n - 1) (n - 2))

which add up over pairs. (The products that a log shows would not do: where a rare e and a rare z should meet once and have not, they
are all small, and T looks too large. That gave a warning in one of eight short logs of Tijms' machine.) T is taken to have the
gamma law with these moments (Pearson's type III). Where the products are worth fewer than 8, there is no test. The past is the
reward, the duration, the action and the state of the row before. Of actions and states it is asked whether it was one of the
commonest, and states also enter by their worth. The time is the row's place in the log, and how far that is from the middle. Since
many tests are made, p-values are multiplied by their number (Bonferroni), separately for memory and for drift.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr

from sojourn.exact.logs.closing import closed
from sojourn.exact.logs.fit import Fit, LogRows, Worth, fitted, worth
from sojourn.rules.arrays import Flags, Floats, Ints

_LEVEL = 0.02  # since p-values of short logs are only about right, false alarms stay below 5 %
_COMMON = 4  # states, and actions, before that are tried one by one
_LARGEST = 1e60  # a number whose fourth power must fit a float
_LEAST = 30  # rows of a pair
_STRAIGHT = 1e-3  # a skewness that does not matter
_WORTH = 8.0  # products that a test must be worth


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
    def left_out(self) -> str:
        """What the states leave out, in words; empty if nothing was found."""
        if self.is_markov:
            return ""
        return f"the states leave something out: {_worst(self.memory)}; add it to the state"

    @property
    def verdict(self) -> str:
        """The result in words, with what to add to the state."""
        if not self.memory or not self.drift:
            return "the log is too short to tell whether its states are Markov"
        said = [] if self.is_markov else [self.left_out]
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
    after = after if fit.ends is None else fit.ends.successors(behaviour.bias[fit.cell_next])
    what = {"reward": rows.reward, "duration": rows.duration, "next state": after}
    follows = np.append(False, (np.diff(trajectory) == 0) & (rows.next_state[:-1] == rows.state[1:]))
    earlier = np.maximum(np.arange(len(follows)) - 1, 0)
    before = {
        "the reward before": rows.reward[earlier],
        "the duration before": rows.duration[earlier],
        "the state before": behaviour.bias[rows.state[earlier]],
    }
    for state in np.argsort(-fit.visits, kind="stable")[:_COMMON].tolist():
        before[f"the state before#{state}"] = (rows.state[earlier] == state).astype(np.float64)
    actions = np.bincount(rows.action)
    # Of all actions but one: the last is where the others are not.
    for action in np.argsort(-actions, kind="stable")[: min(_COMMON, np.count_nonzero(actions) - 1)].tolist():
        before[f"the action before#{action}"] = (rows.action[earlier] == action).astype(np.float64)
    place = np.arange(len(follows)) / len(follows)
    when = {"the time": place, "the time#": np.abs(place - 0.5)}
    always = np.ones(len(follows), dtype=bool)
    return MarkovCheck(
        _tested(what, before, follows, fit.row_pair), _tested(what, when, always, fit.row_pair)
    )


def followed(rows: LogRows, trajectory: Ints) -> MarkovCheck | None:
    """Return the check of rows whose states may have any numbers, such as those of a policy that was followed.

    It is None if they say nothing: no state is left twice, no time passes, or numbers are too large.
    """
    largest = max(np.abs(rows.reward).max(initial=0.0), rows.duration.max(initial=0.0))
    if not rows.duration.sum() > 0.0 or largest > _LARGEST:
        return None
    numbers, (state, after) = _renumbered(rows.state, rows.next_state)
    labels = tuple(range(len(numbers))), tuple(range(int(rows.action.max()) + 1))
    rows = rows._replace(state=state, next_state=after)
    try:
        rows, at, states, _ = closed(rows, trajectory, labels, np.ones(len(state), dtype=bool))
    except ValueError:
        return None  # every state leads to one that is never left
    _, (state, after) = _renumbered(rows.state, rows.next_state)
    rows = rows._replace(state=state, next_state=after)
    fit = fitted(rows, len(states))
    return checked(rows, trajectory[at], fit, worth(fit, fit.behaviour))


def _renumbered(*states: Ints) -> tuple[Ints, tuple[Ints, ...]]:
    """Return the numbers that occur, and the arrays with their places among these."""
    numbers, places = np.unique(np.concatenate(states), return_inverse=True)
    return numbers, tuple(np.split(places, len(states)))


def _tested(what: dict[str, Floats], past: dict[str, Floats], used: Flags, pair: Ints) -> dict[str, float]:
    """Return the p-values of all pairs of a target and a past, corrected for their number; the smallest under each name."""
    used = used & (np.bincount(pair)[pair] >= _LEAST)
    pair = pair[used]
    errors = {name: _powers(values[used], pair) for name, values in what.items()}
    rows = np.maximum(np.bincount(pair), 3).astype(np.float64)
    found: list[tuple[str, float]] = []
    for name, values in past.items():
        off = _powers(values[used], pair)
        for target, error in errors.items():
            chance = _chance(error, off, rows)
            if chance is not None:
                found.append((f"the {target} depends on {name.partition('#')[0]}", chance))
    least: dict[str, float] = {}
    for name, p in found:
        least[name] = min(least.get(name, 1.0), p * len(found))
    return least


class _Powers(NamedTuple):
    """Values minus the means of their pairs, and sums of their powers by pair."""

    off: Floats
    second: Floats
    third: Floats
    fourth: Floats


def _powers(values: Floats, pair: Ints) -> _Powers:
    """Return values minus the means of their pairs, and 0 for what is only rounding, with sums of powers."""
    count = np.maximum(np.bincount(pair), 1)
    off = values - (np.bincount(pair, values) / count)[pair]
    off = np.where(np.abs(off) > 1e-9 * np.abs(values).max(initial=0.0), off, 0.0)
    return _Powers(off, *(np.bincount(pair, off**power).astype(np.float64) for power in (2, 3, 4)))


def _chance(one: _Powers, two: _Powers, rows: Floats) -> float | None:
    """Return the probability that the sum of products is so far from 0 on one of two sides; None if a few rows decide."""
    variance = float((one.second * two.second / (rows - 1.0)).sum())
    squares = float((one.second * two.second / rows).sum()) ** 2
    fourth = float((one.fourth * two.fourth / rows).sum())
    if not fourth > 0.0 or squares / fourth < _WORTH:
        return None
    third = float((rows * one.third * two.third / ((rows - 1.0) * (rows - 2.0))).sum())
    t, skew = float(one.off @ two.off) / math.sqrt(variance), third / variance**1.5
    return 2.0 * _tail(t, skew)


def _tail(t: float, skew: float) -> float:
    """Return the smaller tail of Pearson's type III law beyond t; it has the mean 0 and the variance 1."""
    if abs(skew) < _STRAIGHT:
        return float(ndtr(-abs(t)))
    shape, t = 4.0 / skew**2, math.copysign(t, t * skew)
    at = max(shape + t * math.sqrt(shape), 0.0)
    return float(gammaincc(shape, at) if t > 0.0 else gammainc(shape, at))
