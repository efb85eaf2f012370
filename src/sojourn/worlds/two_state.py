"""The two-state family: the simulation study of the Harmonic R-Learning paper.

In state 0 there is a choice; both actions lead to state 1, and state 1 leads back with
reward 0 (`return_reward`) and duration 1. At decision step t of the episode, counted from 0 over both states,

    action 0 (A):  r = slope t,                          tau = max(floor, N(mean, spread))
    action 1 (B):  r = (sin t + offset) 10^(v t),        tau = (cos t + offset) 10^(v t / 2)

where v is the `log_scale`. Durations below the floor are raised to it (with the default offset
only A's normal law ever comes near). For small v, A is the better action from about step 20 on, until
B passes it: the smaller v, the later. An episode begins again at t = 0 with the same noise. The noise
of a step depends on the seed and on t alone, so it is the same for every agent.

With `clock="visits"`, t counts the visits to state 0 instead, except in the durations of B, where it counts how often B
was chosen. The code of the paper's authors does so (github.com/erelon/SMDP_Agents, `sincoslog` in
examples/envs/configs.py, commit 1d662de).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.data.numbers import Number, finite, positive, within
from sojourn.rules.door import told_inlined
from sojourn.rules.elementary import cos, exp10, sin
from sojourn.rules.random import Stream, normal_quantile, unit, word, word_at
from sojourn.rules.values import checked, replaced
from sojourn.worlds.protocol import is_unswayed, moving, start, step

CLOCKS = ("steps", "visits")

_U2 = np.uint64(2)
_VISITS = CLOCKS.index("visits")


def _clock(name: str, given: Number) -> int:
    """Return the index of a clock's name in CLOCKS, which compiled code uses in its place."""
    if isinstance(given, str):
        if given not in CLOCKS:
            raise ValueError(f"{name} is {given!r}; it must be 'steps' or 'visits'")
        return CLOCKS.index(given)
    return within(name, given, len(CLOCKS))


@told_inlined
def sin_log_drift(t: float, offset: float, log_scale: float) -> float:
    """Return (sin t + offset) 10^(log_scale t), the drifting reward.

    >>> sin_log_drift(0, 10, 0.001)
    10.0
    """
    return (sin(t) + offset) * exp10(log_scale * t)


@told_inlined
def cos_log_drift(t: float, offset: float, log_scale: float) -> float:
    """Return (cos t + offset) 10^(log_scale t), the drifting duration.

    >>> cos_log_drift(0, 10, 0.001)
    11.0
    """
    return (cos(t) + offset) * exp10(log_scale * t)


@checked(
    log_scale=finite,
    slope=finite,
    offset=finite,
    duration_mean=finite,
    duration_spread=finite,
    duration_floor=positive,
    return_reward=finite,
    clock=_clock,
)
class TwoState(NamedTuple):
    """Two states, two actions, rewards and durations that drift apart.

    >>> TwoState(log_scale=0.001).num_states
    2
    >>> TwoState(log_scale=0.001, return_reward=1.0, clock="visits").clock  # the index in CLOCKS
    1
    """

    log_scale: float
    slope: float = 0.05
    offset: float = 10.0
    duration_mean: float = 1.0
    duration_spread: float = 0.1
    duration_floor: float = 0.001
    return_reward: float = 0.0
    clock: int | str = "steps"
    noise_key: int = 0  # drawn at the first start, kept from then on
    t: int = 0
    chosen: int = 0  # how often B was chosen in this episode; counted only with the clock of visits

    @property
    def num_states(self) -> int:
        """Two."""
        return 2

    @property
    def num_actions(self) -> int:
        """Two: A = 0 and B = 1."""
        return 2


@is_unswayed.register
def is_unswayed_two_state(world: TwoState) -> bool:
    """True, unless the world counts how often B was chosen."""
    return world.clock != _VISITS


@moving.register
def moving_two_state(world: TwoState) -> tuple[str, ...]:
    """The noise, the step and the count."""
    return "noise_key", "t", "chosen"


@start.register
def start_two_state(world: TwoState, rng: Stream) -> tuple[TwoState, int]:
    """Go back to t = 0."""
    noise_key = world.noise_key
    if noise_key == 0:
        # int() of an unsigned number stays unsigned in compiled code
        noise_key = np.int64(word(rng) >> _U2) + 1  # type: ignore[assignment]
    return replaced(world, noise_key=noise_key, t=0, chosen=0), 0


@step.register
def step_two_state(
    world: TwoState, state: int, action: int, rng: Stream
) -> tuple[TwoState, int, float, float]:
    """A or B in state 0, the way back in state 1."""
    by_visits = world.clock == _VISITS
    if state == 1:
        return replaced(world, t=world.t + 1, chosen=world.chosen), 0, world.return_reward, 1.0
    place = world.t // 2 if by_visits else world.t  # every other step is a visit
    t = float(place)
    after = replaced(world, t=world.t + 1, chosen=world.chosen + action if by_visits else 0)
    if action == 0:
        noise = normal_quantile(unit(word_at(world.noise_key, place)))
        duration = world.duration_mean + world.duration_spread * noise
        reward = world.slope * t
    else:
        passed = float(world.chosen) if by_visits else t
        duration = cos_log_drift(passed, world.offset, world.log_scale / 2.0)
        reward = sin_log_drift(t, world.offset, world.log_scale)
    return after, 1, reward, max(world.duration_floor, duration)
