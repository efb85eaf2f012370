"""A rate estimator that updates itself."""

from __future__ import annotations

from typing import Generic

from sojourn.data.numbers import Number, at_least_zero, finite
from sojourn.rates.protocol import R, carry, value


class RateMeter(Generic[R]):
    """A rate estimator that updates itself, for notebooks and running systems.

    The reward of a step that takes no time counts with the next step that takes time.

    >>> from sojourn.rates.ratio import Exponential
    >>> meter = RateMeter(Exponential(step_size=0.5))
    >>> meter.update(reward=4.0, duration=0.0)
    >>> meter.update(reward=2.0, duration=2.0)
    >>> meter.rate
    3.0
    """

    def __init__(self, estimator: R) -> None:
        value(estimator)  # raises an error if it is not an estimator
        self.estimator = estimator
        self.carried = 0.0  # earned since time last passed

    def update(self, reward: Number, duration: Number) -> None:
        """Take in one transition."""
        reward, duration = finite("reward", reward), at_least_zero("duration", duration)
        self.estimator, self.carried = carry(self.estimator, self.carried, reward, duration)

    @property
    def rate(self) -> float:
        """The estimate: reward per unit time."""
        return float(value(self.estimator))

    def __repr__(self) -> str:
        return f"RateMeter({self.estimator!r})"
