"""A world whose rewards have heavy tails, or whose records are sometimes wrong.

A heavy tail is real: what the world pays is multiplied by a random number of mean 1, so its gain stays the same.
A wrong record is not: the agent sees a wrong reward or duration, while the world itself and its truth use the right ones.
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import Number, finite, positive, probability
from sojourn.rules.arrays import Flags
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp, log
from sojourn.rules.random import Stream, uniform
from sojourn.rules.values import checked, replaced
from sojourn.worlds.protocol import World, gain, moving, start, step, unreadable
from sojourn.worlds.truth import Truth, knows_truth, truth_of, watched

_start, _step, _watched, _truth_of = start.bare, step.bare, watched.bare, truth_of.bare


def _tail(name: str, number: Number) -> float:
    tail = finite(name, number)
    if tail != 0.0 and tail <= 1.0:
        raise ValueError(
            f"{name} is {tail}; it must be above 1, so that rewards have a mean, or 0 for no tail"
        )
    return tail


@checked(
    tail=_tail,
    wrong_rewards=probability,
    reward_factor=finite,
    wrong_durations=probability,
    duration_factor=positive,
)
class Disturbed(NamedTuple):
    """Any world, with heavy tails or wrong records.

    Rewards are multiplied by a Pareto number of index `tail` and mean 1, whose variance is infinite for a `tail` up to
    2; 0 means no tail. A share `wrong_rewards` of the rewards is recorded multiplied by `reward_factor`, and a share
    `wrong_durations` of the durations multiplied by `duration_factor`.

    >>> import sojourn as sj
    >>> world = Disturbed(sj.worlds.Tabular(sj.problems.long_return()), wrong_rewards=1.0, reward_factor=10.0)
    >>> world, state, reward, duration = sj.step(world, 0, 0, sj.stream(0))  # 30 was paid
    >>> float(reward), float(duration)
    (300.0, 2.0)
    """

    world: World
    tail: float = 0.0
    wrong_rewards: float = 0.0
    reward_factor: float = 100.0
    wrong_durations: float = 0.0
    duration_factor: float = 100.0
    unpaid: float = 0.0  # what the tails have added to the rewards counted by the world itself

    @property
    def num_states(self) -> int:
        """As many as the world's."""
        return self.world.num_states

    @property
    def num_actions(self) -> int:
        """As many as the world's."""
        return self.world.num_actions

    @property
    def available(self) -> Flags | None:
        """Which actions each state has, if the world declares it."""
        return getattr(self.world, "available", None)


@moving.register
def moving_disturbed(world: Disturbed) -> tuple[str, ...]:
    """The inner world, and what is not yet paid."""
    return "world", "unpaid"


@start.register
def start_disturbed(world: Disturbed, rng: Stream) -> tuple[Disturbed, int]:
    """Start the world."""
    inner, state = _start(world.world, rng)
    return replaced(world, world=inner), state


@step.register
def step_disturbed(
    world: Disturbed, state: int, action: int, rng: Stream
) -> tuple[Disturbed, int, float, float]:
    """Take a step in the world, and report it with errors; three random numbers are drawn whatever the settings."""
    inner, after, reward, duration = _step(world.world, state, action, rng)
    paid = reward * _pareto(uniform(rng), world.tail)
    told = paid * _factor(uniform(rng), world.wrong_rewards, world.reward_factor)
    lasted = duration * _factor(uniform(rng), world.wrong_durations, world.duration_factor)
    return replaced(world, world=inner, unpaid=world.unpaid + (paid - reward)), after, told, lasted


@inlined
def _pareto(u: float, tail: float) -> float:
    """Return the Pareto number of mean 1 that is exceeded with probability u; 1 without a tail."""
    return (tail - 1.0) / tail * exp(-log(u) / tail) if tail > 0.0 else 1.0


@inlined
def _factor(u: float, share: float, factor: float) -> float:
    return factor if u < share else 1.0


@unreadable.register
def unreadable_disturbed(world: Disturbed) -> str:
    """Return what is wrong with the inner world."""
    return unreadable(world.world)


@watched.register
def watched_disturbed(world: Disturbed, rate: float) -> Disturbed:
    """Pass the agent's estimate to the inner world."""
    return replaced(world, world=_watched(world.world, rate))


@truth_of.register
def truth_of_disturbed(world: Disturbed) -> Truth:
    """Return the truth of the inner world, with what the tails have paid."""
    truth = _truth_of(world.world)
    return replaced(truth, earned=truth.earned + world.unpaid)


@knows_truth.register
def knows_truth_disturbed(world: Disturbed) -> bool:
    """Whether the inner world records its truth."""
    return knows_truth(world.world)


@gain.register
def gain_disturbed(world: Disturbed, clock: float) -> float | None:
    """Return the gain of the inner world: tails have mean 1, and wrong records change nothing."""
    return gain(world.world, clock)
