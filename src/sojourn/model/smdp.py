"""A finite semi-Markov decision process: validated, sparse, flat.

In state s the action a leads to s' with probability P(s' | s, a), earns the mean reward
r(s, a) and takes the mean duration d(s, a) > 0. Nothing else matters for the gain of a policy,

    gain = lim (sum of rewards) / (sum of durations) = E[r] / E[d]

under the stationary law of the policy's chain. For simulation, rewards and durations may
have laws, whose means these are.

The storage is flat. A *pair* is a state with one of its actions; pairs stand in order of
state, so `pair_offsets[s]` to `pair_offsets[s + 1]` are those of state s, and `action[k]` is
the action of pair k: states may have different actions, and different numbers of them. A
*row* is one possible outcome of a pair: `row_offsets[k]` to `row_offsets[k + 1]` are those of
pair k, row j leads to `successor[j]` with `probability[j]`. Two rows of a pair may lead to the
same state with different rewards and durations: so are joint laws written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn._values import within
from sojourn.laws import FlatLaws, above_zero, constants, flat, means

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

SUM_TOLERANCE = 1e-8  # how far the probabilities of a pair may sum from 1; they are then scaled
MEAN_TOLERANCE = 1e-9  # how far a mean may be from that of its law, relative to max(1, |mean|)
_ROUNDING = 1e-12  # a sum this close to 1 is left as it is


@dataclass(frozen=True, eq=False, repr=False)
class SMDP:
    """A finite semi-Markov decision process, checked when it is made.

    `reward` and `duration` are the means of each pair; where `row_reward` or a law is given
    they follow from it and may be left out. A law belongs to each pair or to each row. Rows
    of probability 0 are dropped. Most models are made by the functions of `sojourn.model`.

    >>> SMDP(
    ...     pair_offsets=[0, 2, 3], row_offsets=[0, 1, 3, 4], successor=[1, 0, 1, 0],
    ...     probability=[1.0, 0.5, 0.5, 1.0], reward=[1.0, 2.0, 0.0], duration=[1.0, 3.0, 1.0],
    ... )
    SMDP(2 states, 3 pairs, 4 rows)
    """

    pair_offsets: Any
    row_offsets: Any
    successor: Any
    probability: Any
    reward: Any = None
    duration: Any = None
    action: Any = None
    row_reward: Any = None
    row_duration: Any = None
    reward_law: FlatLaws | None = None
    duration_law: FlatLaws | None = None
    state_names: Sequence[str] | None = None
    action_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self._set_shape()
        self._set_names()
        self._check_rows()
        self._drop_impossible_rows()
        for name in ("reward", "duration"):
            self._set_means(name)
        self._check_means()
        for name, thing in vars(self).items():
            if isinstance(thing, np.ndarray):
                self._set(name, _read_only(thing))
            elif isinstance(thing, FlatLaws):
                self._set(name, FlatLaws(_read_only(thing.kind), _read_only(thing.parameters)))

    def __repr__(self) -> str:
        return f"SMDP({self.num_states} states, {self.num_pairs} pairs, {self.num_rows} rows)"

    # --- Sizes and places ---------------------------------------------------------------

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return len(self.pair_offsets) - 1

    @property
    def num_pairs(self) -> int:
        """How many pairs of a state and an action there are."""
        return len(self.row_offsets) - 1

    @property
    def num_rows(self) -> int:
        """How many outcomes all pairs have together."""
        return len(self.successor)

    @property
    def num_actions(self) -> int:
        """How many different actions there are, whether or not any state has all of them."""
        return int(self.action.max()) + 1

    def state_of_pair(self) -> Ints:
        """Return the state of every pair."""
        return np.repeat(np.arange(self.num_states), np.diff(self.pair_offsets))

    def pair(self, state: int, action: int) -> int:
        """Return the pair of a state and one of its actions."""
        state = within("state", state, self.num_states)
        first, last = self.pair_offsets[state], self.pair_offsets[state + 1]
        found = np.flatnonzero(self.action[first:last] == action)
        if not found.size:
            raise ValueError(
                f"{self.state_place(state)} has no action {action}; "
                f"it has {', '.join(map(str, self.action[first:last].tolist()))}"
            )
        return int(first + found[0])

    def pair_table(self) -> Ints:
        """Return the pair of every state and action, -1 where a state does not have the action."""
        table = np.full((self.num_states, self.num_actions), -1, dtype=np.int64)
        table[self.state_of_pair(), self.action] = np.arange(self.num_pairs)
        return table

    def state_place(self, state: int) -> str:
        """Return how a sentence names a state."""
        return f"state {state}" + (f" ({self.state_names[state]})" if self.state_names else "")

    def action_place(self, action: int) -> str:
        """Return how a sentence names an action."""
        return f"action {action}" + (f" ({self.action_names[action]})" if self.action_names else "")

    def place(self, pair: int) -> str:
        """Return how a sentence names a pair.

        >>> SMDP([0, 1], [0, 1], [0], [1.0], [1.0], [1.0], state_names=["idle"]).place(0)
        'state 0 (idle), action 0'
        """
        state = int(np.searchsorted(self.pair_offsets, pair, side="right")) - 1
        return f"{self.state_place(state)}, {self.action_place(int(self.action[pair]))}"

    # --- Laws -----------------------------------------------------------------------------

    def flat_laws(self) -> tuple[FlatLaws, FlatLaws, bool]:
        """Return the laws of reward and duration, and whether they are those of rows, not pairs.

        What has no law is constant. Compiled code that has drawn row j of pair k finds both laws
        at place j if the third is true, else at place k.
        """
        reward = self.reward_law or constants(self.reward if self.row_reward is None else self.row_reward)
        duration = self.duration_law or constants(
            self.duration if self.row_duration is None else self.row_duration
        )
        by_rows = self.num_rows in (len(reward), len(duration))
        if not by_rows:
            return reward, duration, False
        return self._over_rows(reward), self._over_rows(duration), True

    def _over_rows(self, laws: FlatLaws) -> FlatLaws:
        if len(laws) == self.num_rows:
            return laws
        pair = self._pair_of_row()
        return FlatLaws(laws.kind[pair], laws.parameters[pair])

    def with_laws(
        self,
        reward: Callable[[float], Any] | Sequence[Any] | None = None,
        duration: Callable[[float], Any] | Sequence[Any] | None = None,
    ) -> SMDP:
        """Return the model with laws of its rewards and durations.

        A law is given as a function of the mean, which is applied to every pair (or row, where
        the means are those of rows), or as a sequence of laws, one for each pair or each row.

        >>> from sojourn.laws import Exponential
        >>> model = SMDP([0, 1], [0, 1], [0], [1.0], [3.0], [2.0])
        >>> model.with_laws(duration=Exponential).duration_law.law(0)
        Exponential(mean=2.0)
        """
        changes: dict[str, Any] = {}
        for name, law in (("reward", reward), ("duration", duration)):
            if law is None:
                continue
            by_row = getattr(self, f"row_{name}")
            own = getattr(self, name) if by_row is None else by_row
            changes[f"{name}_law"] = flat([law(mean) for mean in own.tolist()] if callable(law) else law)
            if not callable(law):
                changes[name] = changes[f"row_{name}"] = None
        return replace(self, **changes)

    # --- Checks -----------------------------------------------------------------------------

    def _set(self, name: str, thing: Any) -> None:
        object.__setattr__(self, name, thing)

    def _pair_of_row(self) -> Ints:
        return np.repeat(np.arange(self.num_pairs), np.diff(self.row_offsets))

    def _set_shape(self) -> None:
        """Make the offsets and successors arrays, and see that every state has actions."""
        for name in ("pair_offsets", "row_offsets"):
            self._set(name, _array(name, getattr(self, name), np.int64))
            offsets = getattr(self, name)
            if len(offsets) < 2 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
                raise ValueError(f"{name} does not ascend from 0; give where each part begins, and the end")
        self._set("successor", _array("successor", self.successor, np.int32))
        self._set("probability", _array("probability", self.probability, np.float64))
        if self.pair_offsets[-1] != self.num_pairs:
            raise ValueError(
                f"pair_offsets ends at {self.pair_offsets[-1]}, but row_offsets is for {self.num_pairs} pairs"
            )
        for name in ("successor", "probability"):
            if len(getattr(self, name)) != self.row_offsets[-1]:
                raise ValueError(
                    f"{name} has {len(getattr(self, name))} entries, but row_offsets ends at {self.row_offsets[-1]}"
                )
        first = self.pair_offsets[:-1]
        idle = np.flatnonzero(np.diff(self.pair_offsets) == 0)
        if idle.size:
            name = f" ({self.state_names[idle[0]]})" if self.state_names else ""
            raise ValueError(f"state {idle[0]}{name} has no action; every state needs at least one")
        if self.action is None:
            counts = np.diff(self.pair_offsets)
            self._set("action", (np.arange(self.num_pairs) - np.repeat(first, counts)).astype(np.int32))
        else:
            self._set("action", _array("action", self.action, np.int32))
            if len(self.action) != self.num_pairs:
                raise ValueError(f"action has {len(self.action)} entries for {self.num_pairs} pairs")
            rises = np.diff(self.action) > 0
            rises[first[1:] - 1] = True  # where the next state begins
            if self.action.min() < 0 or not rises.all():
                bad = 0 if self.action.min() < 0 else int(np.argmin(rises)) + 1
                state = int(np.searchsorted(self.pair_offsets, bad, side="right")) - 1
                raise ValueError(
                    f"the actions of state {state} do not ascend; number them from 0 and name each once"
                )

    def _set_names(self) -> None:
        for name, count in (("state_names", self.num_states), ("action_names", self.num_actions)):
            names = getattr(self, name)
            if names is None:
                continue
            names = tuple(str(each) for each in names)
            if len(names) < count or (name == "state_names" and len(names) > count):
                raise ValueError(f"{name} has {len(names)} names for {count}")
            if len(set(names)) < len(names):
                twice = next(each for each in names if names.count(each) > 1)
                raise ValueError(f"{name} has {twice!r} twice; names must differ")
            self._set(name, names)

    def _check_rows(self) -> None:
        empty = np.flatnonzero(np.diff(self.row_offsets) == 0)
        if empty.size:
            raise ValueError(f"{self.place(empty[0])} leads nowhere; give it at least one successor")
        if self.successor.min() < 0 or self.successor.max() >= self.num_states:
            row = int(np.argmax((self.successor < 0) | (self.successor >= self.num_states)))
            raise ValueError(
                f"{self._row_place(row)} leads to state {self.successor[row]}; states are 0 to {self.num_states - 1}"
            )
        if not self.probability.min() >= 0.0:  # not a number, too
            row = int(np.argmin(self.probability >= 0.0))
            raise ValueError(
                f"{self._row_place(row)} leads to state {self.successor[row]} with probability "
                f"{self.probability[row]}; it must be at least 0"
            )
        sums = np.add.reduceat(self.probability, self.row_offsets[:-1])
        away = np.abs(sums - 1.0)
        if not away.max() <= SUM_TOLERANCE:
            pair = int(np.argmin(away <= SUM_TOLERANCE))
            raise ValueError(
                f"the probabilities of {self.place(pair)} sum to {sums[pair]:.9g}; "
                f"they must sum to 1 within {SUM_TOLERANCE:g}"
            )
        if away.max() > _ROUNDING:
            sums[away <= _ROUNDING] = 1.0
            self._set("probability", self.probability / np.repeat(sums, np.diff(self.row_offsets)))

    def _row_place(self, row: int) -> str:
        return self.place(int(np.searchsorted(self.row_offsets, row, side="right")) - 1)

    def _drop_impossible_rows(self) -> None:
        possible = self.probability > 0.0
        if possible.all():
            return
        rows = self.num_rows
        kept = np.add.reduceat(possible, self.row_offsets[:-1], dtype=np.int64)
        for name in ("row_reward", "row_duration"):
            if getattr(self, name) is not None:
                values = _array(name, getattr(self, name), np.float64)
                if len(values) == rows:
                    self._set(name, values[possible])
        for name in ("reward_law", "duration_law"):
            laws = getattr(self, name)
            if laws is not None and len(laws) == rows:
                self._set(name, FlatLaws(laws.kind[possible], laws.parameters[possible]))
        self._set("successor", self.successor[possible])
        self._set("probability", self.probability[possible])
        self._set("row_offsets", np.concatenate(([0], np.cumsum(kept))))

    def _set_means(self, name: str) -> None:
        """Find the means of each pair from what is given, and see that all of it agrees."""
        laws = getattr(self, f"{name}_law")
        if laws is not None:
            by_law = means(laws)
            if len(laws) == self.num_rows != self.num_pairs:
                self._agree(f"row_{name}", by_law, self._row_place)
            elif len(laws) == self.num_pairs:
                self._agree(name, by_law, self.place)
            else:
                raise ValueError(
                    f"there are {len(laws)} laws of {name}; "
                    f"give one for each of {self.num_pairs} pairs or {self.num_rows} rows"
                )
        by_row = getattr(self, f"row_{name}")
        if by_row is not None:
            by_row = _array(f"row_{name}", by_row, np.float64)
            if len(by_row) != self.num_rows:
                raise ValueError(f"row_{name} has {len(by_row)} entries for {self.num_rows} rows")
            self._check_numbers(name, by_row, self._row_place)
            self._set(f"row_{name}", by_row)
            self._agree(name, np.add.reduceat(self.probability * by_row, self.row_offsets[:-1]), self.place)
        if getattr(self, name) is None:
            raise ValueError(f"there is no {name}; give the mean {name} of each pair")
        self._set(name, _array(name, getattr(self, name), np.float64))

    def _agree(self, name: str, found: Floats, place: Callable[[int], str]) -> None:
        """Set means, or see that those given are the same."""
        given = getattr(self, name)
        if given is None:
            self._set(name, found)
            return
        given = _array(name, given, np.float64)
        if len(given) != len(found):
            raise ValueError(f"{name} has {len(given)} entries; there are {len(found)}")
        apart = ~(np.abs(given - found) <= MEAN_TOLERANCE * np.maximum(1.0, np.abs(found)))
        if apart.any():
            at = int(np.argmax(apart))
            raise ValueError(
                f"the mean {name} of {place(at)} is given as {given[at]:.9g}, but its law has the mean {found[at]:.9g}"
            )

    def _check_means(self) -> None:
        for name in ("reward", "duration"):
            numbers = getattr(self, name)
            if len(numbers) != self.num_pairs:
                raise ValueError(f"{name} has {len(numbers)} entries for {self.num_pairs} pairs")
            self._check_numbers(name, numbers, self.place)
        if self.duration_law is not None:
            good = above_zero(self.duration_law)
            if not good.all():
                at = int(np.argmin(good))
                place = self.place if len(good) == self.num_pairs else self._row_place
                raise ValueError(
                    f"the duration of {place(at)} has the law {self.duration_law.law(at)}; "
                    "it must give only numbers greater than 0"
                )

    def _check_numbers(self, name: str, numbers: Floats, place: Callable[[int], str]) -> None:
        if name == "duration":
            if not (numbers.min() > 0.0 and numbers.max() < np.inf):
                at = int(np.argmin((numbers > 0.0) & (numbers < np.inf)))
                raise ValueError(
                    f"the duration of {place(at)} is {numbers[at]}; it must be finite and greater than 0"
                )
        elif not np.isfinite(numbers).all():
            at = int(np.argmin(np.isfinite(numbers)))
            raise ValueError(f"the reward of {place(at)} is {numbers[at]}; it must be finite")


def _array(name: str, numbers: Any, dtype: Any) -> Any:
    """Return a flat array of this type; a whole number must be one."""
    array = np.asarray(numbers)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be a flat sequence of numbers")
    if np.issubdtype(dtype, np.integer) and array.dtype.kind == "f":
        raise TypeError(f"{name} must be whole numbers")
    if dtype == np.int32 and array.size and array.dtype.itemsize > 4:
        low, high = int(array.min()), int(array.max())
        if low < -(2**31) or high >= 2**31:
            raise ValueError(f"{name} has the entry {low if low < 0 else high}; it must be less than 2^31")
    return np.ascontiguousarray(array, dtype=dtype)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
