"""A log of past decisions: what was earned, what its model says, and what would very probably be better.

Every answer assumes that the states tell all that matters for what comes next (they are *Markov*), that the log is
*stationary* (an action does the same at the end of the log as at its beginning) and has seen all that matters (no rare
disaster), and that past actions had *no reasons that the states leave out*.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.special import stdtrit

from sojourn.data.names import users_constructor
from sojourn.data.numbers import at_least_zero, finite, probability, proper_fraction, shown
from sojourn.deploy.tables import LabelPolicy
from sojourn.exact.constraints import Constraint, checked_limits
from sojourn.exact.logs.amounts import ROOM, AmountRate, KnownEffect, RowAmount, RowColumns, checked_means
from sojourn.exact.logs.censoring import Unfinished
from sojourn.exact.logs.closing import closed, counted, outlasting, trapping
from sojourn.exact.logs.cycles import weighted
from sojourn.exact.logs.estimates import Behaviour, Improvement, Label, LogEvaluation
from sojourn.exact.logs.fit import (
    Fit,
    LogRows,
    Worth,
    advantage,
    fitted,
    fitted_sums,
    fitted_unfinished,
    padded,
    sides,
    tail_doubt,
    worth,
)
from sojourn.exact.logs.improve import Choice, chosen, standard_error
from sojourn.exact.logs.log_limits import within
from sojourn.exact.logs.markov import MarkovCheck, checked
from sojourn.exact.logs.when import When, starts
from sojourn.exact.operators import first_best
from sojourn.models.rows import has_hash
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

_T = TypeVar("_T")
Policy: TypeAlias = Mapping[Any, Any]  # {state: action} or {state: {action: probability}}
_SELDOM = 1e-3  # of the steps
_ROUNDING = 1e-8  # of a sum of probabilities


@told
class Log:
    """A log of past decisions, as `read_log` returns it.

    `states` and `actions` are the labels. `refused` and `findings` are sentences about rows that were left out or changed;
    `censored` is how many rows were not seen to end. Rates are per `per`.

    >>> import sojourn as sj
    >>> log = sj.read_log({"state": [0, 1, 0], "action": [0, 0, 0], "reward": [6, 0, 6], "duration": [1, 2, 1]})
    >>> log, log.behaviour.rate, sj.solve(log.model()).gain
    (Log(2 rows, 2 states, 1 action), 2.0, 2.0)
    """

    def __init__(
        self,
        rows: LogRows,
        trajectory: Ints,
        probability: Floats | None,
        labels: tuple[tuple[Label, ...], tuple[Label, ...]],
        refused: tuple[str, ...] = (),
        findings: tuple[str, ...] = (),
        *,
        censored: int = 0,
        per: str = "unit time",
        unfinished: Unfinished | None = None,
        amounts: Mapping[str, RowAmount] | None = None,
        weight: Ints | None = None,
        began: Ints | None = None,
    ) -> None:
        self.actions, self.refused, self.censored, self.per = labels[1], tuple(refused), censored, per
        ended = np.ones(len(rows.state), dtype=bool) if unfinished is None else unfinished.ended
        kept, at, states, changed = closed(rows, trajectory, labels, ended, weight)
        self.findings = (*findings, *changed)
        number = np.full(len(labels[0]), -1, dtype=np.int64)
        number[states] = np.arange(len(states))
        self.states: tuple[Label, ...] = tuple(labels[0][state] for state in states)
        if len(states) < len(labels[0]):
            kept = kept._replace(state=number[kept.state], next_state=number[kept.next_state])
        ended = ended[at]
        self._size, self._is_complete = len(kept.state), bool(ended.all())
        self._entered = np.bincount(kept.next_state[ended], minlength=len(states))
        self._kept = at
        self._trajectory = trajectory[at] if len(at) < len(trajectory) else trajectory
        self._probability = None if probability is None else probability[at]
        if began is None and weight is None:
            began = rows.state[np.append(True, np.diff(trajectory) != 0)]
        self._began = number[began][number[began] >= 0] if began is not None else number[:0]
        known = None
        if unfinished is not None and not self._is_complete:
            start, watched = (
                None if one is None else one[at] for one in (unfinished.start, unfinished.watched)
            )
            known = Unfinished(ended, start, unfinished.law, watched)
        columns = {name: amount.at(at) for name, amount in (amounts or {}).items()}
        self._columns = self._original = RowColumns(kept, known, columns)
        self._sums: tuple[Floats, Ints] | None = None
        self._products: dict[tuple[str, str], Floats] = {}
        self._known: tuple[KnownEffect, ...] = ()
        self._seen, self._unit = ("reward", "duration"), per
        self._set()
        if not self._totals[0] > 0.0:
            raise ValueError("no time passes in the log; at least one row must have a duration above 0")
        if known is not None:
            self.findings += outlasting(self.fit, (self.states, self.actions), known.law)
        if weight is None:
            self.findings += trapping(self.fit, self.states)

    def _set(self) -> None:
        """Set what follows from the columns and from known effects."""
        self.__dict__.pop("behaviour", None)
        self.__dict__.pop("fit", None)
        rows, ends, _ = self._columns
        self._rows: LogRows | None = rows
        self._totals = float(rows.duration.sum()), float(rows.reward.sum())
        if self._sums is not None:
            self.fit, self._rows = fitted_sums(rows, *self._sums, len(self.states)), None
        elif ends is not None:
            self.fit, self._rows = fitted_unfinished(rows, len(self.states), ends)
        for effect in self._known:
            self.fit = effect.added(self.fit, *self._seen)

    def __repr__(self) -> str:
        refused = sum(int(each.split()[0].replace(",", "")) for each in self.refused)
        parts = [(len(self), "row"), (len(self.states), "state"), (len(self.actions), "action")]
        counts = ", ".join(counted(count, word, f"{word}s") for count, word in parts)
        unused = "".join(
            f"; {count:,} {word}"
            for count, word in ((refused, "refused"), (self.censored, "censored"))
            if count
        )
        return f"Log({counts}{unused})"

    def __len__(self) -> int:
        return self._size

    def _repr_html_(self) -> str:
        return str(users_constructor("sojourn.answers.notebook:log_html")(self))

    @staticmethod
    def from_sums(source: Any, *, amounts: Sequence[str] = ()) -> Log:
        """Return a log from sums that a database has made: a frame or a file with a row for each pair and successor.

        Its columns are state, action, next_state, count, reward and duration (sums), and reward_reward, duration_duration
        and reward_duration (sums of products). An amount such as "energy" has the columns energy, energy_energy and
        energy_duration. Several rows for the same successor are added up. Gains are those of the log itself. Limits
        cannot look at the skewness of rare events, which needs rows, and `findings` says so.

        >>> sums = {"state": ["a"], "action": ["x"], "next_state": ["a"], "count": [4], "reward": [12], "duration": [6]}
        >>> more = {"reward_reward": [40], "duration_duration": [10], "reward_duration": [18]}
        >>> Log.from_sums(sums | more).behaviour.rate
        2.0
        """
        log, products, count = users_constructor("sojourn.exact.logs.sums:read_sums")(source, amounts)
        summed: Log = log._of_sums(products, count)  # noqa: SLF001 - its own class
        return summed

    def _of_sums(self, products: Mapping[tuple[str, str], Floats], count: Ints) -> Log:
        """Turn this log, whose rows are sums, into the log that they are sums of, and return it."""
        after, count = self._columns.rows.next_state, count[self._kept]
        self._products = {pair: sums[self._kept] for pair, sums in products.items()}
        self._sums = self._squares("reward"), count
        self._size = int(count.sum())
        self._entered = np.bincount(after, count, minlength=len(self.states)).astype(np.int64)
        self._set()
        self.findings = (
            *self.findings,
            *trapping(self.fit, self.states),
            "the log is one of sums, so intervals and limits take no account of skewness, as where a few rows decide",
        )
        return self

    def _squares(self, name: str) -> Floats:
        """Return the sums of squares of an amount and of the duration, and those of their products."""
        pairs = (name, name), ("duration", "duration"), (name, "duration")
        return np.array([self._products[pair] for pair in pairs])

    @property
    def amounts(self) -> tuple[str, ...]:
        """The names of further amounts, beside reward, duration and steps."""
        return tuple(self._columns.amounts)

    def seen_as(self, maximise: str = "reward", per: str = "duration") -> Log:
        """Return the log in which one amount is the reward and another one the duration.

        What it says of the behaviour, of policies and of what is better is then about the first per unit of the second.

        >>> import sojourn as sj
        >>> rows = {"state": [0, 1, 0], "action": [0, 0, 0], "reward": [6, 0, 6], "duration": [1, 2, 1], "kwh": [5, 7, 0]}
        >>> log = sj.read_log(rows, amounts={"energy": "kwh"})
        >>> log.behaviour.amounts["energy"].rate, log.seen_as("energy", per="steps").behaviour.rate, log.seen_as(per="energy").behaviour.rate
        (4.0, 6.0, 0.5)
        """
        sums = self._sums
        if sums is not None:
            if per != "duration" or maximise == "steps":
                raise ValueError(
                    "sums do not show amounts per other amounts, or per step; count per unit of time"
                )
            sums = self._squares(maximise), sums[1]
        columns, unit = self._original.seen_as(maximise, per), self._unit if per == "duration" else per
        made = self._with(_columns=columns, _seen=(maximise, per), _sums=sums, per=unit)
        Log._set(made)
        return made

    def _with(self, **changes: Any) -> Log:
        made = copy.copy(self)
        vars(made).pop("behaviour", None)
        vars(made).update(changes)
        return made

    @property
    def is_of_sums(self) -> bool:
        """Whether the log came as sums (`from_sums`), so that its rows are not known."""
        return self._rows is None

    @functools.cached_property
    def fit(self) -> Fit:
        """The counts and means of every pair of a state and an action."""
        assert self._rows is not None  # a log of sums brings its fit
        return fitted(self._rows, len(self.states))

    def with_action(
        self,
        name: Label,
        *,
        reward: float,
        duration: float,
        next: Mapping[Any, float] | None = None,  # noqa: A002 - as in models
        where: Iterable[Any] | None = None,
        amounts: Mapping[str, float] | None = None,
    ) -> Log:
        """Return the log with an action whose effect is known: what it earns, how long it takes, and where it leads.

        It can then be taken in every state, or in those of `where`, and `improve`, `when` and `evaluate` compare it with what was
        done. It may take no time if it leads to states in which it cannot be taken. `next` has the probabilities of the next
        states; without it, the unit is renewed, and begins where the units of the log were seen to begin. `amounts` has the means of
        further amounts, 0 if they are not given. If the log has the action, the known effect takes the place of what the log
        shows of it. Intervals and limits cover only the rest, which comes from the log.

        >>> import sojourn as sj
        >>> log = sj.read_log({"state": [0, 1, 2] * 99, "action": ["run"] * 297, "reward": [4, 3, -19] * 99, "duration": [1, 1, 2] * 99})
        >>> log.with_action("mend", reward=-1, duration=1, next={0: 1.0}).improve().policy
        {0: 'run', 1: 'run', 2: 'mend'}
        """
        taken, known = finite("reward", reward), at_least_zero("duration", duration)
        if next is None and not len(self._began):
            raise ValueError(
                "the log does not show where units begin (sums do not); give next, such as {state: 1.0}"
            )
        if next is None:
            successors = np.bincount(self._began, minlength=len(self.states)) / len(self._began)
        else:
            successors = self._successors(next)
        can = (
            np.arange(len(self.states))
            if where is None
            else np.unique([self._number(state, "where") for state in where])
        )
        if known == 0.0 and successors[can].sum() >= 1.0 - _ROUNDING:
            raise ValueError(
                f"duration is 0, and {shown(name)} leads only to states where it can be taken again, which would never end; give a "
                "duration above 0, or where it can be taken"
            )
        means = {"steps": 1.0} | checked_means(amounts, self._columns.amounts)
        means |= dict(zip(self._seen, (taken, known), strict=True))
        actions = self.actions if name in self.actions else (*self.actions, name)
        effect = KnownEffect(actions.index(name), means, successors, can)
        fit = effect.added(self.fit, *self._seen)
        return self._with(actions=actions, _known=(*self._known, effect), fit=fit)

    def _successors(self, given: Mapping[Any, float]) -> Floats:
        """Return the probabilities of states by number."""
        found = np.zeros(len(self.states))
        for state, chance in given.items():
            found[self._number(state, "next")] = probability(f"next of {shown(state)}", chance)
        if not abs(found.sum() - 1.0) <= _ROUNDING:
            raise ValueError(f"the probabilities of next sum to {found.sum():.9g}; they must sum to 1")
        return found

    def _number(self, state: Any, said: str) -> int:
        at = (
            {label: number for number, label in enumerate(self.states)}.get(state)
            if has_hash(state)
            else None
        )
        if at is None:
            raise ValueError(
                f"{said} has the state {shown(state)}, which the log does not have; see log.states"
            )
        return at

    def counts(self) -> dict[Label, dict[Label, int]]:
        """Return how often each action was taken in each state."""
        found: dict[Label, dict[Label, int]] = {state: {} for state in self.states}
        for state, action, count in zip(self.fit.state, self.fit.action, self.fit.taken, strict=True):
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
            counts=np.maximum(fit.taken, 1),
            amounts={name: self.seen_as(name).fit.reward for name in self.amounts},
        )

    @functools.cached_property
    def behaviour(self) -> Behaviour:
        """What was earned per unit time, with its 95 % interval."""
        return self._behaviour(0.95)._replace(amounts=self._rates({}, 0.95))

    def _rates(self, policy: Policy, level: float) -> dict[str, AmountRate]:
        """Return what there is of each further amount per unit of time."""
        seen = {name: self.seen_as(name) for name in self.amounts if self._seen == ("reward", "duration")}
        return {name: AmountRate(*one.evaluate(policy, level)[:3]) for name, one in seen.items()}

    def _behaviour(self, level: float) -> Behaviour:
        fit = self.fit
        found = worth(fit, fit.behaviour)
        clock, earned = self._totals
        # What the states at the ends are worth; nothing, if each state is entered as often as it is left.
        entered = self._entered - fit.visits
        known = (fit.known & (fit.taken > 0)).any()  # then the rows are not what is expected
        is_counted = self._is_complete and not known
        rate = (earned + float(entered @ found.bias)) / clock if is_counted else found.gain
        doubt = tail_doubt(fit, found)
        below, above = sides(self._rows, fit, level, found, np.ones(fit.num_states, dtype=bool))
        below, above = below + doubt[0], above + doubt[1]
        return Behaviour(rate, rate + below, rate + above, level, len(self), clock, earned / clock, self.per)

    def markov(self) -> MarkovCheck:
        """Return whether the states look Markov and the log stationary: a verdict in words, with its p-values.

        It seldom warns without a reason. `sojourn.exact.logs.markov` describes the tests.
        """
        if self._rows is None:
            raise ValueError(
                "the log is one of sums, which do not show what followed what; check a part of it by its rows"
            )
        return checked(self._rows, self._trajectory, self.fit, worth(self.fit, self.fit.behaviour))

    def improve(self, level: float = 0.95, *, limits: Sequence[Constraint] = ()) -> Improvement:
        """Return a policy that is very probably better than the behaviour, or the advice to keep the behaviour.

        With `limits` on amounts (`sojourn.exact.at_most`, `at_least`) it is one that also very probably keeps these; if the behaviour
        does not keep them, it need not be better. `sojourn.exact.logs.improve` and `sojourn.exact.logs.log_limits` describe the method.
        """
        level, fit, behaviour = proper_fraction("level", level), self.fit, self._behaviour(level)
        limits = checked_limits(limits)
        choice = self._within(limits, level) if limits else chosen(self._rows, fit, level)
        kept = Choice(worth(fit, fit.behaviour), behaviour.rate, behaviour.low, 0.0)
        found, gain, low, beats = choice or kept
        best = first_best(fit.offsets, found.share)
        visits = np.maximum(found.visits, 0.0)
        adds = 0.0 * visits if choice is None else found.visits * advantage(fit, kept.found)[best]
        policy = self._by_state([self.actions[action] for action in fit.action[best].tolist()])
        return Improvement(
            policy=policy,
            gain=gain,
            low=low,
            level=level,
            beats_behaviour=beats,
            behaviour=behaviour,
            kept=choice is None,
            counts=self._by_state(fit.taken[best].tolist()),
            visits=self._by_state((visits / visits.sum()).tolist()),
            adds=self._by_state(adds.tolist()),
            amounts=self._rates({} if choice is None else policy, level),
            limits=tuple(map(str, limits)),
        )

    def when(self, action: Label | None = None, level: float = 0.95) -> When:
        """Return from which state on an action is best taken, such as an age or a wear; states must be numbers.

        The action is one of the log, or one with a known effect (`with_action`), which need not be named if it is the only one.
        Policies that take it in all states from one on, and never below, are compared with what was done, as by `improve`.

        >>> import sojourn as sj
        >>> log = sj.read_log({"state": [0, 1, 2] * 99, "action": ["run"] * 297, "reward": [4, 3, -19] * 99, "duration": [1, 1, 2] * 99})
        >>> log.with_action("mend", reward=-1, duration=1, next={0: 1.0}).when().start
        2
        """
        level, fit = proper_fraction("level", level), self.fit
        if action is None:
            known = np.unique(fit.action[fit.known])
            if len(known) != 1:
                raise ValueError(f"the log has {len(known)} actions with a known effect; name the action")
            action = self.actions[known[0]]
        if action not in self.actions:
            raise ValueError(
                f"the log does not have the action {shown(action)}; it has {', '.join(map(shown, self.actions))}"
            )
        policies = starts(fit, self.states, self.actions.index(action))
        gains = {start: worth(fit, share).gain for start, share in policies.items()}
        choice, behaviour = chosen(self._rows, fit, level, policies.values()), self._behaviour(level)
        best = max(gains, key=lambda start: gains[start])
        if choice is None:
            kept = behaviour.rate, behaviour.low, level, 0.0
            return When(action, best, *kept, behaviour.rate, True, gains, self.per)
        start = next(one for one, share in policies.items() if share is choice.found.share)
        return When(
            action,
            start,
            choice.gain,
            choice.low,
            level,
            choice.beats,
            behaviour.rate,
            False,
            gains,
            self.per,
        )

    def _within(self, limits: Sequence[Constraint], level: float) -> Choice | None:
        """Return the choice within limits."""
        if self._rows is None:
            raise ValueError("sums do not show what limits on amounts need; give the rows of the log")
        room = []
        for limit in limits:
            given = self._original.with_room(limit), tuple(one.with_room(limit) for one in self._known)
            one = self._with(_original=given[0], _known=given[1]).seen_as(ROOM)
            room.append((vars(one)["_rows"], one.fit))
        return within((self._rows, self.fit), room, limits, level)

    def _by_state(self, values: list[_T]) -> dict[Label, _T]:
        return dict(zip(self.states, values, strict=True))

    def evaluate(self, policy: Policy | LabelPolicy, level: float = 0.95) -> LogEvaluation:
        """Return what a policy would earn; it is {state: action} or {state: {action: probability}}, or from a log's policy file.

        A state that is not mentioned keeps its behaviour. In each state the policy may only take actions that the log took
        there.
        """
        level, fit = proper_fraction("level", level), self.fit
        if isinstance(policy, LabelPolicy):
            policy = policy.actions
        share = self._shares(policy)
        found = worth(fit, share)
        gain, low, high = self._interval(found, policy, level)
        reached = (found.weight(fit) >= _SELDOM * found.visits.sum()) & ~fit.known
        answer = None
        if self._probability is not None and self._rows is not None and self._is_complete:
            ratio = share[fit.row_pair] / self._probability
            answer = weighted(self._rows, self._trajectory, ratio, found.visits, level)
        return LogEvaluation(
            gain,
            low,
            high,
            level,
            int(fit.seen[reached].min(initial=len(self))),
            answer,
            self.per,
            self._rates(policy, level),
        )

    def _interval(self, found: Worth, policy: Policy, level: float) -> tuple[float, float, float]:
        """Return the gain of a policy and its interval, which is the behaviour's if no state is mentioned."""
        if not policy:
            return self._behaviour(level)[:3]
        fit, usual = self.fit, np.array([state not in policy for state in self.states])
        error, freedom = standard_error(fit, found)
        half = float(stdtrit(freedom, 0.5 + level / 2.0)) * error
        below, above = sides(self._rows, fit, level, found, usual)
        # How much the gain would differ if every action might lead wherever its state has led.
        shift = worth(padded(fit), found.share).gain - found.gain
        doubt = tail_doubt(fit, found)
        low = min(below, -half) + min(shift, 0.0) + doubt[0]
        high = max(above, half) + max(shift, 0.0) + doubt[1]
        return found.gain, found.gain + low, found.gain + high

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
            place = f"a probability in the state {shown(state)}"
            given = [probability(place, chances.get(action, 0.0)) for action in seen[state]]
            if not abs(finite("a sum", sum(given)) - 1.0) <= _ROUNDING:
                raise ValueError(
                    f"the probabilities in the state {shown(state)} sum to {sum(given):.9g}; they must sum to 1"
                )
            at = self.states.index(state)
            share[self.fit.offsets[at] : self.fit.offsets[at + 1]] = given
        return share


def label_names(labels: tuple[Label, ...]) -> tuple[str, ...]:
    """Return labels as texts, all of them different.

    >>> label_names(("up", ("down", 2)))
    ('up', 'down, 2')
    """
    names = tuple(", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels)
    return names if len(set(names)) == len(names) else tuple(map(repr, labels))
