"""How much detail a page has room for."""

from __future__ import annotations

from typing import NamedTuple


class Budget(NamedTuple):
    """The largest number of rows in a table, and of points in all lines of a chart together."""

    rows: int = 300
    points: int = 160_000
