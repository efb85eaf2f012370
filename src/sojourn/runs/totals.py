"""The totals of a run: the one record that the loop carries, batches stack and tables are made from."""

from __future__ import annotations

from typing import NamedTuple

from sojourn.rules.bridge import inlined


class Totals(NamedTuple):
    """Totals over all steps, and over the accepted ones: those that took the greedy action.

    >>> counted(Totals(), reward=6.0, duration=2.0, accepted=False)
    Totals(steps=1, reward=6.0, duration=2.0, greedy_steps=0, greedy_reward=0.0, greedy_duration=0.0)
    """

    steps: int = 0
    reward: float = 0.0
    duration: float = 0.0
    greedy_steps: int = 0
    greedy_reward: float = 0.0
    greedy_duration: float = 0.0


@inlined
def counted(totals: Totals, reward: float, duration: float, accepted: bool) -> Totals:
    """Return totals with one more step."""
    if accepted:
        return Totals(
            steps=totals.steps + 1,
            reward=totals.reward + reward,
            duration=totals.duration + duration,
            greedy_steps=totals.greedy_steps + 1,
            greedy_reward=totals.greedy_reward + reward,
            greedy_duration=totals.greedy_duration + duration,
        )
    return Totals(
        steps=totals.steps + 1,
        reward=totals.reward + reward,
        duration=totals.duration + duration,
        greedy_steps=totals.greedy_steps,
        greedy_reward=totals.greedy_reward,
        greedy_duration=totals.greedy_duration,
    )
