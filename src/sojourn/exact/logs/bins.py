"""States from columns: numbers are cut into bins, and rare categories are pooled."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from sojourn.data.child import is_number
from sojourn.data.numbers import finite, shown, whole
from sojourn.rules.door import told

POOLED = "other"
_DIGITS = 9  # of a label, beside those of the width


class Bins(NamedTuple):
    """How to cut a column, as `bins` returns it. A bin's label is its lower end."""

    column: str
    num_bins: int | None = None
    width: float | None = None
    quantiles: int | None = None
    edges: tuple[float, ...] | None = None
    rare: int | None = None
    kept: tuple[str, ...] | None = None  # the categories that are not rare

    def fixed(self, whole: Callable[[str], pl.Series]) -> Bins:
        """Return the bins that a whole column has, so that its parts can be cut in the same way; `whole` returns it by its name.

        >>> bins("miles", 4).fixed(lambda name: pl.Series([0, 100])).labels(pl.Series([10, 40])).to_list()
        [0, 25]
        """
        if self.width is not None or self.edges is not None:
            return self
        values = whole(self.column)
        if self.rare is not None:
            count = values.drop_nulls().cast(pl.String).value_counts(name="count")
            return self._replace(kept=tuple(count.filter(pl.col("count") >= self.rare)[values.name]))
        numbers = self._numbers(values)
        return Bins(self.column, edges=tuple(self._edges(numbers[np.isfinite(numbers)]).tolist()))

    def _numbers(self, values: pl.Series) -> np.ndarray:
        if not is_number(values.dtype):
            raise TypeError(
                f"the column {self.column!r} is of type {values.dtype}, not of numbers; it cannot be cut into bins"
            )
        return values.cast(pl.Float64).fill_nan(None).to_numpy()

    def labels(self, values: pl.Series) -> pl.Series:
        """Return the label of each value; a missing value has none.

        >>> bins("miles", width=25_000).labels(pl.Series([0.0, 24_999.0, 60_000.0])).to_list()
        [0, 0, 50000]
        >>> bins("miles", edges=[10, 50]).labels(pl.Series([5, 10, 70])).to_list()
        [-inf, 10.0, 50.0]
        """
        if self.rare is not None:
            kept = self.fixed(lambda _: values).kept if self.kept is None else self.kept
            texts = values.cast(pl.String)
            is_kept = texts.is_in(list(kept or ()))
            return pl.select(
                pl.when(is_kept).then(texts).when(texts.is_not_null()).then(pl.lit(POOLED))
            ).to_series()
        numbers = self._numbers(values)
        if self.width is not None:
            lower = np.floor(numbers / self.width) * self.width
            return _labelled(np.round(lower, _DIGITS - math.floor(math.log10(self.width))), numbers)
        edges = self._edges(numbers[np.isfinite(numbers)])
        place = np.searchsorted(edges, numbers, side="right")
        return _labelled(np.append(-np.inf, edges)[place], numbers)

    def _edges(self, known: np.ndarray) -> np.ndarray:
        """Return the lower ends of the bins."""
        if self.edges is not None:
            return np.array(self.edges)
        if not known.size:
            return np.zeros(1)
        if self.quantiles is not None:
            shares = np.arange(self.quantiles) / self.quantiles
            return np.unique(np.quantile(known, shares, method="higher"))
        assert self.num_bins is not None  # `bins` saw to it
        return np.unique(np.linspace(known.min(), known.max(), self.num_bins + 1)[:-1])


def _labelled(lower: np.ndarray, numbers: np.ndarray) -> pl.Series:
    """Return labels, as whole numbers if all of them are, and none where there is no number."""
    found = pl.Series(np.where(np.isfinite(numbers), lower, np.nan)).fill_nan(None)
    is_whole = bool((found.is_finite() & (found == found.round()) & (found.abs() < 2.0**53)).all())
    return found.cast(pl.Int64) if is_whole else found


@told
def bins(
    column: str,
    count: int | None = None,
    *,
    width: float | None = None,
    quantiles: int | None = None,
    edges: Sequence[float] | None = None,
    rare: int | None = None,
) -> Bins:
    """Say how the column of a log becomes a part of its states; `read_events` takes it in place of the column's name.

    Give one of these: `count` bins of the same width from the least to the largest value; bins of this `width`; as many
    `quantiles`, bins with about equally many rows; the `edges` between bins; or, for categories, `rare`: those with
    fewer rows are pooled as "other". The state is then the lower end of the bin, or the category.

    >>> bins("miles", 4).labels(pl.Series([0, 10, 40, 99, 100])).to_list()
    [0, 0, 25, 75, 75]
    >>> bins("fault", rare=2).labels(pl.Series(["leak", "noise", "leak"])).to_list()
    ['leak', 'other', 'leak']
    """
    given = {"count": count, "width": width, "quantiles": quantiles, "edges": edges, "rare": rare}
    named = [name for name, one in given.items() if one is not None]
    if len(named) != 1:
        raise ValueError(
            f"bins of {column!r} are given {' and '.join(named) or 'nothing'}; give one of {', '.join(given)}"
        )
    for name, number in (("count", count), ("quantiles", quantiles), ("rare", rare)):
        if number is not None:
            whole(name, number)
    if width is not None and not finite("width", width) > 0.0:
        raise ValueError(f"width is {shown(width)}; it must be above 0")
    ends = None if edges is None else tuple(finite("an edge", edge) for edge in edges)
    if ends is not None and (not ends or any(b <= a for a, b in itertools.pairwise(ends))):
        raise ValueError(f"edges are {shown(edges)}; give at least one, each larger than the one before")
    return Bins(column, count, width, quantiles, ends, rare)
