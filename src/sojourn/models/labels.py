"""The states and actions of a model in the words of the person who made it: numbers, names, tuples or other hashable values.

A model numbers its states and actions from 0. If they were given as anything else, these are their *labels*, and a policy
can be read by them.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.data.numbers import nearest, shown

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

MOST_NAMES = 1_000_000  # of actions; states may have as many as there are


def labels_in(
    name: str, labels: Iterable[Hashable] | None, most: int = MOST_NAMES
) -> tuple[Hashable, ...] | None:
    """Return labels as they were given; a list that has no end, or nearly none, is refused.

    >>> labels_in("state_names", ["idle", (2, 1), np.int64(7)])
    ('idle', (2, 1), 7)
    """
    if labels is None:
        return None
    found = tuple(
        each.item() if isinstance(each, np.generic) else each for each in itertools.islice(labels, most + 1)
    )
    if len(found) > most:
        raise ValueError(f"{name} has more than {most:,} entries; give one for each")
    try:
        hash(found)
    except TypeError:
        strange = next(each for each in found if not isinstance(each, Hashable))
        raise TypeError(
            f"{name} has the label {shown(strange)}; it must be a number, a name, a tuple or another value with a hash"
        ) from None
    return found


def place_in(what: str, places: Mapping[Hashable, int], names: Sequence[str] | None, label: Hashable) -> int:
    """Return the number of a state or action with this label, or with this text.

    >>> place_in("state", {(0, 1): 0, (1, 1): 1}, ("(0, 1)", "(1, 1)"), (1, 1))
    1
    """
    try:
        place = places.get(label)
    except TypeError:  # no hash
        place = None
    if place is None:
        names = [str(each) for each in places] if names is None else names
        if str(label) not in names:
            raise ValueError(f"there is no {what} {shown(label)}{nearest(label, names)}")
        place = names.index(str(label))
    return place


class LabelledPolicy(np.ndarray[tuple[int], np.dtype[np.int64]]):
    """The action of each state: an array of numbers, which can also be read and changed by the labels of the states.

    The label of a state gives the label of the action. Whole numbers are positions, as in any array, unless the model's
    labels are whole numbers themselves; then `policy[7]` is the action in the state 7, and `np.asarray(policy)[7]` the
    one in the eighth state. Slices, lists and arrays always stand for positions.

    If the policy draws its actions, the label of a state gives their probabilities, where they are above 0, by their labels.
    A policy for each [step, state] gives the policy of a step by the number of the step.

    >>> from sojourn.models.problems import long_return
    >>> policy = labelled(long_return(), np.array([1, 0]))
    >>> policy["choice"], int(policy[0]), policy
    ('B', 1, array([1, 0]))
    >>> labelled(long_return(), np.array([[0.25, 0.75], [1.0, 0.0]]))["choice"]
    {'A': 0.25, 'B': 0.75}
    """

    _model: SMDP | None = None

    def _place(self, key: Any) -> int | None:
        """Return the position of the state with this label, or None if the key means what it means in any array."""
        model = self._model
        if (
            model is None
            or key is None
            or key is Ellipsis
            or isinstance(key, slice | list | np.ndarray | bool)
        ):
            return None
        if isinstance(key, int | np.integer) and not model.has_whole_labels:
            return None
        if isinstance(key, tuple) and (
            any(isinstance(each, slice | list | np.ndarray) for each in key)
            or (len(key) < 2 and key not in model.labels)  # NumPy itself writes array[(0,)]
        ):
            return None
        if isinstance(key, tuple) and self.ndim > 1 and key not in model.labels:
            return None  # the probability of an action in a state, by their numbers
        return model.state_number(key)

    def _is_by_step(self) -> bool:
        return self.ndim == 2 and self.dtype.kind == "i"

    def __getitem__(self, key: Any) -> Any:
        if self._is_by_step():
            found = np.asarray(self)[key]
            return labelled(self._model, found) if isinstance(key, int | np.integer) else found
        place = self._place(key)
        if place is None or self._model is None:
            return super().__getitem__(key)
        found = super().__getitem__(place)
        actions = self._model.action_labels
        if self.ndim > 1:
            return {actions[number]: float(found[number]) for number in np.flatnonzero(found).tolist()}
        return actions[int(found)]

    def __setitem__(self, key: Any, action: Any) -> None:
        place = None if self._is_by_step() else self._place(key)
        if place is None or self._model is None:
            super().__setitem__(key, action)
        else:
            super().__setitem__(place, action if self.ndim > 1 else self._model.action_number(action))

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __str__(self) -> str:
        return str(np.asarray(self))

    def __array_wrap__(self, array: Any, context: object = None, return_scalar: bool = False) -> Any:
        """Return what NumPy has computed from a policy as a plain array or number."""
        return array[()] if return_scalar else np.asarray(array)

    def copy(self, *_: object) -> Any:
        """Return a copy that can be changed."""
        return labelled(self._model, np.array(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return labelled, (self._model, np.array(self))


def labelled(model: SMDP | None, policy: Any) -> Any:
    """Return a policy that can be read by the labels of a model; without labels it stays as it is."""
    if model is None or not (model.has_labels and isinstance(policy, np.ndarray)):
        return policy
    found = policy.view(LabelledPolicy)
    found._model = model  # noqa: SLF001 - of its own class
    return found
