"""The law of one step in the long run, as far as the limits of estimators depend on it.

A fixed policy visits its states and actions with fixed shares in the long run, so the reward r and the duration tau of a
step have a joint law. `Steps` holds the means of that law. E[x; A] is the mean of x over all steps, with steps outside A
counted as 0.
"""

from __future__ import annotations

from typing import NamedTuple


class Side(NamedTuple):
    """The steps whose rewards have one sign: their share of all steps, and their part of three means.

    For the positive side these are P(r > 0), E[r; r > 0], E[tau; r > 0] and E[tau/r; r > 0].
    """

    share: float
    reward: float
    duration: float
    duration_per_reward: float


class Steps(NamedTuple):
    """The mean reward and duration of a step in the long run, and the part that each sign of the reward has in them.

    `relative` is the limit of the evidence r + max Q(s') - max Q(s) per unit of time. It is the gain of the followed policy,
    even if exploration changes how often states are visited; None means that it is the `gain` here. `mean_rate` is E[r/tau],
    infinite if that does not exist.

    Rewards of 1 and 9 in a time of 1, equally often:

    >>> steps = Steps(5.0, 1.0, Side(1.0, 5.0, 1.0, (1 + 1 / 9) / 2), Side(0.0, 0.0, 0.0, 0.0))
    >>> steps.gain
    5.0
    """

    reward: float
    duration: float
    positive: Side
    negative: Side
    relative: float | None = None
    mean_rate: float | None = None

    @property
    def gain(self) -> float:
        """The reward per unit time, E[r] / E[tau]."""
        return self.reward / self.duration
