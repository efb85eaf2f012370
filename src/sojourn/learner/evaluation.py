"""What a policy earns per unit time, with an interval, from one long run.

The rate is the ratio of all reward to all time. Its interval is computed from batches of consecutive steps, as
`sojourn.rules.long_run` explains; if a run is too short for an interval, the answer says how long it should have
been. What is earned in no time belongs to the batch in which it falls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from numpy.typing import ArrayLike

from sojourn.envs.durations import reward_of
from sojourn.envs.protocol import Element, Environment, begun_with, parts_of
from sojourn.envs.tabulation import Index
from sojourn.learner.masks import HiddenActions
from sojourn.learner.reading import Reading
from sojourn.rules.arrays import Floats
from sojourn.rules.long_run import MicroBatches

Choose: TypeAlias = Callable[[Element, ArrayLike | None], int]  # an observation's action, counted from 0


class Evaluation(NamedTuple):
    """A rate with its confidence interval, or with the time that an interval needs.

    `rate` is all reward divided by all time, over `steps` steps that took `duration`. `low` and `high` are its
    confidence interval at the `level`. In a slow system a run can be too short for one; then `low` and `high` are
    None, and `needed` is roughly how long to follow the policy instead. `sentence` says all this in words.

    >>> seen = MicroBatches()
    >>> for reward in [1.0, 3.0] * 500:
    ...     seen.add(reward, duration=2.0)
    >>> evaluation(seen)
    Evaluation(rate=1.0, low=1.0, high=1.0, level=0.95, steps=1000, duration=2000.0, needed=None)
    >>> evaluation(seen).sentence
    '1 per unit time, 95 % interval 1 to 1 (1,000 steps)'
    """

    rate: float
    low: float | None
    high: float | None
    level: float
    steps: int
    duration: float
    needed: float | None

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        found = f"{self.rate:.6g} per unit time"
        if self.needed is None:
            inside = f"{100.0 * self.level:g} % interval {self.low:.6g} to {self.high:.6g}"
            return f"{found}, {inside} ({self.steps:,} steps)"
        return (
            f"{found}, but a time of {self.duration:.3g} is too short for an interval, which needs about "
            f"{self.needed:.2g} ({self.steps:,} steps)"
        )


def evaluation(seen: MicroBatches, level: float = 0.95) -> Evaluation:
    """Return what a run says about the rate."""
    found = seen.interval(level)
    return Evaluation(found.rate, found.low, found.high, level, seen.steps, seen.duration, found.needed)


class Followed(NamedTuple):
    """What was seen while a policy was followed: its steps in batches, and the sum of its absolute rewards."""

    batches: MicroBatches
    size: float


def followed(env: Environment, reading: Reading, choose: Choose, until: float, seed: int) -> Followed:
    """Follow a policy for the time `until`, and return what it earned; `choose` maps observation and mask to an action."""
    batches, size, still = MicroBatches(), 0.0, 0  # still: steps since time last passed
    observation, info = begun_with(env.reset(seed=seed))
    clock = reading.clock()
    if clock is not None:
        clock.begin(info)
    while batches.duration < until:
        action = choose(observation, reading.mask(observation, info)) + reading.first_action
        observation, reward, terminated, truncated, info = parts_of(env.step(action))
        taken, earned = reading.duration(observation, action, info), reward_of(reward)
        if clock is not None:
            clock.advance(info, taken)
        batches.add(earned, taken)
        size += abs(earned)
        still = still + 1 if taken == 0.0 else 0
        reading.time_must_pass(still)
        if terminated or truncated:
            observation, info = env.reset()
            if clock is not None:
                clock.begin(info)
    return Followed(batches, size)


class Greedy:
    """The greedy policy of a table, which counts the states that it is asked about."""

    def __init__(self, q: Floats, hidden: HiddenActions, index: Index) -> None:
        self.actions: list[int] = q.argmax(axis=1).tolist()
        self.asked: Counter[int] = Counter()
        self._hidden, self._index = hidden, index

    def __call__(self, observation: Element, mask: ArrayLike | None) -> int:
        """Return the best action that is allowed."""
        state = self._index(observation)
        self.asked[state] += 1
        return self.actions[state] if mask is None else int(self._hidden.seen_through(state, mask).argmax())

    def otherwise(self, actions: list[int]) -> Choose:
        """Return a policy that takes these actions by state, or this policy's action if one is not allowed."""

        def choose(observation: Element, mask: ArrayLike | None) -> int:
            action = actions[self._index(observation)]
            allowed = mask is None or self._hidden.checked(mask)[action]
            return action if allowed else self(observation, mask)

        return choose
