"""An audit in words, for a terminal and for the pages that quote it."""

from __future__ import annotations

from sojourn.studies.audit.answer import Audited, Limit

_HEAD = (
    f"{'estimator':20}{'in the long run':>16}{'error':>11}{'greedy policy':>15}{'its gain':>10}{'drift':>10}"
)
_FOOT = "drift: by how much values grow with each step at that rate; 0 at the optimal gain"


def greedy_for(found: Audited) -> str:
    """Return in words the rates for which an optimal policy is greedy."""
    if found.low is None:
        return "every rate" if found.high is None else f"rates up to {found.high:.6g}"
    return f"rates from {found.low:.6g} " + ("on" if found.high is None else f"to {found.high:.6g}")


def lines(found: Audited) -> list[str]:
    """Return an audit as a table for a terminal, with a line above and one below."""
    return [
        f"{found.name}: the policy's gain is {found.gain:.6g}, the optimal one {found.best_gain:.6g}; "
        f"an optimal policy is greedy for {greedy_for(found)}",
        _HEAD,
        *map(_row, found.estimators),
        _FOOT,
    ]


def _row(limit: Limit) -> str:
    greedy = {True: "optimal", False: "not optimal", None: "-"}[limit.keeps_optimum]
    return (
        f"{limit.estimator:20}{number(limit.rate, 6):>16}{number(limit.error, 4):>11}{greedy:>15}"
        f"{number(limit.greedy_gain, 4):>10}{number(limit.drift, 4):>10}"
    )


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}g}"
