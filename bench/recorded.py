"""A world that plays back recorded transitions: `step` is three look-ups and no arithmetic.

It is a user's world as `sojourn.worlds.protocol` describes them: one small file, compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import sojourn as sj


class Recorded(NamedTuple):
    """At step t, action a pays rewards[t, a] in durations[t, a] and leads to states[t + 1]."""

    rewards: Any
    durations: Any
    states: Any
    t: int
    num_states: int
    num_actions: int


@sj.start.register
def start_recorded(world: Recorded, rng: Any) -> tuple[Recorded, int]:
    """From the first record."""
    return at(world, 0), world.states[0]


@sj.step.register
def step_recorded(world: Recorded, state: int, action: int, rng: Any) -> tuple[Recorded, int, float, float]:
    """The next record."""
    t = world.t
    return at(world, t + 1), world.states[t + 1], world.rewards[t, action], world.durations[t, action]


@sj.worlds.is_unswayed.register
def is_unswayed_recorded(world: Recorded) -> bool:
    """What was recorded stays as it is."""
    return True


@sj.inlined
def at(world: Recorded, t: int) -> Recorded:
    """The same records at another place."""
    return Recorded(
        rewards=world.rewards,
        durations=world.durations,
        states=world.states,
        t=t,
        num_states=world.num_states,
        num_actions=world.num_actions,
    )


def synthetic(length: int, num_states: int, seed: int) -> Recorded:
    """Return a synthetic stream: rewards of both signs, durations of 5 to 45."""
    rng = np.random.default_rng(seed)
    move = rng.standard_t(3, size=length)
    durations = rng.uniform(5.0, 45.0, size=(length, 2))
    return Recorded(
        rewards=np.stack([move, -move], axis=1) * (1.0 - durations / 60.0),
        durations=durations,
        states=rng.integers(0, num_states, size=length + 1),
        t=0,
        num_states=num_states,
        num_actions=2,
    )
