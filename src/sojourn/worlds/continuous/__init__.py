"""Worlds whose states are vectors, with the exact gains against which agents without a table are judged.

    Wear          a machine that wears; when to replace it
    Offers        jobs with a pay and a length; which to take
    Offers16      the same, seen through sixteen numbers of which two matter
    Workload      a queue at arrivals; which jobs to admit
    CMu           six kinds of customers; whom to serve next
    Hold          a mass on a line; which force to apply, held for a random time
    UpdateOrWait  the age of information; how long to wait before the next update
    Fleet         four machines and one crew; which one to mend (its exact gain is not known)

The actions of `Hold` and `UpdateOrWait` are numbers. `gain(world)` computes the exact gain, `optimal(world, state)`
the best action.

>>> from sojourn.worlds.protocol import gain
>>> round(gain(Wear()), 6)
0.583015
"""

from sojourn.worlds.continuous.c_mu import CMu
from sojourn.worlds.continuous.fleet import Fleet
from sojourn.worlds.continuous.hold import Hold
from sojourn.worlds.continuous.offers import Offers, Offers16
from sojourn.worlds.continuous.update_or_wait import UpdateOrWait
from sojourn.worlds.continuous.wear import Wear
from sojourn.worlds.continuous.workload import Workload

__all__ = ["CMu", "Fleet", "Hold", "Offers", "Offers16", "UpdateOrWait", "Wear", "Workload"]
