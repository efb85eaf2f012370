"""Models made from a list or a frame of transitions, from a list of transition rates, and from Gymnasium's tables.

States and actions are given by number, by name, or as any other values with a hash, such as tuples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import finite, nearest, positive, shown, unmasked, within
from sojourn.models.laws import Empirical, FlatLaws, Law, Outcomes, exponentials
from sojourn.models.matrices import numbers_of
from sojourn.models.rows import (
    Columns,
    Frame,
    Numbering,
    amounts_in_rows,
    check_lengths,
    column_labels,
    column_numbers,
    columns_by_name,
    model_of,
    numbers_in,
    quantities_in,
)
from sojourn.models.smdp import SMDP
from sojourn.models.validation import by_name
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

Label: TypeAlias = Hashable  # of a state or an action: its number, its name, or another value
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
    transitions: Iterable[Transition] | Frame,
    *,
    state_names: Sequence[Hashable] | None = None,
    action_names: Sequence[Hashable] | None = None,
) -> SMDP:
    """Return the model made from a list of `(s, a, s', probability, reward, duration)` in any order.

    States and actions are whole numbers, names, tuples or other values with a hash. All but whole numbers are numbered in the
    order of `state_names` and `action_names` or, without these, in the order in which they first appear. A reward or a duration is a number or a law of
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

    A frame of Polars, pandas or Arrow, or a dictionary of columns, is read faster. Its columns are state, action, next,
    probability, reward and duration; any others are further amounts:

    >>> from_transitions({
    ...     "state": ["up", "down"], "action": ["run", "mend"], "next": ["down", "up"], "probability": [1.0, 1.0],
    ...     "reward": [5.0, -1.0], "duration": [2.0, 1.0], "energy": [3.0, 0.0],
    ... }).amount("energy")
    array([3., 0.])
    """
    columns = columns_by_name(transitions)
    if columns is not None:
        return _from_columns(columns, _TRANSITION, state_names, action_names)
    rows = list(transitions)
    if not rows:
        raise ValueError("there are no transitions; give at least one")
    if not _is_regular(rows, (6, 7)):
        rows = [
            row
            for number, given in enumerate(rows)
            for row in rows_of(number, unmasked(f"transition {number}", given))
        ]
    given = _Given(rows, 6, state_names, action_names)
    return given.model(
        numbers_in(given.columns[3], given.named("the probability")),
        quantities_in(given.columns[4], given.named("the reward")),
        quantities_in(given.columns[5], given.named("the duration")),
        given.amounts(),
    )


def _is_regular(rows: Sequence[Any], sizes: tuple[int, ...]) -> bool:
    """Whether all rows are tuples of one of these sizes and of plain values and laws, each of which is one row of a model."""
    if set(map(type, rows)) != {tuple} or len(set(map(len, rows))) > 1 or len(rows[0]) not in sizes:
        return False
    kinds = [set(map(type, column)) for column in zip(*rows, strict=True)]
    if len(rows[0]) > max(sizes) - 1 and kinds[-1] != {dict}:
        return False
    return not any(issubclass(kind, Empirical | Outcomes | np.ndarray) for kind in set().union(*kinds))


class _Given:
    """A list of rows that each begin with `(s, a, s', ...)`, by columns; the last one, if there is one more, has amounts."""

    def __init__(
        self,
        rows: Sequence[Any],
        size: int,
        state_names: Sequence[Hashable] | None,
        action_names: Sequence[Hashable] | None,
    ) -> None:
        self.rows = rows
        if len(set(map(len, rows))) > 1:
            self.rows = [row if len(row) > size else (*row, {}) for row in rows]
        self.columns = list(zip(*self.rows, strict=True))
        self._further: Sequence[Further] = self.columns[size] if len(self.columns) > size else ()
        states, actions, after = self.columns[0], self.columns[1], self.columns[2]
        self.states = Numbering("state", state_names, (states, after))
        self.actions = Numbering("action", action_names, (actions,))
        self.state, self.action = self.states.numbers(states), self.actions.numbers(actions)
        self.successor = self.states.numbers(after)

    def named(self, what: str) -> Callable[[int], str]:
        """Return what a sentence calls an entry of each row."""
        return lambda row: f"{what} of {self.rows[row][:3]}"

    def amounts(self) -> dict[str, Floats]:
        """Return the amounts of every row."""
        return amounts_in_rows(
            self._further, lambda row, name: f"the amount {shown(name)} of {self.rows[row][:3]}"
        )

    def model(
        self,
        chance: Floats,
        reward: Floats | FlatLaws,
        duration: Floats | FlatLaws,
        amounts: dict[str, Floats],
    ) -> SMDP:
        """Return the model of these rows."""
        columns = Columns(self.state, self.action, self.successor, chance, reward, duration, amounts)
        return model_of(columns, self.states.count, self.states.labels, self.actions.labels)


_TRANSITION = ("probability", "reward", "duration")


def _from_columns(
    columns: dict[str, Any],
    needed: tuple[str, ...],
    state_names: Sequence[Hashable] | None,
    action_names: Sequence[Hashable] | None,
) -> SMDP:
    """Return the model made from columns by name: state, action, next, those needed, and any further amounts."""
    for name in ("state", "action", "next", *needed):
        if name not in columns:
            raise ValueError(f"there is no column {name!r}{nearest(name, columns)}")
    check_lengths(columns)
    state, successor, found = column_labels("state", (columns.pop("state"), columns.pop("next")))
    action, found_actions = column_labels("action", (columns.pop("action"),))
    states, state, successor = _renumbered("state", state_names, found, state, successor)
    actions, action = _renumbered("action", action_names, found_actions, action)
    numbers = {name: column_numbers(name, column) for name, column in columns.items()}
    chance, reward, duration = (numbers.pop(name) for name in needed)
    found_rows = Columns(state, action, successor, chance, reward, duration, numbers)
    return model_of(found_rows, states.count, states.labels, actions.labels)


def _renumbered(
    what: str, names: Sequence[Hashable] | None, found: Sequence[Hashable] | None, *columns: Ints
) -> tuple[Any, ...]:
    """Return the labels of states or actions, and columns of their numbers; in these, what was found is numbered as found."""
    if found is None:
        labels = Numbering(what, names, columns)
        return labels, *map(labels.numbers, columns)
    labels = Numbering(what, names, (found,))
    place = labels.numbers(found)
    return labels, *(place[column] for column in columns)


def rows_of(number: int, given: Transition) -> list[Any]:
    """Return the rows of a transition: a single row, or one for each of its joint outcomes or samples."""
    if not isinstance(given, tuple):  # a list will do
        return rows_of(number, tuple(given))
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
            [(*row, given[6]) for row in rows_of(number, given[:6])]
            if given[6]
            else rows_of(number, given[:6])
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


# --- Rates --------------------------------------------------------------------------------


@told
def from_rates(
    rates: Iterable[RateRow],
    *,
    earning: Mapping[tuple[Label, Label], float] | None = None,
    flows: Mapping[str, Mapping[tuple[Label, Label], float]] | None = None,
    state_names: Sequence[Hashable] | None = None,
    action_names: Sequence[Hashable] | None = None,
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
    flows = {"reward": {} if earning is None else earning, **by_name("flows", flows)}
    rows = list(rates)
    if not rows:
        raise ValueError("there are no rates; give at least one")
    if not _is_regular(rows, (4, 5, 6)):
        rows = [_rate_row(number, given) for number, given in enumerate(rows)]
    given = _Given(rows, 5, state_names, action_names)
    rate = numbers_in(given.columns[3], given.named("the rate"))
    if not (rate > 0.0).all():
        positive(given.named("the rate")(int(np.argmin(rate > 0.0))), float(rate[np.argmin(rate > 0.0)]))
    reward = np.zeros(len(rate))
    if len(given.columns) > 4:
        reward = numbers_in(given.columns[4], given.named("the reward"))
    pairs, pair = np.unique(given.state * given.actions.count + given.action, return_inverse=True)
    total = np.bincount(pair, weights=rate)
    amounts = given.amounts()
    for name, flow in flows.items():
        earned = (_flow(name, flow, given, pairs) / total)[pair]
        if name == "reward":
            reward += earned
        else:
            amounts[name] = amounts.get(name, 0.0) + earned
    return given.model(rate / total[pair], reward, exponentials(1.0 / total[pair]), amounts)


def _rate_row(number: int, given: Any) -> tuple[Any, ...]:
    """Return a row of five, and of six if it has amounts."""
    if not isinstance(given, tuple | list) or len(given) not in (4, 5, 6):
        raise ValueError(
            f"rate {number} is {shown(given)}; it must be (s, a, s', rate), (s, a, s', rate, reward) or "
            "(s, a, s', rate, reward, {name: amount})"
        )
    unmasked(f"rate {number}", given)
    if len(given) == 6 and not isinstance(given[5], Mapping):
        raise TypeError(
            f"the amounts of {given[:3]} are {shown(given[5])}; they must be a dictionary, such as {{'lost': 1.0}}"
        )
    return (*given, 0.0) if len(given) == 4 else tuple(given)


def _flow(name: str, flow: Mapping[tuple[Label, Label], float], given: _Given, pairs: Ints) -> Floats:
    """Return what flows per unit time in each of the pairs that have rates."""
    found = np.zeros(len(pairs))
    if not flow:
        return found
    try:
        states, actions = zip(*flow, strict=True)
        keys = given.states.numbers(states) * given.actions.count + given.actions.numbers(actions)
    except (TypeError, ValueError):
        keys = np.array([_pair_key(pair, given) for pair in flow])
    place = np.searchsorted(pairs, keys)
    known = pairs[np.minimum(place, len(pairs) - 1)] == keys
    if not known.all():
        where = "earning" if name == "reward" else f"the flow {shown(name)}"
        unknown = list(flow)[int(np.argmin(known))]
        raise ValueError(
            f"{where} names the pair {shown(unknown)}, which has no rates; give its rates, or leave it out"
        )
    what = "what {} earns" if name == "reward" else f"the flow {shown(name)} of {{}}"
    found[place] = numbers_in(list(flow.values()), lambda row: what.format(list(flow)[row]))
    return found


def _pair_key(pair: Any, given: _Given) -> int:
    """Return the number of a pair; -1 if there is none."""
    try:
        state, action = pair
        return given.states.number(state) * given.actions.count + given.actions.number(action)
    except (TypeError, ValueError):
        return -1


# --- Gymnasium's tables -------------------------------------------------------------------


@told
def from_table(
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
    durations: ArrayLike = 1.0,
    *,
    start: ArrayLike | None = None,
    state_names: Sequence[Hashable] | None = None,
    action_names: Sequence[Hashable] | None = None,
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
