"""The study's tables, computed from streams, runs and the paper's family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from sojourn import __version__
from sojourn.data.hints import plain, read_record
from sojourn.worlds.changes.jobs import drawn
from sojourn_paper.drift import control, family, tracking
from sojourn_paper.drift.plan import Size, title
from sojourn_paper.robustness.tables import realised
from sojourn_paper.study import Study


class Tables(NamedTuple):
    """All data behind the text, the figures and the page."""

    tracking: pl.DataFrame  # errors relative to the best `Exponential`, over all streams
    streams: pl.DataFrame  # the same, on each stream
    control: pl.DataFrame  # shares over random worlds of each kind and their mirrors
    bet: pl.DataFrame  # Harmonic R-Learning's lead over Relaxed-SMART
    named: pl.DataFrame  # shares in named worlds
    settings: pl.DataFrame  # each agent's common setting for all random worlds
    earned: pl.DataFrame  # in the paper's family
    foretold: pl.DataFrame


_SHARES = "share low high"
_FILES = {
    "tables/tracking.parquet": "group estimator how | mean low high worst",
    "tables/streams.parquet": "stream estimator how | step_size relative",
    "tables/control.parquet": f"kind agent how side | worlds {_SHARES} first",
    "tables/bet.parquet": "kind side | worlds first ahead low high",
    "tables/named.parquet": f"world agent how | {_SHARES} tracking_error",
    "tables/settings.parquet": "agent | step_size exploration rate_step_size",
    "tables/earned.parquet": f"agent | log_scale {_SHARES} ended_with_b",
    "tables/foretold.parquet": "world | log_scale right_is_b histories by_trend low high by_best by_average by_recent exponential",
}
STUDY = Study(Tables, _FILES)


def tabulate(
    size: Size, swept: dict[str, pl.DataFrame], streams: pl.DataFrame, foretold: pl.DataFrame
) -> Tables:
    """Return the tables of the sweeps, of the errors on streams, and of the predictions."""
    relatives = tracking.relative(streams)
    shares = control.shares(swept["sweep"])
    one = control.one_setting(shares)
    random_worlds = control.chosen(shares, one)
    named = [
        control.chosen(control.shares(swept[name]), one) for name in ("named", "others") if name in swept
    ]
    numbers = range(size.worlds)
    kinds = pl.DataFrame(
        {"number": [float(number) for number in numbers], "kind": [drawn(number).kind for number in numbers]}
    )
    return Tables(
        tracking=tracking.overview(relatives),
        streams=relatives,
        control=control.over_random(random_worlds, kinds),
        bet=control.bet(random_worlds, kinds),
        named=pl.concat(named).select("world", "agent", "how", "share", "low", "high", "tracking_error"),
        settings=one,
        earned=family.earned(swept["family"], realised(family.SEEN, min(size.seeds, 5))),
        foretold=foretold,
    )


# --- In numbers ---------------------------------------------------------------------


def summarised(found: Tables, size: Size, steps: int, seconds: float) -> Summary:
    """Return the study in numbers; non-finite ones become None."""
    named = pl.col("agent").map_elements(title, pl.String).alias("name")
    in_numbers = {
        "version": __version__,
        "steps": steps,
        "seconds": seconds,
        "size": size._asdict(),
        **{
            name: getattr(found, name).with_columns(named).to_dicts()
            for name in ("control", "named", "earned")
        },
        "tracking": found.tracking.to_dicts(),
        "streams": found.streams.filter(~pl.col("stream").str.contains(r"^\d+$")).to_dicts(),
        "bet": found.bet.to_dicts(),
        "settings": {agent.pop("agent"): agent for agent in found.settings.to_dicts()},
        "foretold": found.foretold.to_dicts(),
    }
    return read_record(Summary, plain(in_numbers))


# --- The study in numbers: `summary.json` ------------------------------------------------


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
    """Harmonic R-Learning's lead over Relaxed-SMART in worlds of a kind, or in their mirrors.

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
    """The size of the study."""

    streams: int
    worlds: int
    seeds: int
    steps: int
    time: float


@dataclass(frozen=True)
class Summary:
    """The findings, in numbers and in words."""

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
        """Return the row of one estimator, with its step size chosen in one way."""
        return next(
            row for row in self.tracking if (row.estimator, row.how, row.group) == (estimator, how, group)
        )

    def over(self, kind: str, how: str, side: str) -> list[Controlled]:
        """Return all agents in random worlds of a kind, in descending order of earnings."""
        rows = (row for row in self.control if (row.kind, row.how, row.side) == (kind, how, side))
        return sorted(rows, key=lambda row: -row.share)
