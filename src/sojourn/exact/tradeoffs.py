"""How much of what is maximised a limit costs: the best policy for each of several bounds of the limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from sojourn.data.numbers import finite, several
from sojourn.exact.bounds import Solution
from sojourn.exact.constraints import Constraint, checked_limits
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.solve import solve
from sojourn.models.smdp import SMDP
from sojourn.rules.door import told


@told
@dataclass(frozen=True, eq=False)
class Frontier:
    """The best that can be had for each bound of a limit, with proven bounds on it and the price of the limit there.

    Where no policy keeps the limit, the solution is None and its numbers are NaN; `findings` says why.

    >>> import sojourn as sj
    >>> model = sj.problems.long_shot()  # 5 in a step of 1, or 12 in one of 4
    >>> found = frontier(model, sj.exact.at_least("duration", 0, per="steps"), [1, 4, 5])
    >>> found.gains, found.findings
    ((5.0, 3.0, nan), ('no policy has duration per steps at least 5; the most that can be had is 4',))
    """

    limit: Constraint
    bounds: tuple[float, ...]
    solutions: tuple[Solution | None, ...]
    findings: tuple[str, ...] = ()

    @property
    def gains(self) -> tuple[float, ...]:
        """The best gain for each bound."""
        return tuple(math.nan if found is None else found.gain for found in self.solutions)

    @property
    def prices(self) -> tuple[float, ...]:
        """The price of the limit at each bound."""
        return tuple(math.nan if found is None else found.prices[0] for found in self.solutions)

    def table(self) -> pl.DataFrame:
        """Return a row for each bound: the gain, what it is proven to lie between, and the price."""
        ends = [
            (math.nan, math.nan) if found is None else (found.lower, found.upper) for found in self.solutions
        ]
        return pl.DataFrame(
            {
                "bound": self.bounds,
                "gain": self.gains,
                "lower": [low for low, _ in ends],
                "upper": [high for _, high in ends],
                "price": self.prices,
            }
        )


@told
def frontier(
    model: SMDP,
    limit: Constraint,
    bounds: Iterable[float],
    tolerance: float = 1e-8,
    *,
    maximise: str = "reward",
    per: str = "duration",
    limits: Sequence[Constraint] = (),
) -> Frontier:
    """Return the best policies as one limit takes each of some bounds; the bound that `limit` has itself does not count.

    `limits` are others, which stay. The gain is concave in the bound, with the price as its slope (times what there is of
    the limit's `per` in a unit of time). `sojourn.plot.frontier` draws it.

    >>> import sojourn as sj
    >>> line = sj.models.from_dict({"line": {
    ...     "answer": {"reward": 1, "duration": 1, "next": "line", "amounts": {"lost": 0}},
    ...     "reject": {"reward": 3, "duration": 1, "next": "line", "amounts": {"lost": 1}},
    ... }})
    >>> found = frontier(line, sj.exact.at_most("lost", 0), [0.0, 0.25, 0.5, 2.0])
    >>> found.gains, found.prices
    ((1.0, 1.5, 2.0, 3.0), (2.0, 2.0, 2.0, 0.0))
    """
    checked_limits([limit, *limits])
    wanted = [finite("a bound of frontier", bound) for bound in several("bounds", list(bounds))]
    solutions: list[Solution | None] = []
    findings = []
    for bound in wanted:
        try:
            all_limits = [replace(limit, bound=bound), *limits]
            solutions.append(solve(model, tolerance, maximise=maximise, per=per, limits=all_limits))
        except NotSolvedError as error:
            if "can be had" not in str(error):
                raise
            solutions.append(None)
            findings.append(str(error))
    return Frontier(limit, tuple(wanted), tuple(solutions), tuple(findings))
