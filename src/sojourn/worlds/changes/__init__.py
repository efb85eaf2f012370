"""Worlds that change, and record the truth against which agents are judged.

    pay_rise        a long job, and a short one whose pay goes up and down
    seasons         two jobs whose pay changes with the seasons
    rush_hours      a queue with rush hours
    fading_trade    a long job whose pay fades away
    heavy_tails     pay_rise with rewards of a very wide spread
    random_changes  random worlds by number, each with a mirror
    ripening_bait   the paper authors' bait, which ripens and rots with the decisions
    rotting_bait    the paper authors' bait that only rots

`sojourn.run` measures dynamic regret and tracking error in all of them. Sweeps and comparisons use these names.

>>> from sojourn.worlds.protocol import gain
>>> gain(pay_rise(hold=1000.0), 0.0), gain(pay_rise(hold=1000.0), 1500.0)
(5.0, 8.0)
"""

from sojourn.worlds.changes.baits import ripening_bait, rotting_bait
from sojourn.worlds.changes.jobs import (
    fading_trade,
    heavy_tails,
    pay_rise,
    random_changes,
    rush_hours,
    seasons,
)

__all__ = [
    "fading_trade",
    "heavy_tails",
    "pay_rise",
    "random_changes",
    "ripening_bait",
    "rotting_bait",
    "rush_hours",
    "seasons",
]
