"""What is watched in a training: a row every 1,000 steps, and what the policy earned whenever it was evaluated.

When there are more than 1,000 rows, every other one is dropped and the distance doubles; evaluations stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sojourn.data.hints import check_kind
from sojourn.data.numbers import shown
from sojourn.data.numbers import whole as whole_number
from sojourn.learner.driver import Driver
from sojourn.rules.arrays import Floats

if TYPE_CHECKING:
    from sojourn.learner.learner import Learner

_FIRST_DISTANCE, _MOST = 1000, 1000
_NAN = math.nan


class Row(NamedTuple):
    """The totals after some steps, and the agent then; nan where something is not known."""

    steps: int
    duration: float
    reward: float
    rate: float
    largest_value: float
    error: float
    evaluated: float


@dataclass
class History:
    """The rows so far, and the step at which the next is due."""

    due: int = _FIRST_DISTANCE
    distance: int = _FIRST_DISTANCE
    rows: list[Row] = field(default_factory=list)

    def note(self, driver: Driver, evaluated: float = _NAN) -> None:
        """Write a row if one is due, or if the policy was just evaluated."""
        totals = driver.totals
        if totals.steps < self.due and math.isnan(evaluated):
            return
        if self.rows and self.rows[-1].steps == totals.steps:
            del self.rows[-1]
        self.rows.append(
            Row(
                totals.steps,
                totals.duration,
                totals.reward,
                driver.rate,
                driver.largest_value,
                driver.error,
                evaluated,
            )
        )
        if totals.steps >= self.due:
            if len(self.rows) > _MOST:
                self.distance *= 2
                self.rows = [
                    row
                    for row in self.rows
                    if row.steps % self.distance == 0 or row.evaluated == row.evaluated
                ]
            self.due = (totals.steps // self.distance + 1) * self.distance

    @property
    def evaluated(self) -> int:
        """The steps of the last evaluation."""
        return next((row.steps for row in reversed(self.rows) if row.evaluated == row.evaluated), 0)

    def frame(self) -> pl.DataFrame:
        """Return the rows as a table, with what was earned between them and the best evaluation so far."""
        table = pl.DataFrame(self.rows, schema=_SCHEMA, orient="row")
        earned = pl.col("reward").diff(null_behavior="ignore") / pl.col("duration").diff(
            null_behavior="ignore"
        )
        first = pl.col("reward") / pl.col("duration")
        return table.with_columns(
            earned=pl.coalesce(earned, first),
            error=pl.col("error").fill_nan(None),
            evaluated=pl.col("evaluated").fill_nan(None),
        ).with_columns(best_evaluated=pl.col("evaluated").cum_max().forward_fill())

    def saved(self) -> dict[str, Any]:
        """Return what a file holds."""
        rows = np.array(self.rows, dtype=np.float64).reshape(len(self.rows), len(Row._fields))
        return {"due": self.due, "distance": self.distance, "rows": rows}

    @classmethod
    def restored(cls, saved: Any, steps: int) -> History:
        """Return what a file holds, or say what is wrong with it; files of older versions hold nothing."""
        if saved is None:
            return cls(due=(steps // _FIRST_DISTANCE + 1) * _FIRST_DISTANCE)
        check_kind(dict[str, Any], saved, "the history")
        due, distance = (whole_number(f"the history's {name}", saved[name]) for name in ("due", "distance"))
        rows = saved["rows"]
        check_kind(Floats, rows, "the rows of the history")
        if rows.ndim != 2 or rows.shape[1] != len(Row._fields) or not (rows[:, 0] >= 0.0).all():
            raise ValueError(f"its history has the shape {shown(rows.shape)}, or impossible steps")
        return cls(due, distance, [Row(int(first), *rest) for first, *rest in rows.tolist()])


_SCHEMA = {name: pl.Int64 if name == "steps" else pl.Float64 for name in Row._fields}


def checkpoints(path: str, every: int = 10_000) -> Callable[[Learner], None]:
    """Return a callback for `Learner.train` that saves the learner about every so many steps.

    The file is written whole or not at all, and training continues from it with `Learner.load`. If the path contains
    "{steps}", as in "wear-{steps}.sojourn", each is a file of its own; otherwise the last one is overwritten.

    >>> import pathlib, tempfile
    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=1e-3)), sj.smart, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     totals = learner.train(4500, callbacks=checkpoints(f"{folder}/{{steps}}.sojourn", every=2000))
    ...     sorted(file.name for file in pathlib.Path(folder).iterdir())
    ['2000.sojourn', '4000.sojourn']
    """
    every, done = whole_number("every", every), -1

    def save(learner: Learner) -> None:
        nonlocal done
        steps = learner.totals.steps
        done = (steps - 1) // every if done < 0 else done
        if steps // every > done:
            done = steps // every
            learner.save(str(path).replace("{steps}", str(steps)))

    return save
