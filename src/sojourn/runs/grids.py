"""Grids: options of a world or an agent, some of them with several choices."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sojourn.data.hints import Choice, Given, Options
from sojourn.data.numbers import finite, nearest, shown, whole
from sojourn.rules.elementary import exp10, log

Axis: TypeAlias = list[float] | list[int] | list[str] | list[bool] | list[Choice]
Axes: TypeAlias = Mapping[str, Choice | Axis]  # options; those that are lists are axes

MOST_CHOICES = 10_000  # of an option: each is tried when the sweep is read
_SPACES = ("logspace", "linspace")


@dataclass(frozen=True)
class Entry:
    """A kind of world or agent and its options; options that are lists are axes of a grid.

    >>> entry = Entry("smart", {"step_size": [0.01, 0.1], "exploration": 0.2})
    >>> len(entry), list(entry.grid())[1]
    (2, {'step_size': 0.1, 'exploration': 0.2})
    """

    kind: str
    options: Axes = field(default_factory=dict)
    label: str = ""  # its name in the results; its kind if not given

    def grid(self) -> Iterator[Options]:
        """Yield the options of every combination, in order."""
        axes = {name: choices(choice) for name, choice in self.options.items()}
        for combination in itertools.product(*axes.values()):
            yield dict(zip(axes, combination, strict=True))

    def samples(self) -> Iterator[Options]:
        """Yield a few combinations in which every choice of every axis occurs: enough to check them all."""
        first = next(self.grid())
        yield first
        for name, choice in self.options.items():
            for other in choices(choice)[1:]:
                yield {**first, name: other}

    def __len__(self) -> int:
        return math.prod(len(choices(choice)) for choice in self.options.values())


def choices(choice: Choice | Axis) -> Sequence[Choice]:
    """Return the choices of an option: those in the list, or the only one.

    >>> choices([1.0, 2.0]), choices("word")
    ([1.0, 2.0], ['word'])
    """
    return choice if isinstance(choice, list) else [choice]


def expand(given: Given) -> Choice | list[Choice]:
    """Return an option that TOML gives: a grid as the list it stands for, a whole number as a float.

    >>> expand({"linspace": [0, 1, 3]})
    [0.0, 0.5, 1.0]
    >>> expand({"logspace": [0.01, 100, 3]})
    [0.01, 1.0, 100.0]
    >>> expand({"kind": "time-smoothed", "step_size": [0.01, 0.1]})[1]
    {'kind': 'time-smoothed', 'step_size': 0.1}
    """
    if isinstance(given, list):
        if not given:
            raise ValueError("the list is empty; a grid needs at least one choice")
        if len(given) > MOST_CHOICES:
            raise ValueError(f"the list has {len(given):,} choices; a grid takes at most {MOST_CHOICES:,}")
        return _different([_choice(entry) for entry in given])
    if isinstance(given, dict) and "kind" in given:  # an estimator by name, which may have axes of its own
        inner = [[(key, _part(key, part)) for part in choices(expand(parts))] for key, parts in given.items()]
        tables: list[Choice] = [dict(chosen) for chosen in itertools.product(*inner)]
        return tables if len(tables) > 1 else tables[0]
    if isinstance(given, dict) and any(
        key in _SPACES or isinstance(part, list) for key, part in given.items()
    ):
        ((space, bounds), *more) = given.items()
        if more or space not in _SPACES:
            raise ValueError(f"{shown(given)} is not a grid{nearest(space, _SPACES)}")
        if not (isinstance(bounds, list) and len(bounds) == 3):
            raise ValueError(f"{space} takes [first, last, count], not {shown(bounds)}")
        return _different([*spaced(space, *bounds)])
    return _choice(given)


def _choice(given: Given) -> Choice:
    """Return one choice; a whole number becomes a float, so that 1 and 1.0 are one choice."""
    if isinstance(given, bool | str):
        return given
    if isinstance(given, int | float):
        return finite("the number", given)
    if isinstance(given, dict) and isinstance(given.get("kind"), str):
        return {key: _part(key, part) for key, part in given.items()}
    if isinstance(given, dict) and all(isinstance(part, int | float) for part in given.values()):
        return {key: part if isinstance(part, bool) else finite(key, part) for key, part in given.items()}
    raise TypeError(f"{shown(given)} is neither a number nor a word nor a grid")


def _part(name: str, given: Given) -> float | str:
    return given if isinstance(given, bool | str) else finite(name, given)  # type: ignore[arg-type] # or refused


def _different(found: list[Choice]) -> list[Choice]:
    if len({json.dumps(entry, sort_keys=True) for entry in found}) != len(found):
        raise ValueError("the grid contains the same choice twice")
    return found


def spaced(space: str, first: float, last: float, count: int) -> list[float]:
    """Return `count` numbers from `first` to `last`: evenly spaced, or for "logspace" evenly in the logarithm.

    >>> spaced("linspace", 0, 1, 3)
    [0.0, 0.5, 1.0]
    """
    count, first, last = (
        whole("count", count, most=MOST_CHOICES),
        finite("first", first),
        finite("last", last),
    )
    if space == "logspace" and min(first, last) <= 0:
        raise ValueError("the ends of logspace must be greater than 0")
    if count == 1:
        return [first]
    if space == "linspace":
        inner = [first + (last - first) * i / (count - 1) for i in range(1, count - 1)]
    else:
        low, high = log(first) / log(10.0), log(last) / log(10.0)
        inner = [exp10(low + (high - low) * i / (count - 1)) for i in range(1, count - 1)]
    return [first, *inner, last]
