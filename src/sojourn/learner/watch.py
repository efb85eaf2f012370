"""What to look at while an agent learns.

A rate that is too low makes every action look better than it is, the more so the longer the
action takes; one that is too high, worse. The values then do not settle but drift, by about
the difference each step, and the preference between long and short actions is wrong. A gap
between the values of the best and the next action that grows in the same way means that the
greedy action is locked in: whatever exploration finds out, the others cannot catch up.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from sojourn.agents.errors import Discounted, Stepwise
from sojourn.agents.protocol import Agent
from sojourn.agents.step_sizes import Constant
from sojourn.learner.held import Surplus
from sojourn.rules.arrays import Floats
from sojourn.runs.totals import Totals

_GROWTH = 1.7  # 2 for a drift that is steady, 1.4 for a random walk, 1 for what has settled
_TIMES = 3  # doublings of the steps over which growth is asked for
_ERRORS = 5.0  # standard errors by which greedy steps must earn more or less than the learned rate says
_VISITS = 20.0  # of every pair of state and action, in units of 1 / step size, before anything is judged


class Watched(Protocol):
    """What is written to TensorBoard: a learner has it."""

    @property
    def totals(self) -> Totals:
        """Steps, reward and time so far."""

    @property
    def rate(self) -> float:
        """The learned rate."""

    @property
    def largest_value(self) -> float:
        """The largest |Q|."""


class Seen(NamedTuple):
    """How an agent stands."""

    totals: Totals
    q: Floats
    rate: float
    surplus: Surplus
    sound: bool  # whether all numbers are finite


class Look(NamedTuple):
    """What was seen of the values at one time."""

    totals: Totals
    mean: float
    gap: float
    policy: bytes
    surplus: Surplus


class Watcher:
    """Looks at the values whenever the number of steps has doubled, and warns once."""

    def __init__(self, num_pairs: int, agent: Agent) -> None:
        step_size = getattr(agent, "step_size", None)
        size = step_size.size if isinstance(step_size, Constant) else 0.01
        self._next = max(1000, int(_VISITS * num_pairs / size))
        self._looks: list[Look] = []
        self._warned: set[str] = set()
        if isinstance(getattr(agent, "method", None), Discounted | Stepwise):
            # Discounted values do not depend on the rate, and cannot drift; a rate per step is not one per time.
            self._next = sys.maxsize

    def look(self, seen: Seen) -> list[str]:
        """Return the warnings that are due."""
        found = [] if seen.sound else [("diverged", _DIVERGED)]
        if seen.sound and seen.totals.steps >= self._next:
            self._next = 2 * seen.totals.steps
            self._looks = [*self._looks[-_TIMES:], _look(seen)]
            found = self._found()
        new = [sentence for kind, sentence in found if kind not in self._warned]
        self._warned.update(kind for kind, _ in found)
        return new

    def _found(self) -> list[tuple[str, str]]:
        sign = self._bias()
        if not sign:
            return []
        found, before, now = [], *self._looks[-2:]
        if self._grows("mean"):
            drift = (now.mean - before.mean) / (now.totals.steps - before.totals.steps)
            surplus = _mean_surplus(before.surplus, now.surplus)
            more, wrong = ("more", "low") if sign > 0 else ("less", "high")
            found.append(
                (
                    "drift",
                    _DRIFT.format(
                        drift=drift,
                        surplus=abs(surplus),
                        more=more,
                        wrong=wrong,
                        look="better" if sign > 0 else "worse",
                    ),
                )
            )
        if self._grows("gap") and len({look.policy for look in self._looks}) == 1:
            found.append(("lock", _LOCK.format(gap=now.gap, steps=now.totals.steps)))
        return found

    def _bias(self) -> int:
        """Return 1 if greedy steps have always earned more than the rate says, -1 if less, else 0.

        A rate that is right is not exceeded in the mean, and what is left of the values'
        movement is a random walk of their common level, which means nothing.
        """
        if len(self._looks) <= _TIMES:
            return 0
        signs = {_sign(before.surplus, after.surplus) for before, after in itertools.pairwise(self._looks)}
        return signs.pop() if len(signs) == 1 else 0

    def _grows(self, name: str) -> bool:
        sizes = [abs(getattr(look, name)) for look in self._looks]
        return sizes[0] > 0.0 and all(after > _GROWTH * size for size, after in itertools.pairwise(sizes))


def _sign(before: Surplus, after: Surplus) -> int:
    """Return the sign of the mean surplus between two looks, 0 if it may be chance."""
    count = after.steps - before.steps
    if count < 2:
        return 0
    mean = _mean_surplus(before, after)
    variance = max((after.squared - before.squared) / count - mean * mean, 0.0)
    return int(np.sign(mean)) if abs(mean) > _ERRORS * math.sqrt(variance / count) else 0


def _mean_surplus(before: Surplus, after: Surplus) -> float:
    """Return by how much a greedy step between two looks earned more than the rate at the time allowed for."""
    return (after.total - before.total) / max(after.steps - before.steps, 1)


_DIVERGED = "the values or the rate are no longer finite; smaller step sizes may help"
_DRIFT = (
    "the values drift without bound, by about {drift:.3g} each step: the learned rate is too {wrong}, so that long actions "
    "look {look} than they are (greedy steps lately earned {surplus:.3g} {more} each than the rate allows for their "
    "time); if what can be earned changes with time, an estimator that forgets may help, otherwise one without bias, as "
    "smart has"
)
_LOCK = (
    "the greedy actions are locked in: the gap to the next best action has grown with the steps to {gap:.3g} "
    "after {steps:,}, so that what exploration finds can no longer change them"
)


def _look(seen: Seen) -> Look:
    q = seen.q
    visited = (q != 0.0).any(axis=1) & np.isfinite(q).any(axis=1)
    rows = np.where(np.isfinite(q), q, np.nan)[visited]
    if not rows.size:
        return Look(seen.totals, 0.0, 0.0, b"", seen.surplus)
    best = np.nanmax(rows, axis=1)
    ordered = np.sort(np.where(np.isnan(rows), -np.inf, rows), axis=1)
    gaps = ordered[:, -1] - ordered[:, -2] if q.shape[1] > 1 else np.zeros(len(rows))
    finite = gaps[np.isfinite(gaps)]
    gap = float(np.median(finite)) if finite.size else 0.0
    policy = q.argmax(axis=1).astype(np.int64).tobytes()
    return Look(seen.totals, float(best.mean()), gap, policy, seen.surplus)


def tensorboard(folder: str) -> Callable[[Watched], None]:
    """Return a callback for `Learner.train` that writes what can be watched to TensorBoard.

    It needs the extra: pip install 'sojourn[tensorboard]'. Rate, earned rate and the size of Q
    are written over the number of steps.

    >>> import tempfile
    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.WorldEnv(sj.TwoState(log_scale=1e-3)), sj.smart, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     totals = learner.train(1000, callbacks=tensorboard(folder))
    >>> totals.steps
    1000
    """
    try:
        from tensorboard.summary import Writer
    except ImportError:
        raise ValueError("this needs TensorBoard: pip install 'sojourn[tensorboard]'") from None
    writer = Writer(str(folder))

    def write(learner: Watched) -> None:
        totals = learner.totals
        writer.add_scalar("rate", learner.rate, step=totals.steps)
        if totals.duration > 0.0:
            writer.add_scalar("earned", totals.reward / totals.duration, step=totals.steps)
        writer.add_scalar("largest value", learner.largest_value, step=totals.steps)
        writer.flush()

    return write
