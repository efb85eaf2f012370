"""Jobs whose pay changes, and a queue with rush hours."""

from __future__ import annotations

import math

from sojourn.data.numbers import finite, positive, whole
from sojourn.models.problems.queues import admission_control
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import from_transitions
from sojourn.worlds.changing import Drifting, Switching, SwitchingWorld
from sojourn.worlds.disturbed import Disturbed

_PIECES = 40  # of a path


def pay_rise(*, low_pay: float = 4.0, high_pay: float = 8.0, hold: float = 5000.0) -> SwitchingWorld:
    """A short job pays less than a long one, then more, and so on.

    The long job earns 50 in a time of 10, which is 5 per unit of time. The short one takes a time of 1 and pays 4, then 8,
    each for a time of `hold`. So the best gain is 5, then 8.

    States: one.

    Actions: 0 is the short job, 1 the long one.

    Rewards: 50 for the long job; for the short one `low_pay`, then `high_pay`, in turns.

    Durations: 1 and 10.

    Source: ours.

    >>> world = pay_rise(hold=100.0)
    >>> world.gains.tolist(), world.num_actions
    ([5.0, 8.0], 2)
    """
    pays = finite("low_pay", low_pay), finite("high_pay", high_pay)
    return Switching([_jobs(pay, 50.0) for pay in pays], positive("hold", hold))


def heavy_tails(
    *, tail: float = 2.1, low_pay: float = 4.0, high_pay: float = 8.0, hold: float = 5000.0
) -> Disturbed:
    """The jobs of `pay_rise`, with rewards that have a heavy tail.

    Each reward is multiplied by a Pareto number of mean 1 and index `tail`, so a few rewards are very large. The gains are
    those of `pay_rise`.

    States: one.

    Actions: 0 is the short job, 1 the long one.

    Rewards: those of `pay_rise`, times a Pareto number of mean 1.

    Durations: 1 and 10.

    Source: ours.

    >>> heavy_tails(hold=100.0).world.gains.tolist()
    [5.0, 8.0]
    """
    return Disturbed(pay_rise(low_pay=low_pay, high_pay=high_pay, hold=hold), tail=tail)


def seasons(*, swing: float = 0.5, period: float = 8000.0) -> SwitchingWorld:
    """Two jobs whose pay changes with the seasons: one rises while the other falls.

    The short job earns 1 + s and the long one 1 - s per unit of time, where s is `swing` times the sine of the time of the
    year. A year takes a time of `period`. It is cut into 40 pieces, and the pay in each piece is that of its middle.

    States: one.

    Actions: 0 is the short job, 1 the long one.

    Rewards: the pay for each unit of time, times the duration.

    Durations: 1 and 10.

    Source: ours.

    >>> world = seasons(swing=0.5)
    >>> round(float(min(world.gains)), 3), round(float(max(world.gains)), 3)  # the sines of 4.5 and of 85.5 degrees
    (1.039, 1.498)
    """
    if not 0.0 <= finite("swing", swing) < 1.0:
        raise ValueError(f"swing is {swing}; it must be at least 0 and below 1, so that both jobs pay")
    turns = [swing * math.sin(2.0 * math.pi * (piece + 0.5) / _PIECES) for piece in range(_PIECES)]
    return Switching(
        [_jobs(1.0 + turn, 10.0 * (1.0 - turn)) for turn in turns], positive("period", period) / _PIECES
    )


def fading_trade(*, first_pay: float = 3.0, half_life: float = 5000.0) -> SwitchingWorld:
    """The pay of a long job is good at first and fades away; that of a short one stays the same.

    The long job earns `first_pay` per unit of time at first, half of it after a time of `half_life`, and so on for four
    half-lives; then its pay stays the same. The short one earns 1. The decline is cut into 40 pieces.

    States: one.

    Actions: 0 is the short job, 1 the long one.

    Rewards: the pay for each unit of time, times the duration.

    Durations: 1 and 10.

    Source: ours.

    >>> world = fading_trade(first_pay=2.0)
    >>> float(world.gains[0]), float(world.gains[-1])
    (2.0, 1.0)
    """
    first, half = positive("first_pay", first_pay), positive("half_life", half_life)
    step = 4.0 * half / _PIECES
    return Drifting(
        lambda time: _jobs(1.0, 10.0 * first * 0.5 ** (time / half)),
        [step * piece for piece in range(_PIECES + 1)],
    )


def rush_hours(
    *, slow_arrivals: float = 0.5, fast_arrivals: float = 1.5, hold: float = 2000.0, capacity: int = 20
) -> SwitchingWorld:
    """Admission to a queue whose arrivals are slow, then fast, in turns.

    It is `sojourn.problems.admission_control` with one arrival rate, then another, each for a time of `hold`. Waiting jobs
    are costly, so fewer should be let in while more arrive.

    States: the number of jobs that an arriving job finds, 0 to 20.

    Actions: 0 rejects, 1 accepts; with 20 jobs there is only 0.

    Rewards: 5 for an accepted job, less the holding cost until the next arrival.

    Durations: exponential with the mean between two arrivals.

    Source: ours, made from the problem of P. Naor (Econometrica 37, 1969).

    >>> world = rush_hours(hold=100.0)
    >>> world.num_states, len(world.gains)
    (21, 2)
    """
    size = whole("capacity", capacity, least=1)
    rates = positive("slow_arrivals", slow_arrivals), positive("fast_arrivals", fast_arrivals)
    return Switching(
        [admission_control(arrival_rate=rate, capacity=size) for rate in rates], positive("hold", hold)
    )


def _jobs(short_pay: float, long_pay: float) -> SMDP:
    """Return a model of one state: a short job in a time of 1, or a long one in a time of 10."""
    return from_transitions([(0, 0, 0, 1.0, short_pay, 1.0), (0, 1, 0, 1.0, long_pay, 10.0)])
