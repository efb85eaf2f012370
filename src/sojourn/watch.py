"""What to look at while an agent learns.

A rate that is too low makes every action look better than it is, the more so the longer the
action takes; one that is too high, worse. The values then do not settle but drift, by about
the difference each step, and the preference between long and short actions is wrong. A gap
between the values of the best and the next action that grows in the same way means that the
greedy action is locked in: whatever exploration finds out, the others cannot catch up.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

_GROWTH = 1.7  # 2 for a drift that is steady, 1.4 for a random walk, 1 for what has settled
_TIMES = 3  # doublings of the steps over which growth is asked for
_NEAR = 0.05  # a learned rate that differs no more than this from what is earned is not to blame
_VISITS = 20.0  # of every pair of state and action, in units of 1 / step size, before anything is judged


class Look(NamedTuple):
    """What was seen of the values after so many steps."""

    steps: int
    mean: float
    gap: float
    policy: bytes


class Watcher:
    """Looks at the values whenever the number of steps has doubled, and warns once."""

    def __init__(self, num_pairs: int, step_size: float) -> None:
        self._next = self._first = max(1000, int(_VISITS * num_pairs / step_size))
        self._looks: list[Look] = []
        self._warned: set[str] = set()

    def look(self, steps: int, q: Any, rate: float, earned: float, sound: bool) -> list[str]:
        """Return the warnings that are due after this many steps.

        `earned` is the rate of the accepted steps; `sound`, whether all numbers are finite.
        """
        found = [] if sound else [("diverged", _DIVERGED)]
        if sound and steps >= self._next:
            self._next = 2 * steps
            self._looks = [*self._looks[-_TIMES:], _look(steps, q)]
            found = self._found(rate, earned)
        new = [sentence for kind, sentence in found if kind not in self._warned]
        self._warned.update(kind for kind, _ in found)
        return new

    def _found(self, rate: float, earned: float) -> list[tuple[str, str]]:
        found = []
        if self._grows("mean"):
            last, now = self._looks[-2:]
            drift = (now.mean - last.mean) / (now.steps - last.steps)
            # A rate that is too low lets the values rise.
            wrong = (
                "low, so that long actions look better"
                if drift > 0
                else "high, so that long actions look worse"
            )
            near = abs(rate - earned) <= _NEAR * max(abs(rate), abs(earned))
            why = _UNSTEADY if near else _WRONG.format(wrong=wrong)
            found.append(("drift", _DRIFT.format(drift=drift, rate=rate, earned=earned) + why))
        if self._grows("gap") and len({look.policy for look in self._looks}) == 1:
            found.append(("lock", _LOCK.format(gap=self._looks[-1].gap, steps=self._looks[-1].steps)))
        return found

    def _grows(self, name: str) -> bool:
        sizes = [abs(getattr(look, name)) for look in self._looks]
        steadily = all(after > _GROWTH * before for before, after in itertools.pairwise(sizes))
        return len(sizes) > _TIMES and sizes[0] > 0.0 and steadily


_DIVERGED = "the values or the rate are no longer finite; smaller step sizes may help"
_DRIFT = (
    "the values drift without bound, by about {drift:.3g} each step; the learned rate is {rate:.4g}, and greedy steps "
    "earned {earned:.4g} per unit time: "
)
_WRONG = "the rate is too {wrong} than they are, and another agent, such as smart, may help"
_UNSTEADY = "what can be earned seems to change with time, so that no constant rate fits"
_LOCK = (
    "the greedy actions are locked in: the gap to the next best action has grown with the steps to {gap:.3g} "
    "after {steps:,}, so that what exploration finds can no longer change them"
)


def _look(steps: int, q: Any) -> Look:
    visited = (q != 0.0).any(axis=1) & np.isfinite(q).any(axis=1)
    rows = np.where(np.isfinite(q), q, np.nan)[visited]
    if not rows.size:
        return Look(steps, 0.0, 0.0, b"")
    best = np.nanmax(rows, axis=1)
    ordered = np.sort(np.where(np.isnan(rows), -np.inf, rows), axis=1)
    gaps = ordered[:, -1] - ordered[:, -2] if q.shape[1] > 1 else np.zeros(len(rows))
    finite = gaps[np.isfinite(gaps)]
    gap = float(np.median(finite)) if finite.size else 0.0
    return Look(steps, float(best.mean()), gap, q.argmax(axis=1).astype(np.int64).tobytes())


def tensorboard(folder: str) -> Any:
    """Return a callback for `Learner.train` that writes what can be watched to TensorBoard.

    It needs the extra: pip install 'sojourn[tensorboard]'. Rate, earned rate and the size of Q
    are written over the number of steps.
    """
    try:
        from tensorboard.summary import Writer
    except ImportError:
        raise ValueError("this needs TensorBoard: pip install 'sojourn[tensorboard]'") from None
    writer = Writer(str(folder))

    def write(learner: Any) -> None:
        totals = learner.totals
        writer.add_scalar("rate", learner.rate, step=totals.steps)
        writer.add_scalar("earned", totals.reward / totals.duration, step=totals.steps)
        writer.add_scalar("largest value", learner.largest_value, step=totals.steps)
        writer.flush()

    return write
