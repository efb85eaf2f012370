"""The durations of a market segment, and the rate above which the better action changes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, stream
from sojourn.worlds.market.instruments import market_segment
from sojourn.worlds.market.world import Market, MarketWorld
from sojourn.worlds.protocol import ready_world, start, step
from sojourn_paper.bitcoin.plan import Source

_step = step.bare
QUANTILES = {"q01": 0.01, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q99": 0.99}


def movement(source: Source, chosen: list[int]) -> pl.DataFrame:
    """Return statistics of each segment: its moves, its scaled durations, and the deciding rate."""
    rows = []
    for segment in chosen:
        world = market_segment(
            source.data,
            segment=segment,
            segment_length=source.segment_length,
            fill=source.fill,
            repair=source.repair,
            duration=source.scaled,
        )
        moves = world.moves
        tau = scaled_durations(world)
        quantiles = np.quantile(tau, list(QUANTILES.values()))
        rows.append(
            {
                "segment": segment,
                "bars": len(moves),
                "total_movement": float(np.abs(moves).sum()),
                "largest_move": float(np.abs(moves).max()),
                "without_move": float((moves == 0.0).mean()),
                "duration_std": float(tau.std()),
                **dict(zip(QUANTILES, map(float, quantiles), strict=True)),
                "deciding_rate": deciding_rate(world),
            }
        )
    return pl.DataFrame(rows)


def scaled_durations(world: MarketWorld) -> npt.NDArray[np.float64]:
    """Return the durations of always buying, in a market whose durations are scaled."""
    rng = stream(0)  # unused by scaled durations
    world, state = start(ready_world(world), rng)
    durations = np.empty(world.num_steps)
    _always_buy(world, state, durations, rng)
    return durations


@kernel
def _always_buy(world: MarketWorld, state: int, durations: npt.NDArray[np.float64], rng: Stream) -> None:
    for t in range(len(durations)):
        world, state, _, durations[t] = _step(world, state, 0, rng)


def deciding_rate(world: MarketWorld) -> float:
    """Return the rate above which the preference between buying and selling is reversed.

    With x the move of a bar and X the largest, buying takes 25 + 20 x/X seconds, selling
    25 - 20 x/X. Buying earns x (2 - 50/60) more than selling and takes 40 x/X longer, so in
    every state the advantage of buying is

        E[x] (2 - 50/60 - 40 rho / X)

    and its sign is that of E[x] for every rho below X (2 - 50/60)/40, with the paper's numbers.
    """
    return float(
        world.highest
        * (2.0 - (world.shortest + world.longest) / world.interval)
        / (world.longest - world.shortest)
    )


def largest_rate() -> float:
    """Return the largest r/tau that any action can earn with scaled durations, as a share of `deciding_rate`.

    No mean of rates, nor any ratio of sums of r to sums of tau, is above its largest member.

    >>> round(largest_rate(), 3)
    0.215
    """
    # A market of all moves from none to the largest, here 1; a loss earns a negative rate.
    world = Market(np.zeros(10_001), np.linspace(0.0, 1.0, 10_001), duration="scaled")
    durations = scaled_durations(world)
    rates = world.moves * (1.0 - durations / world.interval) / durations
    return float(rates.max() / deciding_rate(world))
