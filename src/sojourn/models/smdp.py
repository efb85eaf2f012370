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

from sojourn.models.checks import make_valid
from sojourn.models.laws import FlatLaws, constants, flat
from sojourn.rules.numbers import within

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SMDP:
    """A finite semi-Markov decision process, checked when it is made.

    `reward` and `duration` are the means of each pair; where `row_reward` or a law is given
    they follow from it and may be left out. A law belongs to each pair or to each row. Rows
    of probability 0 are dropped. Most models are made by the functions of `sojourn.models`.

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
        make_valid(self)

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

    def rows_of(self, pairs: Ints) -> tuple[Ints, Ints]:
        """Return the rows of some pairs, one pair after the other, and where each pair's begin."""
        counts = np.diff(self.row_offsets)[pairs]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return offsets, np.repeat(self.row_offsets[pairs] - offsets[:-1], counts) + np.arange(offsets[-1])

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
        pair = np.repeat(np.arange(self.num_pairs), np.diff(self.row_offsets))
        return FlatLaws(laws.kind[pair], laws.parameters[pair])

    def with_laws(
        self,
        reward: Callable[[float], Any] | Sequence[Any] | None = None,
        duration: Callable[[float], Any] | Sequence[Any] | None = None,
    ) -> SMDP:
        """Return the model with laws of its rewards and durations.

        A law is given as a function of the mean, which is applied to every pair (or row, where
        the means are those of rows), or as a sequence of laws, one for each pair or each row.

        >>> from sojourn.models.laws import Exponential
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

    def with_means(self, reward: Floats, duration: Floats) -> SMDP:
        """Return the model with other mean rewards and durations of its pairs, and without laws.

        >>> model = SMDP([0, 2], [0, 1, 2], [0, 0], [1.0, 1.0], [5.0, 12.0], [1.0, 4.0])
        >>> model.with_means(-model.reward, model.duration).reward
        array([ -5., -12.])
        """
        return replace(
            self,
            reward=reward,
            duration=duration,
            row_reward=None,
            row_duration=None,
            reward_law=None,
            duration_law=None,
        )

    def with_actions_reversed(self) -> SMDP:
        """Return the same model with its actions numbered the other way round.

        Ties between actions go to the lowest number, so that an agent may owe its policy to the
        numbering; running it on both tells.

        >>> model = SMDP([0, 2], [0, 1, 2], [0, 0], [1.0, 1.0], [5.0, 12.0], [1.0, 4.0])
        >>> model.with_actions_reversed().reward
        array([12.,  5.])
        """
        # Within each state the last pair becomes the first.
        first, last = self.pair_offsets[:-1], self.pair_offsets[1:]
        pairs = np.repeat(first + last - 1, np.diff(self.pair_offsets)) - np.arange(self.num_pairs)
        offsets, rows = self.rows_of(pairs)

        def moved(part: Any) -> Any:
            if part is None:
                return None
            order = rows if len(part) == self.num_rows and len(part) != self.num_pairs else pairs
            return (
                FlatLaws(part.kind[order], part.parameters[order])
                if isinstance(part, FlatLaws)
                else part[order]
            )

        names = None if self.action_names is None else self.action_names[: self.num_actions][::-1]
        return replace(
            self,
            row_offsets=offsets,
            successor=self.successor[rows],
            probability=self.probability[rows],
            action=self.num_actions - 1 - self.action[pairs],
            action_names=names,
            **{
                name: moved(getattr(self, name))
                for name in ("reward", "duration", "row_reward", "row_duration", "reward_law", "duration_law")
            },
        )
