"""How much detail a page has room for."""

from __future__ import annotations

from typing import NamedTuple


class Budget(NamedTuple):
    """Rows of one table, and points of all lines of one chart, at most."""

    rows: int = 300
    points: int = 160_000
