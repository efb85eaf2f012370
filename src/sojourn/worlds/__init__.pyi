"""The public names, by the file that defines them."""

from sojourn.rules.vectors import Bounds
from sojourn.worlds import changes, continuous
from sojourn.worlds.changing import Drifting, Switching
from sojourn.worlds.disturbed import Disturbed
from sojourn.worlds.market.bars import Bars, load_bars
from sojourn.worlds.market.instruments import synthetic_bars
from sojourn.worlds.market.world import Market
from sojourn.worlds.protocol import gain, is_unswayed, optimal, start, step
from sojourn.worlds.tabular import Tabular, initial_values
from sojourn.worlds.truth import Truth
from sojourn.worlds.two_state import TwoState, cos_log_drift, sin_log_drift

__all__ = [
    "Bars",
    "Bounds",
    "Disturbed",
    "Drifting",
    "Market",
    "Switching",
    "Tabular",
    "Truth",
    "TwoState",
    "changes",
    "continuous",
    "cos_log_drift",
    "gain",
    "initial_values",
    "is_unswayed",
    "load_bars",
    "optimal",
    "sin_log_drift",
    "start",
    "step",
    "synthetic_bars",
]
