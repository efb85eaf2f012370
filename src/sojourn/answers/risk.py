"""What a calmer ride costs: the policies that stray less than the best one, as a part of a solution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sojourn.exact.risk_frontier import risk_frontier
from sojourn.models.smdp import SMDP
from sojourn.report import blocks
from sojourn.report.plot import risk_chart

_CHANGES_SHOWN = 4


@dataclass(frozen=True)
class Risk:
    """The policies of which no other one earns more and strays less, from the largest gain on.

    An infinite deviation is None. Unless it `is_exact`, the policies were found step by step, and there may be better ones.
    """

    gains: tuple[float, ...]
    deviations: tuple[float | None, ...]
    policies: tuple[tuple[int, ...], ...]
    is_exact: bool

    def __post_init__(self) -> None:
        """Check that there is a gain and a deviation for each policy."""
        if not len(self.gains) == len(self.deviations) == len(self.policies):
            raise ValueError("gains, deviations and policies of a frontier differ in length")


def risk_of(model: SMDP) -> Risk:
    """Return the frontier of gain and deviation of a model.

    >>> from sojourn.models.problems import three_rides
    >>> risk_of(three_rides()).policies
    ((1, 0), (2, 0))
    """
    found = risk_frontier(model)
    return Risk(
        found.gains,
        tuple(each if math.isfinite(each) else None for each in found.deviations),
        tuple(tuple(policy.tolist()) for policy in found.policies),
        found.is_exact,
    )


def parts(found: Risk, name: str, changed: Callable[[int, int], str]) -> list[blocks.Block]:
    """Return a table of the policies, and the chart; `changed` tells a state and an action in words."""
    best = found.policies[0]
    rows = [
        (gain, deviation, _lost(gain, found.gains[0]), _changes(policy, best, changed))
        for gain, deviation, policy in zip(found.gains, found.deviations, found.policies, strict=True)
    ]
    columns = [*blocks.numbers("gain", digits=6), *blocks.numbers("deviation", digits=4)]
    columns += [
        *blocks.numbers("less than the best", digits=2, unit="%"),
        *blocks.texts("what it does otherwise"),
    ]
    caption = f"What a calmer ride costs: {name}"
    note = (
        ""
        if found.is_exact
        else "Found step by step: no change in one state makes a policy better, but other policies may be."
    )
    table = blocks.DataTable(caption, columns, rows, note)
    if len(rows) == 1:
        return [table]
    return [table, risk_chart(found.gains, found.deviations, is_exact=found.is_exact, title=caption)]


def _lost(gain: float, best: float) -> float | None:
    return (best - gain) / abs(best) if best else None


def _changes(policy: Sequence[int], best: Sequence[int], changed: Callable[[int, int], str]) -> str:
    """Return the states in which a policy does something else than the best one."""
    words = [changed(state, action) for state, action in enumerate(policy) if action != best[state]]
    more = len(words) - _CHANGES_SHOWN
    return "; ".join(words[:_CHANGES_SHOWN]) + (f"; {more} more" if more > 0 else "")
