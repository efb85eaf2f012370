"""A standalone learned policy: it acts without the environment, and can be written as CSV or JSON.

It contains the states visited in training, with the values and visit counts of their actions, and knows how
observations are numbered. `sojourn.load_policy` reads the JSON file, which is only data, or the file of a saved
learner; CSV is a table for people and other programs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sojourn.data.files import load_json, write_json, write_text
from sojourn.data.hints import check_kind
from sojourn.data.numbers import shown
from sojourn.envs.protocol import Element
from sojourn.envs.reader import checked_mask
from sojourn.envs.states import MOST_STATES, Description, Tabulation
from sojourn.learner.table_agent import HiddenActions
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told

_POLICY, _POLICY_VERSION = "sojourn policy", 1
_EXACT = 2**53  # integers below this are exact as floats


class PolicyFile(TypedDict):
    """The content of a policy file; the value of an unavailable action is null."""

    format: str
    version: int
    states: Description
    first_action: int
    numbers: list[int]
    values: list[list[float | None]]
    visits: list[list[int]]


@told
class LearnedPolicy:
    """A learned policy, for the states visited in training.

    >>> from sojourn.envs.states import tabulate
    >>> from gymnasium.spaces import Discrete
    >>> policy = LearnedPolicy(tabulate(Discrete(3)), 0, np.array([[2.0, 5.0], [1.0, 0.0], [0.0, 0.0]]),
    ...                        np.array([[4.0, 6.0], [3.0, 3.0], [0.0, 0.0]]))
    >>> policy.act(0), policy.act(0, action_mask=[1, 0]), policy.known(2)
    (1, 0, False)
    >>> policy.table().rows()
    [(0, 1, 5.0, 6, 10), (1, 0, 1.0, 3, 6)]
    """

    def __init__(self, states: Tabulation, first_action: int, values: Floats, visits: Floats) -> None:
        """Take arrays of all states by actions; states that were never visited are dropped."""
        numbers = np.flatnonzero(visits.sum(axis=1) > 0.0)
        self._keep(states, first_action, numbers.tolist(), values[numbers], visits[numbers])

    def _keep(
        self, states: Tabulation, first: int, numbers: list[int], values: Floats, visits: Floats
    ) -> None:
        self.states, self.first_action = states, first
        self._values, self._visits = values, visits
        self._rows = {number: row for row, number in enumerate(numbers)}

    def known(self, obs: Element) -> bool:
        """Whether the state of an observation was visited in training."""
        return self.states(obs) in self._rows

    def act(self, obs: Element, action_mask: ArrayLike | None = None) -> int:
        """Return the best action for an observation, of those that a mask allows.

        For a state that was never visited it raises an error; ask `known` first.
        """
        row = self._rows.get(self.states(obs))
        if row is None:
            raise ValueError(
                f"the observation {shown(obs)} is of a state that was never visited in training, so the policy has no action "
                "for it; ask known(obs) first"
            )
        values = self._values[row]
        if action_mask is not None:
            values = np.where(checked_mask(action_mask, len(values), "the action mask"), values, -np.inf)
            if not (values > -np.inf).any():
                raise ValueError(
                    f"the policy knows none of the actions that the mask {shown(action_mask)} allows"
                )
        return int(values.argmax()) + self.first_action

    def __call__(self, obs: Element) -> int:
        """Act, so that `Learner.evaluate` and `Learner.verdict` can follow the policy."""
        return self.act(obs)

    def table(self, model: SMDP | None = None) -> pl.DataFrame:
        """Return a row for each visited state: the observation, the best action and its value, and how often each occurred.

        Each part of an observation has its own column; a bin is given by its edges. If a model of the same
        states is given and has names, these are columns, too.
        """
        numbers, best = np.array(list(self._rows), dtype=np.int64), self._values.argmax(axis=1)
        names: dict[str, list[str]] = {}
        if model is not None and model.num_states == self.states.num_states:
            if model.state_names is not None:
                names["state_name"] = [model.state_names[number] for number in numbers.tolist()]
            if model.action_names is not None:
                names["action_name"] = [model.action_names[action] for action in best.tolist()]
        columns: dict[str, Any] = {}
        for name, labels in reversed(_digits(self.states.to_dict(), "observation")):
            columns[name] = [labels[digit] for digit in (numbers % len(labels)).tolist()]
            numbers //= len(labels)
        rows = np.arange(len(best))
        return pl.DataFrame(
            {
                **dict(reversed(columns.items())),
                **names,
                "action": best + self.first_action,
                "value": self._values[rows, best],
                "action_visits": self._visits[rows, best].astype(np.int64),
                "state_visits": self._visits.sum(axis=1).astype(np.int64),
            }
        )

    def write(self, path: str | Path, model: SMDP | None = None) -> None:
        """Write the table as CSV or the whole policy as JSON, depending on the file's extension."""
        path = Path(path)
        if path.suffix == ".csv":
            write_text(path, self.table(model).write_csv())
        elif path.suffix == ".json":
            content: Any = PolicyFile(
                format=_POLICY,
                version=_POLICY_VERSION,
                states=self.states.to_dict(),
                first_action=self.first_action,
                numbers=list(self._rows),
                values=[
                    [one if math.isfinite(one) else None for one in row] for row in self._values.tolist()
                ],
                visits=self._visits.astype(np.int64).tolist(),
            )
            write_json(path, content)
        else:
            raise ValueError(
                f"{path} must end with .csv, for a table, or .json, for a policy that can be loaded"
            )

    @classmethod
    def from_file(cls, path: Path) -> LearnedPolicy:
        """Read the policy in a JSON file, or raise an error that says why it cannot be read."""
        data: Any = load_json(path)
        try:
            check_kind(PolicyFile, data, "the policy")
            if (data["format"], data["version"]) != (_POLICY, _POLICY_VERSION):
                raise ValueError(f"it holds {shown(data['format'])} of version {shown(data['version'])}")  # noqa: TRY301
            policy = cls.__new__(cls)
            policy._keep(Tabulation(data["states"]), data["first_action"], data["numbers"], *_checked(data))  # noqa: SLF001 - its own class
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"{path} is not a policy that sojourn wrote: {error}") from None
        return policy


def policy_of(
    states: Tabulation, first_action: int, q: Floats, hidden: HiddenActions, visits: Floats
) -> LearnedPolicy:
    """Return the policy of an agent. A hidden action keeps its value if it was ever tried."""
    values = q[: states.num_states].copy()
    for state, action in np.argwhere((values == -np.inf) & (visits > 0.0)).tolist():
        values[state, action] = hidden.values(state)[action]
    return LearnedPolicy(states, first_action, values, visits.copy())


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
    firsts = [labels.start for _, labels in _digits(data["states"], "") if isinstance(labels, range)]
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


def _digits(description: Description, name: str) -> list[tuple[str, Sequence[int | str]]]:
    """Return the name and the choices of each part of an observation, most significant first."""
    match description["kind"]:
        case "discrete":
            return [(name, range(description["start"], description["start"] + description["count"]))]
        case "array":
            starts = zip(description["start"], description["counts"], strict=True)
            return [(f"{name}_{i}", range(least, least + count)) for i, (least, count) in enumerate(starts)]
        case "box":
            return [(f"{name}_{i}", _bins(cuts)) for i, cuts in enumerate(description["cuts"])]
        case "tuple":
            parts = enumerate(description["parts"])
            return [digit for i, part in parts for digit in _digits(part, f"{name}_{i}")]
        case "dict":
            keyed = zip(description["keys"], description["parts"], strict=True)
            return [digit for key, part in keyed for digit in _digits(part, key)]


def _bins(cuts: list[float]) -> list[str]:
    """Return the names of bins, from the edges between them."""
    if not cuts:
        return ["any"]
    edges = [f"{cut:.12g}" for cut in cuts]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(edges)]
    return [f"below {edges[0]}", *between, f"from {edges[-1]}"]
