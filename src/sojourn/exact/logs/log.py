"""A log of past decisions: what was earned, what its model says, and what would surely be better.

Every answer assumes three things: the states tell all that matters for what comes next (they are *Markov*), the log is
*stationary* (an action does the same at the end of the log as at its beginning), and every action that is to be
judged had *some chance* of being taken. The log says nothing about events that it has never seen, such as a rare disaster.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy.special import stdtrit

from sojourn.data.numbers import finite, probability, proper_fraction, shown
from sojourn.exact.logs.answers import Behaviour, Improvement, Label, LogEvaluation
from sojourn.exact.logs.fit import Fit, Rows, fitted, worth
from sojourn.exact.logs.improve import chosen, first_best, standard_error
from sojourn.exact.logs.weighted import weighted
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told
from sojourn.rules.long_run import sum_sides

_T = TypeVar("_T")
Policy: TypeAlias = Mapping[Any, Any]  # {state: action} or {state: {action: probability}}
_SELDOM = 1e-3  # of the steps


@told
class Log:
    """A log of past decisions, as `read_log` returns it.

    `states` and `actions` are the labels. `refused` and `findings` are sentences about rows that were left out or changed.

    >>> import sojourn as sj
    >>> log = sj.read_log({"state": [0, 1, 0], "action": [0, 0, 0], "reward": [6, 0, 6], "duration": [1, 2, 1]})
    >>> log, log.behaviour.rate, sj.solve(log.model()).gain
    (Log(2 rows, 2 states, 1 action), 2.0, 2.0)
    """

    def __init__(
        self,
        rows: Rows,
        trajectory: Ints,
        probability: Floats | None,
        labels: tuple[tuple[Label, ...], tuple[Label, ...]],
        refused: tuple[str, ...] = (),
    ) -> None:
        self.actions, self.refused = labels[1], tuple(refused)
        kept, states, self.findings = _closed(rows, trajectory, labels[0])
        number = np.full(len(labels[0]), -1, dtype=np.int64)
        number[states] = np.arange(len(states))
        self.states: tuple[Label, ...] = tuple(labels[0][state] for state in states)
        self._rows = Rows(
            number[kept.rows.state],
            kept.rows.action,
            kept.rows.reward,
            kept.rows.duration,
            number[kept.rows.next_state],
        )
        self._trajectory = trajectory[kept.at]
        self._probability = None if probability is None else probability[kept.at]
        if not self._rows.duration.sum() > 0.0:
            raise ValueError("no time passes in the log; at least one row must have a duration above 0")

    def __repr__(self) -> str:
        refused = sum(int(each.split()[0].replace(",", "")) for each in self.refused)
        told = f"; {refused:,} refused" if refused else ""
        parts = [(len(self), "row"), (len(self.states), "state"), (len(self.actions), "action")]
        return f"Log({', '.join(f'{n:,} {word}' + ('' if n == 1 else 's') for n, word in parts)}{told})"

    def __len__(self) -> int:
        return len(self._rows.state)

    @functools.cached_property
    def fit(self) -> Fit:
        """The counts and means of every pair of a state and an action."""
        return fitted(self._rows, len(self.states))

    def counts(self) -> dict[Label, dict[Label, int]]:
        """Return how often each action was taken in each state."""
        found: dict[Label, dict[Label, int]] = {state: {} for state in self.states}
        for state, action, count in zip(self.fit.state, self.fit.action, self.fit.seen, strict=True):
            found[self.states[state]][self.actions[action]] = int(count)
        return found

    def model(self) -> SMDP:
        """Return the model that has the means, shares and counts of the log.

        A solution of this model is an estimate, and says so. It is often too good, since an action that was taken only a few
        times may look best by luck. `improve` allows for that.
        """
        fit = self.fit
        return SMDP(
            pair_offsets=fit.offsets,
            row_offsets=np.searchsorted(fit.cell_pair, np.arange(len(fit.seen) + 1)),
            successor=fit.cell_next,
            probability=fit.cell_share,
            reward=fit.reward,
            duration=fit.duration,
            action=fit.action,
            state_names=label_names(self.states),
            action_names=label_names(self.actions),
            counts=fit.seen,
        )

    @functools.cached_property
    def behaviour(self) -> Behaviour:
        """What was earned per unit time, with its 95 % interval."""
        return self._behaviour(0.95)

    def _behaviour(self, level: float) -> Behaviour:
        rows = self._rows
        clock = float(rows.duration.sum())
        rate = float(rows.reward.sum()) / clock
        bias = worth(self.fit, self.fit.behaviour).bias
        # The surplus of each step over the rate, including its effect on the future; surpluses are uncorrelated.
        surplus = rows.reward - rate * rows.duration + bias[rows.next_state] - bias[rows.state]
        below, above = sum_sides(surplus, level)
        return Behaviour(rate, rate + below / clock, rate + above / clock, level, len(self), clock)

    def improve(self, level: float = 0.95) -> Improvement:
        """Return a policy that is surely better than the behaviour, or the advice to keep the behaviour.

        `sojourn.exact.logs.improve` describes the method.
        """
        level, fit = proper_fraction("level", level), self.fit
        choice, behaviour = chosen(fit, level), self._behaviour(level)
        found = worth(fit, fit.behaviour) if choice is None else choice.found
        best = first_best(fit, found.share)
        visits = np.maximum(found.visits, 0.0)
        return Improvement(
            policy=self._by_state([self.actions[action] for action in fit.action[best].tolist()]),
            gain=behaviour.rate if choice is None else choice.gain,
            low=behaviour.low if choice is None else choice.low,
            level=level,
            beats_behaviour=0.0 if choice is None else choice.beats,
            behaviour=behaviour,
            kept=choice is None,
            counts=self._by_state(fit.seen[best].tolist()),
            visits=self._by_state((visits / visits.sum()).tolist()),
        )

    def _by_state(self, values: list[_T]) -> dict[Label, _T]:
        return dict(zip(self.states, values, strict=True))

    def evaluate(self, policy: Policy, level: float = 0.95) -> LogEvaluation:
        """Return what a policy would earn; it is {state: action} or {state: {action: probability}}.

        A state that is not mentioned keeps its behaviour. In each state the policy may only take actions that the log took
        there.
        """
        level, fit = proper_fraction("level", level), self.fit
        share = self._shares(policy)
        found = worth(fit, share)
        error, freedom = standard_error(fit, found)
        half = float(stdtrit(freedom, 0.5 + level / 2.0)) * error
        reached = found.weight(fit) >= _SELDOM * found.visits.sum()
        answer = None
        if self._probability is not None:
            ratio = share[fit.row_pair] / self._probability
            answer = weighted(self._rows, self._trajectory, ratio, found.visits, level)
        return LogEvaluation(
            found.gain, found.gain - half, found.gain + half, level, int(fit.seen[reached].min()), answer
        )

    def _shares(self, policy: Policy) -> Floats:
        """Return a policy as shares of pairs."""
        if not isinstance(policy, Mapping):
            raise TypeError(f"the policy is {shown(policy)}; it must be a dictionary of states and actions")
        share, seen = self.fit.behaviour, self.counts()
        for state, wanted in policy.items():
            if state not in seen:
                raise ValueError(
                    f"the policy has the state {shown(state)}, which the log does not have; see log.states"
                )
            chances = wanted if isinstance(wanted, Mapping) else {wanted: 1.0}
            for action in chances:
                if action not in seen[state]:
                    raise ValueError(
                        f"the log never took the action {shown(action)} in the state {shown(state)}, so it cannot say "
                        f"what that is worth; it took {', '.join(map(shown, seen[state]))}"
                    )
            given = [
                probability(f"a probability in the state {shown(state)}", chances.get(a, 0.0))
                for a in seen[state]
            ]
            if not abs(finite("a sum", sum(given)) - 1.0) <= 1e-8:
                raise ValueError(
                    f"the probabilities in the state {shown(state)} sum to {sum(given):.9g}; they must sum to 1"
                )
            at = self.states.index(state)
            share[self.fit.offsets[at] : self.fit.offsets[at + 1]] = given
        return share


# --- Where rows lead ------------------------------------------------------------------------


class _Kept(NamedTuple):
    """The rows that are kept, and their places in the log."""

    rows: Rows
    at: Ints


def _closed(rows: Rows, trajectory: Ints, labels: tuple[Label, ...]) -> tuple[_Kept, Ints, tuple[str, ...]]:
    """Return the rows that lead to states which are left again, those states, and sentences on what was changed.

    A trajectory that ends in a state that is never left goes on at the beginning of the next trajectory, like a task that
    starts again. Other rows that lead to such a state are left out, since the log does not say what follows.
    """
    after, findings = rows.next_state.copy(), []
    left = np.zeros(len(labels), dtype=bool)
    left[rows.state] = True
    ends = np.flatnonzero(np.diff(trajectory) != 0)
    stops = ends[~left[after[ends]]]
    if stops.size:
        after[stops] = rows.state[stops + 1]
        findings.append(
            f"{_counted(stops.size, 'trajectory ends', 'trajectories end')} in a state that is never left, "
            f"such as {shown(labels[rows.next_state[stops[0]]])}; the beginning of the next trajectory is taken to follow"
        )
    kept = np.ones(len(after), dtype=bool)
    while True:
        left = np.zeros(len(labels), dtype=bool)
        left[rows.state[kept]] = True
        lost = kept & ~left[after]
        if not lost.any():
            break
        kept &= ~lost
    missing = np.flatnonzero(~kept)
    if missing.size:
        findings.append(
            f"{_counted(missing.size, 'row leads', 'rows lead')} to a state that the log never leaves, "
            f"such as {shown(labels[after[missing[0]]])}, and {'is' if missing.size == 1 else 'are'} left out"
        )
    if not kept.any():
        raise ValueError(
            "every row of the log leads sooner or later to a state that is never left; next states must be among the states"
        )
    at = np.flatnonzero(kept)
    taken = Rows(rows.state[at], rows.action[at], rows.reward[at], rows.duration[at], after[at])
    return _Kept(taken, at), np.flatnonzero(left), tuple(findings)


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def label_names(labels: tuple[Label, ...]) -> tuple[str, ...]:
    """Return labels as texts, all of them different.

    >>> label_names(("up", ("down", 2)))
    ('up', 'down, 2')
    """
    names = tuple(", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels)
    return names if len(set(names)) == len(names) else tuple(map(repr, labels))
