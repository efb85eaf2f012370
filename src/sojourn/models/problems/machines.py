"""Problems of when to repair or replace a machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammainc, gammaincc

from sojourn.data.numbers import finite, positive, several, unmasked, whole
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.door import told

_DETERIORATION = (
    (0.9, 0.1, 0.0, 0.0, 0.0),
    (0.0, 0.8, 0.1, 0.05, 0.05),
    (0.0, 0.0, 0.7, 0.1, 0.2),
    (0.0, 0.0, 0.0, 0.5, 0.5),
)

MOST_AGES = 100_000  # of these problems; larger models are better made from arrays


@told
def tijms_maintenance(
    *,
    deterioration: Sequence[Sequence[float]] = _DETERIORATION,
    preventive_costs: Sequence[float] = (7.0, 7.0, 5.0),
    preventive_duration: float = 1.0,
    failure_cost: float = 10.0,
    failure_duration: float = 2.0,
) -> SMDP:
    """A maintenance problem by Tijms: repair now, or see whether the machine works for another day.

    Every morning the condition of the machine is inspected; it is from 1 (as new) to 5 (failed). Left alone, a
    machine in condition i is in condition j the next morning with the probability

        i = 1: .9 .1 0 0 0    2: 0 .8 .1 .05 .05    3: 0 0 .7 .1 .2    4: 0 0 0 .5 .5

    In conditions 2, 3 and 4 it can be repaired, in 5 it must be. After a repair the condition is 1.

    States: number s is condition s + 1.

    Actions: 0 leaves the machine alone (conditions 1 to 4); 1 repairs it (conditions 2 to 5).

    Rewards: costs, so they are negative: -7, -7 and -5 for a repair in 2, 3 and 4, -10 in 5, and 0 otherwise.

    Durations: 1 day; the repair of a failed machine takes 2.

    Source: H. C. Tijms, "A First Course in Stochastic Models", Wiley 2003, example 6.1.1. A duration of 2 takes the
    place of its auxiliary state for the second day of a repair.

    >>> model = tijms_maintenance()
    >>> model.action, model.reward
    (array([0, 0, 1, 0, 1, 0, 1, 1], dtype=int32), array([  0.,   0.,  -7.,   0.,  -7.,   0.,  -5., -10.]))
    """
    table = np.asarray(unmasked("deterioration", deterioration), dtype=np.float64)
    if table.ndim != 2 or len(table) < 2 or table.shape[1] != len(table) + 1:
        raise ValueError(
            f"deterioration has the shape {table.shape}; it must have a row for each working condition "
            "and one column more than rows, for failure"
        )
    failed = len(table)
    if len(several("preventive_costs", preventive_costs)) != failed - 1:
        raise ValueError(
            f"preventive_costs has the length {len(preventive_costs)}; it must be {failed - 1}, one for each of the "
            f"conditions 2 to {failed}"
        )
    rows: list[Transition] = [
        (state, 0, after, float(table[state, after]), 0.0, 1.0)
        for state in range(failed)
        for after in range(failed + 1)
        if table[state, after] != 0.0
    ]
    day = positive("preventive_duration", preventive_duration)
    for state, cost in enumerate(preventive_costs, start=1):
        rows.append((state, 1, 0, 1.0, -finite("a preventive cost", cost), day))
    broken = -finite("failure_cost", failure_cost), positive("failure_duration", failure_duration)
    rows.append((failed, 1, 0, 1.0, *broken))
    names = [f"condition {number}" for number in range(1, failed + 2)]
    return from_transitions(rows, state_names=names, action_names=("leave", "repair"))


def replacement(
    *,
    shape: float = 4.0,
    scale: float = 0.5,
    interval: float = 0.25,
    num_ages: int = 17,
    failure_cost: float = 5.0,
    planned_cost: float = 1.0,
) -> SMDP:
    """Replacement of a machine with a gamma lifetime X, either at a failure or planned before one.

    Decisions are made when the machine is new and at every multiple of the interval D. Let S(t) =
    P(X > t). Suppose that the machine is kept at age t = i D. With probability S(t + D) / S(t) it reaches age t + D, after a
    time of D; otherwise it fails before that, and a new machine takes its place. The mean duration is

        (integral of S from t to t + D) / S(t),     integral of S from 0 to t = t S(t) + E[X; X <= t]

    so nothing is lost by counting age in intervals, except that the machine can be replaced only at these times. The
    duration until a failure is the mean over all failures in the interval. Replacing at age t means paying and keeping a new
    machine for its first interval. Replacing at age T has the gain

        -(failure_cost (1 - S(T)) + planned_cost S(T)) / (integral of S from 0 to T)

    States: the age in intervals, from 0; at the last age the machine must be replaced.

    Actions: 0 keeps the machine (at all ages but the last); 1 replaces it (at all ages but 0).

    Rewards: -5 for a failure, -1 for a planned replacement, 0 otherwise.

    Durations: up to one interval of 0.25; lifetimes have a gamma law with shape 4 and scale 0.5, and are 2 on average.

    Source: age replacement as in R. E. Barlow and F. Proschan, "Mathematical Theory of Reliability", Wiley
    1965, chapter 3; the numbers are our choice.

    >>> model = replacement(shape=1.0, scale=1.0)        # an old machine is as good as a new one
    >>> (model.reward / model.duration)[0].round(9)
    np.float64(-5.0)
    """
    shape, scale, interval = (
        positive("shape", shape),
        positive("scale", scale),
        positive("interval", interval),
    )
    last = whole("num_ages", num_ages, least=2, most=MOST_AGES) - 1
    failure_cost, planned_cost = finite("failure_cost", failure_cost), finite("planned_cost", planned_cost)
    ages = np.arange(last + 1) * interval
    survival = gammaincc(shape, ages / scale)
    if not survival[-2] > 0.0:
        raise ValueError(f"no machine lives to the age of {ages[-2]}; num_ages or interval must be smaller")
    lived = ages * survival + shape * scale * gammainc(shape + 1.0, ages / scale)  # integral of S
    goes_on = survival[1:] / survival[:-1]
    mean_duration = np.diff(lived) / survival[:-1]

    def kept(state: int, action: int, age: int, paid: float) -> list[Transition]:
        through, fails = float(goes_on[age]), float(1.0 - goes_on[age])
        rows: list[Transition] = [(state, action, age + 1, through, -paid, interval)]
        if fails > 0.0:
            until = float(mean_duration[age] - interval * through) / fails
            # If failures are rare, rounding may lead out of the interval.
            until = min(max(until, 1e-9 * interval), interval)
            rows.append((state, action, 0, fails, -paid - failure_cost, until))
        return rows

    rows = [row for age in range(last) for row in kept(age, 0, age, 0.0)]
    rows += [row for age in range(1, last + 1) for row in kept(age, 1, 0, planned_cost)]
    names = [f"age {age:g}" for age in ages.tolist()]
    return from_transitions(rows, state_names=names, action_names=("keep", "replace"))
