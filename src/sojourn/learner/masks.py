"""Hides from an agent the actions that are not allowed.

To the rules, an action that is not available in a state is one whose value is -inf. So a mask is
respected when acting, in the greedy maximum and when looking ahead, without any rule of its own.
The action's former value is kept here, for when it is allowed again. If a mask changes while the
state stays the same, the agent gets a spare row in its tables (`held.py`).
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import within
from sojourn.envs.masks import Mask, checked_mask
from sojourn.rules.arrays import Floats, Ints


class HiddenValues(TypedDict):
    """The values of hidden actions, as arrays: pairs of state and action, and the value of each."""

    places: Ints
    values: Floats


class HiddenActions:
    """Hides actions in an agent's table, and remembers their values.

    >>> q = np.array([[1.0, 2.0]])
    >>> hidden = HiddenActions(q, 'info["action_mask"]')
    >>> hidden.apply(0, [1, 0])
    >>> q, hidden.values(0)
    (array([[  1., -inf]]), array([1., 2.]))
    >>> hidden.apply(0, [1, 1])
    >>> q
    array([[1., 2.]])
    """

    def __init__(self, q: Floats, name: str) -> None:
        self.q, self.name = q, name
        self._values: dict[tuple[int, int], float] = {}
        self._masks: dict[int, ArrayLike] = {}  # the last of each state, which is mostly the next one, too
        self._never = int((q == -np.inf).sum())

    def move_to(self, q: Floats) -> None:
        """Continue with the same table in another array."""
        self.q = q

    def is_known(self, state: int, mask: ArrayLike) -> bool:
        """Whether this mask already applies in a state."""
        last = self._masks.get(state)
        return last is not None and np.array_equal(last, mask)

    def apply(self, state: int, mask: ArrayLike) -> None:
        """Make the actions that the mask allows available in a state, and no others."""
        if self.is_known(state, mask):
            return
        allowed = self.checked(mask)
        for action in range(len(allowed)):
            if allowed[action]:
                if (state, action) in self._values:
                    self.q[state, action] = self._values.pop((state, action))
            elif (state, action) not in self._values:
                self._values[state, action] = float(self.q[state, action])
                self.q[state, action] = -np.inf
        self._masks[state] = np.array(mask)

    def lifted(self, state: int) -> Mask | None:
        """Return the mask of a state that comes without one: None or, if the last one hid actions, all of them."""
        num_actions = self.q.shape[1]
        if self._values and any((state, action) in self._values for action in range(num_actions)):
            return np.ones(num_actions, dtype=np.bool_)
        return None

    def checked(self, mask: ArrayLike) -> Mask:
        """Return a mask as an array of bools, or say what is wrong with it."""
        return checked_mask(mask, self.q.shape[1], self.name)

    def values(self, state: int) -> Floats:
        """Return the values of a state, including those of hidden actions."""
        row: Floats = self.q[state].copy()
        for action in range(len(row)):
            row[action] = self._values.get((state, action), row[action])
        return row

    def seen_through(self, state: int, mask: ArrayLike) -> Floats:
        """Return the values of a state with -inf for actions that a mask does not allow; nothing is changed."""
        return np.where(self.checked(mask), self.values(state), -np.inf)

    def is_finite(self) -> bool:
        """Whether all values are finite, except for those of hidden actions."""
        return int((~np.isfinite(self.q)).sum()) == len(self._values) + self._never

    def to_dict(self) -> HiddenValues:
        """Return the hidden values as arrays."""
        places = np.array(list(self._values), dtype=np.int64).reshape(-1, 2)
        return {"places": places, "values": np.array(list(self._values.values()), dtype=np.float64)}

    @classmethod
    def restored(cls, q: Floats, name: str, data: HiddenValues) -> HiddenActions:
        """Return the hidden actions of a table that already has -inf in their places."""
        hidden = cls(q, name)
        num_states, num_actions = q.shape
        places, values = data["places"], data["values"]
        if places.shape != (len(values), 2) or values.shape != (len(places),):
            raise ValueError(f"{len(places)} places of hidden values do not fit {len(values)} values")
        if len(set(map(tuple, places.tolist()))) != len(places):
            raise ValueError("two hidden values have the same place")
        for (state, action), value in zip(places.tolist(), values.tolist(), strict=True):
            place = within("state", state, num_states), within("action", action, num_actions)
            if q[place] != -np.inf:
                raise ValueError(
                    f"action {action} of state {state} is listed as hidden, but the table has a value for it"
                )
            hidden._values[place] = value
        hidden._never -= len(hidden._values)
        return hidden
