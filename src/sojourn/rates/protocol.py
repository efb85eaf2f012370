"""What an estimator of the rate is: a value with two rules.

    update(rate, reward, duration) -> rate        value(rate) -> float

Parts start at zero, and the rate before any evidence is 0.0. To add an estimator, write a
NamedTuple, register both rules for it, and run `sojourn.check_rate` on it; nothing else
needs to know.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from sojourn.rules.compile import inlined, no_rule, rule
from sojourn.rules.numbers import finite, positive
from sojourn.rules.values import Value


class Rate(Value, Protocol):
    """Anything that the rules of this file are registered for."""


R = TypeVar("R", bound=Rate)


def _check_update(rate: Any, reward: Any, duration: Any) -> tuple[Any, float, float]:
    return rate, finite("reward", reward), positive("duration", duration)


@rule(_check_update)
def update(rate: R, reward: float, duration: float) -> R:
    """Return the estimator after one more transition.

    >>> from sojourn.rates.harmonic import Harmonic
    >>> rate = update(Harmonic(step_size=0.05), 3.0, 2.0)
    >>> value(rate)
    1.5
    """
    raise no_rule("update", rate)


@rule(lambda rate: (rate,))
def value(rate: Any) -> float:
    """Return the estimate: reward per unit time.

    >>> from sojourn.rates.ratio import Cumulative
    >>> value(Cumulative())
    0.0
    """
    raise no_rule("value", rate)


@inlined
def ratio(top: float, low: float) -> float:
    """Return top / low, and 0 where there is no evidence yet."""
    return top / low if low != 0.0 else 0.0


def value_as_kept(rate: Any) -> float:
    """The estimate rho, as it is kept."""
    return rate.rate  # type: ignore[no-any-return]
