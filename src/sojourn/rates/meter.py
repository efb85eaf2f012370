"""A rate estimator that updates itself."""

from __future__ import annotations

from typing import Generic

from sojourn.rates.protocol import R, update, value


class RateMeter(Generic[R]):
    """A rate estimator that updates itself, for notebooks and running systems.

    >>> from sojourn.rates.ratio import Exponential
    >>> meter = RateMeter(Exponential(step_size=0.5))
    >>> meter.update(reward=6.0, duration=2.0)
    >>> meter.rate
    3.0
    """

    def __init__(self, estimator: R) -> None:
        value(estimator)  # which refuses what is not an estimator
        self.estimator = estimator

    def update(self, reward: float, duration: float) -> None:
        """Take in one transition."""
        self.estimator = update(self.estimator, reward, duration)

    @property
    def rate(self) -> float:
        """The estimate: reward per unit time."""
        return float(value(self.estimator))

    def __repr__(self) -> str:
        return f"RateMeter({self.estimator!r})"
