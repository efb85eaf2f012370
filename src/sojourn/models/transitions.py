"""Models made from a list of transitions, with states and actions given by number or by name."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from sojourn.data.numbers import finite, listed, shown, unmasked
from sojourn.models.build import Quantities, offsets_of
from sojourn.models.checks import MOST_NAMES, names_in
from sojourn.models.laws import Constant, Law, as_law, flat
from sojourn.models.samples import Empirical, Outcomes
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Ints
from sojourn.rules.door import told

Label: TypeAlias = int | str | np.int64  # of a state or an action: its number or its name
Quantity: TypeAlias = Law | Empirical | float  # a reward or a duration
Row: TypeAlias = tuple[Label, Label, Label, float, Quantity, Quantity]
Transition: TypeAlias = Row | tuple[Label, Label, Label, float, Outcomes]

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
    `sojourn.models.laws`, including samples. `Outcomes` give both together, in a tuple of five.

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
    states = _numbering("state", state_names, [row[0] for row in rows] + [row[2] for row in rows])
    actions = _numbering("action", action_names, [row[1] for row in rows])
    from_state = np.array([states.number(row[0]) for row in rows])
    action = np.array([actions.number(row[1]) for row in rows])
    order = np.lexsort((action, from_state))
    from_state, action = from_state[order], action[order]
    begins = np.flatnonzero(np.append(True, (np.diff(from_state) != 0) | (np.diff(action) != 0)))
    row_offsets = np.append(begins, len(rows))
    reward = _means_or_laws(
        [as_law(f"the reward of {rows[row][:3]}", rows[row][4]) for row in order], row_offsets
    )
    duration = _means_or_laws(
        [as_law(f"the duration of {rows[row][:3]}", rows[row][5]) for row in order], row_offsets
    )
    return SMDP(
        pair_offsets=offsets_of(np.bincount(from_state[begins], minlength=states.count)),
        row_offsets=row_offsets,
        successor=np.array([states.number(rows[row][2]) for row in order]),
        probability=np.array([finite(f"the probability of {rows[row][:3]}", rows[row][3]) for row in order]),
        action=action[begins],
        state_names=states.names,
        action_names=actions.names,
        reward=reward.means,
        duration=duration.means,
        row_reward=reward.rows,
        row_duration=duration.rows,
        reward_law=reward.laws,
        duration_law=duration.laws,
    )


def _outcomes(number: int, given: Transition) -> list[Row]:
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


class _numbering:  # noqa: N801 - used as a function
    """The numbers of states or actions that are given by number or by name."""

    def __init__(self, what: str, names: Sequence[str] | None, used: list[Label]) -> None:
        self.what = what
        numbers = [int(each) for each in used if isinstance(each, int | np.integer)]
        self.names = (
            names_in(f"{what}_names", names, max(MOST_NAMES, len(used)))
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
            raise ValueError(f"{self.what} {shown(given)} is not one of {listed(list(self._numbers))}")
        return self._numbers[str(given)]


def _means_or_laws(laws: list[Law], row_offsets: Ints) -> Quantities:
    """Return means of pairs if these are enough, else means of rows, or laws of rows."""
    constants = [law.value for law in laws if isinstance(law, Constant)]
    if len(constants) < len(laws):
        return Quantities(laws=flat(laws))
    values = np.array(constants)
    first = values[row_offsets[:-1]]
    if (values == np.repeat(first, np.diff(row_offsets))).all():
        return Quantities(means=first)
    return Quantities(rows=values)
