"""The law of one step in the long run, as far as the limits of estimators depend on it.

A fixed policy visits its states and actions with fixed shares in the long run, so that the reward r and
the duration tau of a step have a joint law. `Steps` holds the means of that law. E[x; A] is the mean over all
steps of x where A holds and of 0 elsewhere.
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
    """The mean reward and duration of a step in the long run, and the part that each sign of the reward has.

    `relative` is what the evidence r + max Q(s') - max Q(s) comes to per unit of time. It is the gain of the policy that
    is followed, also where exploration decides in which states the steps are taken; None if that is the `gain` here.

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

    @property
    def gain(self) -> float:
        """The reward per unit time, E[r] / E[tau]."""
        return self.reward / self.duration
