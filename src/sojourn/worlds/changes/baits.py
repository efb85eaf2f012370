"""The paper authors' baits: a long action that pays in the long run, and a short one that is better at times.

They follow the definitions in the repository of the authors of Harmonic R-Learning, github.com/erelon/SMDP_Agents,
file examples/envs/configs.py at commit 16f51af. Rewards there change with the number of decisions, of either action,
rather than with time. So the gain is a function of the decision, not of the clock, and dynamic regret and tracking
error are measured against that.
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.data.numbers import finite, positive, proper_fraction, whole
from sojourn.rules.bridge import inlined
from sojourn.rules.elementary import exp, log, sin
from sojourn.rules.random import Stream
from sojourn.rules.values import checked, replaced
from sojourn.worlds.protocol import moving, start, step
from sojourn.worlds.truth import Truth, begun_again, believing, counted_in, truth_of, watched

_TURN = 6.283185307179586


def ripening_bait(
    *,
    build_reward: float = 19.0,
    build_slope: float = 1e-4,
    build_duration: float = 10.0,
    bait_offset: float = 6.0,
    bait_amplitude: float = 5.5,
    bait_period: float = 2000.0,
    bait_duration: float = 5.0,
) -> Bait:
    """A long action whose pay rises slowly, or a short one whose pay rises and falls fast.

    At decision n, A earns 19 + n / 10,000 in a time of 10, and B 6 + 5.5 sin(2 pi n / 2,000) in a time of 5. A's rate rises
    from 1.9 to 2.1 in 20,000 decisions. B's goes up and down between 0.1 and 2.3, so B is the better one only at its peaks.

    States: one.

    Actions: 0 is A, which builds; 1 is B, the bait.

    Rewards: as above, where n counts the decisions for both actions.

    Durations: 10 and 5.

    Source: `ripening_bait` in the repository of the authors of Harmonic R-Learning, github.com/erelon/SMDP_Agents,
    examples/envs/configs.py, commit 16f51af.

    >>> import sojourn as sj
    >>> world, state = sj.start(ripening_bait(), rng := sj.stream(0))
    >>> for _ in range(501):
    ...     world, state, reward, duration = sj.step(world, state, 1, rng)
    >>> float(reward), world.decision  # a peak, at decision 500
    (11.5, 501)
    """
    if not 0.0 <= finite("bait_amplitude", bait_amplitude) < finite("bait_offset", bait_offset):
        raise ValueError(
            f"bait_amplitude is {bait_amplitude}; it must be at least 0 and below bait_offset, so that the bait pays"
        )
    return Bait(
        build_reward,
        build_slope,
        build_duration,
        bait_offset,
        bait_amplitude,
        bait_period,
        1.0,
        0,
        bait_duration,
    )


def rotting_bait(
    *,
    build_reward: float = 20.0,
    build_duration: float = 14.0,
    bait_reward: float = 10.0,
    bait_decay: float = 0.998,
    bait_floor_after: int = 2000,
    bait_duration: float = 1.0,
) -> Bait:
    """A long action whose pay is steady, or a short one whose pay is far better at first and decays.

    A earns 20 in a time of 14, 1.43 per unit of time. At decision n, B earns 10 * 0.998^n in a time of 1; after 2,000
    decisions this stays as it is. B is the better one up to decision 971, and ends with a rate of 0.18.

    States: one.

    Actions: 0 is A, which builds; 1 is B, the bait.

    Rewards: as above, where n counts the decisions for both actions.

    Durations: 14 and 1.

    Source: `rotting_bait` in the repository of the authors of Harmonic R-Learning, github.com/erelon/SMDP_Agents,
    examples/envs/configs.py, commit 16f51af.

    >>> import sojourn as sj
    >>> world, state = sj.start(rotting_bait(), rng := sj.stream(0))
    >>> world, state, reward, duration = sj.step(world, state, 1, rng)
    >>> world, state, later, duration = sj.step(world, state, 1, rng)
    >>> float(reward), round(float(later), 6)
    (10.0, 9.98)
    """
    return Bait(
        build_reward,
        0.0,
        build_duration,
        bait_reward,
        0.0,
        1.0,
        proper_fraction("bait_decay", bait_decay),
        whole("bait_floor_after", bait_floor_after, least=0),
        bait_duration,
    )


@checked(
    build_reward=finite,
    build_slope=finite,
    build_duration=positive,
    bait_reward=finite,
    amplitude=finite,
    period=positive,
    decay=positive,
    bait_duration=positive,
)
class Bait(NamedTuple):
    """The world that `ripening_bait` and `rotting_bait` make: B earns (reward + amplitude sin(2 pi n / period)) decay^n."""

    build_reward: float
    build_slope: float
    build_duration: float
    bait_reward: float
    amplitude: float
    period: float
    decay: float
    floor_after: int  # it stops decaying after this many decisions
    bait_duration: float
    decision: int = 0  # in this episode
    truth: Truth = Truth()

    @property
    def num_states(self) -> int:
        """One."""
        return 1

    @property
    def num_actions(self) -> int:
        """Two: build = 0 and bait = 1."""
        return 2


@moving.register
def moving_bait(world: Bait) -> tuple[str, ...]:
    """The decision and the truth."""
    return "decision", "truth"


@start.register
def start_bait(world: Bait, rng: Stream) -> tuple[Bait, int]:
    """Go back to decision 0."""
    return replaced(world, decision=0, truth=begun_again(world.truth)), 0


@step.register
def step_bait(world: Bait, state: int, action: int, rng: Stream) -> tuple[Bait, int, float, float]:
    """Build, or take the bait."""
    built = world.build_reward + world.build_slope * world.decision
    bait = _bait(world, world.decision)
    best = max(built / world.build_duration, bait / world.bait_duration)
    reward, duration = built, world.build_duration
    if action == 1:
        reward, duration = bait, world.bait_duration
    truth = counted_in(world.truth, best, reward, duration)
    return replaced(world, decision=world.decision + 1, truth=truth), 0, reward, duration


@inlined
def _bait(world: Bait, decision: int) -> float:
    """Return what the bait pays at a decision."""
    faded = exp(float(min(decision, world.floor_after)) * log(world.decay))
    return (world.bait_reward + world.amplitude * sin(_TURN * decision / world.period)) * faded


@watched.register
def watched_bait(world: Bait, rate: float) -> Bait:
    """Keep the agent's estimate."""
    return replaced(world, truth=believing(world.truth, rate))


@truth_of.register
def truth_of_bait(world: Bait) -> Truth:
    """Return the truth that was kept."""
    return world.truth
