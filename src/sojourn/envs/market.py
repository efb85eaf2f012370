"""A market as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sojourn.envs.worlds import WorldEnv
from sojourn.worlds.market.instruments import synthetic_bars
from sojourn.worlds.market.world import Market


class MarketEnv(WorldEnv):
    """`sojourn/Market-v0`: at every bar of an instrument, buy or sell.

    ## Description
    Each step is one bar of prices. The action takes a part of the bar's interval, and earns the
    price's move from then to the close. States and bars do not depend on the actions.

    ## Observation space
    `Discrete(2**state_size)`: the directions of the last `state_size` bars, the latest in the
    lowest bit, 1 for up.

    ## Action space
    `Discrete(2)`: 0 buys, 1 sells.

    ## Rewards
    The bar's move, with the opposite sign for a sale, times `1 - duration / interval`.

    ## Durations
    Between `shortest` and `longest`: uniform for `duration="random"`. For `"scaled"` they grow with the
    bar's move (with the opposite sign for a sale), for `"scaled-magnitude"` with its size.

    ## Episode end
    Never; after the last bar the first one follows.

    ## Arguments
    Those of `sojourn.worlds.market.world.Market`, and `compiled` of `sojourn.WorldEnv`. If neither
    `open` nor `close` is given, the prices are `num_bars` synthetic ones, the same each time.

    ## Source
    The Bitcoin study of the Harmonic R-Learning paper.
    """

    def __init__(
        self,
        open: ArrayLike | None = None,  # noqa: A002 - the usual name
        close: ArrayLike | None = None,
        *,
        num_bars: int = 350_000,
        compiled: bool = True,
        **options: Any,
    ) -> None:
        if close is None:
            if open is not None:
                raise ValueError("open is given without close; give both, or neither for synthetic prices")
            bars = synthetic_bars(num_bars)
            open, close = bars.open, bars.close  # noqa: A001 - as above
        super().__init__(Market(open, close, **options), compiled=compiled)
