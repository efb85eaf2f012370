"""Worlds that change: models that take turns at given times, periodically or at random.

The regime of a step is the one in force when the step begins, and stays until the step ends. Agents do not see it.
Random times depend on the seed alone, so they are the same for every agent. The world records what the best policy at
each time would have earned (`sojourn.worlds.truth`).

The models are stacked in one table of states: with n states each, regime k begins at row k n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from sojourn.data.numbers import positive, several, shown, unmasked
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.models.laws import Exponential
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import MOST_COUNTED, Flags, Floats, flat_floats, misread, owned
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told, warn
from sojourn.rules.elementary import log
from sojourn.rules.random import Stream, unit, word, word_at
from sojourn.rules.values import checked, replaced
from sojourn.worlds.protocol import NotDrawnError, gain, moving, start, step, unreadable
from sojourn.worlds.tabular import Tabular, TabularWorld, below_each_other
from sojourn.worlds.truth import Truth, begun_again, believing, counted_in, truth_of, watched

Times: TypeAlias = float | Exponential | Sequence[float] | Floats

_HOLDS = 3.0  # a regime must hold for this many of the longest mean durations for its gain to be a bound
_MOST_AT_ONCE = 1000  # at most this many regimes may pass in a step of the longest mean duration
# The most regimes before a time whose gain is asked for: random ones are drawn one by one, and for periodic ones
# the time must be precise to a fraction of the period.
_MOST_DRAWN, _MOST_COUNTED = 10**6, 10**12
_U2 = np.uint64(2)

_step = step.bare


def Switching(  # noqa: N802 - it is named for the world that it makes
    regimes: Sequence[SMDP], times: Times, *, policy: Sequence[int] | None = None
) -> SwitchingWorld:
    """Return a world in which models with the same states and actions take turns.

    `times` says when. A number is how long each regime holds. A list has the times at which the next regime begins;
    the first one follows the last. `sojourn.laws.Exponential(mean)` draws how long each regime holds, and any other
    regime may follow. The gain at a time is that of the best policy, or that of `policy` if one is given, solved
    exactly. If a regime holds for less than three times the longest mean duration, a warning says that its gain
    does not bound what can be earned; with less than a thousandth of it, the world is refused.

    In this example there is one action, which takes a time of 1 and pays 5, and later 2:

    >>> from sojourn.models import from_transitions
    >>> rich, poor = (from_transitions([(0, 0, 0, 1.0, pay, 1.0)]) for pay in (5.0, 2.0))
    >>> world = Switching([rich, poor], times=[100.0, 150.0])
    >>> [gain(world, clock) for clock in (0.0, 99.9, 100.0, 150.0)]
    [5.0, 5.0, 2.0, 5.0]
    """
    models = _alike(regimes)
    timetable = _timetable(times, len(models))
    gains = [solve(model).gain if policy is None else evaluate(model, policy).gain for model in models]
    _warn(models, timetable)
    tables = [Tabular(model) for model in models]
    return SwitchingWorld(
        regimes=below_each_other(tables),
        available=owned(tables[0].available),
        gains=owned(np.array(gains)),
        timetable=timetable,
    )


@told
def Drifting(  # noqa: N802 - it is named for the world that it makes
    model_at: Callable[[float], SMDP], times: Sequence[float] | Floats, *, policy: Sequence[int] | None = None
) -> SwitchingWorld:
    """Return a world whose model changes along a path: from each of the times until the next, it is `model_at(time)`.

    >>> from sojourn.models import from_transitions
    >>> world = Drifting(lambda t: from_transitions([(0, 0, 0, 1.0, 1.0 + t / 100, 1.0)]), times=[0.0, 10.0, 20.0])
    >>> [gain(world, clock) for clock in (0.0, 19.0, 1000.0)]
    [1.0, 1.1, 1.2]
    """
    path = flat_floats("times", unmasked("times", times))
    if not len(path) or path[0] != 0.0:
        raise ValueError("times must begin with 0.0, when the path begins")
    return Switching([model_at(float(time)) for time in path], path[1:], policy=policy)


class Timetable(NamedTuple):
    """When regimes change: at `switches`, every `period`, or after exponential times of this `mean`; 0 means unused."""

    switches: Floats  # ascending, with infinity at the end
    period: float
    mean: float
    num_regimes: int


class Regime(NamedTuple):
    """Which regime is in force, until when, and how many came before it."""

    number: int = 0
    until: float = 0.0
    before: int = 0


@checked()
class SwitchingWorld(NamedTuple):
    """The world that `Switching` and `Drifting` make."""

    regimes: TabularWorld
    available: Flags
    gains: Floats
    timetable: Timetable
    regime: Regime = Regime()
    truth: Truth = Truth()
    noise_key: int = 0  # drawn at the first start, kept from then on

    @property
    def num_states(self) -> int:
        """As many as each model's."""
        return int(self.available.shape[0])

    @property
    def num_actions(self) -> int:
        """As many as each model's."""
        return int(self.available.shape[1])


@moving.register
def moving_switching(world: SwitchingWorld) -> tuple[str, ...]:
    """The regime, the truth and the noise."""
    return "regime", "truth", "noise_key"


@start.register
def start_switching(world: SwitchingWorld, rng: Stream) -> tuple[SwitchingWorld, int]:
    """Begin with the first regime."""
    noise_key = world.noise_key
    if noise_key == 0:
        # int() of an unsigned number stays unsigned in compiled code
        noise_key = np.int64(word(rng) >> _U2) + 1  # type: ignore[assignment]
    first = Regime(0, _end(world.timetable, 0, 0.0, noise_key), 0)
    truth = begun_again(world.truth)
    return replaced(world, regime=first, truth=truth, noise_key=noise_key), world.regimes.first


@step.register
def step_switching(
    world: SwitchingWorld, state: int, action: int, rng: Stream
) -> tuple[SwitchingWorld, int, float, float]:
    """Take a step in the regime in force, then look up the regime at the new time."""
    first = world.regime.number * world.available.shape[0]
    _, after, reward, duration = _step(world.regimes, first + state, action, rng)
    truth = counted_in(world.truth, world.gains[world.regime.number], reward, duration)
    regime = _in_force(world.timetable, world.regime, truth.clock, world.noise_key)
    return replaced(world, regime=regime, truth=truth), _without(after, first), reward, duration


@inlined
def _without(after: int, first: int) -> int:
    # A function of numbers, for the reason given in worlds/market/world.py.
    return after - first if after >= 0 else after


@inlined
def _in_force(timetable: Timetable, regime: Regime, clock: float, noise_key: int) -> Regime:
    """Return the regime at a time, given one that was in force before."""
    index, until, before = regime.number, regime.until, regime.before
    while until <= clock:
        before += 1
        index = _next(timetable.mean, timetable.num_regimes, index, before, noise_key)
        until = _end(timetable, before, until, noise_key)
    return Regime(index, until, before)


@inlined
def _next(mean: float, count: int, index: int, before: int, noise_key: int) -> int:
    """Return the next regime: the next in the list, or any other one if times are random."""
    if mean == 0.0 or count == 1:
        return (index + 1) % count
    return (index + 1 + int(unit(word_at(noise_key, 2 * before + 1)) * (count - 1))) % count


@inlined
def _end(timetable: Timetable, before: int, since: float, noise_key: int) -> float:
    """Return when the regime that follows `before` others ends."""
    if timetable.mean > 0.0:
        return since - timetable.mean * log(unit(word_at(noise_key, 2 * before)))
    if timetable.period > 0.0:
        return timetable.period * (before + 1)
    return float(timetable.switches[before])


@watched.register
def watched_switching(world: SwitchingWorld, rate: float) -> SwitchingWorld:
    """Keep the agent's estimate."""
    return replaced(world, truth=believing(world.truth, rate))


@truth_of.register
def truth_of_switching(world: SwitchingWorld) -> Truth:
    """Return the truth that was kept."""
    return world.truth


@gain.register
def gain_switching(world: SwitchingWorld, clock: float) -> float:
    """Return the gain of the regime in force."""
    if world.timetable.mean > 0.0 and world.noise_key == 0:
        raise NotDrawnError(
            "the times of this world are drawn when it starts; ask a world that sojourn.start has returned"
        )
    period, mean, count = world.timetable.period, world.timetable.mean, world.timetable.num_regimes
    most = _MOST_COUNTED * period + _MOST_DRAWN * mean
    if clock > most > 0.0:
        raise ValueError(
            f"clock is {clock:g}, when too many regimes have passed to tell which is in force; it must be at most {most:g}"
        )
    before = max(int(clock / period) - 1, 0) if period > 0.0 else 0  # shortly before that time
    first = Regime(before % count, _end(world.timetable, before, 0.0, world.noise_key), before)
    return float(world.gains[_in_force(world.timetable, first, clock, world.noise_key).number])


def _untimely(world: SwitchingWorld) -> str:
    """Return why a regime cannot be in force at its time, or an empty string."""
    regime, timetable, clock = world.regime, world.timetable, world.truth.clock
    if regime == Regime() and clock == 0.0:
        return ""  # not started
    is_listed = not (timetable.mean > 0.0 or timetable.period > 0.0)
    most = len(timetable.switches) - 1 if is_listed else MOST_COUNTED
    fits = 0 <= regime.before <= most and clock < regime.until
    if fits and not timetable.mean > 0.0:
        fits = regime.until == _end(timetable, regime.before, 0.0, world.noise_key)
    return "" if fits else f"regime {regime.number} cannot be in force at the time {clock}"


@unreadable.register
def unreadable_switching(world: SwitchingWorld) -> str:
    """Every regime must have its rows of the table and its gain, and the times must end with infinity."""
    count = world.timetable.num_regimes
    return (
        unreadable(world.regimes)
        or misread("available", world.available, np.bool_, (None, world.regimes.num_actions))
        or misread("gains", world.gains, np.float64, (count,))
        or misread("switches", world.timetable.switches, np.float64, (None,))
        or (
            ""
            if world.regimes.num_states == count * world.num_states
            else "each regime must have the same states"
        )
        or (
            ""
            if len(world.timetable.switches) and world.timetable.switches[-1] == math.inf
            else "switches must end with infinity"
        )
        or (
            ""
            if 0 <= world.regime.number < count
            else f"regime is {world.regime.number}; it must be 0 to {count - 1}"
        )
        or _untimely(world)
    )


# --- Making one -------------------------------------------------------------------------


def _alike(regimes: Sequence[SMDP]) -> list[SMDP]:
    """Return models that have the same states and actions, or say which differs."""
    models = several("regimes", regimes)
    for place, model in enumerate(models):
        if not isinstance(model, SMDP):
            raise TypeError(
                f"regime {place} is {shown(model)}; it must be an SMDP, which sojourn.models makes"
            )
        table = model.pair_table() >= 0
        if table.shape != (models[0].pair_table()).shape or (table != (models[0].pair_table() >= 0)).any():
            raise ValueError(
                f"regime {place} has other states or actions than regime 0; all regimes must have the same"
            )
    return models


def _timetable(times: Times, count: int) -> Timetable:
    never = np.array([math.inf])
    if isinstance(times, Exponential):
        return Timetable(owned(never), 0.0, positive("times.mean", times.mean), count)
    if isinstance(times, int | float | np.number):
        return Timetable(owned(never), positive("times", times), 0.0, count)
    switches = flat_floats("times", unmasked("times", times))
    if len(switches) and not (
        np.isfinite(switches).all() and switches[0] > 0.0 and (np.diff(switches) > 0.0).all()
    ):
        raise ValueError("times must be finite, above 0 and ascending")
    return Timetable(owned(np.append(switches, math.inf)), 0.0, 0.0, count)


def _warn(models: Sequence[SMDP], timetable: Timetable) -> None:
    """Warn if a regime is shorter than three times the longest mean duration; refuse one below a thousandth of it."""
    longest = max(float(model.duration.max()) for model in models)
    holds = np.diff(timetable.switches[:-1], prepend=0.0)
    shortest = timetable.period or timetable.mean or float(holds.min(initial=math.inf))
    # Steps visit the regimes one by one, and in a list each is in force only once.
    if max(timetable.period, timetable.mean) > 0.0 and shortest * _MOST_AT_ONCE < longest:
        raise ValueError(
            f"a regime holds for {shortest:g}, less than a thousandth of the longest mean duration, {longest:g}; let "
            "regimes hold longer"
        )
    if shortest < _HOLDS * longest:
        told = "holds for a mean of" if timetable.mean else "holds for only"
        warn(
            f"a regime {told} {shortest:g}, less than three times the longest mean duration, {longest:g}, so the gain "
            "of each regime does not bound what can be earned, and dynamic regret may be negative; if regimes "
            "change at random, sojourn.models.modulated makes a model that has them in its states"
        )
