"""Tables: what was found, from streams, from runs and from the paper's family."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl

from sojourn import __version__
from sojourn.studies.drift import control, family, tracking
from sojourn.studies.drift.plan import Size, title
from sojourn.studies.drift.summary import (
    Bet,
    Controlled,
    Earned,
    Foretold,
    Named,
    OnStream,
    RunSize,
    Summary,
    Tracked,
)
from sojourn.studies.stored import read_tables, write_tables


class Tables(NamedTuple):
    """All the data that words, figures and the page are made from."""

    tracking: pl.DataFrame  # errors relative to the best `Exponential`, over all streams
    streams: pl.DataFrame  # the same, on each stream
    control: pl.DataFrame  # shares over random worlds of each kind and their mirrors
    bet: pl.DataFrame  # by how much Harmonic R-Learning is ahead of Relaxed-SMART
    named: pl.DataFrame  # shares in named worlds
    settings: pl.DataFrame  # the one setting of each agent for all random worlds
    earned: pl.DataFrame  # in the paper's family
    foretold: pl.DataFrame


_SHARES = "share low high"
FILES = {  # with the names of their columns: texts, then numbers
    "tables/tracking.parquet": "group estimator how | mean low high worst",
    "tables/streams.parquet": "stream estimator how | step_size relative",
    "tables/control.parquet": f"kind agent how side | worlds {_SHARES} first",
    "tables/bet.parquet": "kind side | worlds first ahead low high",
    "tables/named.parquet": f"world agent how | {_SHARES} tracking_error",
    "tables/settings.parquet": "agent | step_size exploration rate_step_size",
    "tables/earned.parquet": f"agent | log_scale {_SHARES} ended_with_b",
    "tables/foretold.parquet": "world | log_scale right_is_b histories by_trend low high by_best by_average by_recent exponential",
}


class Measured(NamedTuple):
    """What was run: errors on streams, and the results of the sweeps."""

    streams: pl.DataFrame
    random_worlds: pl.DataFrame
    kinds: pl.DataFrame  # of the random worlds, by their numbers
    family: pl.DataFrame
    named_worlds: list[pl.DataFrame]
    realised: pl.DataFrame
    foretold: pl.DataFrame


def tabulate(found: Measured) -> Tables:
    """Return the tables of what was run."""
    relatives = tracking.relative(found.streams)
    shares = control.shares(found.random_worlds)
    one = control.one_setting(shares)
    random_worlds = control.chosen(shares, one)
    named = pl.concat([control.chosen(control.shares(runs), one) for runs in found.named_worlds])
    return Tables(
        tracking=tracking.overview(relatives),
        streams=relatives,
        control=control.over_random(random_worlds, found.kinds),
        bet=control.bet(random_worlds, found.kinds),
        named=named.select("world", "agent", "how", "share", "low", "high", "tracking_error"),
        settings=one,
        earned=family.earned(found.family, found.realised),
        foretold=found.foretold,
    )


def write(folder: Path, tables: Tables) -> None:
    """Write the tables into the study's folder."""
    write_tables(folder, dict(zip(FILES, tables, strict=True)))


def read(folder: Path) -> Tables:
    """Return the tables of a study's folder."""
    return Tables(*read_tables(folder, FILES))


# --- In numbers ---------------------------------------------------------------------


def summarised(found: Tables, size: Size, steps: int, seconds: float) -> Summary:
    """Return the study in numbers."""
    named_streams = found.streams.filter(~pl.col("stream").str.contains(r"^\d+$"))
    return Summary(
        version=__version__,
        steps=steps,
        seconds=seconds,
        size=RunSize(size.streams, size.worlds, size.seeds, size.steps, size.time),
        tracking=tuple(
            Tracked(group, estimator, how, *map(_finite, numbers))
            for group, estimator, how, *numbers in found.tracking.drop("low").iter_rows()
        ),
        streams=tuple(
            OnStream(stream, estimator, how, _finite(relative))
            for stream, estimator, how, _, relative in named_streams.iter_rows()
        ),
        control=tuple(
            Controlled(kind, agent, title(agent), how, side, *numbers)
            for kind, agent, how, side, *numbers in found.control.iter_rows()
        ),
        bet=tuple(Bet(*row) for row in found.bet.iter_rows()),
        named=tuple(
            Named(world, agent, title(agent), how, *numbers)
            for world, agent, how, *numbers in found.named.drop("tracking_error").iter_rows()
        ),
        settings={
            agent: dict(zip(found.settings.columns[1:], row, strict=True))
            for agent, *row in found.settings.iter_rows()
        },
        earned=tuple(Earned(agent, title(agent), *numbers) for agent, *numbers in found.earned.iter_rows()),
        foretold=tuple(Foretold(*row) for row in found.foretold.iter_rows()),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and abs(number) < float("inf") else None
