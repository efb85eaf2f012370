"""The exact gains of many policies of one model, each computed once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sojourn.exact.chains import valued
from sojourn.models.chain import Chain, chain_of_pairs, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Ints


class PolicyGains:
    """The gains of policies that start in state 0; only the states that a policy reaches from there count.

    The gain is NaN if a policy takes an action that a state does not have, or never lets time pass.

    >>> import sojourn as sj
    >>> gains = PolicyGains(sj.problems.long_shot())  # one state: the short action earns 5, the long one 3
    >>> gains([0]), gains([1]), gains([2])
    (5.0, 3.0, nan)
    """

    def __init__(self, model: SMDP) -> None:
        self._model = model
        self._pairs: list[list[int]] = model.pair_table().tolist()
        ends = model.row_offsets.tolist()
        successors = model.successor.tolist()
        self._next = [successors[ends[pair] : ends[pair + 1]] for pair in range(model.num_pairs)]
        self._known: dict[tuple[tuple[int, int], ...], float] = {}

    def __call__(self, policy: Sequence[int]) -> float:
        """Return the gain of a policy, an action for each state."""
        taken = self._reached(policy)
        if taken is None:
            return math.nan
        key = tuple(sorted(taken.items()))
        if key not in self._known:
            self._known[key] = self._computed(np.array(policy), np.array([state for state, _ in key]))
        return self._known[key]

    def _reached(self, policy: Sequence[int]) -> dict[int, int] | None:
        """Return the action of each state that is reached from state 0; None if a state does not have the action."""
        taken: dict[int, int] = {}
        waiting = [0]
        while waiting:
            state = waiting.pop()
            if state not in taken:
                taken[state] = action = int(policy[state])
                pair = self._pairs[state][action] if 0 <= action < self._model.num_actions else -1
                if pair < 0:
                    return None
                waiting += self._next[pair]
        return taken

    def _computed(self, policy: Ints, reached: Ints) -> float:
        elsewhere = np.setdiff1d(np.arange(self._model.num_states), reached)
        policy = policy.astype(np.int64)
        policy[elsewhere] = self._model.action[self._model.pair_offsets[elsewhere]]  # any action will do
        chain = chain_of_pairs(self._model, pairs_of(self._model, policy))
        part = Chain(chain.matrix[reached][:, reached], chain.reward[reached], chain.duration[reached])
        try:
            return float(valued(part)[0][0])
        except (ValueError, ArithmeticError):
            return math.nan
