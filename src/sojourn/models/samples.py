"""Laws given by samples: samples of one number, and samples of rewards and durations together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sojourn.data.numbers import at_least_zero, finite, several


class Empirical(NamedTuple):
    """The law of samples, which gives each of the numbers with the same probability.

    >>> Empirical([1.0, 4.0, 4.0]).mean
    3.0
    """

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean of the samples."""
        return math.fsum(share * value for share, value in self.shares("a law"))

    def shares(self, name: str) -> list[tuple[float, float]]:
        """Return each different number with its probability; `name` is what error messages call the law.

        >>> Empirical([1.0, 4.0, 1.0, 2.0]).shares("the reward")
        [(0.5, 1.0), (0.25, 4.0), (0.25, 2.0)]
        """
        numbers = [
            finite(f"a sample of {name}", value) for value in several(f"the samples of {name}", self.values)
        ]
        return [(count / len(numbers), value) for value, count in Counter(numbers).items()]


class Outcomes(NamedTuple):
    """A joint law of reward and duration: a list of (probability, reward, duration).

    >>> Outcomes([(0.5, 1.0, 1.0), (0.5, -1.0, 2.0)]).outcomes[1]
    (0.5, -1.0, 2.0)
    """

    outcomes: Sequence[tuple[float, float, float]]

    @classmethod
    def observed(cls, rewards: Sequence[float], durations: Sequence[float]) -> Outcomes:
        """Return the joint law of rewards and durations that were observed together.

        >>> Outcomes.observed([5.0, 1.0, 5.0, 5.0], [2.0, 9.0, 2.0, 3.0]).outcomes
        [(0.5, 5.0, 2.0), (0.25, 1.0, 9.0), (0.25, 5.0, 3.0)]
        """
        rewards, durations = several("rewards", rewards), several("durations", durations)
        if len(rewards) != len(durations):
            raise ValueError(
                f"the number of rewards is {len(rewards)} and that of durations is {len(durations)}; give as many of each"
            )
        together = zip(
            (finite("a reward", reward) for reward in rewards),
            (at_least_zero("a duration", duration) for duration in durations),
            strict=True,
        )
        return cls([(count / len(rewards), *pair) for pair, count in Counter(together).items()])
