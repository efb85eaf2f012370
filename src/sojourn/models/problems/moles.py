"""Whack-a-mole: holes on a board, and time that passes on the way from one to another."""

from __future__ import annotations

import math

import numpy as np

from sojourn.data.numbers import positive, probability, whole
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.arrays import Floats

MOST_HOLES = 9  # which make 4,608 states


def whack_a_mole(
    *,
    rows: int = 2,
    columns: int = 2,
    up: float = 0.2,
    down: float = 0.0,
    hit_duration: float = 1.0,
    duration_per_distance: float = 1.0,
) -> SMDP:
    """Moles come up while the player walks between holes: longer ways take more time, and more moles come up.

    A hole without a mole gets one with probability 0.2 in a unit of time, and so with 1 - 0.8^t in a time of t. A mole stays
    until it is hit; if `down` is above 0, moles also go down by themselves. The player can hit at the current hole, which is
    in vain if there is no mole, or go to any other hole. A board of 3 by 3 has 4,608 states and 1.6 million rows.

    States: the current hole and the set of holes with moles, numbered hole + holes * (sum of 2^h over holes h with a mole).

    Actions: the number of a hole goes there, and is not available at the hole itself; one more action hits.

    Rewards: 1 for hitting a mole, 0 otherwise.

    Durations: the distance for going, 1 for hitting.

    Source: `WhackAMoleSMDP` in the repository of the authors of Harmonic R-Learning, github.com/erelon/SMDP_Agents,
    examples/envs/whack_a_mole.py, commit 1d662de, whose board is 3 by 3.

    >>> whack_a_mole(rows=1, columns=1), whack_a_mole()
    (SMDP(2 states, 2 pairs, 4 rows), SMDP(64 states, 256 pairs, 1404 rows))
    """
    height, width = whole("rows", rows, most=MOST_HOLES), whole("columns", columns, most=MOST_HOLES)
    holes = height * width
    if holes > MOST_HOLES:
        raise ValueError(
            f"rows is {height} and columns is {width}; the board must have at most {MOST_HOLES} holes"
        )
    rise, fall = probability("up", up), probability("down", down)
    hitting = positive("hit_duration", hit_duration)
    pace = positive("duration_per_distance", duration_per_distance)
    made: list[Transition] = []
    laws: dict[tuple[int, float], Floats] = {}
    for moles in range(2**holes):
        for place in range(holes):
            for action in range(holes + 1):
                if action == place:
                    continue
                hit = action == holes
                lasting = hitting if hit else pace * _distance(place, action, width)
                left = moles & ~(1 << place) if hit else moles
                if (left, lasting) not in laws:
                    laws[left, lasting] = _later(left, holes, rise, fall, lasting)
                after = place if hit else action
                made += [
                    (place + holes * moles, action, after + holes * to, chance, float(left != moles), lasting)
                    for to, chance in enumerate(laws[left, lasting].tolist())
                    if chance > 0.0
                ]
    return from_transitions(made)


def _distance(one: int, other: int, width: int) -> float:
    return math.dist(divmod(one, width), divmod(other, width))


def _later(moles: int, holes: int, rise: float, fall: float, time: float) -> Floats:
    """Return the law of the set of moles after a time; holes are independent of each other."""
    chances = [1.0 - (1.0 - rise) ** time, (1.0 - fall) ** time]  # of a mole, after none and after one
    law = np.ones(1)
    for hole in range(holes):
        there = chances[moles >> hole & 1]
        law = np.concatenate([law * (1.0 - there), law * there])
    return law
