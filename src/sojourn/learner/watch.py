"""Monitors an agent while it learns, and warns.

A rate that is too low makes every action look better than it is, and the more so the longer the action takes; a rate
that is too high makes it look worse. The values then drift in common instead of converging, and the preference
between long and short actions is wrong. If the gap between the values of the best and the second-best action keeps
growing as well, the greedy action is locked in: whatever exploration finds, the other actions cannot catch up.

A policy that gets stuck is freed by every exploring step, so all looks well during learning. What it earns by itself
shows in greedy steps that follow many others: if these earn much less than the learned rate, so does the policy.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from sojourn.agents.methods import Discounted, Stepwise
from sojourn.agents.protocol import Agent
from sojourn.agents.red_cvar import WorstRewards
from sojourn.agents.step_sizes import ByFrequency, ConstantStepSize
from sojourn.learner.table_agent import LATE, Surplus
from sojourn.rules.arrays import Floats, Ints
from sojourn.runs.recording import Totals

if TYPE_CHECKING:
    from sojourn.learner.learner import Learner

_GROWTH = 1.7  # growth per doubling: 2 for a steady drift, 1.4 for a random walk, 1 for converged values
_TIMES = 3  # doublings of the steps over which values must keep growing
_ERRORS = 5.0  # standard errors by which greedy steps must deviate from the learned rate
_LATE_LEAST, _LATE_SHARE = 200, 0.4  # late steps, and the share of the rate by which they must earn less
_FIRST_LOOK = 5000  # late steps are judged from this step on
_BEYOND, _LOST = 0.25, 10.0  # how far a rate is beyond what is possible, in units of the width of that
_TINY = 5e-324  # float above 0
_VISITS = 20.0  # visits of every pair, times the step size, before anything is judged


class Seen(NamedTuple):
    """The current state of an agent."""

    totals: Totals
    q: Floats
    rate: float
    surplus: Surplus
    late: Surplus  # of steps after many greedy ones
    sound: bool  # whether all numbers are finite


class Snapshot(NamedTuple):
    """The values at one time."""

    totals: Totals
    mean: float
    gap: float
    policy: bytes
    surplus: Surplus


class Watcher:
    """Inspects the values whenever the number of steps has doubled, and gives each kind of warning once.

    `said` holds the warnings so far.
    """

    def __init__(self, num_pairs: int, agent: Agent) -> None:
        self._next = max(1000, int(_VISITS * num_pairs / step_size_of(agent)))
        self._looks: list[Snapshot] = []
        self._next_late, self._late = _FIRST_LOOK, Surplus(0, 0.0, 0.0, 0.0)
        self._pasts: list[tuple[int, Ints]] = []
        self._warned: set[str] = set()
        self.said: list[str] = []
        if not rate_is_learned(agent):
            self._next = self._next_late = sys.maxsize
        if not hasattr(agent, "exploration"):
            # An agent that explores only where it is unsure takes many greedy steps in a row elsewhere.
            self._next_late = sys.maxsize

    def look(self, seen: Seen) -> list[str]:
        """Return the warnings that are due."""
        steps, found = seen.totals.steps, [] if seen.sound else [("diverged", _DIVERGED)]
        if seen.sound and steps >= self._next_late:
            self._next_late = 2 * steps
            found += _stuck(self._late, seen)
            self._late = seen.late
        if seen.sound and steps >= self._next:
            self._next = 2 * steps
            self._looks = [*self._looks[-_TIMES:], _look(seen)]
            found += self._found()
        if not self._pasts or steps >= 2 * self._pasts[-1][0]:
            self._pasts = [*self._pasts[-1:], (steps, seen.q.argmax(axis=1))]
        new = [sentence for kind, sentence in found if kind not in self._warned]
        self._warned.update(kind for kind, _ in found)
        self.said += new
        return new

    def policy_before(self, steps: int) -> Ints | None:
        """Return the last snapshot's policy from the first three quarters of this many steps, or None."""
        found = [actions for taken, actions in self._pasts if 4 * taken <= 3 * steps]
        return found[-1] if found else None

    def _found(self) -> list[tuple[str, str]]:
        sign = self._bias()
        if not sign:
            return []
        found, before, now = [], *self._looks[-2:]
        if self._grows("mean"):
            drift = (now.mean - before.mean) / (now.totals.steps - before.totals.steps)
            surplus = _mean_surplus(before.surplus, now.surplus)
            more, wrong, look = ("more", "low", "better") if sign > 0 else ("less", "high", "worse")
            sentence = _DRIFT.format(drift=drift, surplus=abs(surplus), more=more, wrong=wrong, look=look)
            found.append(("drift", sentence))
        if self._grows("gap") and len({each.policy for each in self._looks}) == 1:
            found.append(("lock", _LOCK.format(gap=now.gap, steps=now.totals.steps)))
        return found

    def _bias(self) -> int:
        """Return 1 if greedy steps have always earned more than the rate says, -1 if always less, otherwise 0.

        If the rate is right, greedy steps earn neither more nor less on average; the remaining movement of
        the values is a random walk of their common level, which is harmless.
        """
        if len(self._looks) <= _TIMES:
            return 0
        signs = {_sign(before.surplus, after.surplus) for before, after in itertools.pairwise(self._looks)}
        return signs.pop() if len(signs) == 1 else 0

    def _grows(self, name: str) -> bool:
        sizes = [abs(getattr(look, name)) for look in self._looks]
        return sizes[0] > 0.0 and all(after > _GROWTH * size for size, after in itertools.pairwise(sizes))


class RateLimits:
    """The least and the largest reward per unit time of all steps so far; a rate, which is a mean of these, lies between them.

    An estimate may begin elsewhere, at `first`, and may overshoot a little while values move. One that is beyond the
    limits by a quarter of their distance is impossible, and one that is beyond by ten times the distance will not come back. A
    reward in no time is more per unit time than any number, so after one there are no limits.

    >>> limits = RateLimits(first=0.0)
    >>> limits.see(3.0, 2.0), limits.see(1.0, 4.0)
    ((1.5, 1.5), (0.25, 1.5))
    >>> limits.sentence(1.8)
    ''
    >>> limits.sentence(333.0)
    'the learned rate is 333, which is impossible: no step has earned more than 1.5 per unit time'
    """

    def __init__(
        self, first: float, low: float = math.inf, high: float = -math.inf, is_rate: bool = True
    ) -> None:
        self.first, self.low, self.high = first, low, high
        self.is_rate = is_rate  # whether what the agent learns with is a rate at all
        self.has_warned = False

    def see(self, reward: float, duration: float) -> tuple[float, float]:
        """Take in a step, and return the limits."""
        if duration > 0.0:
            earned = reward / duration
            self.low, self.high = min(self.low, earned), max(self.high, earned)
        elif reward != 0.0:
            self.low, self.high = -math.inf, math.inf
        return self.low, self.high

    def see_all(self, rewards: Floats, durations: Floats) -> None:
        """Take in steps."""
        for reward, duration in zip(rewards.tolist(), durations.tolist(), strict=True):
            if not self.low * duration <= reward <= self.high * duration:
                self.see(reward, duration)

    def beyond(self, rate: float) -> float:
        """Return how far a rate is beyond the limits, in units of their distance; 0 if there are none yet."""
        low, high = min(self.low, self.first), max(self.high, self.first)
        if not (self.is_rate and self.low <= self.high and math.isfinite(high - low) and math.isfinite(rate)):
            return 0.0
        return max(rate - high, low - rate, 0.0) / max(high - low, abs(self.low), abs(self.high), _TINY)

    def is_lost(self, rate: float) -> bool:
        """Whether a rate is so far beyond the limits that to go on learning is of no use."""
        return self.beyond(rate) > _LOST

    def sentence(self, rate: float) -> str:
        """Say that a rate is impossible, if it is."""
        if not self.beyond(rate) > _BEYOND:
            return ""
        most = rate > self.high
        than = f"more than {self.high:.3g}" if most else f"less than {self.low:.3g}"
        return f"the learned rate is {rate:.3g}, which is impossible: no step has earned {than} per unit time"


def step_size_of(agent: Agent) -> float:
    """Return an agent's step size, per step of the run if it is adjusted, or 0.01 if it is not constant."""
    step_size = getattr(agent, "step_size", None)
    if isinstance(step_size, ByFrequency):
        return step_size.schedule.frequency_adjusted
    return step_size.size if isinstance(step_size, ConstantStepSize) else 0.01


def rate_is_learned(agent: Agent) -> bool:
    """Whether an agent's values depend on a rate per unit time; they do not if it discounts, counts steps or looks at the worst."""
    return not isinstance(getattr(agent, "method", None), Discounted | Stepwise | WorstRewards)


def _stuck(before: Surplus, seen: Seen) -> list[tuple[str, str]]:
    """Return a warning if late steps since the last inspection earned much less than the rate."""
    now, taken = seen.late, seen.late.duration - before.duration
    if not taken > 0.0 or now.steps - before.steps < _LATE_LEAST or _sign(before, now) >= 0:
        return []
    earned = seen.rate + (now.total - before.total) / taken
    if seen.rate - earned < _LATE_SHARE * max(abs(seen.rate), abs(earned)):
        return []
    return [("stuck", _STUCK.format(rate=seen.rate, earned=earned, late=LATE))]


def _sign(before: Surplus, after: Surplus) -> int:
    """Return the sign of the mean surplus between two inspections, 0 if it may be chance."""
    count = after.steps - before.steps
    if count < 2:
        return 0
    mean = _mean_surplus(before, after)
    variance = max((after.squared - before.squared) / count - mean * mean, 0.0)
    return int(np.sign(mean)) if abs(mean) > _ERRORS * math.sqrt(variance / count) else 0


def _mean_surplus(before: Surplus, after: Surplus) -> float:
    """Return the mean surplus of greedy steps between two inspections over the rate at the time."""
    return (after.total - before.total) / max(after.steps - before.steps, 1)


_DIVERGED = "the values or the rate are no longer finite; smaller step sizes may help"
_DRIFT = (
    "the values drift without bound, by about {drift:.3g} in each step: the learned rate is too {wrong}, so long actions "
    "look {look} than they are (recent greedy steps each earned {surplus:.3g} {more} than the rate says for their time); "
    "if what can be earned changes with time, an estimator that forgets may help, otherwise one without bias, such as "
    "that of smart"
)
_STUCK = (
    "the greedy policy earns less by itself than the learned rate of {rate:.3g}, about {earned:.3g} after {late} greedy "
    "steps in a row: it may get stuck where only exploring helps; verdict() measures what it earns, and longer "
    "training, other bins or another agent may help"
)
_LOCK = (
    "the greedy actions are locked in: the gap to the next best action has grown steadily, to {gap:.3g} after "
    "{steps:,} steps, so what exploration finds can no longer change them"
)


def _look(seen: Seen) -> Snapshot:
    q = seen.q
    visited = (q != 0.0).any(axis=1) & np.isfinite(q).any(axis=1)
    rows = np.where(np.isfinite(q), q, np.nan)[visited]
    if not rows.size:
        return Snapshot(seen.totals, 0.0, 0.0, b"", seen.surplus)
    best = np.nanmax(rows, axis=1)
    ordered = np.sort(np.where(np.isnan(rows), -np.inf, rows), axis=1)
    gaps = ordered[:, -1] - ordered[:, -2] if q.shape[1] > 1 else np.zeros(len(rows))
    finite = gaps[np.isfinite(gaps)]
    gap = float(np.median(finite)) if finite.size else 0.0
    policy = q.argmax(axis=1).astype(np.int64).tobytes()
    return Snapshot(seen.totals, float(best.mean()), gap, policy, seen.surplus)


def tensorboard(folder: str) -> Callable[[Learner], None]:
    """Return a callback for `Learner.train` that writes its progress for TensorBoard.

    It needs an extra: pip install 'sojourn[tensorboard]'. It logs the learned rate, the earned rate and the
    largest |Q| by the number of steps, and the error of a network's values. If training evaluates the policy, it also
    logs what that earned, and the most that it earned so far.

    >>> import tempfile
    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=1e-3)), sj.smart, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     totals = learner.train(1000, callbacks=tensorboard(folder))
    >>> totals.steps
    1000
    """
    try:
        from tensorboard.summary import Writer
    except ImportError:
        raise ValueError(
            "TensorBoard is not installed; install it with: pip install 'sojourn[tensorboard]'"
        ) from None
    writer, written = Writer(str(folder)), -1

    def write(learner: Learner) -> None:
        nonlocal written
        totals = learner.totals
        writer.add_scalar("rate", learner.rate, step=totals.steps)
        if totals.duration > 0.0:
            writer.add_scalar("earned", totals.reward / totals.duration, step=totals.steps)
        writer.add_scalar("largest value", learner.largest_value, step=totals.steps)
        for row in learner.history.filter(pl.col("steps") > written).iter_rows(named=True):
            for name in ("error", "evaluated"):
                if row[name] is not None:
                    writer.add_scalar(name, row[name], step=row["steps"])
            if row["evaluated"] is not None:
                writer.add_scalar("best evaluated", row["best_evaluated"], step=row["steps"])
        written = totals.steps
        writer.flush()

    return write
