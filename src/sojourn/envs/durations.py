"""Reads from an environment how long a step took and what it paid.

Sojourn's own environments give the duration in `info["duration"]`. Others give it under another
key such as "tau", or at a path through nested dictionaries such as "smdp.duration"; or it has to be
computed; or it is nowhere, because every step takes the same time. A duration that is missing or
makes no sense is an error. It is never assumed to be 1: a wrong duration would silently change the task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat, TypeAlias

import numpy as np

from sojourn.data.numbers import positive, shown, unmasked
from sojourn.envs.protocol import Element, Info

DurationFunction: TypeAlias = Callable[..., SupportsFloat]  # of (obs, action, info)
DurationSource: TypeAlias = str | float | DurationFunction
Reader: TypeAlias = "Callable[[Element | None, Element | None, Info], float]"

MOST_AT_ONCE = 10_000  # steps that may follow each other without time passing

_INF = math.inf
_EXACT = 2**53  # whole numbers below it are exact as floats


def duration_reader(duration: DurationSource = "duration") -> Reader:
    """Return the function of (obs, action, info) that says how long a step took.

    `duration` is a key of info, with dots for a path through nested dictionaries; a function of
    (obs, action, info); or a number, if every step takes that long. The durations read are finite
    and not negative; a step may take no time.

    >>> duration_reader("smdp.duration")(None, None, {"smdp": {"duration": 3}})
    3.0
    >>> duration_reader(lambda obs, action, info: info["end"] - info["begin"])(
    ...     None, None, {"begin": 2.0, "end": 2.5}
    ... )
    0.5
    >>> duration_reader(60)(None, None, {})
    60.0
    """
    if isinstance(duration, str):
        if not all(duration.split(".")):
            raise ValueError(f'duration is "{duration}"; it must be a key of info, or keys joined by dots')
        return _from_path(duration) if "." in duration else _from_key(duration)
    if callable(duration):
        return _from_function(duration)
    if isinstance(duration, bool | np.bool_):
        raise TypeError(f"duration is {duration}; it must be a key of info, a function or a number")
    constant = positive("duration", duration)
    return lambda _obs, _action, _info: constant


def is_sum(after: float, before: float, duration: float) -> bool:
    """Whether a clock has gone on by a duration, but for rounding, in any unit of time.

    >>> is_sum(0.1 + 0.2, 0.1, 0.2), is_sum(0.0, -0.3, 0.1 + 0.2), is_sum(3e-12, 1e-12, 1e-12)
    (True, True, False)
    """
    return abs(after - (before + duration)) <= 1e-9 * max(abs(before), abs(after), duration)


class Clock:
    """Checks the clock that an environment shows in info: each step must advance it by its duration.

    >>> clock = Clock("time")
    >>> clock.begin({"time": 5.0})
    >>> clock.advance({"time": 7.0}, duration=2.0)
    >>> clock.advance({"time": 7.5}, duration=2.0)
    Traceback (most recent call last):
    ValueError: info["time"] went from 7.0 to 7.5, but the step took 2.0; say where the duration is: duration="key"
    """

    def __init__(self, key: str) -> None:
        if not isinstance(key, str) or not key:
            raise TypeError(f"clock is {shown(key)}; it must be the key of info that has the time")
        self.key, self._at = key, math.nan

    def begin(self, info: Info) -> None:
        """Note the time at which an episode begins; if the reset does not give it, checks begin after the first step."""
        self._at = self._read(info) if self.key in info else math.nan

    def advance(self, info: Info, duration: float) -> None:
        """Check the time after a step."""
        before, self._at = self._at, self._read(info)
        if not math.isnan(before) and not is_sum(self._at, before, duration):
            raise ValueError(
                f'info["{self.key}"] went from {before} to {self._at}, but the step took {duration}; say where the '
                'duration is: duration="key"'
            )

    def _read(self, info: Info) -> float:
        at = info.get(self.key)
        if isinstance(at, bool) or not isinstance(at, int | float | np.number) or not math.isfinite(at):
            there = f"is {shown(at)}" if self.key in info else "is missing"
            raise ValueError(f'info["{self.key}"] {there}; the clock must be a finite number')
        return float(at)


def _from_key(key: str) -> Reader:
    name = f'info["{key}"]'

    def read(obs: Element | None, action: Element | None, info: Info) -> float:
        try:
            duration = info[key]
        except (KeyError, TypeError):
            raise _missing(name, info) from None
        # Nearly always a float, and then this is all there is to do.
        if type(duration) is float and 0.0 < duration < _INF:
            return duration
        return _clean(name, duration)

    return read


def _from_path(path: str) -> Reader:
    name = f'info["{path}"]'
    first, *rest = path.split(".")

    def read(obs: Element | None, action: Element | None, info: Info) -> float:
        try:
            duration = info[first]
            for key in rest:
                duration = duration[key]
        except (KeyError, TypeError, IndexError):
            raise _missing(name, info) from None
        return _clean(name, duration)

    return read


def _from_function(function: DurationFunction) -> Reader:
    name = f"the duration from {getattr(function, '__name__', type(function).__name__)}"

    def read(obs: Element | None, action: Element | None, info: Info) -> float:
        return _clean(name, function(obs, action, info))

    return read


def _clean(name: str, duration: SupportsFloat) -> float:
    """Return a duration as a float, or say what is wrong with it."""
    if type(duration) is int and 0 < duration < _EXACT:
        return float(duration)
    unmasked(name, duration)
    # NumPy would turn an array of one entry into a number, and warn.
    if isinstance(duration, bool | np.bool_ | str | bytes) or getattr(duration, "ndim", 0) > 0:
        raise ValueError(f"{name} is {shown(duration)}; a duration must be a number")
    try:
        number = float(duration)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {shown(duration)}; a duration must be a number") from None
    except OverflowError:
        number = _INF
    if not 0.0 <= number < _INF:
        raise ValueError(f"{name} is {duration}; a duration must be finite and not negative")
    return number + 0.0  # turns -0.0 into 0.0


def reward_of(reward: Any) -> float:
    """Return what a step paid as a float, or say what is wrong with it.

    >>> reward_of(None)
    Traceback (most recent call last):
    ValueError: the reward is None; a reward must be a number
    """
    unmasked("the reward", reward)
    if getattr(reward, "shape", ()) not in ((), (1,)) or isinstance(reward, str | bytes):
        raise ValueError(f"the reward is {shown(reward)}; a reward must be a number")
    try:
        number = float(reward if getattr(reward, "shape", ()) == () else reward[0])
    except (TypeError, ValueError):
        raise ValueError(f"the reward is {shown(reward)}; a reward must be a number") from None
    except OverflowError:
        number = _INF
    if not -_INF < number < _INF:
        raise ValueError(f"the reward is {number}; a reward must be finite")
    return number


def _missing(name: str, info: Info) -> ValueError:
    if not isinstance(info, Mapping):
        return ValueError(f"info is {info!r}, so it has no duration; it must be a dictionary")
    there = ", ".join(f'"{key}"' for key in info)
    return ValueError(
        f"{name} is missing, and info {f'has only {there}' if there else 'is empty'}; set duration (on the command line, "
        "--duration) to the key of info that has it, to a number if every step takes equally long, or in Python to a function"
    )
