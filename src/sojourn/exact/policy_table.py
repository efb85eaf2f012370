"""What is known about a policy, state by state, as columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sojourn.exact.errors import NotSolvedError
from sojourn.exact.policies import PolicyValue
from sojourn.exact.sensitivity import MOST_STATES, alternatives
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats, Ints


class ByState(NamedTuple):
    """For each state: its share of time, the second-best action and what it loses, and how far the own reward may move.

    Parts are None if they are not known or too much work; `second` is -1 where a state has one action only.
    """

    shares: Floats | None = None
    second: Ints | None = None
    loss: Floats | None = None
    cost: Floats | None = None
    fall: Floats | None = None
    rise: Floats | None = None


def by_state(worth: PolicyValue) -> ByState:
    """Return what is known about the best policy in each state.

    >>> import sojourn as sj
    >>> found = by_state(sj.solve(sj.problems.long_shot()).worth)
    >>> found.second, found.loss, found.cost, found.fall
    (array([1]), array([8.]), array([2.]), array([2.]))
    """
    model = worth.model
    if len(worth.classes) > 1:
        return ByState()
    drawn = ((worth.pair_shares > 0.0) & (worth.pair_shares < 1.0)).any()
    if drawn:
        return ByState(worth.time_shares)
    other = np.where(worth.pair_shares > 0.0, np.inf, -worth.advantages)
    # The pair with the smallest loss of each state: sorted by state and loss, it is the state's first.
    second = np.lexsort((other, model.state_of_pair()))[model.pair_offsets[:-1]]
    alone = ~np.isfinite(other[second])
    action = np.where(alone, -1, model.action[second]).astype(np.int64)
    loss = np.where(alone, np.nan, np.maximum(other[second], 0.0))
    if model.num_states > MOST_STATES:
        return ByState(worth.time_shares, action, loss)
    found, own = alternatives(worth), np.flatnonzero(worth.pair_shares)
    cost = np.where(alone, np.nan, found.cost[second])
    return ByState(worth.time_shares, action, loss, cost, found.fall[own], found.rise[own])


def known_by_state(worth: PolicyValue) -> ByState:
    """Do the same; nothing is known where floats do not allow it."""
    try:
        return by_state(worth)
    except (NotSolvedError, ValueError, np.linalg.LinAlgError):
        return ByState()


def parts_of(label: Hashable) -> tuple[tuple[str, ...], tuple[Any, ...]] | None:
    """Return the names and values of the parts of a state's label; None if it has none.

    >>> parts_of((3, 1)), parts_of("idle")
    ((('state 1', 'state 2'), (3, 1)), None)
    """
    if isinstance(label, tuple):
        names = getattr(label, "_fields", None) or tuple(f"state {at + 1}" for at in range(len(label)))
        return tuple(names), tuple(label)
    if dataclasses.is_dataclass(label) and not isinstance(label, type):
        fields = dataclasses.fields(label)
        return tuple(one.name for one in fields), tuple(getattr(label, one.name) for one in fields)
    return None


def split(model: SMDP) -> tuple[tuple[str, ...], list[tuple[Any, ...]]] | None:
    """Return the parts of all states' labels, and what they are called; None if they are not all alike."""
    if not model.has_labels or isinstance(model.labels, range):
        return None
    found = [parts_of(label) for label in model.labels]
    if any(one is None for one in found) or len({one[0] for one in found if one is not None}) > 1:
        whole = all(isinstance(label, int | float) for label in model.labels)
        return (("state",), [(label,) for label in model.labels]) if whole else None
    return found[0][0], [one[1] for one in found if one is not None]  # type: ignore[index] # none of them is None


def drawn_actions(names: Iterable[str], chances: Iterable[float]) -> str:
    """Return the names of actions that are drawn, with their probabilities.

    >>> drawn_actions(["take", "reject"], [0.125, 0.875])
    'take (12.5 %) or reject (87.5 %)'
    """
    return " or ".join(
        f"{name} ({100.0 * chance:.4g} %)" for name, chance in zip(names, chances, strict=True)
    )


def actions_taken(model: SMDP, pair_shares: Floats, *, with_chances: bool = False) -> list[Hashable]:
    """Return the label of each state's action; where several are drawn, their names and "or", perhaps with the chances."""
    labels, taken = model.action_labels, pair_shares > 0.0
    first = np.maximum.reduceat(np.where(taken, np.arange(model.num_pairs), -1), model.pair_offsets[:-1])
    found: list[Hashable] = [labels[action] for action in model.action[first].tolist()]
    several = np.flatnonzero(np.add.reduceat(taken.astype(np.int64), model.pair_offsets[:-1]) > 1)
    for state in several.tolist():
        pairs = np.arange(model.pair_offsets[state], model.pair_offsets[state + 1])
        pairs = pairs[taken[pairs]]
        several_names = [str(labels[action]) for action in model.action[pairs].tolist()]
        chances = pair_shares[pairs].tolist()
        found[state] = drawn_actions(several_names, chances) if with_chances else " or ".join(several_names)
    return found


def table_of(worth: PolicyValue) -> Any:
    """Return what is known about a policy as a data frame of Polars, with a row for each state."""
    model, found = worth.model, known_by_state(worth)
    columns = _state_columns(model)
    columns["action"] = _plain(actions_taken(model, worth.pair_shares, with_chances=True))
    names = [*map(str, model.action_labels), None]  # the last is for states with one action
    known: dict[str, Any] = {
        "share_of_time": found.shares,
        "bias": worth.bias,
        "second_best": None if found.second is None else [names[action] for action in found.second.tolist()],
        "loss": found.loss,
        "cost": found.cost,
        "reward_may_fall": found.fall,
        "reward_may_rise": found.rise,
    }
    columns |= {name: values for name, values in known.items() if values is not None}
    return _frame(columns)


def table_of_total(model: SMDP, policy: Ints, values: Floats, lower: Floats, upper: Floats) -> Any:
    """Return totals, the bounds that are proven for them and the actions, with a row for each state."""
    labels = model.action_labels
    actions = _plain([labels[action] for action in policy.tolist()])
    return _frame(
        {**_state_columns(model), "action": actions, "value": values, "lower": lower, "upper": upper}
    )


def _state_columns(model: SMDP) -> dict[str, Sequence[Any]]:
    parts = split(model)
    if parts is None:
        return {"state": _plain(model.labels)}
    return {name: _plain(values) for name, values in zip(parts[0], zip(*parts[1], strict=True), strict=True)}


def _frame(columns: Mapping[str, Any]) -> Any:
    import polars as pl  # noqa: PLC0415 - it takes a tenth of a second

    return pl.DataFrame(columns, strict=False).with_columns(pl.col(pl.Float64).fill_nan(None))


def _plain(values: Sequence[Any]) -> list[Any]:
    """Return values as numbers or texts, whichever all of them can be."""
    kinds = {type(one) for one in values}
    if kinds <= {int} or kinds <= {int, float} or kinds <= {bool}:
        return list(values)
    return [str(one) for one in values]
