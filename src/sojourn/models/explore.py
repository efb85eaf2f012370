"""Models made from how a system moves: its states are found by following its moves from where it starts.

States are numbered as they are reached, those of the fewest moves first. Rows are collected in lists and checked by the
ten thousand, as columns; only pairs of unusual form are looked at one by one.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sojourn.data.numbers import shown, whole
from sojourn.models.dictionaries import ENTRIES, Content, known, outcomes_of, with_table
from sojourn.models.laws import KINDS, Exponential, FlatLaws, constants
from sojourn.models.rows import Columns, amounts_in_rows, model_of, quantities_in
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Further, Quantity, rows_of
from sojourn.models.validation import SUM_TOLERANCE
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told

Moves: TypeAlias = Callable[[Any], Mapping[Any, Mapping[str, Content]]]  # from a state to its actions

MOST_STATES = 1_000_000
_ROWS = 65_536  # are checked together
_SECONDS = 5.0  # between two lines of progress
_NUMBERS: set[type] = {float, int, np.float64}
_QUANTITIES: set[type] = _NUMBERS | set(KINDS)
_NOTHING: Further = {}


class _Group(NamedTuple):
    """Rows of a pair that share reward, duration and amounts; rates are still to be divided by their total."""

    state: int
    action: int
    size: int
    total: float  # of rates; 0 if the rows have probabilities
    reward: Quantity
    duration: Quantity
    amounts: Further


@told
def explore(start: Any, moves: Moves, *, most_states: int = MOST_STATES, progress: bool = False) -> SMDP:
    """Return the model of a system that starts in the state `start` and moves as `moves(state)` says.

    `moves` returns the actions of a state and what each does, in the words of `from_dict`: `{action: {"reward": ...,
    "duration": ..., "next": {state: probability}}}`, or `{action: {"rates": {state: rate}, "earning": ...}}`. A state is
    any value with a hash: a number, a name, a tuple, a named tuple, a frozen dataclass. States are numbered as they are
    reached from the start, and come back as themselves in `model.labels` and in policies. A *list* of states gives several
    starts. What has the probability or the rate 0 does not happen and is not followed.

    If two moves may lead to the same state, give a list, `{"rates": [(state, rate), ...]}` or `{"next": [(state, probability),
    ...]}`: Python keeps only the last of two equal keys of a dictionary.

    If more than `most_states` are reached, exploring ends in an error. With `progress=True`, a line every five seconds
    says how far it is.

    Jobs of two kinds wait for one server. It takes a long time for the first kind, so it serves the second:

    >>> import sojourn as sj
    >>> def moves(state):
    ...     i, j = state
    ...     come = [((min(i + 1, 2), j), 0.2), ((i, min(j + 1, 2)), 0.3)]
    ...     return {which: {"rates": [*come, (done, rate)], "earning": -i - j}
    ...             for which, done, rate in [("first", (i - 1, j), 0.4 * (i > 0)), ("second", (i, j - 1), 0.9 * (j > 0))]}
    >>> model = explore((0, 0), moves)
    >>> model, model.labels[:3]
    (SMDP(9 states, 18 pairs, 48 rows), ((0, 0), (1, 0), (0, 1)))
    >>> best = sj.solve(model)
    >>> best.policy[(2, 1)], best.policy[(2, 0)]
    ('second', 'first')
    """
    if not callable(moves):
        raise TypeError(f"moves is {shown(moves)}; give a function that returns the actions of a state")
    most = whole("most_states", most_states)
    found = _Rows()
    for state in start if isinstance(start, list) else [start]:
        found.number("the start is", state)
    began = told_last = time.monotonic()
    states = found.states.labels
    for number, state in enumerate(states):  # which grows
        found.add(number, state, _choices(found, moves, state))
        if len(states) > most:
            first = ", ".join(shown(each) for each in (start if isinstance(start, list) else [start])[:3])
            raise ValueError(
                f"moves leads from {first} to more than {most:,} states, such as {shown(states[-1])}; keep the states "
                "within bounds, for example by turning away what finds a queue full, or give a larger most_states"
            )
        if progress and number % 1024 == 0 and time.monotonic() - told_last >= _SECONDS:
            told_last = time.monotonic()
            speed = (number + 1) / (told_last - began)
            print(  # noqa: T201 - this is what it is for
                f"explore: {number + 1:,} states, {len(states) - number - 1:,} more seen, {speed:,.0f} states/s",
                file=sys.stderr,
                flush=True,
            )
    return found.model()


def _choices(found: _Rows, moves: Moves, state: Hashable) -> Mapping[Any, Any]:
    """Return the actions of a state; an error of the user's function says for which state."""
    try:
        choices = moves(state)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"moves fails for state {shown(state)} ({said})") from error
    if not isinstance(choices, Mapping):
        raise TypeError(
            f"moves returns {shown(choices)} for state {shown(state)}; it must be a dictionary of actions"
        )
    if not choices:
        raise ValueError(
            f"state {shown(state)} has no action; give it at least one, such as one that leads back to the start"
        )
    return choices


class _Numbers(dict[Hashable, int]):
    """The numbers of labels, in the order in which they are first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[Hashable] = []

    def __missing__(self, label: Hashable) -> int:
        number = self[label] = len(self.labels)
        self.labels.append(label)
        return number


def _is_of_rates(keys: set[str]) -> bool | None:
    """Whether a pair with these keys has rates; None if it must be looked at closely."""
    if {"rates"} <= keys <= {"rates", "earning", "flows"}:
        return True
    return (
        False if {"next", "reward", "duration"} <= keys <= {"next", "reward", "duration", "amounts"} else None
    )


class _Rows:
    """The rows of a model, collected in groups that share state, action, reward, duration and amounts."""

    def __init__(self) -> None:
        self.states, self._actions = _Numbers(), _Numbers()
        self._forms: dict[tuple[str, ...], bool | None] = {}  # by the keys of a pair: is it of rates?
        self._parts: list[Columns] = []
        self._successors: list[int] = []
        self._weights: list[float] = []  # rates or probabilities
        self._groups: list[_Group] = []

    def number(self, sentence: str, state: Any) -> int:
        """Return the number of a state that may have no hash."""
        try:
            return self.states[state]
        except TypeError:
            raise TypeError(
                f"{sentence} {shown(state)}; a state must be a number, a name, a tuple or another value with a hash"
            ) from None

    def add(self, number: int, state: Hashable, choices: Mapping[Any, Any]) -> None:
        """Add the pairs of a state."""
        for label, pair in choices.items():
            action = self._actions[label]
            try:
                is_plain = type(pair) is dict and self._add_plain(number, action, pair)
            except (TypeError, ValueError, OverflowError):  # a close look says what is wrong
                is_plain = False
            if not is_plain:
                self._add_outcomes(number, action, f"state {shown(state)}, action {shown(label)}", pair)
        if len(self._weights) >= _ROWS:
            self._end_part()

    def _add_plain(self, number: int, action: int, pair: dict[str, Any]) -> bool:
        """Add a pair if it is of the usual form, with rates or probabilities that are right."""
        keys = tuple(pair)
        if keys not in self._forms:
            self._forms[keys] = _is_of_rates(set(keys))
        is_rates = self._forms[keys]
        if is_rates is None:
            return False
        after = pair["rates" if is_rates else "next"]
        places: Iterable[Hashable]
        weights: Collection[float]
        if type(after) is dict:
            places, weights = after, after.values()
        elif is_rates or type(after) is list:
            places, weights = zip(*after, strict=True)  # an error if anything comes with a move
        else:
            places, weights = (after,), (1.0,)
        if not min(weights) > 0.0:
            some = [(place, weight) for place, weight in zip(places, weights, strict=True) if weight != 0]
            places, weights = zip(*some, strict=True)
            if not min(weights) > 0.0:
                return False
        total = float(sum(weights))
        if is_rates:
            reward, duration = pair.get("earning", 0.0), 1.0 / total
            further = pair.get("flows", _NOTHING)
            is_right = total < math.inf and type(reward) in _NUMBERS
        else:
            reward, duration = pair["reward"], pair["duration"]
            further = pair.get("amounts", _NOTHING)
            is_right = abs(total - 1.0) <= SUM_TOLERANCE and {type(reward), type(duration)} <= _QUANTITIES
            total = 0.0
        if not is_right or (further and not set(map(type, further.values())) <= _NUMBERS):
            return False
        self._successors.extend(map(self.states.__getitem__, places))
        self._weights.extend(weights)
        self._groups.append(_Group(number, action, len(weights), total, reward, duration, further))
        return True

    def _add_outcomes(self, number: int, action: int, place: str, pair: Any) -> None:
        """Add a pair of any form, or say what is wrong with it."""
        known(place, pair, ENTRIES, set())
        total = 0.0
        for to, given, reward, duration, amounts in outcomes_of(place, with_table(pair)):
            for *_, chance, earned, lasted in rows_of(0, (0, 0, 0, given, reward, duration)):
                total += chance
                if chance != 0.0:
                    self._successors.append(self.number(f"{place} leads to", to))
                    self._weights.append(chance)
                    self._groups.append(_Group(number, action, 1, 0.0, earned, lasted, amounts))
        if not abs(total - 1.0) <= SUM_TOLERANCE:
            lost = "; of equal keys a dictionary keeps the last, so list two moves to the same state as (state, probability)"
            raise ValueError(
                f"the probabilities of {place} sum to {total:.9g}; they must sum to 1 within {SUM_TOLERANCE:g}"
                + (lost if total < 1.0 and isinstance(pair.get("next"), dict) else "")
            )

    def _end_part(self) -> None:
        """Make columns of what has been collected."""

        def named(what: str) -> Callable[[int], str]:
            def name(row: int) -> str:
                state, action = groups[row].state, groups[row].action
                return f"{what} of state {shown(self.states.labels[state])}, action {shown(self._actions.labels[action])}"

            return name

        groups = self._groups
        state, action, size, total, reward, duration, further = zip(*groups, strict=True)
        totals = np.array(total)
        is_rates, divisor = totals > 0.0, np.where(totals > 0.0, totals, 1.0)
        earned = quantities_in(reward, named("the reward"))
        lasting = quantities_in(duration, named("the duration"))
        if isinstance(earned, FlatLaws):  # what rates earn is a constant
            earned.parameters[is_rates, 0] /= totals[is_rates]
        else:
            earned /= divisor
        of = np.repeat(np.arange(len(groups)), size)
        amounts = amounts_in_rows(further, lambda row, name: named(f"the amount {shown(name)}")(row))
        if is_rates.any():
            lasting = lasting if isinstance(lasting, FlatLaws) else constants(lasting)
            lasting.kind[is_rates] = KINDS.index(Exponential)
        self._parts.append(
            Columns(
                np.array(state)[of],
                np.array(action)[of],
                np.array(self._successors),
                np.array(self._weights, dtype=np.float64) / divisor[of],
                _each(earned, of),
                _each(lasting, of),
                {name: (each / divisor)[of] for name, each in amounts.items()},
            )
        )
        self._successors, self._weights, self._groups = [], [], []

    def model(self) -> SMDP:
        """Return the model of all rows."""
        if self._groups:
            self._end_part()
        parts = self._parts
        names = dict.fromkeys(name for part in parts for name in part.amounts)
        state, action, successor = (np.concatenate([part[at] for part in parts]) for at in range(3))
        columns = Columns(
            state,
            action,
            successor,
            np.concatenate([part.probability for part in parts]),
            _joined([part.reward for part in parts]),
            _joined([part.duration for part in parts]),
            {
                name: np.concatenate([part.amounts.get(name, np.zeros(len(part.state))) for part in parts])
                for name in names
            },
        )
        return model_of(columns, len(self.states), self.states.labels, self._actions.labels)


# --- Numbers or laws ----------------------------------------------------------------------


def _each(quantities: Floats | FlatLaws, places: Ints) -> Floats | FlatLaws:
    """Return the numbers or laws at some places."""
    if isinstance(quantities, FlatLaws):
        return FlatLaws(quantities.kind[places], quantities.parameters[places])
    return quantities[places]


def _joined(parts: Sequence[Floats | FlatLaws]) -> Floats | FlatLaws:
    """Return numbers or laws one after the other; they become laws if any part has laws."""
    numbers = [part for part in parts if not isinstance(part, FlatLaws)]
    if len(numbers) == len(parts):
        return np.concatenate(numbers)
    laws = [part if isinstance(part, FlatLaws) else constants(part) for part in parts]
    return FlatLaws(
        np.concatenate([law.kind for law in laws]), np.concatenate([law.parameters for law in laws])
    )
