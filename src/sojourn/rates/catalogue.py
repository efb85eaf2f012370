"""All estimators by name: the one list that audits, comparisons, tests and documentation use.

To add an estimator of your own, write its rules and add an entry:

    add_estimator(NamedEstimator("Settling", Settling))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sojourn.data.hints import Given, fitted
from sojourn.data.names import is_users, made, users_constructor
from sojourn.data.numbers import nearest, shown
from sojourn.rates.adaptive import AdaptiveRatio, ClippedExponential, TimeForgetting
from sojourn.rates.contrast import Fixed, MeanOfRates, TimeSmoothed
from sojourn.rates.harmonic import CumulativeHarmonic, CumulativeWeightedHarmonic, Harmonic, WeightedHarmonic
from sojourn.rates.power import PowerMean
from sojourn.rates.protocol import Rate, update, value
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative

STEP_SIZE = 0.01  # unless another is given


class NamedEstimator(NamedTuple):
    """An entry in the list of estimators.

    `kind` makes a fresh one, from a step size unless `has_step_size` is false. `agents` are the agents that use it by
    default. `compared` says whether `sojourn compare` measures its noise and compares it with that of others. `look` has its
    places among the colours, dashes and markers of figures; those of Sojourn's own estimators are in `report.looks`.

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
        """Return a fresh estimator; if it has no step size, `step_size` is ignored."""
        return self.kind(step_size) if self.has_step_size else self.kind()


ESTIMATORS: dict[str, NamedEstimator] = {}


def add_estimator(entry: NamedEstimator) -> None:
    """Add an estimator to the list that audits, comparisons, the documentation and the tests use.

    >>> from sojourn.rates.contrast import Fixed
    >>> add_estimator(NamedEstimator("one", lambda: Fixed(1.0), has_step_size=False))
    >>> value(ESTIMATORS.pop("one").make())
    1.0
    """
    if entry.name in ESTIMATORS:
        raise ValueError(f"there is an estimator {entry.name!r} already; give this one another name")
    rate = entry.make()
    for wanted, name in ((update, "update"), (value, "value")):
        if not wanted.knows(type(rate)):
            raise TypeError(
                f"the estimator {entry.name!r} makes a {type(rate).__name__}, for which {name} is not registered; "
                f"register it with @sojourn.{name}.register"
            )
    ESTIMATORS[entry.name] = entry


def named_rate(given: str | Mapping[str, Given]) -> Rate:
    """Return a fresh estimator by its name, or by a table with its name as `kind` and its options.

    A name is one of `ESTIMATORS`, with or without hyphens, underscores and capitals, or an estimator of your own:
    `package.module:Estimator`.

    >>> named_rate("cumulative")
    Cumulative(reward=0.0, duration=0.0)
    >>> named_rate({"kind": "time-smoothed", "step_size": 0.1}).step_size
    0.1
    """
    options = {} if isinstance(given, str) else {key: part for key, part in given.items() if key != "kind"}
    kind = given if isinstance(given, str) else given.get("kind")
    if not isinstance(kind, str):
        raise TypeError(f"the estimator {shown(given)} has no name; give its name as kind")
    if is_users(kind):
        make = users_constructor(kind)
    else:
        names = {_plain(name): name for name in ESTIMATORS}
        if _plain(kind) not in names:
            raise ValueError(f"unknown estimator {shown(kind)}{nearest(kind, ESTIMATORS)}")
        entry = ESTIMATORS[names[_plain(kind)]]
        make, options = entry.kind, {**({"step_size": STEP_SIZE} if entry.has_step_size else {}), **options}
    rate: Rate = made(kind, make, **fitted(make, options))
    if not (update.knows(type(rate)) and value.knows(type(rate))):
        raise TypeError(
            f"{kind!r} makes {shown(rate)}, which is not an estimator; an estimator is a NamedTuple with update and value "
            "registered for it"
        )
    return rate


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


for _entry in (
    NamedEstimator("Cumulative", Cumulative, has_step_size=False, agents=("smart",), compared=True),
    NamedEstimator("SmoothedCumulative", SmoothedCumulative, agents=("relaxed_smart(variant='gosavi')",)),
    NamedEstimator("Exponential", Exponential, agents=("relaxed_smart",), compared=True),
    NamedEstimator("Harmonic", Harmonic, agents=("harmonic_r",), compared=True),
    NamedEstimator("CumulativeHarmonic", CumulativeHarmonic, has_step_size=False, compared=True),
    NamedEstimator("WeightedHarmonic", WeightedHarmonic, agents=("weighted_harmonic_r",), compared=True),
    NamedEstimator("CumulativeWeightedHarmonic", CumulativeWeightedHarmonic, has_step_size=False),
    NamedEstimator("TimeSmoothed", TimeSmoothed),
    NamedEstimator("AdaptiveRatio", AdaptiveRatio, has_step_size=False),
    NamedEstimator("ClippedExponential", ClippedExponential),
    NamedEstimator("TimeForgetting", TimeForgetting),
    NamedEstimator("MeanOfRates", MeanOfRates, has_step_size=False),
    NamedEstimator("PowerMean", PowerMean),
    NamedEstimator("Incremental", Incremental, agents=("r_learning", "differential_q")),
    NamedEstimator("Fixed", Fixed, has_step_size=False, agents=("fixed_rate",)),
):
    add_estimator(_entry)
