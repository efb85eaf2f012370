"""All estimators by name: the one list that audits, comparisons, tests and documentation are made from.

To add one from outside, write its rules and add an entry:

    add(Estimator("Settling", Settling))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sojourn.rates.contrast import Fixed, TimeSmoothed
from sojourn.rates.harmonic import CumulativeHarmonic, Harmonic, WeightedHarmonic
from sojourn.rates.protocol import Rate, update, value
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative

STEP_SIZE = 0.01  # where nobody says another


@dataclass(frozen=True)
class Estimator:
    """An estimator by name.

    `kind` makes a fresh one, from a step size unless `has_step_size` is false. `agents` are those that have it as
    their own. `compared` says whether `sojourn compare` measures its noise beside that of others. `look` is its
    colour, dash and marker in figures, as numbers of the palette.

    >>> ESTIMATORS["Harmonic"].make(0.1)[:2], ESTIMATORS["Cumulative"].make(0.1)
    ((0.1, 0.0), Cumulative(reward=0.0, duration=0.0))
    """

    name: str
    kind: Callable[..., Rate]
    has_step_size: bool = True
    agents: tuple[str, ...] = ()
    compared: bool = False
    look: tuple[int, int, int] | None = None

    def make(self, step_size: float = STEP_SIZE) -> Rate:
        """Return a fresh estimator; one without a step size ignores it."""
        return self.kind(step_size) if self.has_step_size else self.kind()


ESTIMATORS: dict[str, Estimator] = {}


def add(entry: Estimator) -> None:
    """Add an estimator to all lists, or replace the one of that name.

    >>> from sojourn.rates.contrast import Fixed
    >>> add(Estimator("one", lambda: Fixed(1.0), has_step_size=False))
    >>> value(ESTIMATORS.pop("one").make())
    1.0
    """
    rate = entry.make()
    for wanted, name in ((update, "update"), (value, "value")):
        if not wanted.knows(type(rate)):
            raise TypeError(
                f"the estimator {entry.name!r} makes a {type(rate).__name__}, for which {name} is not registered; "
                f"register it with @sojourn.{name}.register"
            )
    ESTIMATORS[entry.name] = entry


for _entry in (
    Estimator(
        "Cumulative", Cumulative, has_step_size=False, agents=("smart",), compared=True, look=(1, 1, 1)
    ),
    Estimator(
        "SmoothedCumulative", SmoothedCumulative, agents=("relaxed_smart(variant='gosavi')",), look=(6, 2, 6)
    ),
    Estimator("Exponential", Exponential, agents=("relaxed_smart",), compared=True, look=(2, 2, 2)),
    Estimator("Harmonic", Harmonic, agents=("harmonic_r",), compared=True, look=(0, 0, 0)),
    Estimator("CumulativeHarmonic", CumulativeHarmonic, has_step_size=False, compared=True, look=(0, 1, 6)),
    Estimator(
        "WeightedHarmonic", WeightedHarmonic, agents=("weighted_harmonic_r",), compared=True, look=(5, 0, 5)
    ),
    Estimator("TimeSmoothed", TimeSmoothed, look=(2, 3, 4)),
    Estimator("Incremental", Incremental, agents=("r_learning", "differential_q"), look=(4, 1, 4)),
    Estimator("Fixed", Fixed, has_step_size=False, agents=("fixed_rate",), look=(3, 3, 3)),
):
    add(_entry)
