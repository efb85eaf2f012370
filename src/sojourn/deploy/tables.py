"""Policies of states that can be listed: those that were learned, with a value for each action, and those that were solved.

A learned policy has the states visited in training, with the values and visit counts of their actions, and knows how
observations are numbered. A solved policy has the actions of each state of a model, with the probability of each.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.files import JsonObject
from sojourn.data.hints import check_kind
from sojourn.data.numbers import nearest, shown
from sojourn.deploy.interface import VERSION, About, Policy, WithAbout, check_format, checked_mask
from sojourn.deploy.tabulation import MOST_STATES, Description, Tabulation, digits
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told

LEARNED, SOLVED, BY_LABEL = "sojourn policy", "sojourn solved policy", "sojourn log policy"
_EXACT = 2**53  # integers below this are exact as floats


# --- Learned policies -----------------------------------------------------------------


class PolicyFile(WithAbout):
    """The content of a policy file; the value of an unavailable action is null."""

    format: str
    version: int
    states: Description
    first_action: int
    numbers: list[int]
    values: list[list[float | None]]
    visits: list[list[int]]


@told
class TablePolicy(Policy):
    """A learned policy, for the states visited in training.

    >>> states = Tabulation({"kind": "discrete", "count": 3, "start": 0})
    >>> policy = TablePolicy(states, 0, [0, 1], np.array([[2.0, 5.0], [1.0, 0.0]]), np.array([[4.0, 6.0], [3.0, 3.0]]))
    >>> policy.act(0), policy.act(0, action_mask=[1, 0]), policy.known(2)
    (1, 0, False)
    """

    def __init__(
        self,
        states: Tabulation,
        first_action: int,
        numbers: list[int],
        values: Floats,
        visits: Floats,
        about: About | None = None,
    ) -> None:
        """Take a row of values and of visits for each of the states with these numbers."""
        super().__init__(about)
        self.states, self.first_action = states, first_action
        self._values, self._visits = values, visits
        self._rows = {number: row for row, number in enumerate(numbers)}
        best: list[int] = (values.argmax(axis=1) + first_action).tolist() if len(numbers) else []
        self._best: dict[int, int] = dict(zip(numbers, best, strict=True))

    @classmethod
    def from_contents(cls, data: Any, seed: int = 0) -> Self:
        """Return the policy that a file holds, or say what is wrong with it."""
        check_kind(PolicyFile, data, "the policy")
        check_format(data, LEARNED)
        states, policy = Tabulation(data["states"]), cls.__new__(cls)
        given = data["first_action"], data["numbers"], *_checked(data), data.get("about")
        TablePolicy.__init__(policy, states, *given)
        return policy

    @property
    def size(self) -> str:
        """How many states were visited."""
        return f"{len(self._rows):,} states"

    def known(self, obs: Any) -> bool:
        """Whether the state of an observation was visited in training."""
        return self.states(obs) in self._rows

    def act(self, obs: Any, action_mask: ArrayLike | None = None, *, sample: bool | None = None) -> int:
        """Return the best action for an observation, of those that a mask allows.

        For a state that was never visited it raises an error; ask `known` first. There is nothing to draw, so `sample`
        changes nothing.
        """
        number = self.states.index(obs)
        if action_mask is None and number in self._best:
            return self._best[number]
        row = self._rows.get(number)
        if row is None:
            raise ValueError(
                f"the observation {shown(obs)} is of a state that was never visited in training, so the policy has no action "
                "for it; ask known(obs) first"
            )
        assert action_mask is not None
        values = self._values[row]
        values = np.where(checked_mask(action_mask, len(values), "the action mask"), values, -np.inf)
        if not (values > -np.inf).any():
            raise ValueError(
                f"the policy knows none of the actions that the mask {shown(action_mask)} allows"
            )
        return int(values.argmax()) + self.first_action

    def contents(self) -> JsonObject:
        """Return everything that the policy's file holds."""
        content: Any = PolicyFile(
            format=LEARNED,
            version=VERSION,
            states=self.states.to_dict(),
            first_action=self.first_action,
            numbers=list(self._rows),
            values=[[one if math.isfinite(one) else None for one in row] for row in self._values.tolist()],
            visits=self._visits.astype(np.int64).tolist(),
        )
        if self.about:
            content["about"] = self.about
        return content  # type: ignore[no-any-return]


def _checked(data: PolicyFile) -> tuple[Floats, Floats]:
    """Return values and visits as arrays, or raise an error that says which parts of a file are inconsistent."""
    numbers, widths = (
        data["numbers"],
        {len(row) for table in (data["values"], data["visits"]) for row in table},
    )
    if not len(numbers) == len(set(numbers)) == len(data["values"]) == len(data["visits"]) or len(widths) > 1:
        raise ValueError("its states, values and visits do not fit together")
    size = Tabulation(data["states"]).num_states
    if size > MOST_STATES or not all(0 <= number < size for number in numbers):
        raise ValueError(f"some of its states are not below {min(size, MOST_STATES)}")
    firsts = [labels.start for _, labels in digits(data["states"], "") if isinstance(labels, range)]
    if any(abs(first) >= _EXACT for first in (*firsts, data["first_action"])):
        raise ValueError("its observations or actions have numbers that are too large")
    count = max(widths, default=1)
    values: Floats = np.array(
        [[-math.inf if value is None else float(value) for value in row] for row in data["values"]],
        dtype=np.float64,
    ).reshape(len(numbers), count)
    visits: Floats = np.array(data["visits"], dtype=np.float64).reshape(len(numbers), count)
    if (
        count < 1
        or np.isnan(values).any()
        or (values == np.inf).any()
        or not (values > -np.inf).any(axis=1).all()
    ):
        raise ValueError("its values are not numbers, or a state has no action")
    if not ((visits >= 0.0) & (visits < _EXACT)).all():
        raise ValueError("its visits are not counts")
    return values, visits


# --- Solved policies ------------------------------------------------------------------


class SolvedFile(WithAbout):
    """Everything that the file of a solved policy holds: the actions of each state, with the probability of each."""

    format: str
    version: int
    states: list[str] | None
    actions: list[str] | None
    taken: list[list[int]]
    chances: list[list[float]]


@told
class RandomisedPolicy(Policy):
    """A policy of a model's states, which may draw its action in some of them.

    >>> policy = RandomisedPolicy({
    ...     "format": SOLVED, "version": 1, "states": ["line"], "actions": ["answer", "reject"],
    ...     "taken": [[0, 1]], "chances": [[0.75, 0.25]],
    ... }, seed=1)
    >>> [policy.act("line") for _ in range(8)], policy.act("line", sample=False), policy.chances("line")
    ([0, 1, 0, 1, 0, 0, 1, 0], 0, {'answer': 0.75, 'reject': 0.25})
    """

    def __init__(self, file: SolvedFile, seed: int = 0) -> None:
        super().__init__(file.get("about"), seed)
        self._file = file
        self._numbers = {name: number for number, name in enumerate(file["states"] or ())}
        # The probability of an action and all before it. NumPy's own `choice` draws in the same way.
        self._up_to = [(np.cumsum(row) / np.cumsum(row)[-1]).tolist() for row in file["chances"]]

    def _state(self, obs: Any) -> int:
        if isinstance(obs, np.ndarray | np.generic):
            obs = obs.item() if np.ndim(obs) == 0 else tuple(obs.tolist())
        if isinstance(obs, int) and 0 <= obs < len(self._file["taken"]):
            return obs
        if str(obs) not in self._numbers:
            raise ValueError(f"the policy has no state {shown(obs)}{nearest(str(obs), self._numbers)}")
        return self._numbers[str(obs)]

    @property
    def size(self) -> str:
        """How many states there are."""
        return f"{len(self._up_to):,} states"

    def known(self, obs: Any) -> bool:
        """Whether an observation is one of the policy's states."""
        try:
            return self._state(obs) >= 0
        except ValueError:
            return False

    def chances(self, obs: Any) -> dict[int | str, float]:
        """Return the actions that may be taken in a state, by name, with their probabilities."""
        state, names = self._state(obs), self._file["actions"]
        actions = self._file["taken"][state]
        return {
            names[action] if names else action: chance
            for action, chance in zip(actions, self._file["chances"][state], strict=True)
        }

    def act(self, obs: Any, action_mask: ArrayLike | None = None, *, sample: bool | None = None) -> int:
        """Return the number of the action to take in a state, drawn if there are several, of those that a mask allows.

        A state is given by its number, as environments of the model show it, or by its name or label. With
        `sample=False` it is the likeliest action; a policy that keeps a limit only does so if it draws.
        """
        state = self._state(obs)
        actions, up_to = self._file["taken"][state], self._up_to[state]
        if action_mask is not None or sample is False:
            chances = np.array(self._file["chances"][state])
            if action_mask is not None:
                mask = np.asarray(action_mask, dtype=bool)
                chances = np.where([action < len(mask) and mask[action] for action in actions], chances, 0.0)
                if not chances.any():
                    raise ValueError(
                        f"the policy takes none of the actions that the mask {shown(action_mask)} allows in {shown(obs)}"
                    )
            if sample is False:
                return actions[int(chances.argmax())]
            sums = np.cumsum(chances / chances.sum())
            up_to = (sums / sums[-1]).tolist()
        if len(actions) == 1:
            return actions[0]
        return actions[bisect_right(up_to, self._rng.random())]

    @classmethod
    def from_contents(cls, data: Any, seed: int = 0) -> Self:
        """Return the policy that a file holds, or say what is wrong with it."""
        check_kind(SolvedFile, data, "the policy")
        check_format(data, SOLVED)
        _check_solved(data)
        policy = cls.__new__(cls)
        RandomisedPolicy.__init__(policy, data, seed)
        return policy

    def contents(self) -> JsonObject:
        """Return everything that the policy's file holds."""
        return {**self._file}  # type: ignore[dict-item] # all of it is JSON


def _check_solved(data: SolvedFile) -> None:
    """Raise an error if the parts of a solved policy's file do not fit together."""
    count = len(data["taken"])
    if len(data["chances"]) != count or (data["states"] is not None and len(data["states"]) != count):
        raise ValueError("its states and actions do not fit together")
    most = 2**31 if data["actions"] is None else len(data["actions"])
    for actions, chances in zip(data["taken"], data["chances"], strict=True):
        if len(actions) != len(chances) or not actions or not all(0 <= action < most for action in actions):
            raise ValueError("its states and actions do not fit together")
        if not all(chance > 0.0 for chance in chances) or not abs(sum(chances) - 1.0) <= 1e-8:
            raise ValueError("its probabilities are not above 0, or do not sum to 1")


# --- Policies from logs ---------------------------------------------------------------

Label: TypeAlias = str | int | float | bool | tuple[Any, ...]


class LabelFile(WithAbout):
    """The content of the file of a policy by labels: the states, and the action of each."""

    format: str
    version: int
    states: list[Any]
    actions: list[Any]


@told
class LabelPolicy(Policy):
    """A policy in the words of a log: an action's label for each state's label.

    >>> policy = LabelPolicy({("short", 2): "take", ("long", 2): "pass"})
    >>> policy.act(("long", 2)), policy.act(["short", 2]), policy.known("long")
    ('pass', 'take', False)
    """

    def __init__(self, actions: Mapping[Any, Any], about: About | None = None) -> None:
        super().__init__(about)
        self._actions = {_label(state): _label(action) for state, action in actions.items()}

    @property
    def actions(self) -> dict[Label, Label]:
        """The action of each state, as `Log.evaluate` takes it."""
        return dict(self._actions)

    @property
    def size(self) -> str:
        """How many states there are."""
        return f"{len(self._actions):,} states"

    def known(self, obs: Any) -> bool:
        """Whether an observation is one of the policy's states."""
        try:
            return _label(obs) in self._actions
        except ValueError:
            return False

    def act(self, obs: Any, action_mask: ArrayLike | None = None, *, sample: bool | None = None) -> Any:
        """Return the label of the action to take in a state, which is given by its label; there is nothing to draw."""
        if action_mask is not None:
            raise ValueError("a policy from a log has one action for each state, so a mask leaves no other")
        action = self._actions.get(_label(obs))
        if action is None:
            raise ValueError(
                f"the policy has no state {shown(obs)}{nearest(str(obs), map(str, self._actions))}"
            )
        return action

    @classmethod
    def from_contents(cls, data: Any, seed: int = 0) -> Self:
        """Return the policy that a file holds, or say what is wrong with it."""
        check_kind(LabelFile, data, "the policy")
        check_format(data, BY_LABEL)
        actions = {
            _label(state): action for state, action in zip(data["states"], data["actions"], strict=False)
        }
        if not len(actions) == len(data["states"]) == len(data["actions"]):
            raise ValueError("its states and actions do not fit together")
        return cls(actions, data.get("about"))

    def contents(self) -> JsonObject:
        """Return everything that the policy's file holds."""
        states, actions = list(self._actions), list(self._actions.values())
        content: Any = LabelFile(format=BY_LABEL, version=VERSION, states=states, actions=actions)
        if self.about:
            content["about"] = self.about
        return content  # type: ignore[no-any-return]


def _label(thing: Any) -> Label:
    """Return a label as JSON can hold it, with tuples for lists."""
    if isinstance(thing, np.generic):
        thing = thing.item()
    if isinstance(thing, list | tuple):
        return tuple(map(_label, thing))
    if isinstance(thing, str | int | float | bool):
        return thing
    raise ValueError(
        f"{shown(thing)} is not a label that a file can hold; use texts, numbers, or tuples of them"
    )
