"""The table that describes one pair of a model: where it leads, what it earns and how long it takes.

A file has such a table for each pair, and so has a dictionary of states. The table has `next`, the probabilities of the
states that follow, or `outcomes`, a list of tables with `next` and `probability`. An outcome may have its own `reward` and
`duration`; otherwise those of the pair hold. A reward or a duration is a number, a law, or a table that describes a law.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sojourn.data.numbers import finite, shown
from sojourn.models.laws import BY_MOMENTS, KINDS, Law
from sojourn.models.samples import Empirical

if TYPE_CHECKING:
    from sojourn.models.transitions import Quantity

Content: TypeAlias = Any  # of a file or a dictionary, which may hold anything until it has been checked

LAWS = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in KINDS}
ENTRIES = {"reward", "duration", "next", "outcomes"}
_OUTCOME = {"next", "probability", "reward", "duration"}
_MOMENTS = {"mean", "deviation"}


class Outcome(NamedTuple):
    """One possible outcome of a pair."""

    next: Content
    probability: float
    reward: Quantity
    duration: Quantity


def outcomes_of(place: str, pair: dict[str, Content]) -> Iterator[Outcome]:
    """Yield the outcomes of a pair: next state, probability, reward and duration.

    >>> list(outcomes_of("a", {"reward": 5.0, "duration": {"law": "exponential", "mean": 2.0}, "next": {"up": 1.0}}))
    [Outcome(next='up', probability=1.0, reward=5.0, duration=Exponential(mean=2.0))]
    """
    if ("next" in pair) == ("outcomes" in pair):
        raise ValueError(f"{place} must have either next or outcomes")
    outcomes = (
        _by_state(f"next of {place}", pair["next"])
        if "next" in pair
        else as_list(f"outcomes of {place}", pair["outcomes"])
    )
    for outcome in outcomes:
        known(f"an outcome of {place}", outcome, _OUTCOME, {"next", "probability"})
        reward, duration = (outcome.get(name, pair.get(name)) for name in ("reward", "duration"))
        for what, quantity in (("reward", reward), ("duration", duration)):
            if quantity is None:
                raise ValueError(f"{place} has no {what}; give the pair or each of its outcomes one")
        yield Outcome(
            outcome["next"],
            _number(f"probability of {place}", outcome["probability"]),
            _quantity(place, "reward", reward),
            _quantity(place, "duration", duration),
        )


def known(place: str, table: Content, allowed: set[str], needed: set[str]) -> None:
    """Raise an error if a table lacks a needed key or has one that is not allowed."""
    if not isinstance(table, dict):
        raise TypeError(f"{place} is {shown(table)}; it must be a table")
    strange, missing = sorted(set(table) - allowed), sorted(needed - set(table))
    if strange:
        raise ValueError(f"{place} has the key {strange[0]!r}; the keys are {', '.join(sorted(allowed))}")
    if missing:
        raise ValueError(f"{place} has no {missing[0]}; it needs {', '.join(sorted(needed))}")


def as_list(place: str, given: Content) -> list[Content]:
    """Return what was given if it is a list, else raise an error."""
    if not isinstance(given, list):
        raise TypeError(f"{place} is {shown(given)}; it must be a list of tables")
    return given


def _by_state(place: str, following: Content) -> list[dict[str, Content]]:
    """Return the outcomes that a table of probabilities by state describes."""
    if not isinstance(following, dict):
        raise TypeError(
            f"{place} is {shown(following)}; it must be a table of probabilities, such as {{ a = 1.0 }}"
        )
    return [{"next": to, "probability": chance} for to, chance in following.items()]


def _number(place: str, given: Content) -> float:
    if isinstance(given, bool):
        raise TypeError(f"{place} is {given}; it must be a number")
    return finite(place, given)


def _quantity(place: str, what: str, given: Content) -> Quantity:
    """Return a reward or a duration: a number, a law, or the law that a table describes."""
    if isinstance(given, Law | Empirical):
        return given
    if not isinstance(given, dict):
        return _number(f"{what} of {place}", given)
    name = given.get("law")
    if name == "empirical":
        if set(given) != {"law", "values"} or not isinstance(given["values"], list):
            raise ValueError(
                f"{what} of {place} has the law empirical, which needs values, a list of samples"
            )
        return Empirical([_number(f"a sample of the {what} of {place}", value) for value in given["values"]])
    if name not in list(LAWS):
        raise ValueError(
            f"{what} of {place} has the law {shown(name)}; the laws are {', '.join(LAWS)}, empirical"
        )
    kind, fields = LAWS[name], set(given) - {"law"}
    numbers = {
        field: _number(f"{what}.{field} of {place}", given[field]) for field in sorted(fields, key=str)
    }
    if fields == set(kind._fields):
        return kind(**numbers)
    if kind in BY_MOMENTS and fields == _MOMENTS:
        return kind.of(**numbers)
    moments = ", or mean and deviation" if kind in BY_MOMENTS else ""
    *first, last = kind._fields
    needed = f"{', '.join(first)} and {last}" if first else last
    raise ValueError(f"{what} of {place} has the law {name}, which needs {needed}{moments}")
