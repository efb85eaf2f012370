"""A solved policy on its own: it acts without the model, draws where it has to, and can be written as CSV or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sojourn.data.files import load_json, write_json, write_text
from sojourn.data.hints import check_kind
from sojourn.data.numbers import nearest, shown, whole
from sojourn.models.chain import PolicyLike, by_number, chain_of
from sojourn.rules.door import told

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

FORMAT, _VERSION = "sojourn solved policy", 1


class SolvedFile(TypedDict):
    """Everything that the file of a solved policy holds: the actions of each state, with the probability of each."""

    format: str
    version: int
    states: list[str] | None
    actions: list[str] | None
    taken: list[list[int]]
    chances: list[list[float]]


@told
class SolvedPolicy:
    """A policy of a model, which may draw its action in some states; `Solution.write_policy` writes it into a file.

    >>> import sojourn as sj
    >>> line = sj.models.from_dict({"line": {
    ...     "answer": {"reward": 1, "duration": 1, "next": "line"}, "reject": {"reward": 3, "duration": 1, "next": "line"},
    ... }})
    >>> policy = SolvedPolicy(line, [[0.75, 0.25]], seed=1)
    >>> [policy.act("line") for _ in range(8)], policy.chances("line")
    ([0, 1, 0, 1, 0, 0, 1, 0], {'answer': 0.75, 'reject': 0.25})
    """

    def __init__(self, model: SMDP, policy: PolicyLike, seed: int = 0) -> None:
        given = by_number(model, policy)
        if (
            given.ndim == 2
            and given.dtype.kind == "i"
            and given.shape != (model.num_states, model.num_actions)
        ):
            raise ValueError(
                "the policy has an action for each step and state; give that of one step, such as policy[0]"
            )
        chain_of(model, given)  # which checks it
        taken = (
            [[int(each)] for each in given]
            if given.ndim == 1
            else [np.flatnonzero(p).tolist() for p in given]
        )
        chances = (
            [[1.0]] * len(taken)
            if given.ndim == 1
            else [p[p != 0].tolist() for p in given.astype(np.float64)]
        )
        names = [None if found is None else list(found) for found in (model.state_names, model.action_names)]
        self._keep(
            {"format": FORMAT, "version": _VERSION, "states": names[0], "actions": names[1], "taken": taken, "chances": chances},
            seed,
        )  # fmt: skip

    def _keep(self, file: SolvedFile, seed: int) -> None:
        self._file, self._rng = file, np.random.default_rng(whole("seed", seed, least=0))
        self._numbers = {name: number for number, name in enumerate(file["states"] or ())}

    def _state(self, obs: Any) -> int:
        if isinstance(obs, np.ndarray | np.generic):
            obs = obs.item() if np.ndim(obs) == 0 else tuple(obs.tolist())
        if isinstance(obs, int) and 0 <= obs < len(self._file["taken"]):
            return obs
        if str(obs) not in self._numbers:
            raise ValueError(f"the policy has no state {shown(obs)}{nearest(str(obs), self._numbers)}")
        return self._numbers[str(obs)]

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

    def act(self, obs: Any, action_mask: ArrayLike | None = None) -> int:
        """Return the number of the action to take in a state, drawn if there are several, of those that a mask allows.

        A state is given by its number, as environments of the model show it, or by its name or label.
        """
        state = self._state(obs)
        actions, chances = self._file["taken"][state], np.array(self._file["chances"][state])
        if action_mask is not None:
            mask = np.asarray(action_mask, dtype=bool)
            chances = np.where([action < len(mask) and mask[action] for action in actions], chances, 0.0)
            if not chances.any():
                raise ValueError(
                    f"the policy takes none of the actions that the mask {shown(action_mask)} allows in {shown(obs)}"
                )
        if len(actions) == 1:
            return actions[0]
        return actions[int(self._rng.choice(len(actions), p=chances / chances.sum()))]

    def __call__(self, obs: Any) -> int:
        """Do as `act` does, so that a policy can be followed by `Learner.evaluate` and `Learner.verdict`."""
        return self.act(obs)

    def table(self) -> pl.DataFrame:
        """Return a row for each state and action that may be taken there, with its probability."""
        taken, chances = self._file["taken"], self._file["chances"]
        state = np.repeat(np.arange(len(taken)), [len(each) for each in taken])
        action = np.array([each for actions in taken for each in actions])
        columns: dict[str, Any] = {"state": state}
        if (states := self._file["states"]) is not None:
            columns["state_name"] = [states[each] for each in state.tolist()]
        columns["action"] = action
        if (actions := self._file["actions"]) is not None:
            columns["action_name"] = [actions[each] for each in action.tolist()]
        return pl.DataFrame({**columns, "probability": [each for row in chances for each in row]})

    def write(self, path: str | Path) -> None:
        """Write the table as CSV or the policy as JSON, which `sojourn.load_policy` reads, by the ending of the file's name."""
        path = Path(path)
        if path.suffix == ".csv":
            write_text(path, self.table().write_csv())
        elif path.suffix == ".json":
            write_json(path, {**self._file})  # type: ignore[dict-item] # all of it is JSON
        else:
            raise ValueError(
                f"{path} must end with .csv, for a table, or .json, for a policy that can be loaded"
            )

    @classmethod
    def from_file(cls, path: Path, seed: int = 0) -> SolvedPolicy:
        """Return the policy in a JSON file, or say in one sentence why there is none."""
        data: Any = load_json(path)
        try:
            check_kind(SolvedFile, data, "the policy")
            _check(data)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a policy that sojourn wrote: {error}") from None
        policy = cls.__new__(cls)
        policy._keep(data, seed)  # noqa: SLF001 - of its own class
        return policy


def _check(data: SolvedFile) -> None:
    """Raise an error if the parts of a file do not fit together."""
    if (data["format"], data["version"]) != (FORMAT, _VERSION):
        raise ValueError(f"it holds {shown(data['format'])} of version {shown(data['version'])}")
    count = len(data["taken"])
    if len(data["chances"]) != count or (data["states"] is not None and len(data["states"]) != count):
        raise ValueError("its states and actions do not fit together")
    most = 2**31 if data["actions"] is None else len(data["actions"])
    for actions, chances in zip(data["taken"], data["chances"], strict=True):
        if len(actions) != len(chances) or not actions or not all(0 <= action < most for action in actions):
            raise ValueError("its states and actions do not fit together")
        if not all(chance > 0.0 for chance in chances) or not abs(sum(chances) - 1.0) <= 1e-8:
            raise ValueError("its probabilities are not above 0, or do not sum to 1")
