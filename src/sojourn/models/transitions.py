"""Models made from a list of transitions, from a list of transition rates, and from Gymnasium's tables.

States and actions are given by number or by name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import finite, listed, positive, shown, unmasked, within
from sojourn.models.labels import MOST_NAMES, labels_in
from sojourn.models.laws import Constant, Empirical, Exponential, Law, Outcomes, as_law, flat, means
from sojourn.models.matrices import numbers_of
from sojourn.models.smdp import SMDP
from sojourn.models.validation import offsets_of, pair_means
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

Label: TypeAlias = int | str | np.int64  # of a state or an action: its number or its name
Quantity: TypeAlias = Law | Empirical | float  # a reward or a duration
Row: TypeAlias = tuple[Label, Label, Label, float, Quantity, Quantity]
Further: TypeAlias = Mapping[str, Quantity]  # the amounts of a transition
Full: TypeAlias = tuple[Label, Label, Label, float, Quantity, Quantity, Further]
Transition: TypeAlias = Row | Full | tuple[Label, Label, Label, float, Outcomes]
RateRow: TypeAlias = (
    tuple[Label, Label, Label, float]
    | tuple[Label, Label, Label, float, float]
    | tuple[Label, Label, Label, float, float, Further]
)

MOST_OUTCOMES = 100_000  # of one transition


@told
def from_transitions(
    transitions: Iterable[Transition],
    *,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model made from a list of `(s, a, s', probability, reward, duration)` in any order.

    States and actions are whole numbers or names. Names are numbered in the order of `state_names` and `action_names` or,
    without these, in the order in which they first appear. A reward or a duration is a number or a law of
    `sojourn.models.laws`, including samples. `Outcomes` give both together, in a tuple of five. A tuple of seven ends with a
    dictionary of further amounts, such as `{"lost": 1.0}`.

    >>> from sojourn.models.laws import Exponential, Outcomes
    >>> model = from_transitions([
    ...     ("up", "run", "up", 0.9, 5.0, Exponential(2.0)),
    ...     ("up", "run", "down", 0.1, 1.0, 0.5),
    ...     ("down", "mend", "up", 1.0, Outcomes([(0.5, -1.0, 1.0), (0.5, -4.0, 2.0)])),
    ... ])
    >>> model.state_names, model.reward, model.duration
    (('up', 'down'), array([ 4.6, -2.5]), array([1.85, 1.5 ]))
    """
    rows = [
        row
        for number, given in enumerate(transitions)
        for row in _outcomes(number, unmasked(f"transition {number}", given))
    ]
    if not rows:
        raise ValueError("there are no transitions; give at least one")
    states = _Numbering("state", state_names, [row[0] for row in rows] + [row[2] for row in rows])
    actions = _Numbering("action", action_names, [row[1] for row in rows])
    from_state = np.array([states.number(row[0]) for row in rows])
    action = np.array([actions.number(row[1]) for row in rows])
    order = np.lexsort((action, from_state))
    from_state, action = from_state[order], action[order]
    begins = np.flatnonzero(np.append(True, (np.diff(from_state) != 0) | (np.diff(action) != 0)))
    row_offsets = np.append(begins, len(rows))
    quantities: dict[str, Any] = {}
    for field, name in ((4, "reward"), (5, "duration")):
        laws = [as_law(f"the {name} of {rows[row][:3]}", rows[row][field]) for row in order]
        quantities |= _means_or_laws(name, laws, row_offsets)
    chance = np.array([finite(f"the probability of {rows[row][:3]}", rows[row][3]) for row in order])
    return SMDP(
        amounts=_amounts([rows[row] for row in order], chance, row_offsets),
        pair_offsets=offsets_of(np.bincount(from_state[begins], minlength=states.count)),
        row_offsets=row_offsets,
        successor=np.array([states.number(rows[row][2]) for row in order]),
        probability=chance,
        action=action[begins],
        state_names=states.names,
        action_names=actions.names,
        **quantities,
    )


def _outcomes(number: int, given: Transition) -> list[Any]:
    """Return the rows of a transition: a single row, or one for each of its joint outcomes or samples."""
    if not isinstance(given, tuple):  # a list will do
        return _outcomes(number, tuple(given))
    if len(given) == 5 and isinstance(given[4], Outcomes):
        outcomes = given[4].outcomes
        total = sum(outcome[0] for outcome in outcomes)
        if not abs(total - 1.0) <= 1e-8:
            raise ValueError(
                f"the outcomes of {given[:3]} have probabilities that sum to {total:.9g}; they must sum to 1"
            )
        return [
            (given[0], given[1], given[2], _chance(given) * chance, reward, duration)
            for chance, reward, duration in outcomes
        ]
    if len(given) == 7 and isinstance(given[6], Mapping):
        return (
            [(*row, given[6]) for row in _outcomes(number, given[:6])]
            if given[6]
            else _outcomes(number, given[:6])
        )
    if len(given) != 6:
        raise ValueError(
            f"transition {number} is {shown(given)}; it must be (s, a, s', probability, reward, duration)"
        )
    if isinstance(given[4], Empirical) or isinstance(given[5], Empirical):
        return _samples(given)
    return [given]


def _samples(given: Row) -> list[Row]:
    """Return the rows of a transition with samples, one for each combination of different numbers."""
    rewards = _shares(f"the reward of {given[:3]}", given[4])
    durations = _shares(f"the duration of {given[:3]}", given[5])
    if len(rewards) * len(durations) > MOST_OUTCOMES:
        raise ValueError(
            f"the samples of {given[:3]} make {len(rewards):,} times {len(durations):,} outcomes; there may be at most "
            f"{MOST_OUTCOMES:,}, so round them, or give those that belong together as Outcomes.observed(...)"
        )
    return [
        (given[0], given[1], given[2], _chance(given) * one * other, reward, duration)
        for (one, reward), (other, duration) in itertools.product(rewards, durations)
    ]


def _shares(name: str, law: Quantity) -> Sequence[tuple[float, Quantity]]:
    return law.shares(name) if isinstance(law, Empirical) else [(1.0, law)]


def _chance(given: Transition) -> float:
    return finite(f"the probability of {given[:3]}", given[3])


class _Numbering:
    """The numbers of states or actions that are given by number or by name."""

    def __init__(self, what: str, names: Sequence[str] | None, used: list[Label]) -> None:
        self.what = what
        numbers = [int(each) for each in used if isinstance(each, int | np.integer)]
        self.names = (
            labels_in(f"{what}_names", names, max(MOST_NAMES, len(used)))
            if names is not None
            else None
            if len(numbers) == len(used)
            else tuple(dict.fromkeys(map(str, used)))
        )
        self.count = max(numbers) + 1 if self.names is None else len(self.names)
        if self.names is None and what == "state" and self.count > len(used):
            known = set(numbers)
            idle = next(number for number in itertools.count() if number not in known)
            raise ValueError(
                f"there is a state {shown(self.count - 1)} but no state {idle}; number the states from 0, and give "
                "each an action"
            )
        self._numbers = {name: number for number, name in enumerate(self.names or ())}

    def number(self, given: Label) -> int:
        """Return the number of a state or action."""
        if isinstance(given, int | np.integer):
            if not 0 <= given < self.count:
                raise ValueError(f"{self.what} {shown(given)} is not one of 0 to {self.count - 1}")
            return int(given)
        if str(given) not in self._numbers:
            raise ValueError(
                f"{self.what} {shown(given)} is not one of {listed(list(map(str, self._numbers)))}"
            )
        return self._numbers[str(given)]


def mean_of(name: str, quantity: Quantity) -> float:
    """Return the mean of a number, a law or samples; the name is for the sentence that refuses anything else.

    >>> mean_of("lost", 3), mean_of("lost", Exponential(2.0)), mean_of("lost", Empirical([1.0, 2.0]))
    (3.0, 2.0, 1.5)
    """
    if isinstance(quantity, Empirical):
        return math.fsum(chance * float(value) for chance, value in quantity.shares(name))
    return float(means(flat([as_law(name, quantity)]))[0])


def _amounts(rows: list[Any], chance: Floats, row_offsets: Ints) -> dict[str, Floats]:
    """Return the mean of each amount for every pair; a row that does not name it has none."""
    named = [row[6] if len(row) == 7 else {} for row in rows]
    found = {}
    for name in dict.fromkeys(name for amounts in named for name in amounts):
        own = [
            mean_of(f"the amount {shown(name)} of {row[:3]}", amounts[name]) if name in amounts else 0.0
            for row, amounts in zip(rows, named, strict=True)
        ]
        found[name] = pair_means(np.array(own), chance, row_offsets)
    return found


def _means_or_laws(name: str, laws: list[Law], row_offsets: Ints) -> dict[str, Any]:
    """Return means of pairs if these are enough, else means of rows, or laws of rows."""
    constants = [law.value for law in laws if isinstance(law, Constant)]
    if len(constants) < len(laws):
        return {f"{name}_law": flat(laws)}
    values = np.array(constants)
    first = values[row_offsets[:-1]]
    is_same = (values == np.repeat(first, np.diff(row_offsets))).all()
    return {name: first} if is_same else {f"row_{name}": values}


# --- Rates --------------------------------------------------------------------------------


@told
def from_rates(
    rates: Iterable[RateRow],
    *,
    earning: Mapping[tuple[Label, Label], float] | None = None,
    flows: Mapping[str, Mapping[tuple[Label, Label], float]] | None = None,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model made from `(s, a, s', rate)` or `(s, a, s', rate, reward)`, where the reward comes with the move.

    `earning` says what a pair `(s, a)` earns per unit time while it lasts; a pair that it does not name earns nothing in this
    way. A sojourn has an exponential law, whose mean is 1 over the sum of the pair's rates. What is earned during the sojourn
    enters the model by its mean. `flows` says the same of further amounts, by name: `{"waiting": {(s, a): 2.0}}`. Amounts
    that come with a move are the last part of `(s, a, s', rate, reward, {"lost": 1.0})`.

    >>> from sojourn.exact.solve import solve
    >>> machine = from_rates(
    ...     [("up", "run", "down", 0.1), ("down", "mend", "up", 1.0, -3.0)], earning={("up", "run"): 5.0}
    ... )
    >>> machine.duration, machine.reward  # up for a time of 10 at 5 per unit, down for 1 at a cost of 3
    (array([10.,  1.]), array([50., -3.]))
    >>> round(solve(machine).gain, 6)  # 47 / 11
    4.272727
    """
    flows = {"reward": {} if earning is None else dict(earning), **({} if flows is None else flows)}
    moves: dict[tuple[Label, Label], list[tuple[Label, float, float, Further]]] = {}
    for number, given in enumerate(rates):
        if not isinstance(given, tuple | list) or len(given) not in (4, 5, 6):
            raise ValueError(
                f"rate {number} is {shown(given)}; it must be (s, a, s', rate), (s, a, s', rate, reward) or "
                "(s, a, s', rate, reward, {name: amount})"
            )
        state, action, successor, rate = unmasked(f"rate {number}", given)[:4]
        if len(given) == 6 and not isinstance(given[5], Mapping):
            raise TypeError(
                f"the amounts of {given[:3]} are {shown(given[5])}; they must be a dictionary, such as {{'lost': 1.0}}"
            )
        for label in (state, action, successor):
            if label.__hash__ is None:
                raise TypeError(
                    f"a label of rate {number} is {shown(label)}; it must be a whole number or a name"
                )
        moves.setdefault((state, action), []).append((
            successor,
            positive(f"the rate of {given[:3]}", rate),
            finite(f"the reward of {given[:3]}", given[4]) if len(given) > 4 else 0.0,
            given[5] if len(given) == 6 else {},
        ))  # fmt: skip
    for name, flow in flows.items():
        unknown = [pair for pair in flow if pair not in moves]
        if unknown:
            where = "earning" if name == "reward" else f"the flow {shown(name)}"
            raise ValueError(
                f"{where} names the pair {unknown[0]}, which has no rates; give its rates, or leave it out"
            )
    rows: list[Transition] = []
    for pair, ways in moves.items():
        total = math.fsum(rate for _, rate, *_ in ways)
        earned = {
            name: finite(
                f"what {pair} earns" if name == "reward" else f"the flow {shown(name)} of {pair}",
                flow.get(pair, 0.0),
            )
            / total
            for name, flow in flows.items()
        }
        while_waiting = earned.pop("reward")
        rows += [
            (
                *pair,
                successor,
                rate / total,
                while_waiting + reward,
                Exponential(1.0 / total),
                _sum(earned, amounts),
            )
            for successor, rate, reward, amounts in ways
        ]
    return from_transitions(rows, state_names=state_names, action_names=action_names)


def _sum(one: dict[str, float], other: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {
        name: one.get(name, 0.0) + mean_of(f"the amount {shown(name)}", other.get(name, 0.0))
        for name in {**one, **other}
    }


# --- Gymnasium's tables -------------------------------------------------------------------


@told
def from_table(
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
    durations: ArrayLike = 1.0,
    *,
    start: ArrayLike | None = None,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model of a Gymnasium table `P[s][a] = [(probability, s', reward, terminated), ...]`.

    Durations are one number or an array [s, a]. A model of the long run has no end: after a
    transition that terminates, it goes on at `start`, which is a state or a probability for each state.

    >>> table = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 1, 1.0, True)]}}
    >>> from_table(table, durations=2.0, start=0).successor
    array([1, 0], dtype=int32)
    """
    num_states = len(table)
    first = _start_law(start, num_states)
    numbers = numbers_of("durations", durations)
    rows = []
    for state, choices in table.items():
        for action, outcomes in choices.items():
            duration = float(numbers if numbers.ndim == 0 else numbers[state, action])
            for probability, successor, reward, terminated in outcomes:
                if not terminated:
                    rows.append((state, action, int(successor), probability, reward, duration))
                    continue
                if first is None:
                    raise ValueError(
                        f"state {state}, action {action} ends an episode in state {successor}; "
                        "say with start=... where the next one begins"
                    )
                rows += [
                    (state, action, int(again), probability * first[again], reward, duration)
                    for again in np.flatnonzero(first)
                ]
    # Names are added at the end, so that states and actions keep their numbers.
    model = from_transitions(rows)
    if model.num_states != num_states:
        raise ValueError(
            f"the table has {num_states} states, but its transitions have {model.num_states}; number the states from 0"
        )
    if state_names is None and action_names is None:
        return model
    return model.with_names(state_names, action_names)


def _start_law(start: ArrayLike | None, num_states: int) -> Floats | None:
    if start is None:
        return None
    if np.ndim(unmasked("start", start)) == 0:
        law = np.zeros(num_states)
        law[within("start", np.asarray(start).item(), num_states)] = 1.0
        return law
    law = np.asarray(numbers_of("start", start))
    if law.shape != (num_states,) or not (law >= 0.0).all() or not abs(law.sum() - 1.0) <= 1e-8:
        raise ValueError(f"start must be a state, or {num_states} probabilities that sum to 1")
    return law
