"""Limits on what a policy has of an amount per unit of another one, such as "at most 0.05 lost per arrivals"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.data.numbers import finite, shown
from sojourn.models.validation import check_divisor
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP


@told
@dataclass(frozen=True)
class Constraint:
    """A limit on an amount per unit of another one; `at_most` and `at_least` make them.

    >>> str(at_most("lost", 0.05, per="calls")), str(at_least("served", 3))
    ('lost per calls at most 0.05', 'served per unit time at least 3')
    """

    amount: str
    bound: float
    per: str = "duration"
    is_least: bool = False

    def __str__(self) -> str:
        return f"{self.what} {'at least' if self.is_least else 'at most'} {self.bound:.9g}"

    @property
    def what(self) -> str:
        """What is limited, in words."""
        return f"{self.amount} per {'unit time' if self.per == 'duration' else self.per}"

    @property
    def sign(self) -> float:
        """1 for "at most", -1 for "at least"."""
        return -1.0 if self.is_least else 1.0

    def excess(self, model: SMDP) -> Floats:
        """Return, for every pair, what must not be above 0 in the long run."""
        divisor = model.amount(self.per)
        if divisor.min() < 0.0:
            check_divisor(model, self.per, divisor)  # which raises the error
        if not divisor.any():
            raise ValueError(
                f"there is never any {self.per} in the model, so nothing can be counted per {self.per}; count per another amount"
            )
        return self.sign * (model.amount(self.amount) - self.bound * divisor)


@told
def at_most(amount: str, bound: float, per: str = "duration") -> Constraint:
    """Return the limit that there be at most `bound` of an amount per unit of another one, by default per unit time.

    An operator may turn calls away, or let them wait at a cost:

    >>> import sojourn as sj
    >>> line = sj.models.from_dict({"line": {
    ...     "answer": {"reward": 1, "duration": 1, "next": "line", "amounts": {"calls": 1}},
    ...     "reject": {"reward": 3, "duration": 1, "next": "line", "amounts": {"calls": 1, "lost": 1}},
    ... }})
    >>> best = sj.solve(line, limits=[sj.exact.at_most("lost", 0.25, per="calls")])
    >>> best.gain, best.policy, best.prices
    (1.5, array([[0.75, 0.25]]), (2.0,))
    """
    return Constraint(str(amount), finite("the bound of a limit", bound), str(per))


@told
def at_least(amount: str, bound: float, per: str = "duration") -> Constraint:
    """Return the limit that there be at least `bound` of an amount per unit of another one, by default per unit time.

    >>> at_least("served", 0.95, per="arrivals")
    Constraint(amount='served', bound=0.95, per='arrivals', is_least=True)
    """
    return Constraint(str(amount), finite("the bound of a limit", bound), str(per), is_least=True)


def limit_of(text: str, is_least: bool) -> Constraint:
    """Return a limit from words such as "lost 0.05 per calls".

    >>> str(limit_of("lost 0.05 per calls", is_least=False)), str(limit_of("served 3", is_least=True))
    ('lost per calls at most 0.05', 'served per unit time at least 3')
    """
    amount, _, rest = text.strip().partition(" ")
    bound, per, other = rest.strip().partition(" per ")
    try:
        number = float(bound)
    except ValueError:
        option = "--at-least" if is_least else "--at-most"
        raise ValueError(
            f'{option} is {shown(text)}; write an amount, its bound and what it is counted per, such as "lost 0.05 per calls"'
        ) from None
    return (at_least if is_least else at_most)(amount, number, other.strip() if per else "duration")


def checked_limits(given: Sequence[Constraint]) -> Sequence[Constraint]:
    """Return limits, or say what is wrong with them."""
    if isinstance(given, Constraint):
        raise TypeError("limits is a limit; put it into a list, limits=[...]")
    for each in given if isinstance(given, Sequence) and not isinstance(given, str) else [given]:
        if not isinstance(each, Constraint):
            raise TypeError(
                f'limits has {shown(each)}; make each limit with sojourn.exact.at_most("lost", 0.05, per="calls") or at_least'
            )
    return given
