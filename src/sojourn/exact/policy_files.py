"""A solved policy on its own: it acts without the model, draws where it has to, and can be written as CSV or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.data.files import write_text
from sojourn.deploy.interface import VERSION, About
from sojourn.deploy.tables import SOLVED, RandomisedPolicy, SolvedFile
from sojourn.models.chain import PolicyLike, by_number, chain_of
from sojourn.rules.door import told

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP


@told
class SolvedPolicy(RandomisedPolicy):
    """A policy of a model, which may draw its action in some states; `Solution.write_policy` writes it into a file.

    >>> import sojourn as sj
    >>> line = sj.models.from_dict({"line": {
    ...     "answer": {"reward": 1, "duration": 1, "next": "line"}, "reject": {"reward": 3, "duration": 1, "next": "line"},
    ... }})
    >>> policy = SolvedPolicy(line, [[0.75, 0.25]], seed=1)
    >>> [policy.act("line") for _ in range(8)], policy.chances("line")
    ([0, 1, 0, 1, 0, 0, 1, 0], {'answer': 0.75, 'reject': 0.25})
    """

    def __init__(self, model: SMDP, policy: PolicyLike, seed: int = 0, about: About | None = None) -> None:
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
        file: SolvedFile = {
            "format": SOLVED, "version": VERSION, "states": names[0], "actions": names[1], "taken": taken, "chances": chances,
        }  # fmt: skip
        if about is not None:
            file["about"] = about
        super().__init__(file, seed)

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
            super().write(path)
        else:
            raise ValueError(
                f"{path} must end with .csv, for a table, or .json, for a policy that can be loaded"
            )
