"""What a policy earns per unit time, with an interval, from one long run.

The rate is total reward over total time. Its interval is computed from batches of consecutive steps (see
`sojourn.rules.long_run`); if a run is too short for an interval, the answer says how long it should have been.
Rewards earned in no time belong to the batch in which they fall.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sojourn.envs.protocol import Environment, opener, parts_of
from sojourn.envs.reader import Reader, must_be_taken, reward_of
from sojourn.exact.logs import markov
from sojourn.exact.logs.fit import LogRows
from sojourn.exact.logs.markov import MarkovCheck
from sojourn.learner.driver import Choose, interruptible
from sojourn.rules.long_run import MicroBatches
from sojourn.runs.progress import Advance, no_progress, progress

_HOW = {"": "", "mode": " by the mode of its policy", "drawn": " with actions drawn from its policy"}
_LOOKS = 0.2  # seconds between progress updates
_TRAIL = 50_000  # steps that are enough to see whether the past matters


class Evaluation(NamedTuple):
    """A rate with its confidence interval, or with the time that an interval needs.

    `rate` is total reward over total time, for `steps` steps that took `duration`. `low` and `high` are its
    confidence interval at the `level`, provided the run has seen everything that matters. A run of fewer than
    2,000 steps, one whose halves disagree, or any run in a slow system can be too short for one; then `low` and
    `high` are None, and `needed` is roughly how long to follow the policy instead. `sentence` puts all this in
    words. `actions` says how a policy that can draw its actions took them: "drawn", or "mode", always the likeliest
    (the mean, if they are continuous); it is empty for any other policy.

    >>> seen = MicroBatches()
    >>> for reward in [1.0, 3.0] * 1000:
    ...     seen.add(reward, duration=2.0)
    >>> evaluation(seen)
    Evaluation(rate=1.0, low=1.0, high=1.0, level=0.95, steps=2000, duration=4000.0, needed=None, actions='')
    >>> evaluation(seen).sentence
    '1 per unit time, 95 % interval 1 to 1 if the run has seen all that matters (2,000 steps)'
    """

    rate: float
    low: float | None
    high: float | None
    level: float
    steps: int
    duration: float
    needed: float | None
    actions: str = ""

    @property
    def sentence(self) -> str:
        """The result in words."""
        found = f"{self.rate:.6g} per unit time{_HOW[self.actions]}"
        if self.needed is None:
            inside = f"{100.0 * self.level:g} % interval {self.low:.6g} to {self.high:.6g}"
            return f"{found}, {inside} if the run has seen all that matters ({self.steps:,} steps)"
        return (
            f"{found}, but a time of {self.duration:.3g} is too short for an interval, which needs about "
            f"{self.needed:.2g} ({self.steps:,} steps)"
        )


def evaluation(seen: MicroBatches, level: float = 0.95, actions: str = "") -> Evaluation:
    """Return the evaluation of a run, whose actions may be the mode of a policy or drawn from it."""
    found = seen.interval(level)
    return Evaluation(
        found.rate, found.low, found.high, level, seen.steps, seen.duration, found.needed, actions
    )


class Pacer:
    """Reports the progress of evaluations, and ends them between two steps on Ctrl-C."""

    def __init__(self, advance: Advance, asked: Sequence[int]) -> None:
        self.advance, self._asked = advance, asked

    def steps(self, until: float, seen: MicroBatches, reader: Reader) -> Iterator[None]:
        """Yield before each step until the time has passed."""
        shown, due, still = 0.0, time.monotonic(), 0  # steps since time last advanced
        while seen.duration < until:
            before = seen.duration
            yield
            still = 0 if seen.duration > before else still + 1
            reader.time_must_pass(still)
            if self._asked:
                raise KeyboardInterrupt
            if time.monotonic() >= due or seen.duration >= until:
                done = min(seen.duration, until)
                self.advance(done - shown, note=f"rate {seen.reward / (seen.duration or 1.0):.4g}")
                shown, due = done, time.monotonic() + _LOOKS


@contextlib.contextmanager
def paced(total: float, shown: bool) -> Iterator[Pacer]:
    """Yield the pacer of evaluations that take the time `total` together; `shown` says whether to report progress."""
    bar = progress("evaluating", total, "time") if shown else contextlib.nullcontext(no_progress)
    with bar as advance, interruptible() as asked:
        yield Pacer(advance, asked)


class Trail:
    """The first steps of a policy that is followed, as rows of a log."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, float, float, int, int]] = []
        self._episode = 0

    def add(self, state: int, action: int, reward: float, duration: float, next_state: int) -> None:
        """Add a step."""
        if len(self._rows) < _TRAIL:
            self._rows.append((state, action, reward, duration, next_state, self._episode))

    def cut(self) -> None:
        """End an episode whose last state does not lead to the first of the next one."""
        self._episode += 1

    def check(self) -> MarkovCheck | None:
        """Return whether the past beyond the states matters; None if the steps cannot say."""
        if not self._rows:
            return None
        state, action, reward, duration, after, episode = map(np.array, zip(*self._rows, strict=True))
        numbers = reward.astype(np.float64), duration.astype(np.float64)
        return markov.followed(LogRows(state, action, *numbers, after), episode)


def followed(
    env: Environment,
    reader: Reader,
    pacer: Pacer,
    choose: Choose,
    until: float,
    seed: int,
    trail: Trail | None = None,
) -> tuple[MicroBatches, float]:
    """Follow a policy until the time `until`; return what it earned, and the sum of its absolute rewards.

    `trail` gets the steps, if states can be listed.
    """
    seen, size = MicroBatches(), 0.0
    reset, clock = opener(env), reader.clock()
    observation, info = reset(seed=seed)
    mask = reader.mask(observation, info)
    clock.begin(info)
    state: Any = None if trail is None else reader.read(observation)
    for _ in pacer.steps(until, seen, reader):
        action = choose(observation, mask)
        observation, reward, terminated, truncated, info = parts_of(env.step(action))
        duration, earned = reader.duration(observation, action, info), reward_of(reward)
        clock.advance(info, duration)
        next_state = reader.read(observation)  # or raises an error if the observation is invalid
        # After termination no action follows, so the mask may be anything.
        mask = None if terminated else reader.mask(observation, info)
        must_be_taken(info, "let the policy, or the baseline, take an action there that it allows")
        seen.add(earned, duration)
        size += abs(earned)
        if terminated or truncated:
            observation, info = reset()
            mask = reader.mask(observation, info)
            clock.begin(info)
        if trail is not None:
            go_on = reader.read(observation) if terminated or truncated else next_state
            trail.add(state, int(action), earned, duration, go_on if terminated else next_state)
            state = go_on
            if truncated and not terminated:
                trail.cut()
    return seen, size
