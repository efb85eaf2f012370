"""Jobs whose pay changes, a queue with rush hours, and random worlds that change."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from sojourn.data.numbers import finite, positive, whole
from sojourn.models.laws import Constant, Exponential, Law, TwoPoint, Uniform
from sojourn.models.problems.queues import admission_control
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told
from sojourn.rules.elementary import exp, log
from sojourn.rules.random import Stream, integer, normal, stream, uniform
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


# --- Random worlds, by number, each with a mirror in which the rates of its actions are exchanged ---

_FIRST_SEED = 19_000_000
_LONGEST = 20.0  # times the shortest possible duration, 1
_HOLDS = (200.0, 5000.0)  # the mean time of a regime lies between these
_BACK = 1.0  # the time that the way back takes


class Drawn(NamedTuple):
    """What a random world is made of."""

    durations: Floats  # of the actions, ascending
    rates: Floats  # [regime, action]: what each would earn for ever, counting the time of the way back
    hold: float
    drawn: bool  # whether times are drawn; if not, they are all the same
    way_back: bool
    reward_noise: int
    duration_noise: int

    @property
    def kind(self) -> str:
        """Which action is the best in every regime: the "longest" or the "shortest"; "mixed" if it is neither."""
        best = set(self.rates.argmax(axis=1).tolist())
        named = {len(self.durations) - 1: "longest", 0: "shortest"}
        return named.get(best.pop(), "mixed") if len(best) == 1 else "mixed"


@told
def random_changes(number: int = 0, *, mirrored: bool = False) -> SwitchingWorld:
    """One of many random worlds that change; in its mirror the rates of the actions are exchanged.

    A world has two or three actions, with mean durations between 1 and 20; half of the worlds have an unpaid way back, which
    takes a time of 1. Each of two to four regimes has a rate for every action; in some worlds the regimes differ a little, in
    others a lot. The times that regimes hold are all the same or drawn, with a mean between 200 and 5,000. Rewards and
    durations are constant or spread around their means. In the mirror the shortest action earns, in every regime, the rate of
    the longest, and so on. So the best policy earns the same in both, and an agent that always prefers long actions gains in
    one what it loses in the other.

    States: one; two if there is a way back.

    Actions: from the shortest to the longest; on the way back there is only one.

    Rewards: in the mean, the rate times the mean time, way back included; constant, exponential, or ten times the mean with
    probability 0.1 and else 0.

    Durations: constant, uniform between 0.5 and 1.5 times the mean of the action, or exponential.

    Source: ours.

    >>> world, mirror = random_changes(7), random_changes(7, mirrored=True)
    >>> bool(np.allclose(world.gains, mirror.gains))
    True
    """
    return _world(whole("number", number, least=0, most=10**6), bool(mirrored))


@functools.lru_cache(maxsize=2048)
def _world(number: int, mirrored: bool) -> SwitchingWorld:
    """Return a world; recent ones are cached, since sweeps ask for each many times."""
    given = drawn(number)
    rates = given.rates[:, ::-1] if mirrored else given.rates
    models = [_model(given, regime) for regime in rates]
    return Switching(models, Exponential(given.hold) if given.drawn else given.hold)


@functools.lru_cache(maxsize=2048)
def drawn(number: int) -> Drawn:
    """Return what the world of a number is made of.

    >>> given = drawn(0)
    >>> given.rates.shape[1] == len(given.durations), bool(given.durations[0] < given.durations[-1])
    (True, True)
    """
    rng = stream(_FIRST_SEED + number)
    actions, regimes = 2 + integer(rng, 2), 2 + integer(rng, 3)
    durations = np.sort([_log_uniform(rng, 1.0, _LONGEST) for _ in range(actions)])
    apart, moves = 0.5, _log_uniform(rng, 0.1, 0.8)
    own = [apart * normal(rng) for _ in range(actions)]
    levels = [0.5 * normal(rng) for _ in range(regimes)]
    rates = [[exp(level + one + moves * normal(rng)) for one in own] for level in levels]
    return Drawn(
        durations=durations,
        rates=np.array(rates),
        hold=_log_uniform(rng, *_HOLDS),
        drawn=uniform(rng) < 0.5,
        way_back=uniform(rng) < 0.5,
        reward_noise=integer(rng, 3),
        duration_noise=integer(rng, 3),
    )


def _log_uniform(rng: Stream, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform: as likely to be between 1 and 2 as between 2 and 4."""
    return low * exp(uniform(rng) * log(high / low))


def _model(given: Drawn, rates: Floats) -> SMDP:
    back = _BACK if given.way_back else 0.0
    rows: list[Transition] = []
    for action, (duration, rate) in enumerate(zip(given.durations.tolist(), rates.tolist(), strict=True)):
        reward = rate * (duration + back)
        law, lasting = _reward(given.reward_noise, reward), _duration(given.duration_noise, duration)
        rows.append((0, action, 1 if given.way_back else 0, 1.0, law, lasting))
    if given.way_back:
        rows.append((1, 0, 0, 1.0, 0.0, _BACK))
    return from_transitions(rows)


def _reward(noise: int, mean: float) -> Law:
    laws: tuple[Law, ...] = (Constant(mean), Exponential(mean), TwoPoint(0.0, 10.0 * mean, 0.1))
    return laws[noise]


def _duration(noise: int, mean: float) -> Law:
    laws: tuple[Law, ...] = (Constant(mean), Uniform(0.5 * mean, 1.5 * mean), Exponential(mean))
    return laws[noise]
