"""When an error or a drift counts as none: the one place that decides it."""

from __future__ import annotations

ROUNDING = 1e-9  # relative to the gain, or to 1 where that is smaller


def without_rounding(number: float, gain: float) -> float:
    """Return an error or a drift, or 0 where it is so small beside the gain that only rounding made it.

    >>> without_rounding(1e-7, gain=1000.0), without_rounding(-1e-7, gain=5.0)
    (0.0, -1e-07)
    """
    return 0.0 if abs(number) <= ROUNDING * max(1.0, abs(gain)) else number
