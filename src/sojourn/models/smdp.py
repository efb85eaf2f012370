"""A finite semi-Markov decision process, checked and stored in flat, sparse arrays.

In state s the action a leads to s' with probability P(s' | s, a), earns the mean reward
r(s, a) and takes the mean duration d(s, a) >= 0. Nothing else matters for the gain of a policy,

    gain = lim (sum of rewards) / (sum of durations) = E[r] / E[d]

under the stationary law of the policy's chain. For simulation, rewards and durations may
have laws with these means. A decision may take no time, but no policy may go on for ever without time passing.

A model may count further **amounts** by name, such as calls lost, energy or items made. Each has a mean for every pair. A
policy has a rate of every amount, per unit time or per unit of another amount (`sojourn.evaluate`), and one may ask for
the largest of any amount per any other that cannot stay 0 for ever (`sojourn.solve`).

The storage is flat. A *pair* is a state with one of its actions. Pairs are ordered by state, so those of state s are
`pair_offsets[s]` to `pair_offsets[s + 1]`, and `action[k]` is the action of pair k. States may have different actions, and
different numbers of them. A *row* is one possible outcome of a pair. The rows of pair k are `row_offsets[k]` to
`row_offsets[k + 1]`, and row j leads to `successor[j]` with `probability[j]`. Two rows of a pair may lead to the same state
with different rewards and durations; joint laws are written in this way.

The probabilities of a pair sum to 1 only up to rounding. Exact answers and proven bounds are about **the true model**: the
floats stored here, with each pair's probabilities divided by their exact sum. A transition is possible if its probability is
above 0, however small it is.

A model has its own copies of its arrays and cannot be changed: if the data that it was made from changes later, the model
does not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import listed, nearest, shown, unmasked, within
from sojourn.models.labels import labels_in, place_in
from sojourn.models.laws import FlatLaws, Law, constants, flat
from sojourn.models.structure import Structure, structure_of
from sojourn.models.validation import amounts_in, by_name, check_divisor, make_owned, make_valid, offsets_of
from sojourn.rules.arrays import Floats, Indices, Ints, flat_floats, flat_indices, flat_ints
from sojourn.rules.door import told

MOST_ENTRIES = 50_000_000  # of a table of states by actions, which then has 400 megabytes
LawsLike: TypeAlias = Callable[[float], Law] | Sequence[Law | float]


def no_amount(name: str, known: Iterable[str]) -> ValueError:
    """Return the error for an amount that a model does not count.

    >>> no_amount("lots", ["lost"])
    ValueError("the model has no amount 'lots'; did you mean 'lost'?")
    """
    own = list(known)
    hint = nearest(name, ["reward", "duration", "steps", *own])
    if not own:
        hint = ", only reward, duration and steps; give its pairs one by that name, in amounts, or in flows beside rates"
    return ValueError(f"the model has no amount {shown(name)}{hint}")


@told
@dataclass(frozen=True, eq=False, repr=False, init=False)
class SMDP:
    """A finite semi-Markov decision process, checked when it is made.

    `reward` and `duration` are the means of each pair. They may be left out if they follow from
    a law, or from `row_reward` and `row_duration`. Laws are given for each pair or for each row. Rows
    of probability 0 are dropped. Most models are made by the functions of `sojourn.models`.
    If the numbers are estimates, `counts` says from how many observations of each pair; a solution
    is then an estimate too, without proven bounds (`sojourn.read_log` makes such models).
    `amounts` are further quantities by name, each with its mean for every pair.

    >>> SMDP(
    ...     pair_offsets=[0, 2, 3], row_offsets=[0, 1, 3, 4], successor=[1, 0, 1, 0],
    ...     probability=[1.0, 0.5, 0.5, 1.0], reward=[1.0, 2.0, 0.0], duration=[1.0, 3.0, 1.0],
    ... )
    SMDP(2 states, 3 pairs, 4 rows)
    """

    pair_offsets: Ints
    row_offsets: Ints
    successor: Indices
    probability: Floats
    reward: Floats
    duration: Floats
    action: Indices
    row_reward: Floats | None
    row_duration: Floats | None
    reward_law: FlatLaws | None
    duration_law: FlatLaws | None
    _labels: tuple[Hashable, ...] | None
    _action_labels: tuple[Hashable, ...] | None
    counts: Ints | None
    amounts: Mapping[str, Floats]

    def __init__(  # the parts of a model, usually given by name
        self,
        pair_offsets: ArrayLike,
        row_offsets: ArrayLike,
        successor: ArrayLike,
        probability: ArrayLike,
        reward: ArrayLike | None = None,
        duration: ArrayLike | None = None,
        action: ArrayLike | None = None,
        row_reward: ArrayLike | None = None,
        row_duration: ArrayLike | None = None,
        reward_law: FlatLaws | None = None,
        duration_law: FlatLaws | None = None,
        state_names: Iterable[Hashable] | None = None,
        action_names: Iterable[Hashable] | None = None,
        counts: ArrayLike | None = None,
        amounts: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        means = (reward, duration, row_reward, row_duration)
        unmasked("a model", (pair_offsets, row_offsets, successor, probability, action, counts, means))
        put = functools.partial(object.__setattr__, self)  # a model is frozen
        pair_offsets = flat_ints("pair_offsets", pair_offsets)
        put("pair_offsets", pair_offsets)
        put("row_offsets", flat_ints("row_offsets", row_offsets))
        put("successor", flat_indices("successor", successor))
        put("probability", flat_floats("probability", probability))
        put("action", None if action is None else flat_indices("action", action))
        for name, each in zip(("reward", "duration", "row_reward", "row_duration"), means, strict=True):
            put(name, None if each is None else flat_floats(name, each))
        put("reward_law", reward_law)
        put("duration_law", duration_law)
        put("_labels", labels_in("state_names", state_names, len(pair_offsets)))
        put("_action_labels", labels_in("action_names", action_names))
        put("counts", None if counts is None else flat_ints("counts", counts))
        put("amounts", amounts_in(amounts))
        make_valid(self)
        make_owned(self)

    def __repr__(self) -> str:
        return f"SMDP({self.num_states} states, {self.num_pairs} pairs, {self.num_rows} rows)"

    def _with(self, **changes: Any) -> SMDP:
        """Return the model with some parts replaced, checked again."""
        return SMDP(**(self.__getstate__() | changes))

    def __getstate__(self) -> dict[str, Any]:
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        names = {"state_names": parts.pop("_labels"), "action_names": parts.pop("_action_labels")}
        return parts | names | {"amounts": dict(self.amounts)}

    def __setstate__(self, parts: dict[str, Any]) -> None:
        # The arrays in a pickle or a copy are writable and may hold anything, so they are checked again.
        self.__init__(**parts)  # type: ignore[misc]

    @functools.cached_property
    def structure(self) -> Structure:
        """The end components of the model, computed when they are first needed."""
        return structure_of(self)

    # --- Sizes and places ---------------------------------------------------------------

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.pair_offsets) - 1

    @property
    def num_pairs(self) -> int:
        """The number of pairs of a state and an action."""
        return len(self.row_offsets) - 1

    @property
    def num_rows(self) -> int:
        """The number of outcomes of all pairs together."""
        return len(self.successor)

    @property
    def num_actions(self) -> int:
        """The number of different actions, even if no state has all of them."""
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
                f"{self.state_place(state)} has no action {shown(action)}; "
                f"it has {', '.join(map(str, self.action[first:last].tolist()))}"
            )
        return int(first + found[0])

    def rows_of(self, pairs: Ints) -> tuple[Ints, Ints]:
        """Return where the rows of each of some pairs begin, and these rows, one pair after the other."""
        counts = np.diff(self.row_offsets)[pairs]
        offsets = offsets_of(counts)
        return offsets, np.repeat(self.row_offsets[pairs] - offsets[:-1], counts) + np.arange(offsets[-1])

    def pair_table(self) -> Ints:
        """Return the pair of every state and action, -1 if a state does not have the action."""
        if self.num_states * self.num_actions > MOST_ENTRIES:
            raise ValueError(
                f"the model has {self.num_states:,} states and actions up to {self.num_actions - 1:,}; a table of "
                f"them may have at most {MOST_ENTRIES:,} entries, so number the actions from 0"
            )
        table = np.full((self.num_states, self.num_actions), -1, dtype=np.int64)
        table[self.state_of_pair(), self.action] = np.arange(self.num_pairs)
        return table

    # --- Labels ---------------------------------------------------------------------------

    @property
    def labels(self) -> Sequence[Hashable]:
        """The states' own labels, in order: what they were made from, else their names, else their numbers.

        >>> SMDP([0, 1, 2], [0, 1, 2], [1, 0], [1.0, 1.0], [1.0, 2.0], [1.0, 1.0], state_names=[(0, 1), (1, 1)]).labels
        ((0, 1), (1, 1))
        """
        return range(self.num_states) if self._labels is None else self._labels

    @property
    def action_labels(self) -> Sequence[Hashable]:
        """The actions' own labels, in order: what they were made from, else their names, else their numbers."""
        return range(self.num_actions) if self._action_labels is None else self._action_labels

    @property
    def has_labels(self) -> bool:
        """Whether states or actions have labels or names other than their numbers."""
        return self._labels is not None or self._action_labels is not None

    @functools.cached_property
    def has_whole_labels(self) -> bool:
        """Whether some states have whole numbers as labels that are not their positions."""
        return self._labels is not None and any(isinstance(each, int) for each in self._labels)

    @functools.cached_property
    def state_names(self) -> tuple[str, ...] | None:
        """The labels of the states as texts; None if they have only numbers."""
        return None if self._labels is None else tuple(map(str, self._labels))

    @functools.cached_property
    def action_names(self) -> tuple[str, ...] | None:
        """The labels of the actions as texts; None if they have only numbers."""
        return None if self._action_labels is None else tuple(map(str, self._action_labels))

    @functools.cached_property
    def _state_numbers(self) -> dict[Hashable, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @functools.cached_property
    def _action_numbers(self) -> dict[Hashable, int]:
        return {label: number for number, label in enumerate(self.action_labels)}

    def state_number(self, label: Hashable) -> int:
        """Return the number of the state with this label, or with this label as its text."""
        return place_in("state", self._state_numbers, self.state_names, label)

    def action_number(self, label: Hashable) -> int:
        """Return the number of the action with this label, or with this label as its text."""
        return place_in("action", self._action_numbers, self.action_names, label)

    def state_place(self, state: int) -> str:
        """Return the name of a state for use in a sentence."""
        return f"state {state}" + (f" ({listed([self.state_names[state]])})" if self.state_names else "")

    def action_place(self, action: int) -> str:
        """Return the name of an action for use in a sentence."""
        return f"action {action}" + (f" ({listed([self.action_names[action]])})" if self.action_names else "")

    def place(self, pair: int) -> str:
        """Return the name of a pair for use in a sentence.

        >>> SMDP([0, 1], [0, 1], [0], [1.0], [1.0], [1.0], state_names=["idle"]).place(0)
        'state 0 (idle), action 0'
        """
        pair = within("pair", pair, self.num_pairs)
        state = int(np.searchsorted(self.pair_offsets, pair, side="right")) - 1
        return f"{self.state_place(state)}, {self.action_place(int(self.action[pair]))}"

    # --- Amounts --------------------------------------------------------------------------

    def amount(self, name: str) -> Floats:
        """Return the mean of an amount for every pair: "reward", "duration", "steps", or one that the model names.

        >>> model = SMDP([0, 1], [0, 1], [0], [1.0], [3.0], [2.0], amounts={"lost": [0.5]})
        >>> model.amount("lost"), model.amount("steps")
        (array([0.5]), array([1.]))
        """
        if name in ("reward", "duration"):
            return self.reward if name == "reward" else self.duration
        if name == "steps":
            return np.ones(self.num_pairs)
        if name not in self.amounts:
            raise no_amount(name, self.amounts)
        return self.amounts[name]

    def with_amounts(self, amounts: Mapping[str, ArrayLike]) -> SMDP:
        """Return the model with these further amounts; one that it has already is replaced.

        >>> model = SMDP([0, 1], [0, 1], [0], [1.0], [3.0], [2.0])
        >>> model.with_amounts({"energy": [7.0]}).amount("energy")
        array([7.])
        """
        return self._kept(self._with(amounts={**self.amounts, **by_name("amounts", amounts)}))

    def seen_as(self, maximise: str = "reward", per: str = "duration") -> SMDP:
        """Return the model in which one amount is the reward and another one the duration.

        The gain of a policy in this model is its amount of the first per unit of the second.

        >>> model = SMDP([0, 1], [0, 1], [0], [1.0], [3.0], [2.0], amounts={"energy": [6.0]})
        >>> seen = model.seen_as("reward", per="energy")
        >>> seen.reward, seen.duration
        (array([3.]), array([6.]))
        """
        if (maximise, per) == ("reward", "duration"):
            return self
        reward, duration = self.amount(maximise), self.amount(per)
        check_divisor(self, per, duration)
        return self.with_means(reward, duration)

    # --- Laws -----------------------------------------------------------------------------

    def flat_laws(self) -> tuple[FlatLaws, FlatLaws, bool]:
        """Return the laws of reward and duration, and whether they are those of rows instead of pairs.

        A reward or duration without a law is constant. When compiled code has drawn row j of pair k, it finds both laws
        at place j if the third result is true, and at place k otherwise.
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

    def with_laws(self, reward: LawsLike | None = None, duration: LawsLike | None = None) -> SMDP:
        """Return the model with laws for its rewards and durations.

        Laws are given as a function of the mean, which is applied to every pair (or to every row, if
        the means are those of rows), or as a sequence of laws, one for each pair or each row.

        >>> from sojourn.models.laws import Exponential
        >>> model = SMDP([0, 1], [0, 1], [0], [1.0], [3.0], [2.0])
        >>> model.with_laws(duration=Exponential).duration_law.law(0)
        Exponential(mean=2.0)
        """
        changes: dict[str, Floats | FlatLaws | None] = {}
        for name, law, means, row_means in (
            ("reward", reward, self.reward, self.row_reward),
            ("duration", duration, self.duration, self.row_duration),
        ):
            if callable(law):
                own = means if row_means is None else row_means
                changes[f"{name}_law"] = flat([law(mean) for mean in own.tolist()])
            elif law is not None:
                changes |= {f"{name}_law": flat(law), name: None, f"row_{name}": None}
        return self._with(**changes)

    def with_means(self, reward: Floats, duration: Floats) -> SMDP:
        """Return the model with other mean rewards and durations of its pairs, and without laws.

        >>> model = SMDP([0, 2], [0, 1, 2], [0, 0], [1.0, 1.0], [5.0, 12.0], [1.0, 4.0])
        >>> model.with_means(-model.reward, model.duration).reward
        array([ -5., -12.])
        """
        no_longer = dict.fromkeys(("row_reward", "row_duration", "reward_law", "duration_law"))
        return self._kept(self._with(reward=reward, duration=duration, **no_longer))

    def _kept(self, changed: SMDP) -> SMDP:
        """Return a model with the same transitions, and so with the same structure, if that is known."""
        if "structure" in vars(self):
            vars(changed)["structure"] = self.structure
        return changed

    def with_names(
        self, state_names: Iterable[Hashable] | None, action_names: Iterable[Hashable] | None
    ) -> SMDP:
        """Return the model with other names or labels for its states and actions."""
        return self._with(state_names=state_names, action_names=action_names)

    def with_counts(self, counts: ArrayLike | None) -> SMDP:
        """Return the model as an estimate from these counts of observations; with None, as a model that is known."""
        return self._with(counts=counts)

    def with_actions_reversed(self) -> SMDP:
        """Return the same model with its actions numbered the other way round.

        If ties between actions go to the lowest number, an agent may owe its policy to the numbering; running it on both
        models shows whether it does.

        >>> model = SMDP([0, 2], [0, 1, 2], [0, 0], [1.0, 1.0], [5.0, 12.0], [1.0, 4.0])
        >>> model.with_actions_reversed().reward
        array([12.,  5.])
        """
        # Within each state the last pair becomes the first.
        first, last = self.pair_offsets[:-1], self.pair_offsets[1:]
        pairs = np.repeat(first + last - 1, np.diff(self.pair_offsets)) - np.arange(self.num_pairs)
        offsets, rows = self.rows_of(pairs)

        def laws(given: FlatLaws | None) -> FlatLaws | None:
            if given is None:
                return None
            order = rows if len(given) == self.num_rows != self.num_pairs else pairs
            return FlatLaws(given.kind[order], given.parameters[order])

        return self._with(
            row_offsets=offsets,
            successor=self.successor[rows],
            probability=self.probability[rows],
            action=self.num_actions - 1 - self.action[pairs],
            reward=self.reward[pairs],
            duration=self.duration[pairs],
            row_reward=None if self.row_reward is None else self.row_reward[rows],
            row_duration=None if self.row_duration is None else self.row_duration[rows],
            reward_law=laws(self.reward_law),
            duration_law=laws(self.duration_law),
            action_names=None
            if self._action_labels is None
            else self._action_labels[: self.num_actions][::-1],
            counts=None if self.counts is None else self.counts[pairs],
            amounts={name: each[pairs] for name, each in self.amounts.items()},
        )


def check_model(given: object) -> None:
    """Raise an error that says how to make a model, unless one is given.

    >>> check_model("queue.toml")
    Traceback (most recent call last):
    TypeError: the model is 'queue.toml'; make it an SMDP first, with sojourn.models.load_model for a file or from_dict for a dictionary
    """
    if not isinstance(given, SMDP):
        raise TypeError(
            f"the model is {shown(given)}; make it an SMDP first, with sojourn.models.load_model for a file "
            "or from_dict for a dictionary"
        )
