"""Random worlds that change, by number, each with a mirror in which the rates of its actions are exchanged."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from sojourn.data.numbers import whole
from sojourn.models.laws import Constant, Exponential, Law, TwoPoint, Uniform
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told
from sojourn.rules.elementary import exp, log
from sojourn.rules.random import integer, normal, uniform
from sojourn.rules.streams import Stream, stream
from sojourn.worlds.changing import Switching, SwitchingWorld

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
    """Return a world; recent ones are kept, since sweeps ask for each many times."""
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
    durations = np.sort([_between(rng, 1.0, _LONGEST) for _ in range(actions)])
    apart, moves = 0.5, _between(rng, 0.1, 0.8)
    own = [apart * normal(rng) for _ in range(actions)]
    levels = [0.5 * normal(rng) for _ in range(regimes)]
    rates = [[exp(level + one + moves * normal(rng)) for one in own] for level in levels]
    return Drawn(
        durations=durations,
        rates=np.array(rates),
        hold=_between(rng, *_HOLDS),
        drawn=uniform(rng) < 0.5,
        way_back=uniform(rng) < 0.5,
        reward_noise=integer(rng, 3),
        duration_noise=integer(rng, 3),
    )


def _between(rng: Stream, low: float, high: float) -> float:
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
