"""Models made from a dictionary of states, and the table that describes one pair of a model.

A dictionary of states has such a table for each pair, and so has a file. The table says where the pair leads, what it earns
and how long it takes. It has `next`, the probabilities of the
states that follow, or `outcomes`, a list of tables with `next` and `probability`. An outcome may have its own `reward` and
`duration`; otherwise those of the pair hold. A reward or a duration is a number, a law, or a table that describes a law.
`amounts` are further quantities by name, which enter the model by their means.

Or it has `rates` at which the system moves to other states, what it is `earning` per unit time, and `flows` of further
amounts per unit time. If something comes with a move, `rates` is a list of `(state, rate, reward)` or
`(state, rate, reward, amounts)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, TypeAlias

from sojourn.data.numbers import at_least_zero, finite, nearest, shown
from sojourn.models.laws import BY_MOMENTS, KINDS, Empirical, Exponential, Law
from sojourn.models.rows import mean_of
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Quantity, Transition, from_transitions

Content: TypeAlias = Any  # of a file or a dictionary, which may hold anything until it has been checked
States: TypeAlias = Mapping[Any, Mapping[Any, Mapping[str, Content]]]  # by any keys

LAWS = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in KINDS}
_OF_RATES = {"rates", "earning", "flows"}
ENTRIES = {"reward", "duration", "next", "outcomes", "amounts"} | _OF_RATES
_OUTCOME = {"next", "probability", "reward", "duration", "amounts"}
_MOMENTS = {"mean", "deviation"}


def from_dict(states: States) -> SMDP:
    """Return the model made from `{state: {action: {"reward": ..., "duration": ..., "next": {state: probability}}}}`.

    States and actions may be any keys, and are the labels of the model, in the order given. A reward or a
    duration is a number or a law of `sojourn.models.laws`. If only one state can follow, `next` may be that state; it may
    also be a list of `(state, probability)`, in which a state may come twice. If reward and duration depend on what comes
    next, give a list of `outcomes` in place of `next`, as in the file of a model.
    A pair or an outcome may have further `amounts` by name, such as `"amounts": {"lost": 1}`; one that is not given is 0.

    A chain in continuous time is given by rates: `{"rates": {state: rate}, "earning": 5.0, "flows": {"waiting": 2.0}}`, where
    `earning` is the reward per unit time and `flows` are further amounts per unit time; a sojourn is exponential. If
    something comes with a move, rates are a list of `(state, rate, reward)` or `(state, rate, reward, {"lost": 1})`.

    >>> from sojourn.exact.solve import solve
    >>> from sojourn.models.laws import Weibull
    >>> model = from_dict({
    ...     "good": {
    ...         "run": {"reward": 40.0, "duration": Weibull.of(mean=8.0, deviation=2.0), "next": {"good": 0.9, "bad": 0.1}},
    ...     },
    ...     "bad": {
    ...         "mend": {"reward": -100.0, "duration": 20.0, "next": "good"},
    ...         "run": {"reward": 0.0, "duration": 8.0, "next": "bad"},
    ...     },
    ... })
    >>> model.state_names, model.action_names
    (('good', 'bad'), ('run', 'mend'))
    >>> solution = solve(model)
    >>> round(solution.gain, 9), [model.action_names[action] for action in solution.policy]  # (400 - 100) / (80 + 20)
    (3.0, ['run', 'mend'])
    """
    if not isinstance(states, Mapping) or not states:
        raise TypeError(f"the states are {shown(states)}; give a dictionary of states, each with its actions")
    rows: list[Transition] = []
    actions: dict[Any, None] = {}
    for state, choices in states.items():
        if not isinstance(choices, Mapping) or not choices:
            raise TypeError(
                f"state {shown(state)} has {shown(choices)}; give it a dictionary of at least one action"
            )
        for action, pair in choices.items():
            place = f"state {shown(state)}, action {shown(action)}"
            actions[action] = None
            known(place, pair, ENTRIES, set())
            for following, chance, reward, duration, amounts in outcomes_of(place, with_table(pair)):
                if not isinstance(following, Hashable) or following not in states:
                    raise ValueError(
                        f"{place} leads to {shown(following)}, which is not a state{nearest(following, map(str, states))}"
                    )
                rows.append((state, action, following, chance, reward, duration, amounts))
    return from_transitions(rows, state_names=list(states), action_names=list(actions))


# --- One pair -----------------------------------------------------------------------------


def outcomes_of(
    place: str, pair: Mapping[str, Content]
) -> Iterator[tuple[Content, float, Quantity, Quantity, dict[str, float]]]:
    """Yield the outcomes of a pair: next state, probability, reward, duration and further amounts.

    >>> list(outcomes_of("a", {"reward": 5.0, "duration": {"law": "exponential", "mean": 2.0}, "next": {"up": 1.0}}))
    [('up', 1.0, 5.0, Exponential(mean=2.0), {})]
    """
    if not _OF_RATES.isdisjoint(pair):
        yield from _moves_of(place, pair)
        return
    if ("next" in pair) == ("outcomes" in pair):
        raise ValueError(
            f"{place} must have either next or outcomes" + ("" if "next" in pair else ", or rates")
        )
    if "next" in pair:
        outcomes = _by_state(f"next of {place}", pair["next"])
    else:
        outcomes = as_list(f"outcomes of {place}", pair["outcomes"])
    common = _amounts(place, pair.get("amounts", {}))
    for outcome in outcomes:
        known(f"an outcome of {place}", outcome, _OUTCOME, {"next", "probability"})
        given = {what: outcome.get(what, pair.get(what)) for what in ("reward", "duration")}
        for what, quantity in given.items():
            if quantity is None:
                raise ValueError(f"{place} has no {what}; give the pair or each of its outcomes one")
        chance = _number(f"probability of {place}", outcome["probability"])
        reward, duration = (_quantity(place, *each) for each in given.items())
        own = _amounts(f"an outcome of {place}", outcome.get("amounts", {}))
        yield outcome["next"], chance, reward, duration, common | own


def _moves_of(
    place: str, pair: Mapping[str, Content]
) -> Iterator[tuple[Content, float, Quantity, Quantity, dict[str, float]]]:
    """Yield the outcomes of a pair that has rates; moves with the rate 0 are left out."""
    others = sorted((ENTRIES - _OF_RATES) & set(pair))
    if others or "rates" not in pair:
        wrong = f"has {others[0]}" if others else "has no rates"
        raise ValueError(
            f"{place} {wrong} beside {', '.join(sorted(_OF_RATES & set(pair)))}; with rates there are only earning and flows, "
            "and a reward or amounts that come with a move are in its list (state, rate, reward, amounts)"
        )
    given = pair["rates"]
    if not isinstance(given, dict | list):
        raise TypeError(
            f"the rates of {place} are {shown(given)}; they must be a table of rates by state, or a list of "
            "(state, rate, reward, amounts)"
        )
    moves = [_move(place, each) for each in (given.items() if isinstance(given, dict) else given)]
    total = math.fsum(rate for _, rate, _, _ in moves)
    if not 0.0 < total < math.inf:
        raise ValueError(
            f"the rates of {place} sum to {total:.9g}; there must be one above 0, as a sojourn must end"
        )
    earning = _number(f"earning of {place}", pair.get("earning", 0.0)) / total
    flows = {name: flow / total for name, flow in _amounts(place, pair.get("flows", {}), "flow").items()}
    duration = Exponential(1.0 / total)
    for to, rate, reward, amounts in moves:
        if rate > 0.0:
            further = {name: flows.get(name, 0.0) + amounts.get(name, 0.0) for name in flows | amounts}
            yield to, rate / total, earning + reward, duration, further


def _move(place: str, given: Content) -> tuple[Content, float, float, dict[str, float]]:
    """Return where a move leads, its rate, and the reward and the amounts that come with it."""
    if not isinstance(given, tuple | list) or not 2 <= len(given) <= 4:
        raise TypeError(
            f"a move of {place} is {shown(given)}; it must be (state, rate), (state, rate, reward) or "
            "(state, rate, reward, {name: amount})"
        )
    move: tuple[Any, ...] = tuple(given)
    to, rate, reward, amounts = move + (0.0, {})[len(move) - 2 :]
    return (
        to,
        at_least_zero(
            f"the rate to {shown(to)} of {place}", _number(f"the rate to {shown(to)} of {place}", rate)
        ),
        _number(f"the reward to {shown(to)} of {place}", reward),
        _amounts(f"a move of {place}", amounts),
    )


def with_table(pair: Mapping[str, Content]) -> Mapping[str, Content]:
    """Return a pair with a table of what is next, if that was one state.

    >>> with_table({"next": (0, 1)})
    {'next': {(0, 1): 1.0}}
    """
    if "next" in pair and isinstance(pair["next"], Hashable):
        return {**pair, "next": {pair["next"]: 1.0}}
    return pair


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
    """Return the outcomes that a table of probabilities by state describes, or a list of both."""
    if isinstance(following, list) and all(
        isinstance(one, list | tuple) and len(one) == 2 for one in following
    ):
        return [{"next": to, "probability": chance} for to, chance in following]
    if not isinstance(following, dict):
        raise TypeError(
            f"{place} is {shown(following)}; it must be a table of probabilities, such as {{ a = 1.0 }}, "
            "or a list of (state, probability)"
        )
    return [{"next": to, "probability": chance} for to, chance in following.items()]


def _amounts(place: str, given: Content, what: str = "amount") -> dict[str, float]:
    """Return the amounts of a pair or an outcome: the mean of each, by name."""
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{what}s of {place} is {shown(given)}; it must be a table of numbers by name, such as {{ lost = 1.0 }}"
        )
    return {
        name: mean_of(
            f"the {what} {shown(name)} of {place}", _quantity(place, f"the {what} {shown(name)}", each)
        )
        for name, each in given.items()
    }


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
