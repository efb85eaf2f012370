"""The study in numbers, for machines: the content of `summary.json`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tracked:
    """How closely an estimator follows rates: its error relative to the best `Exponential` in hindsight."""

    group: str  # "random" or "named" streams
    estimator: str
    how: str  # how its step size was chosen
    mean: float | None  # geometric; None if it is not finite
    high: float | None  # 90 % of the streams are below
    worst: float | None


@dataclass(frozen=True)
class OnStream:
    """The same on one named stream."""

    stream: str
    estimator: str
    how: str
    relative: float | None


@dataclass(frozen=True)
class Controlled:
    """The mean share that an agent earned in random worlds of a kind, or in their mirrors, with its interval."""

    kind: str
    agent: str
    name: str
    how: str
    side: str
    worlds: int
    share: float
    low: float
    high: float
    first: int  # the number of worlds in which no other agent earned more


@dataclass(frozen=True)
class Bet:
    """By how much Harmonic R-Learning is ahead of Relaxed-SMART in worlds of a kind, or in their mirrors.

    `first` counts the worlds in which it earned more than every other agent.
    """

    kind: str
    side: str
    worlds: int
    first: int
    ahead: float
    low: float
    high: float


@dataclass(frozen=True)
class Named:
    """The share that an agent earned in a named world; low and high are its lowest and highest run."""

    world: str
    agent: str
    name: str
    how: str
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Earned:
    """What an agent earned in the paper's family, as a share of the better action, and how often it ended with B."""

    agent: str
    name: str
    log_scale: float
    share: float
    low: float
    high: float
    ended_with_b: float


@dataclass(frozen=True)
class Foretold:
    """The share of histories in which each method names the action that is better at the horizon."""

    world: str
    log_scale: float
    right_is_b: float
    histories: float
    by_trend: float
    low: float
    high: float
    by_best: float  # by the best shape alone
    by_average: float
    by_recent: float
    exponential: float  # how often B's rewards are taken to be exponential


@dataclass(frozen=True)
class RunSize:
    """How much was run."""

    streams: int
    worlds: int
    seeds: int
    steps: int
    time: float


@dataclass(frozen=True)
class Summary:
    """What was found, in numbers and in words."""

    version: str
    steps: int
    seconds: float
    size: RunSize
    tracking: tuple[Tracked, ...]
    streams: tuple[OnStream, ...]
    control: tuple[Controlled, ...]
    bet: tuple[Bet, ...]
    named: tuple[Named, ...]
    settings: dict[str, dict[str, float | None]]
    earned: tuple[Earned, ...]
    foretold: tuple[Foretold, ...]
    findings: tuple[str, ...] = ()
    study: str = "drift"

    def tracked(self, estimator: str, how: str, group: str = "random") -> Tracked:
        """Return the row of one estimator whose step size was chosen in one way."""
        return next(
            row for row in self.tracking if (row.estimator, row.how, row.group) == (estimator, how, group)
        )

    def over(self, kind: str, how: str, side: str) -> list[Controlled]:
        """Return all agents in random worlds of a kind, those that earned most first."""
        rows = (row for row in self.control if (row.kind, row.how, row.side) == (kind, how, side))
        return sorted(rows, key=lambda row: -row.share)
